// SPDX-License-Identifier: Apache-2.0
#pragma once
// remediation.h - errors and what fixed them.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "plugins/session_memory/memory.h"
#include "plugins/session_memory/session_log.h"

namespace session_memory {

struct Remediation {
  static constexpr std::size_t kSignatureBytesMax = 240, kTextBytesMax = 1000;

  std::string id;       // of signature and fix: the same lesson twice is one row
  std::string project;  // empty = of all projects
  std::string signature;
  std::string tool;
  std::string tried, fix;
  std::uint64_t seen = 1;  // how often it was learned
  std::uint64_t helpful = 0, unhelpful = 0;
  std::int64_t created_ms = 0;
  std::vector<Provenance> provenance;

  bool comes_from(std::string_view conversation, std::uint64_t seq) const;
};

// The telling line of an error in a form that its next occurrence has too: lower case, without numbers, hexadecimal
// digits, paths and quoted texts. Empty if nothing is left.
std::string error_signature(std::string_view error);
// 0 to 1; 1 for the same signature.
double signature_likeness(std::string_view a, std::string_view b);

std::string remediation_id(std::string_view signature, std::string_view fix);
std::string json_of(const Remediation& remediation);
void write(agentd::JsonWriter& out, const Remediation& from);
agentd::Result<Remediation> remediation_of(agentd::JsonView from);

// Commands that failed and then passed, with the changes between them. Texts that only tool output brought are left
// out; so is a fix of which nothing remains.
std::vector<Remediation> remediations_of(const SessionLog& log, const Borrowed& tools);

// The matches of the error, the best first; nothing below a likeness of 0.7.
std::vector<Remediation> matching(const std::vector<Remediation>& all, std::string_view error, std::size_t limit);

}  // namespace session_memory
