// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/hook_setup.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

std::string_view kind_name(HookKind kind) {
  switch (kind) {
    case HookKind::kNative:
      return "native";
    case HookKind::kDeclarative:
      return "declarative";
    case HookKind::kExecutable:
      return "executable";
  }
  return "native";
}

std::string abi_text(const Manifest& manifest) {
  return std::to_string(manifest.abi_major) + "." + std::to_string(manifest.abi_minor);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

void write_json(Output& out, const std::vector<HookDescription>& hooks) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_array();
  for (const HookDescription& hook : hooks) {
    json.begin_object().member("name", hook.name).member("path", hook.path);
    json.member("kind", kind_name(hook.kind));
    if (hook.manifest) {
      json.member("id", hook.manifest->id).member("version", hook.manifest->version);
      json.member("abi", abi_text(*hook.manifest)).key("events").begin_array();
      for (const std::string& event : hook.manifest->events) json.string(event);
      json.end_array();
    }
    json.member("ok", hook.ok()).member("verdict", hook.verdict).end_object();
  }
  json.end_array();
  out.print(std::string(json.text()) + "\n");
}

void write_text(Output& out, const std::vector<HookDescription>& hooks) {
  for (const HookDescription& hook : hooks) {
    out.print(neutral_line(hook.name.empty() ? hook.path : hook.name, 200));
    if (hook.manifest)
      out.print("  " + neutral_line(hook.manifest->id + " " + hook.manifest->version, 200) +
                "  abi " + abi_text(*hook.manifest));
    out.print("\n");
    if (hook.manifest && !hook.manifest->events.empty())
      out.print("  events:  " + neutral_line(joined(hook.manifest->events), 1000) + "\n");
    if (!hook.path.empty() && !hook.name.empty())
      out.print("  file:    " + neutral_line(hook.path, 1000) + "\n");
    out.print("  verdict: " + neutral_line(hook.verdict, 2000) + "\n");
  }
}

}  // namespace

int plugins_command(App& app, bool json) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  auto sources = app.config_sources();
  if (!sources) return app.fail(kExitUsage, sources.error().message);
  const Result<Config> config = Config::load(*sources);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const HookSetup setup = hook_setup(app, *config, *home, true);
  std::vector<HookDescription> hooks = describe_hooks(setup.options);
  for (HookDescription& hook : hooks)
    if (is_replaced(setup, hook.path, hook.name)) hook.verdict = "replaced by another of this name";
  if (json)
    write_json(app.out(), hooks);
  else if (hooks.empty())
    app.out().print("no hooks; drop a .so into " + *home + "/hooks\n");
  else
    write_text(app.out(), hooks);
  return kExitOk;
}

}  // namespace agentd::app
