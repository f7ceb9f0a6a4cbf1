// SPDX-License-Identifier: Apache-2.0
// A command as any bytes: read within bounds, and what "always" would keep permits it. The same bytes as a rule.
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "core/tools/permission.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  const std::string bytes(fuzz::view(data, size));
  const ShellReading reading = split_command(bytes);
  fuzz::require(reading.sure == reading.why_not_sure.empty(), "a doubt has its reason");
  fuzz::require(reading.commands.size() <= 1000, "it is bounded");
  for (const ShellCommand& command : reading.commands)
    fuzz::require(!reading.sure || command.words.empty() || command.words.front().known(), "programs are known");

  if (const auto parts = rule_parts(bytes)) {
    const auto rule = make_rule(*parts, bytes, {});
    fuzz::require(rule || !rule.error().message.empty(), "a refusal has its sentence");
  }

  JsonWriter writer;
  writer.begin_object().member("command", bytes).end_object();
  const auto input = ToolInput::make(writer.text());
  if (!input) return 0;
  Tool tool;
  tool.name = kCommandTool;
  const std::vector<std::string> roots{"/work/p"};
  const PathPlace place{roots.front(), "/home/u", roots};
  const std::vector<std::string> kept = exact_rules(tool, *input, place);
  if (kept.empty()) return 0;
  ++fuzz::got_through;
  PermissionRules rules;
  for (const std::string& text : kept) {
    const auto parts = rule_parts(text);
    fuzz::require(parts && make_rule(*parts, text, {}), "what is kept is a rule");
    rules.allow.push_back(*make_rule(*parts, text, {}));
  }
  fuzz::require(rules.decide(tool, *input, place).permission == Permission::kAllow, "what is kept permits the call");
  return 0;
}
