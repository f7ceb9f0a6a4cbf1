// SPDX-License-Identifier: Apache-2.0
// auth.cc - agentd auth set | list | remove: keys of providers in the user's home.
#include <unistd.h>

#include <algorithm>

#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/keyboard.h"
#include "core/app/signals.h"
#include "core/app/table.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/credentials.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"

namespace agentd::app {
namespace {

constexpr std::size_t kInputBytesMax = 64 * 1024, kProviderBytesMax = 60;

ModelTable table_of(const Config& config, const std::string& home) {
  const auto loaded = load_model_table(home, config);
  return loaded ? *loaded : ModelTable::embedded();  // a broken models.yaml is reported by runs
}

// The provider as a run has it.
Result<ProviderSetup> setup_of(const Config& config, const std::string& home, const std::string& name) {
  return provider_setup(config, table_of(config, home), name);
}

// The same for a key that is given now: an address on this command line is the one that the key is for.
Result<ProviderSetup> setup_of_new_key(const Config& config, const std::string& home, const std::string& name) {
  const std::string owner = base_url_owner(config, table_of(config, home)).provider;
  if (config.layer("base_url") == Layer::kFlag && !owner.empty() && owner != name)
    return Error{Code::kInvalid, "base_url (" + config.origin("base_url") + ") would be the address of " + owner +
                                     ": give that of " + one_line(name, kProviderBytesMax) +
                                     " with --set providers.NAME.base_url=URL"};
  return setup_of(config, home, name);
}

Result<std::string, Failure> read_key(App& app, const std::string& provider) {
  const int input = app.surroundings().input;
  std::string key;
  if (app.surroundings().input_tty) {
    SignalScope signals;
    (void)signals.next();
    const auto write = [&](std::string_view text) {
      app.err().print(text);
      app.err().flush();
      return true;
    };
    auto typed = ask_secret({input, write}, "Key of " + neutral_line(provider, kProviderBytesMax) + " (not shown): ");
    if (!typed && typed.error().code == Code::kCancelled)
      return Failure{signal_exit(signals.caught()), typed.error().message};
    if (!typed) return Failure{kExitUsage, typed.error().message};
    key = std::move(*typed);
  } else {
    auto text = read_all(input, kInputBytesMax);
    if (!text && text.error().code == Code::kInvalid)
      return Failure{kExitUsage, "standard input has more than one key"};
    if (!text) return Failure{kExitUsage, text.error().message};
    key = std::move(*text);
  }
  const std::size_t begin = std::min(key.find_first_not_of(" \t\r\n"), key.size());
  key = key.substr(begin, key.find_last_not_of(" \t\r\n") + 1 - begin);
  if (const std::string wrong = wrong_key(key); !wrong.empty())
    return Failure{kExitUsage, "the key " + wrong + "; it was not stored"};
  return key;
}

// A provider with a key in use, or with a stored key that is not used.
struct KeyLine {
  std::string provider, from, variable{}, place{}, end{}, why_not{};
};

void add_lines(std::vector<KeyLine>& out, const std::string& name, const Config& config, const std::string& home,
               const Variables& variables, const KeyRing& keys, const Credentials& stored) {
  const auto setup = setup_of(config, home, name);
  const auto source = setup ? keys.find(*setup) : Result<KeySource>(setup.error());
  const bool by_variable = source && source->kind == KeySource::Kind::kVariable;
  if (by_variable)
    out.push_back(
        {name, "environment", source->variable, setup->place, shown_end(variables(source->variable).value_or(""))});
  const Credential* const found = stored.find(name);
  if (found == nullptr) return;
  out.push_back({name,
                 "file",
                 {},
                 std::string(found->place),
                 shown_end(found->key),
                 by_variable ? source->variable + " is set"
                 : !source   ? source.error().message
                             : std::string()});
}

std::string json_of(const KeyLine& line) {
  JsonWriter json;
  json.begin_object().member("provider", line.provider).member("from", line.from).optional("variable", line.variable);
  json.member("host", line.place).member("end", line.end).member("used", line.why_not.empty());
  json.optional("why_not", line.why_not).end_object();
  return std::string(json.text());
}

void print_table(Output& out, const std::vector<KeyLine>& lines) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(lines.size());
  for (const KeyLine& line : lines)
    rows.push_back({neutral_line(line.provider, kProviderBytesMax), neutral_line(line.end, kProviderBytesMax),
                    neutral_line(line.variable.empty() ? "file" : line.variable, kProviderBytesMax),
                    neutral_line(line.place, 100),
                    line.why_not.empty() ? "yes" : "no: " + neutral_line(line.why_not, 400)});
  out.print(table_text({{"PROVIDER"}, {"KEY"}, {"FROM"}, {"HOST"}, {"USED"}}, rows, std::string::npos));
}

}  // namespace

int auth_set_command(App& app, const Arguments& arguments) {
  const std::string& name = arguments.words()[0];
  if (arguments.words().size() > 1) return app.fail(kExitUsage, kKeyIsNoArgument);
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  if (!provider_names(*config).contains(name) && looks_like_key(name)) return app.fail(kExitUsage, kKeyIsNoArgument);
  const auto setup = setup_of_new_key(*config, *home, name);
  if (!setup) return app.fail(kExitUsage, setup.error().message);
  // Checked before the user types a key.
  if (const auto there = Credentials::load(*home); !there) return app.fail(kExitUsage, there.error().message);
  const auto key = read_key(app, name);
  if (!key) return app.fail(key.error().code, key.error().message);
  if (const auto done = store_credential(*home, {name, setup->place, *key}); !done)
    return app.fail(done.error().code == Code::kDenied ? kExitUsage : kExitFailure, done.error().message);
  app.out().confirm("stored the key " + shown_end(*key) + " of " + neutral_line(name, kProviderBytesMax) + " for " +
                    neutral_line(setup->place, 100) + " in " + Credentials::file(*home) + "\n");
  const KeyRing keys(app.surroundings().environment, *home);
  if (const auto source = keys.find(*setup); source && source->kind == KeySource::Kind::kVariable)
    app.err().line("warning: " + source->variable + " is set and overrides the stored key");
  return kExitOk;
}

int auth_list_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const auto stored = Credentials::load(*home);
  if (!stored) return app.fail(kExitUsage, stored.error().message);
  const Variables& variables = app.surroundings().environment;
  const KeyRing keys(variables, *home);
  std::set<std::string> names = provider_names(*config);
  names.erase(std::string(kScripted));
  for (const Credential& each : stored->all()) names.emplace(each.provider);
  std::vector<KeyLine> lines;
  for (const std::string& name : names) add_lines(lines, name, *config, *home, variables, keys, *stored);
  if (arguments.has("json"))
    for (const KeyLine& line : lines) app.out().print(json_of(line) + "\n");
  else if (lines.empty())
    app.out().print("no provider has a key; store one with 'agentd auth set PROVIDER'\n");
  else
    print_table(app.out(), lines);
  return kExitOk;
}

int auth_remove_command(App& app, const Arguments& arguments) {
  const std::string& name = arguments.words()[0];
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto removed = remove_credential(*home, name);
  if (!removed)
    return app.fail(removed.error().code == Code::kDenied ? kExitUsage : kExitFailure, removed.error().message);
  if (!*removed)
    return app.fail(kExitNotFound, "no key is stored for " +
                                       (looks_like_key(name) ? "that provider" : one_line(name, kProviderBytesMax)) +
                                       "; 'agentd auth list' shows the stored keys");
  app.out().confirm("removed the key " + (*removed)->end + " of " + neutral_line(name, kProviderBytesMax) + " for " +
                    neutral_line((*removed)->place, 100) + " from " + Credentials::file(*home) + "\n");
  return kExitOk;
}

}  // namespace agentd::app
