// SPDX-License-Identifier: Apache-2.0
#pragma once
// permission.h - whether a tool call may run, by the rules: deny overrides ask, ask overrides allow, the mode decides
// about the rest.
//
// A command is permitted by rules over arguments only if every command in it is, and only if the reading is sure
// (core/shell). What is not sure is asked about as soon as a rule over arguments denies or asks.
//
// Threading: decide() is const and thread-safe; it reads the file system to follow links.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tools/kept_answers.h"
#include "core/tools/permission_rule.h"
#include "core/tools/tool.h"

namespace agentd {

enum class Permission { kAllow, kDeny, kAsk };

struct PermissionVerdict {
  Permission permission = Permission::kAsk;
  std::string rule;      // "permissions.deny 'bash(rm:*)' (FILE:7)"; empty = none decided
  std::string reason;    // a sentence without its full stop: which rule, or why it is asked
  bool plain = false;    // the mode alone decided, or a rule about a whole tool: nothing to explain
  bool binding = false;  // a question that no hook and no earlier answer answers
  bool by_plan = false;  // the mode plan denies it
  // Where other parts of a command are allowed: the rules that would allow the rest of it; empty = not known.
  std::vector<std::string> missing{};
};

// Files of a root that run code later on, absolute: settings of other tools and of editors, start files of shells.
using GuardedPlaces = std::vector<std::string> (*)(const std::string& root, const std::string& home);

struct PermissionRules {
  enum class Mode { kAsk, kAcceptEdits, kPlan, kAllow, kDeny };
  Mode mode = Mode::kAsk;
  // The mode from each call on, where a client may change it while a run goes on; null = it stays `mode`.
  std::shared_ptr<const std::atomic<Mode>> changing{};
  std::vector<PermissionRule> allow, ask, deny;
  std::shared_ptr<KeptAnswers> kept{};    // of the project; null = there are none
  std::vector<std::string> own_places{};  // agentd's settings and hooks, absolute: no rule with a path covers them
  GuardedPlaces guarded = nullptr;        // only a rule with a path allows edits of these; null = there are none

  Mode mode_now() const { return changing ? changing->load() : mode; }
  // Read-only tools are allowed without a question unless a rule denies them or asks.
  PermissionVerdict decide(const Tool& tool, const ToolInput& input, const PathPlace& place) const;
};

// "ask", "accept_edits", "plan", "allow", "deny".
std::string_view name_of(PermissionRules::Mode mode);
std::optional<PermissionRules::Mode> find_permission_mode(std::string_view name);

// The rules that permit exactly this call, as "always" would keep them; empty: there are none.
std::vector<std::string> exact_rules(const Tool& tool, const ToolInput& input, const PathPlace& place);

}  // namespace agentd
