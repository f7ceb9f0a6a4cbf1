// SPDX-License-Identifier: Apache-2.0
// good.cc - the hook beside the broken ones, which must not notice them.
#include <agentd/hook.hpp>

struct Good {
  static constexpr std::string_view hook_wants[] = {agentd::id::tools};
  explicit Good(agentd::init& from) {
    (void)from.add_tool<&Good::echo>(
        {.name = "echo", .description = "says it again", .input_schema = R"({"type":"object"})"});
  }
  void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
    if (tool.name() == "bash") c.block("no shell here");
  }
  void echo(agentd::call& c, agentd::tool_view tool) { (void)c.output(tool.input_json()); }
};
AGENTD_HOOK(Good, "org.agentd.test.good", "1.0.0")
