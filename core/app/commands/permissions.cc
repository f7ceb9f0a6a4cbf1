// SPDX-License-Identifier: Apache-2.0
// permissions.cc - agentd permissions list, explain, forget: the rules about tool calls, and what was answered for
// good.
#include <algorithm>
#include <limits>
#include <set>

#include "core/app/commands/bundled_tools.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/config/permission_setup.h"
#include "core/config/rule_names.h"
#include "core/shell/shell.h"
#include "core/workplace/project_rules.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownPermissionBytes = 2000;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kDomain = "domain:";

Result<std::shared_ptr<KeptAnswers>, Failure> kept_here(const HooksHere& here) {
  auto kept = KeptAnswers::open(here.home, here.project.root);
  if (!kept) return Failure{kExitUsage, kept.error().message};
  return std::move(*kept);
}

// ---- list

std::string json_of(std::string_view list, const PermissionRule& rule) {
  JsonWriter out;
  out.begin_object().member("list", list).member("rule", rule.text).member("place", rule.place);
  out.end_object();
  return std::string(out.text());
}

std::string json_of(const KeptAnswer& answer, const std::string& file) {
  JsonWriter out;
  out.begin_object().member("list", "kept").member("rule", answer.rule).member("place", file);
  out.member("when_ms", answer.when_ms).member("conv_id", answer.conversation_id);
  out.optional("directory", answer.directory).end_object();
  return std::string(out.text());
}

// A rule for several tools is shown with the first.
std::vector<PermissionRule> without_repeats(const std::vector<PermissionRule>& rules) {
  std::vector<PermissionRule> out;
  for (const PermissionRule& rule : rules)
    if (out.empty() || out.back().text != rule.text || out.back().place != rule.place) out.push_back(rule);
  return out;
}

// The rules with which no run begins, since no tool can match them, and those about tools that no MCP server has. Only
// a run knows the tools of other plugins.
std::vector<RuleProblem> problems_here(const App& app, const HooksHere& here, const std::vector<Tool>& tools,
                                       bool complete) {
  std::vector<std::string> names{"task"};
  for (const Tool& tool : tools) names.push_back(tool.name);
  std::vector<RuleProblem> out = rule_problems(here.config, names, complete);
  std::erase_if(out, [](const RuleProblem& problem) { return !problem.broken; });
  for (std::string& text : mcp_rule_warnings(app, here.config, here.home, here.project))
    out.push_back({false, std::move(text)});
  return out;
}

// After the answer of a command, which then ends as a run would.
int tell(App& app, const std::vector<RuleProblem>& problems) {
  bool broken = false;
  for (const RuleProblem& problem : problems) {
    app.err().line((problem.broken ? "agentd: " : "warning: ") + neutral_line(problem.text, kShownPermissionBytes));
    broken = broken || problem.broken;
  }
  return broken ? kExitUsage : kExitOk;
}

// ---- explain

struct CallText {
  std::string tool, input;
};

// The tool that a name means: of those that are here, or else agentd's own. kInvalid: none has the name. `complete`: no
// other tools are here.
Result<std::string> tool_of(const std::string& name, const std::vector<Tool>& tools, bool complete) {
  std::vector<std::string> names{"task"};
  for (const Tool& tool : tools) names.push_back(tool.name);
  if (auto problem = tool_problem(name, names, complete); problem && problem->broken)
    return Error{Code::kInvalid, std::move(problem->text)};
  const std::set<std::string> own = own_tools();
  names.insert(names.end(), own.begin(), own.end());
  const std::vector<std::string> meant = tools_of_rule(name);
  const auto here = std::find_if(meant.begin(), meant.end(), [&](const std::string& each) {
    return std::find(names.begin(), names.end(), each) != names.end();
  });
  return here == meant.end() ? meant.front() : *here;
}

// The URL of a call that a rule about a host is about. kInvalid: it names many.
Result<std::string> url_of(const std::string& argument) {
  if (!argument.starts_with(kDomain)) return argument;
  const std::string host(without_blanks(std::string_view(argument).substr(kDomain.size())));
  if (host.find_first_of("*?[") != std::string::npos)
    return Error{Code::kInvalid, "'" + one_line(argument, kShownPermissionBytes) +
                                     "' stands for many hosts, and a call has one: write domain:HOST or a URL"};
  return "https://" + host + "/";
}

// "bash(git push)", "web_fetch(domain:example.org)", or TOOL and its input as JSON.
Result<CallText> call_of(const std::vector<std::string>& words, const std::vector<Tool>& tools, bool complete) {
  if (words.size() == 2) {
    AGENTD_TRY(std::string given, tool_of(words[0], tools, complete));
    return CallText{std::move(given), words[1]};
  }
  AGENTD_TRY(const RuleParts parts, rule_parts(words[0]));
  AGENTD_TRY(const std::string name, tool_of(parts.tool, tools, complete));
  const auto tool = std::find_if(tools.begin(), tools.end(), [&](const Tool& each) { return each.name == name; });
  const bool has_path = tool != tools.end() && !tool->path_keys.empty();
  JsonWriter out;
  out.begin_object();
  if (parts.argument && has_path) {
    out.member(tool->path_keys.front(), *parts.argument);
  } else if (parts.argument && name == kCommandTool) {
    out.member("command", *parts.argument);
  } else if (parts.argument) {
    AGENTD_TRY(const std::string url, url_of(*parts.argument));
    out.member("url", url);
  }
  out.end_object();
  return CallText{name, std::string(out.text())};
}

std::string_view word_of(Permission permission) {
  switch (permission) {
    case Permission::kAllow:
      return "allow";
    case Permission::kDeny:
      return "deny";
    case Permission::kAsk:
      return "ask";
  }
  return "ask";
}

std::string text_of(const ShellCommand& command) {
  std::string out;
  for (const std::string& name : command.assigned) out += (out.empty() ? "" : " ") + name + "=...";
  for (const ShellWord& word : command.words) {
    if (!out.empty()) out += ' ';
    for (const char c : word.text) out += c == kUnknownPart ? std::string("...") : std::string(1, c);
  }
  for (const ShellRedirection& redirection : command.redirections)
    out += (redirection.writes ? " > " : " < ") + (redirection.target.known() ? redirection.target.text : "...");
  return neutral_line(out, kShownPermissionBytes);
}

void show_reading(Output& out, const std::string& command) {
  const ShellReading reading = split_command(command);
  out.line(reading.sure ? "read as:" : "read as, though not sure (" + reading.why_not_sure + "):");
  for (const ShellCommand& each : reading.commands)
    out.line("  " + text_of(each) + (each.wraps ? "   (only runs what follows)" : ""));
}

struct Explained {
  PermissionVerdict verdict;
  std::string tool, command;
  std::vector<RuleProblem> problems;
};

Result<Explained, Failure> explain(const App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return here.error();
  const Inventory inventory = inventory_of(app, *here);
  const std::vector<Tool> tools = bundled_tools(app, *here, inventory);
  const bool complete = !may_have_other_tools(*here, inventory);
  const auto call = call_of(arguments.words(), tools, complete);
  if (!call) return Failure{kExitUsage, call.error().message};
  Tool tool;
  tool.name = call->tool;
  for (const Tool& each : tools)
    if (each.name == call->tool) tool = each;
  std::vector<std::string> roots = here->config.list("workspace.roots");
  if (roots.empty()) roots = {here->project.cwd, here->project.root};
  const std::string home = app.surroundings().environment("HOME").value_or("");
  const auto input = ToolInput::make(call->input, {tool.path_keys, roots.front(), here->project.cwd, home, roots});
  if (!input) return Failure{kExitUsage, "the input of " + call->tool + " " + input.error().message};
  PermissionRules rules = project_rules(app.surroundings(), here->config, here->home, here->project);
  AGENTD_TRY(rules.kept, kept_here(*here));
  Explained out{rules.decide(tool, *input, {roots.front(), home, roots}),
                call->tool,
                {},
                problems_here(app, *here, tools, complete)};
  const auto document = JsonDocument::parse(input->text());
  if (tool.name == kCommandTool && document) out.command = document->root()["command"].string_or({});
  return out;
}

}  // namespace

int permissions_list_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const PermissionRules rules = permission_rules(here->config);
  const auto kept = kept_here(*here);
  if (!kept) return app.fail(kept.error().code, kept.error().message);
  const std::pair<std::string_view, std::vector<PermissionRule>> lists[] = {{"deny", without_repeats(rules.deny)},
                                                                            {"ask", without_repeats(rules.ask)},
                                                                            {"allow", without_repeats(rules.allow)}};
  const std::vector<KeptAnswer> answers = (*kept)->answers();
  const Inventory inventory = inventory_of(app, *here);
  const std::vector<RuleProblem> problems =
      problems_here(app, *here, bundled_tools(app, *here, inventory), !may_have_other_tools(*here, inventory));
  if (arguments.has("json")) {
    for (const auto& [list, each] : lists)
      for (const PermissionRule& rule : each) app.out().line(json_of(list, rule));
    for (const KeptAnswer& answer : answers) app.out().line(json_of(answer, (*kept)->file()));
    return tell(app, problems);
  }
  app.out().line("mode " + std::string(name_of(rules.mode)));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [list, each] : lists)
    for (const PermissionRule& rule : each)
      rows.push_back({std::string(list), neutral_line(rule.text, kShownPermissionBytes),
                      neutral_line(rule.place, kShownPermissionBytes)});
  for (const KeptAnswer& answer : answers)
    rows.push_back(
        {"allow", neutral_line(answer.rule, kShownPermissionBytes),
         "your answer of " + time_text(answer.when_ms) + ", conversation " + neutral_line(answer.conversation_id, 40) +
             (answer.directory.empty() ? "" : ", in " + neutral_line(answer.directory, kShownPermissionBytes))});
  if (rows.empty())
    app.out().line("no rules, and no kept answers");
  else
    // The directory of an answer, at the end of its row, is copied from a pipe.
    app.out().print(table_text({{"LIST"}, {"RULE"}, {"FROM"}}, rows, app.out().tty() ? app.out().columns() : kNoLimit));
  return tell(app, problems);
}

int permissions_explain_command(App& app, const Arguments& arguments) {
  const auto explained = explain(app, arguments);
  if (!explained) return app.fail(explained.error().code, explained.error().message);
  const PermissionVerdict& verdict = explained->verdict;
  if (arguments.has("json")) {
    JsonWriter out;
    out.begin_object().member("tool", explained->tool).member("decision", word_of(verdict.permission));
    out.optional("rule", verdict.rule).member("reason", verdict.reason);
    if (!explained->command.empty()) {
      const ShellReading reading = split_command(explained->command);
      out.member("sure", reading.sure).optional("why_not_sure", reading.why_not_sure).key("commands").begin_array();
      for (const ShellCommand& each : reading.commands) out.string(text_of(each));
      out.end_array();
    }
    out.end_object();
    app.out().line(out.text());
    return tell(app, explained->problems);
  }
  app.out().line(std::string(word_of(verdict.permission)) + ": " + neutral_line(verdict.reason, kShownPermissionBytes));
  if (!explained->command.empty()) show_reading(app.out(), explained->command);
  return tell(app, explained->problems);
}

int permissions_forget_command(App& app, const Arguments& arguments) {
  const bool all = arguments.has("all");
  if (all == !arguments.words().empty())
    return app.fail(kExitUsage, "name one RULE as 'agentd permissions list' shows it, or pass --all");
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto kept = kept_here(*here);
  if (!kept) return app.fail(kept.error().code, kept.error().message);
  const auto gone = (*kept)->forget(all ? std::string() : arguments.words()[0]);
  if (!gone) return app.fail(kExitFailure, gone.error().message);
  if (*gone == 0 && !all)
    return app.fail(kExitNotFound, "no answer with the rule '" +
                                       neutral_line(arguments.words()[0], kShownPermissionBytes) +
                                       "' is kept for this project; see 'agentd permissions list'");
  app.out().line(counted(*gone, "answer") + " forgotten");
  return kExitOk;
}

}  // namespace agentd::app
