// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownTrustBytes = 2000;

// Shows what the decision needs: the file, its hash, its events and what it runs.
void show(App& app, const HookSource& source, const TrustEntry* known, const std::string& project_root) {
  Output& out = app.out();
  const auto line = [&](std::string_view what, const std::string& text) {
    out.print("  " + std::string(what) + neutral_line(text, kShownTrustBytes) + "\n");
  };
  out.print(neutral_line(source.name, kShownTrustBytes) + " (" + kind_text(source) + ", " +
            std::string(name_of(source.precedence)) + ")\n");
  line("file:    ", source.entry.path);
  line("sha256:  ", source.entry.digest);
  if (known != nullptr && known->digest != source.entry.digest)
    line("before:  ", known->digest + ", trusted " + time_text(known->trusted_ms));
  if (!source.entry.repository.empty()) line("project: ", project_root);
  if (source.kind == SourceKind::kRecipe)
    line("text:    ", "agentd recipe show " + shell_word(source.name.substr(source.name.rfind('/') + 1)));
  else if (source.kind == SourceKind::kExecutable && source.events.empty())
    line("events:  ", "reported by the program itself, after you agree");
  else
    line("events:  ", joined(source.events));
  if (source.manifest) line("id:      ", source.manifest->id + " " + source.manifest->version);
  if (source.kind == SourceKind::kExecutable) line("runs:    ", source.path + " run");
  for (const HookDefinition& hook : source.hooks) line("runs:    ", runs_text(hook));
  if (source.guard) line("guard:   ", "yes: while it cannot run, what it guards is blocked");
  for (const std::string& problem : source.problems) line("note:    ", problem);
}

// {"trusted": NAME, ...}
std::string json_of(std::string_view done, const TrustEntry& entry) {
  JsonWriter json;
  json.begin_object().member(done, entry.name).member("path", entry.path);
  json.member("digest", entry.digest).member("guard", entry.guard).key("events").begin_array();
  for (const std::string& event : entry.events) json.string(event);
  json.end_array().end_object();
  return std::string(json.text());
}

class Truster {
 public:
  Truster(App& app, const HooksHere& here, TrustStore& store, bool yes, bool json)
      : app_(app), here_(here), store_(store), yes_(yes), json_(json) {}

  int trust(const HookSource& source) {
    if (source.state == HookState::kMissing) return app_.fail(kExitNotFound, missing(source));
    if (source.trust == SourceTrust::kSystem) {
      app_.out().print(source.name + " belongs to the system and needs no trust\n");
      return kExitOk;
    }
    if (source.entry.digest.empty())
      return app_.fail(kExitFailure,
                       source.why_not.empty() ? source.name + " cannot be trusted: it is disabled" : source.why_not);
    if (source.trust == SourceTrust::kTrusted) {
      app_.out().print(source.name + " is already trusted\n");
      return kExitOk;
    }
    return ask(source);
  }

 private:
  static std::string missing(const HookSource& source) {
    return source.name + " does not exist: restore it, or run " + shell_command("agentd hooks untrust", source.name);
  }

  int ask(const HookSource& source) {
    // A program reports its events only when it runs, so the agreement comes first.
    const bool is_program = source.kind == SourceKind::kExecutable;
    Result<HookSource> inside = source;
    if (!is_program) inside = look_inside(source, here_.setup.options, app_.clock(), log_);
    if (!inside) return app_.fail(kExitFailure, inside.error().message);
    if (!json_) show(app_, *inside, store_.find(source.entry.path), here_.setup.options.project_root);
    if (!yes_ && !says_yes(app_, {}, "Trust it? [y/N] ")) {
      app_.out().print(source.name + " was not trusted\n");
      return kExitFailure;
    }
    if (is_program) inside = look_inside(source, here_.setup.options, app_.clock(), log_);
    if (!inside) return app_.fail(kExitFailure, inside.error().message);
    if (const auto kept = store_.record(inside->entry); !kept) return app_.fail(kExitFailure, kept.error().message);
    if (json_)
      app_.out().print(json_of("trusted", inside->entry) + "\n");
    else
      app_.out().print("trusted " + neutral_line(source.name, kShownTrustBytes) +
                       (source.kind == SourceKind::kRecipe ? "" : ", called at " + joined(inside->events)) + "\n");
    return kExitOk;
  }

  App& app_;
  const HooksHere& here_;
  TrustStore& store_;
  const bool yes_, json_;
  NullLog log_;
};

Result<std::vector<const HookSource*>, Failure> wanted(const Inventory& inventory, const Arguments& arguments) {
  std::vector<const HookSource*> out;
  if (arguments.has("all") != arguments.words().empty())
    return Failure{kExitUsage, arguments.has("all") ? "--all and names exclude each other"
                                                    : "name a hook, or pass --all for every untrusted one"};
  if (arguments.has("all"))
    for (const HookSource& source : inventory.sources)
      if (source.state == HookState::kWaits) out.push_back(&source);
  for (const std::string& name : arguments.words()) {
    auto found = source_of(inventory, name);
    if (!found) return found.error();
    out.push_back(*found);
  }
  return out;
}

// The next run's treatment of a file that is there although its record is gone.
std::string what_follows(const HookSource& source) {
  const std::string name = neutral_line(source.name, kShownTrustBytes);
  if (source.trust == SourceTrust::kSystem)
    return source.state == HookState::kOn
               ? name + " comes with agentd or the system and needs no trust, so it still runs; set hooks." + name +
                     ".enabled to false to end that\n"
               : name + " comes with agentd or the system and is off; it is recorded again when a run enables it\n";
  if (source.kind == SourceKind::kSettings)
    return "hooks.adapt still names the file, and the next run would trust it as new: remove it from hooks.adapt\n";
  return "The file is still in your own hooks directory, and the next run would trust it as a new hook: remove it, or "
         "name it in hooks.disable\n";
}

}  // namespace

int hooks_trust_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const Inventory inventory = inventory_of(app, *here);
  const auto sources = wanted(inventory, arguments);
  if (!sources) return app.fail(sources.error().code, sources.error().message);
  if (sources->empty()) {
    app.out().print("all hooks are trusted\n");
    return kExitOk;
  }
  const bool yes = arguments.has("yes");
  if (!yes && !app.surroundings().input_tty)
    return app.fail(kExitUsage, "not trusted: there is no terminal to confirm on; pass --yes to trust " +
                                    neutral_line((*sources)[0]->name, kShownTrustBytes));
  auto store = TrustStore::open(here->setup.options.trust_file, here->setup.options.native.user, app.clock());
  if (!store) return app.fail(kExitFailure, store.error().message);
  Truster truster(app, *here, *store, yes, arguments.has("json"));
  int code = kExitOk;
  for (const HookSource* const source : *sources)
    if (const int each = truster.trust(*source); each != kExitOk) code = each;
  return code;
}

int hooks_untrust_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  auto store = TrustStore::open(here->setup.options.trust_file, here->setup.options.native.user, app.clock());
  if (!store) return app.fail(kExitFailure, store.error().message);
  const Inventory inventory = inventory_of(app, *here);
  // "project/guard" means this project's hook, not another's.
  const std::string& name = arguments.words()[0];
  const HookSource* const source = find_source(inventory, name);
  const bool known = source != nullptr && store->find(source->entry.path) != nullptr;
  const auto gone = store->forget(known ? source->entry.path : name);
  if (!gone) return app.fail(gone.error().code == Code::kNotFound ? kExitNotFound : kExitFailure, gone.error().message);
  if (arguments.has("json")) {
    app.out().print(json_of("forgot", *gone) + "\n");
    return kExitOk;
  }
  app.out().confirm("forgot " + neutral_line(gone->name, kShownTrustBytes) + " (" +
                    neutral_line(gone->path, kShownTrustBytes) + ")\n");
  const bool is_here = source != nullptr && source->state != HookState::kMissing;
  if (is_here && gone->repository.empty()) app.out().confirm(what_follows(*source));
  return kExitOk;
}

}  // namespace agentd::app
