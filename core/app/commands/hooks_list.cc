// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/terminal.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownHookNameBytes = 200, kEventsBytes = 2000;

std::string priority_text(const HookRow& row) { return row.priority ? std::to_string(*row.priority) : "-"; }

std::string state_text(const HookRow& row) {
  std::string out(name_of(row.state));
  if (row.state == HookState::kOn && row.shadow) out = "shadow";
  if (row.source->blocks()) out += ", blocks";
  return out;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

std::vector<std::string> cells_of(const HookRow& row) {
  return {neutral_line(row.name, kShownHookNameBytes),
          or_dash(row.kind) + (row.source->guard ? " guard" : "") + (row.sandbox ? " sandbox" : ""),
          priority_text(row),
          std::string(name_of(row.source->precedence)),
          or_dash(std::string(name_of(row.source->trust))),
          state_text(row),
          neutral_line(joined(row.events, ","), kEventsBytes)};
}

// The reason follows each hook that does not run.
void print_table(Output& out, const std::vector<HookRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  cells.reserve(rows.size());
  for (const HookRow& row : rows) cells.push_back(cells_of(row));
  const std::vector<std::string> lines =
      table_lines({{"NAME"}, {"KIND"}, {"PRIORITY", true}, {"SOURCE"}, {"TRUST"}, {"STATE"}, {"EVENTS"}},
                  std::move(cells), out.columns());
  for (std::size_t at = 0; at < lines.size(); ++at) {
    out.print(lines[at] + "\n");
    if (at == 0) continue;
    const HookRow& row = rows[at - 1];
    if (!row.why_not.empty()) out.print("    " + neutral_line(row.why_not, 2000) + "\n");
    // Once for each file, after its last hook.
    const bool last = at == rows.size() || rows[at].source != row.source;
    if (!last) continue;
    for (const std::string& problem : row.source->problems) out.print("    " + neutral_line(problem, 2000) + "\n");
    if (row.source->lacks.any()) out.print("    " + neutral_line(row.source->lacks.sentence(), 2000) + "\n");
  }
}

std::string json_of(const HookRow& row) {
  const HookSource& source = *row.source;
  JsonWriter json;
  json.begin_object().member("name", row.name).member("kind", row.kind).key("events");
  json.begin_array();
  for (const std::string& event : row.events) json.string(event);
  json.end_array();
  if (row.priority) json.member("priority", *row.priority);
  json.member("source", name_of(source.precedence)).member("path", source.path);
  json.optional("sha256", source.entry.digest).member("trust", name_of(source.trust));
  json.member("state", name_of(row.state)).member("guard", source.guard);
  json.member("shadow", row.shadow).member("blocks", source.blocks());
  if (source.kind != SourceKind::kNative) json.member("sandbox", row.sandbox);
  json.optional("why_not", row.why_not);
  if (source.manifest) json.member("id", source.manifest->id);
  if (source.lacks.any()) json.member("not_granted", source.lacks.sentence());
  if (!source.problems.empty()) {
    json.key("problems").begin_array();
    for (const std::string& problem : source.problems) json.string(problem);
    json.end_array();
  }
  json.end_object();
  return std::string(json.text());
}

}  // namespace

int hooks_list_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const Inventory inventory = inventory_of(app, *here);
  std::vector<HookRow> rows;
  for (const HookSource& source : inventory.sources)
    for (HookRow& row : rows_of(source, here->setup.options)) rows.push_back(std::move(row));
  if (arguments.has("json")) {
    for (const HookRow& row : rows) app.out().print(json_of(row) + "\n");
  } else if (rows.empty()) {
    app.out().print("no hooks; put one into " + here->home +
                    "/hooks, or create one with 'agentd hooks new NAME --lang bash'\n");
  } else {
    print_table(app.out(), rows);
  }
  app.out().flush();
  for (const HookProblem& problem : inventory.problems)
    app.err().line("agentd: " + neutral_line(problem.message, 2000));
  return kExitOk;
}

}  // namespace agentd::app
