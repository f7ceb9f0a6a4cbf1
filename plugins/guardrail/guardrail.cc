// SPDX-License-Identifier: Apache-2.0
// guardrail: rules that deny, defer, ask or allow a tool call by its tool, its input and the paths in it.
//
// config:
//   rules     [{name, tool, input, path, access, action, reason}]
//     tool    names or globs between "|"; default "*"
//     input   {KEY: RE2}: found anywhere in the text of that key ("a.b" below another, "*" in any)
//     path    [globs]: "~/.ssh/**", "src/*" below the working directory, "*.pem" anywhere
//     access  any, or write: only calls that change the path
//     action  deny, defer, ask, allow
//   defaults  false switches off the rules that come with it; default true
// Its row is declared GATES: if it fails, the call is denied. The strongest matching rule is used. A command is checked
// by its text: this protects from mistakes and plain attempts; it is not a sandbox.

#define AGENTD_TARGET_MINOR 1u  // calls that only read may overlap

#include <agentd/hook.hpp>

#include <cstdlib>
#include <optional>
#include <string>

#include "core/codec/json.h"
#include "plugins/guardrail/rules.h"

namespace guardrail {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Guardrail {
 public:
  static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
  static constexpr int hook_priority = 1000;
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit Guardrail(agentd::init& from) {
    auto made = Rules::make(from.config_json(), Places(environment("HOME"), environment("AGENTD_HOME")));
    if (made)
      rules_.emplace(std::move(*made));
    else
      from.refuse(made.error().code == agentd::Code::kUnavailable ? AGENTD_E_IO : AGENTD_E_ARG, made.error().message);
  }

  agentd_status on_before_tool_call(agentd::call& c, agentd::tool_view tool) const {
    const auto input = agentd::JsonDocument::parse(tool.input_json());
    if (!input || !input->root().is_object())
      return c.fail(AGENTD_E_ARG, "the input of " + std::string(tool.name()) + " is not a JSON object");
    const Decision got = rules_->decide(tool.name(), input->root(), c.envelope().cwd());
    const std::string why = "rule " + got.rule + (got.reason.empty() ? "" : ": " + got.reason);
    switch (got.verdict) {
      case Verdict::kNone:
        return AGENTD_OK;
      case Verdict::kAllow:
        return c.allow(why);
      case Verdict::kAsk:
        return c.ask(why);
      case Verdict::kDefer:
        return c.wait_for_approval(why);
      case Verdict::kDeny:
        c.log_info("denied " + std::string(tool.name()) + " by rule " + got.rule);
        return c.deny(why);
    }
    return AGENTD_OK;
  }

 private:
  std::optional<Rules> rules_;
};

}  // namespace
}  // namespace guardrail

using guardrail::Guardrail;
AGENTD_HOOK_MANIFEST(
    Guardrail, "agentd.guardrail", "1.0.0",
    R"("license":"Apache-2.0","capabilities":["gate"],"config_schema":{"type":"object","additionalProperties":false,)"
    R"("properties":{"defaults":{"type":"boolean","default":true},"rules":{"type":"array",)"
    R"("maxItems":1000,"items":{"type":"object","additionalProperties":false,)"
    R"("required":["action"],"properties":{"name":{"type":"string"},"tool":{"type":"string","format":"tool-names"},)"
    R"("input":{"type":"object","minProperties":1,"propertyNames":{"format":"tool-input-keys",)"
    R"("examples":["cmd","file_path","filepath","filename"]},"additionalProperties":{"type":"string"}},)"
    R"("path":{"type":["array","string"],"items":{"type":"string"}},)"
    R"("access":{"enum":["any","write"]},"action":{"enum":["deny","defer","ask","allow"]},)"
    R"("reason":{"type":"string"}}}}}})")
