// SPDX-License-Identifier: Apache-2.0
#pragma once
// docker.h - parts shared by the files of docker-agent's dialect: events, messages, settings. Private.
//
// Threading: pure functions and immutable data.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/codec/json.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {

enum class DockerRewrite : std::uint8_t { kNone, kToolInput, kMessages, kToolResponse };

// One event of docker-agent and its abilities. Several are phases of one event of agentd; `priority` keeps their order.
struct DockerEvent {
  std::string_view name;
  std::array<std::uint32_t, 2> events{};  // agentd's events; the second only if the source needs two, else 0
  int priority = 0;
  bool tool_matched = false;
  bool can_block = false;
  bool fails_closed = false;
  DockerRewrite rewrite = DockerRewrite::kNone;
  bool decision = false;  // permission_decision is in effect
  bool approval = false;  // "allow" answers for the user
  bool metadata = false;
  bool context = false;  // additional_context, and plain text on standard output
  bool instructions = false;
  bool summary = false;
  std::string_view when{};     // an expression that selects among agentd's events; empty = all
  std::string_view missing{};  // why an event has no counterpart; a clause
};

inline constexpr Milliseconds kDockerTime{60'000};  // for a hook without a timeout

std::span<const DockerEvent> docker_events();
// Null for a name that docker-agent does not have.
const DockerEvent* find_docker_event(std::string_view name);
// The event that the hook subscribes to, by its foreign name, else by its event.
const DockerEvent& docker_event_of(const HookDefinition& hook);

// The history in docker-agent's form (roles system, user, assistant, tool), a JSON array.
std::string docker_messages(JsonView payload);
// Adds `updated_messages` to `verdict`: unchanged messages are kept, others become literals.
void take_docker_messages(JsonView messages, JsonView payload, VerdictMaker& verdict);

// True for YAML with a block of hooks of docker-agent, at the top or below agents.NAME.
bool is_docker_file(const YamlNode& root);
Result<DefinitionSet> read_docker_settings(std::string_view text, std::string_view path, std::string_view prefix);

}  // namespace agentd
