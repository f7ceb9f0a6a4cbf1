// SPDX-License-Identifier: Apache-2.0
#pragma once
// messages.h - the bodies of the lanes' messages: start of a worker, and service calls.
//
// Every request of a plugin crosses as one ServiceArgs and returns as one ServiceReply: the op determines the members
// that are used and the records in them. No pointer to code crosses: a tool or a service's row is a number.
//
// Threading: values.

#include <agentd/hook_abi.h>
#include <agentd/service_list.hpp>

#include <cstdint>

namespace agentd {

constexpr std::uint32_t kWorkerProtocol = 1;  // both executables come from one build; this detects mismatches

// The op of a service table's first function; a table has room for ten.
template <typename Table>
constexpr std::uint32_t kFirstOp = 0;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_compactor> = 20;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_thread_factory> = 30;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_store> = 40;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_workspace> = 50;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_process> = 60;
template <>
inline constexpr std::uint32_t kFirstOp<agentd_registry> = 70;
constexpr std::uint32_t kOpsEnd = 80;

enum class ServiceOp : std::uint32_t {
  kNone = 0,
  // core. The token of the message is the call's or the scope's.
  kEmit = 1,       // number[0] kind; record[0]: the action
  kFail = 2,       // number[0] status; text[0]
  kLog = 3,        // number[0] level; text[0]
  kComplete = 4,   // number[0] status
  kScopeOpen = 5,  // number[0] conversation, [1] deadline_ns; reply number[0] token, [1] address of its live
  kScopeClose = 6,
  // agentd.tools/1: number[0] flags, [1] timeout_ms, [2] the worker's number of the tool; text: name, title,
  // description; list of texts: input schema, output schema
  kToolsAdd = 10,
  kToolsRemove = 11,  // text[0] name
  // agentd.json/1 and agentd.field/1
  kJsonPayload = 12,  // reply text
  kFieldGet = 13,     // text[0] path; reply text
  // agentd.provide/1: number[0] flags, [1] timeout_ms, [2] the worker's number of the row; text: interface, operation
  kProvideAdd = 14,
  kProvideRemove = 15,  // text: interface, operation
// The functions of the service tables: kStoreGet, ... in the order of the slots. The members of the two records below
// that an op uses follow from the function's parameters (service_call.h).
#define AGENTD_SERVICE_OP(table, function, Name, ...) \
  k##Name = kFirstOp<agentd_##table> + service_facts_of<&agentd_##table::function>.place,
  AGENTD_SERVICE_LIST(AGENTD_SERVICE_OP)
#undef AGENTD_SERVICE_OP
};

struct ServiceArgs {
  std::uint32_t op = 0;  // ServiceOp
  std::uint32_t reserved0 = 0;
  agentd_str text[3] = {{nullptr, 0}, {nullptr, 0}, {nullptr, 0}};
  std::uint64_t number[4] = {0, 0, 0, 0};
  agentd_list list{nullptr, 0, 0};
  const void* record[2] = {nullptr, nullptr};
};

struct ServiceReply {
  agentd_str text{nullptr, 0};
  std::uint64_t number[2] = {0, 0};
  agentd_list list{nullptr, 0, 0};
  const void* record = nullptr;
};

// ---- start of a worker

constexpr std::uint64_t kBootCompactor = 1, kBootThreads = 2, kBootStore = 4;  // BootArgs.services

struct BootArgs {
  std::uint32_t protocol = kWorkerProtocol;
  std::uint32_t scan_only = 0;              // 1: load and negotiate, create() will not follow
  agentd_str name{nullptr, 0};              // "guardrail", for messages
  std::uint64_t services = 0;               // kBoot...
  agentd_list interfaces{nullptr, 0, 0};    // texts: ids that query() answers
  agentd_list capabilities{nullptr, 0, 0};  // texts, from the manifest
  agentd_list readable{nullptr, 0, 0};      // texts: directories that "files:read" opens
  agentd_list writable{nullptr, 0, 0};      // texts: directories that "files:write" opens
  std::uint64_t memory_bytes_max = 0;       // RLIMIT_DATA; 0 = none
  std::uint64_t window_base = 0;            // address of the payload window (kWorkerWindowFd)
  std::uint32_t unconfined = 0;             // 1: hooks.NAME.sandbox is off
  std::uint32_t reserved0 = 0;
};

struct RowInfo {
  std::uint32_t event = 0;
  std::uint16_t flags = 0;
  std::int16_t priority = 0;
  std::uint64_t wants = 0;
};

constexpr std::uint32_t kBootedDestroy = 1, kBootedSaveState = 2, kBootedLoadState = 4;  // functions

struct BootReply {
  std::uint32_t concurrency = 0;
  std::uint32_t functions = 0;  // kBooted...
  agentd_str id{nullptr, 0}, version{nullptr, 0};
  agentd_list rows{nullptr, 0, 0};   // RowInfo
  agentd_list notes{nullptr, 0, 0};  // texts: optional rows that were skipped
  agentd_str sandbox{nullptr, 0};    // rules that are not in effect here, one sentence; empty = all are
};

// A worker's descriptors at start, besides 0 to 2.
constexpr int kWorkerModuleFd = 3, kWorkerWindowFd = 4, kWorkerAnswerFd = 5;

}  // namespace agentd
