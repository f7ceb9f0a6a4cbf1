// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - guardrail's rules: read from the config, applied to one tool call.
//
// The strongest matching rule is used, in any order: deny, then defer, then ask, then allow. All conditions of a rule
// must hold. An allow rule is stricter: its expressions must match complete texts, and it never allows a command that
// has more than plain words.
//
// Threading: immutable after make().

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/codec/regex.h"
#include "plugins/guardrail/paths.h"

namespace guardrail {

// From the weakest to the strongest.
enum class Verdict { kNone, kAllow, kAsk, kDefer, kDeny };

struct Rule {
  std::string name;  // "rules[0]", or the user's name
  std::string tool = "*";
  std::vector<std::pair<std::string, agentd::Regex>> input;  // key, expression
  std::vector<std::string> path;
  bool writes_only = false;
  bool everything = false;  // a command removes the system or the home directory; built-in rules only
  Verdict action = Verdict::kDeny;
  std::string reason;
};

struct Decision {
  Verdict verdict = Verdict::kNone;
  std::string rule, reason;
};

class Rules {
 public:
  // Reads the config's JSON. kInvalid: one sentence that names the rule by its index.
  static agentd::Result<Rules> make(std::string_view config_json, Places places);
  // `input` is the tool's input, an object.
  Decision decide(std::string_view tool, agentd::JsonView input, std::string_view cwd) const;
  std::size_t size() const { return rules_.size(); }

 private:
  explicit Rules(Places places) : places_(std::move(places)) {}
  struct Call;
  bool holds(const Rule& rule, const Call& call) const;
  bool input_holds(const Rule& rule, const Call& call) const;
  bool path_holds(const Rule& rule, const Call& call) const;
  bool removes_everything(const Call& call) const;

  Places places_;
  std::vector<Rule> rules_;
};

// Reads one rule of the config at `where` ("rules[2]"); the error is the message for the user.
agentd::Result<Rule> read_rule(agentd::JsonView from, const std::string& where);
// The rules that apply unless the config has `defaults: false`: for actions that an agent is hardly ever meant to do,
// and for files that outlive the session: keys, start-up files, hooks of git and agentd. kUnavailable: the library of
// regular expressions is not installed.
agentd::Result<std::vector<Rule>> default_rules();

}  // namespace guardrail
