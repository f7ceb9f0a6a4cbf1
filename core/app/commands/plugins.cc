// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/validate/verify.h"

namespace agentd::app {
namespace {

std::string abi_text(const Manifest& manifest) {
  return std::to_string(manifest.abi_major) + "." + std::to_string(manifest.abi_minor);
}

std::string verdict_of(const HookSource& source) { return source.state == HookState::kOn ? "ok" : source.why_not; }

void write_json(Output& out, const Inventory& inventory) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_array();
  for (const HookSource& source : inventory.sources) {
    json.begin_object().member("name", source.name).member("path", source.path);
    json.member("kind", kind_text(source));
    if (source.manifest) {
      json.member("id", source.manifest->id).member("version", source.manifest->version);
      json.member("abi", abi_text(*source.manifest));
      json.member("isolation", source.isolation);
    }
    json.key("events").begin_array();
    for (const std::string& event : source.events) json.string(event);
    json.end_array().member("trust", name_of(source.trust));
    json.member("ok", source.state == HookState::kOn);
    json.member("verdict", verdict_of(source));
    if (source.lacks.any()) json.member("not_granted", source.lacks.sentence());
    json.end_object();
  }
  for (const HookProblem& problem : inventory.problems)
    json.begin_object()
        .member("name", "")
        .member("path", problem.path)
        .member("ok", false)
        .member("verdict", problem.message)
        .end_object();
  json.end_array();
  out.print(std::string(json.text()) + "\n");
}

void write_text(Output& out, const Inventory& inventory) {
  for (const HookSource& source : inventory.sources) {
    out.print(neutral_line(source.name, 200));
    if (source.manifest)
      out.print("  " + neutral_line(source.manifest->id + " " + source.manifest->version, 200) + "  abi " +
                abi_text(*source.manifest));
    else if (source.kind != SourceKind::kUnknown)
      out.print("  " + kind_text(source));
    out.print("\n");
    if (!source.events.empty()) out.print("  events:  " + neutral_line(joined(source.events, " "), 1000) + "\n");
    if (!source.isolation.empty()) out.print("  runs:    " + source.isolation + "\n");
    if (!source.path.empty()) out.print("  file:    " + neutral_line(source.path, 1000) + "\n");
    out.print("  verdict: " + neutral_line(verdict_of(source), 2000) + "\n");
    if (source.lacks.any()) out.print("           it " + neutral_line(source.lacks.sentence(), 2000) + "\n");
  }
  for (const HookProblem& problem : inventory.problems)
    out.print(neutral_line(problem.path, 1000) + "\n  verdict: " + neutral_line(problem.message, 2000) + "\n");
}

// Modules that are not trusted, quarantined or broken are not run.
void verify(const App& app, const HooksHere& here, Inventory& inventory) {
  for (HookSource& source : inventory.sources) {
    const bool off = source.state == HookState::kOff && !source.replaced && source.trust != SourceTrust::kWaits &&
                     source.trust != SourceTrust::kChanged && source.trust != SourceTrust::kUnknown;
    if (!source.manifest || (source.state != HookState::kOn && !off)) continue;
    const auto fine =
        validation::verify_module({source.path, source.entry.digest, here.setup.options.native.private_copy_directory},
                                  *source.manifest, app.clock());
    if (fine) continue;
    source.state = HookState::kBroken;
    source.why_not = one_line(fine.error().message, 2000);
  }
}

}  // namespace

int plugins_command(App& app, PluginsMode mode) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  auto sources = config_sources(app.surroundings());
  if (!sources) return app.fail(kExitUsage, sources.error().message);
  const Result<Config> config = Config::load(*sources);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const HooksHere here = hooks_here(app, *config, *home);
  Inventory inventory = inventory_of(app, here);
  if (mode == PluginsMode::kVerify) verify(app, here, inventory);
  if (mode == PluginsMode::kJson)
    write_json(app.out(), inventory);
  else if (inventory.sources.empty() && inventory.problems.empty())
    app.out().print("no hooks; put one into " + *home + "/hooks\n");
  else
    write_text(app.out(), inventory);
  return kExitOk;
}

}  // namespace agentd::app
