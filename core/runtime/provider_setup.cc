// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/provider_setup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"
#include "core/codec/url.h"
#include "core/tokens/retirement.h"

namespace agentd {
namespace {

std::string key_of(const std::string& provider, std::string_view setting) {
  return "providers." + provider + "." + std::string(setting);
}

Error no_provider(const Config& config, const std::string& name) {
  const std::set<std::string> names = provider_names(config);
  const std::vector<std::string> all(names.begin(), names.end());
  const std::string mean = did_you_mean(name, all);
  return {
      Code::kInvalid,
      (name == config.text("provider") ? config.origin("provider") + ": " : std::string()) + "no provider named '" +
          one_line(name, 60) + "'" +
          (mean.empty() ? "; there are " + join(all, ", ") + "; add another one with providers.NAME.base_url" : mean)};
}

// The setting that holds a provider's address, and the address.
struct Address {
  std::string setting, url, origin;
};

std::string url_of_vendor(const std::string& provider) {
  const ProviderRow* const row = find_provider(provider);
  return std::string(row == nullptr ? "" : row->base_url);
}

Address address_of(const Config& config, const ModelTable& table, const std::string& provider) {
  const bool general = base_url_owner(config, table).provider == provider;
  Address out{general ? "base_url" : key_of(provider, "base_url"), {}, {}};
  out.url = config.text(out.setting);
  if (out.url.empty()) out.url = url_of_vendor(provider);
  out.origin = config.origin(out.setting);
  return out;
}

// "host:port" of a URL; empty if it is not one.
std::string place_of(const std::string& url) {
  const Result<HttpUrl> parsed = parse_http_url(url);
  return parsed ? parsed->place() : std::string();
}

// A key that was set for a vendor goes to that vendor or to this machine; for other hosts the user must name it. The
// name counts for the addresses that its place, a file or the command line, and weaker ones set.
void say_where_keys_go(const Config& config, const ModelTable& table, ProviderSetup& setup, const Address& address,
                       bool loopback) {
  const std::string variable_key = key_of(setup.name, "api_key_env");
  const Layer of_key = config.layer(variable_key), of_address = config.layer(address.setting);
  const bool at_home = place_of(url_of_vendor(setup.name)) == setup.place;
  setup.other_variable = loopback || at_home || of_address <= Layer::kProvider;
  if (setup.key_variable.empty() || setup.other_variable) return;
  const bool named = of_key > Layer::kProvider;
  if (named && of_key >= of_address) return;
  if (named && place_of(address_of(config.up_to(of_key), table, setup.name).url) == setup.place) return;
  setup.key_refused = address.setting + " (" + setup.url_origin + "): the key in " + setup.key_variable +
                      " was not set for " + one_line(setup.place, 100) + ": " +
                      (named ? "set " + variable_key + " where the address is set"
                             : "name the variable that holds its key in " + variable_key) +
                      ", or store one with " + shell_command("agentd auth set", setup.name);
}

// A setting of the provider or the model as it was given: "--model openai/gpt-6.1-sol".
std::string as_given(const Config& config, std::string_view key) {
  const std::string origin = config.origin(key), value = one_line(config.text(key), 80);
  if (origin == "--" + std::string(key)) return origin + " " + value;
  if (origin == "--set") return origin + " " + std::string(key) + "=" + value;
  return std::string(key) + " " + value + " (" + origin + ")";
}

// The provider that a setting names; empty: none does.
std::string named_provider(const Config& config, const ModelTable& table) {
  std::string provider = config.text("provider");
  if (provider == kScripted) return provider;
  const std::string model = real_model(config, config.text("model"), "");
  const std::set<std::string> names = provider_names(config);
  const ModelRoute route = route_of(model, names);
  if (!route.provider.empty() && route.provider != kScripted) return route.provider;
  if (config.is_set("provider")) return provider;
  const std::string& vendor = table.find(model).provider;
  return !model.empty() && names.contains(vendor) && vendor != kScripted ? vendor : std::string();
}

// The error for a base_url with which no provider is set: it would be the default's, but another one is selected.
std::optional<Error> unclear_base_url(const Config& config, const ModelTable& table, const std::string& provider) {
  const BaseUrlOwner owner = base_url_owner(config, table);
  const std::string selected = named_provider(config, table);
  if (owner.provider.empty() || owner.named || selected.empty()) return std::nullopt;
  if (selected == owner.provider || selected == kScripted) return std::nullopt;
  if (provider != owner.provider && provider != selected) return std::nullopt;
  const bool by_model =
      !route_of(real_model(config, config.text("model"), ""), provider_names(config)).provider.empty();
  return Error{Code::kInvalid, "base_url (" + config.origin("base_url") + ") is the address of " + owner.provider +
                                   ", the default provider, but " +
                                   as_given(config, by_model || !config.is_set("provider") ? "model" : "provider") +
                                   " selects " + one_line(selected, 60) +
                                   ": set provider where base_url is set, or replace base_url with " +
                                   key_of(one_line(selected, 60), "base_url")};
}

// The error for a provider of the command line that the model's name, which overrides it, contradicts.
Error two_providers(const Config& config, const std::string& provider, const ModelRoute& route) {
  return {Code::kInvalid, as_given(config, "provider") + " and " + as_given(config, "model") +
                              " name two providers: omit the first to ask " + one_line(route.provider, 60) +
                              ", or set --model to a model of " + one_line(provider, 60) + ", such as " +
                              one_line(provider, 60) + "/NAME"};
}

// The places for a key, as the end of a sentence "set ...".
std::string key_places(const ProviderSetup& setup) {
  const bool bearer = setup.row != nullptr && setup.row->bearer && setup.other_variable;
  return setup.key_variable + (bearer ? " (or " + std::string(setup.row->other_variable) + ")" : "") +
         ", or store one with " + shell_command("agentd auth set", setup.name);
}

}  // namespace

HttpSettings http_settings(const Config& config) {
  return {config.text("network.ca_file"), config.text("network.client_cert"), config.text("network.client_key"),
          config.text("network.proxy")};
}

std::string network_json(const Config& config) {
  JsonWriter out;
  out.begin_object();
  for (const char* const name : {"proxy", "ca_file", "client_cert", "client_key"})
    out.optional(name, config.text(std::string("network.") + name));
  out.end_object();
  return std::string(out.text());
}

std::set<std::string> provider_names(const Config& config) {
  std::set<std::string> out;
  for (const ProviderRow& row : provider_rows()) out.emplace(row.name);
  for (std::string& name : config.provider_names()) out.insert(std::move(name));
  return out;
}

std::string real_model(const Config& config, std::string_view name, std::string_view own) {
  const std::string alias = "models.aliases." + std::string(name);
  const std::string model = config.is_set(alias) ? config.text(alias) : std::string(name);
  const std::set<std::string> names = provider_names(config);
  const ModelRoute route = route_of(model, names);
  const bool alone = route.provider == own && route_of(route.model, names).provider.empty();
  return alone ? route.model : model;
}

Result<ModelRoute> model_in_force(const Config& config, const ModelTable& table, std::int64_t wall_ms) {
  const std::set<std::string> names = provider_names(config);
  const std::string provider = config.text("provider"), model = real_model(config, config.text("model"), "");
  if (!names.contains(provider)) return no_provider(config, provider);
  if (provider == kScripted)
    return ModelRoute{provider, model.empty() ? default_in_service(table, provider, wall_ms) : model};
  ModelRoute out = route_of(model, names);
  if (!out.provider.empty() && out.provider != kScripted) {
    const bool by_flag = config.layer("provider") == Layer::kFlag;
    if (by_flag && out.provider != provider) return two_providers(config, provider, out);
    return out;
  }
  const std::string named = named_provider(config, table);
  out = {named.empty() ? provider : named, model.empty() ? default_in_service(table, provider, wall_ms) : model};
  if (out.model.empty())
    return Error{Code::kInvalid, "no model is set: '" + one_line(provider, 60) +
                                     "' has no default; pass --model NAME, or set model in the configuration"};
  return out;
}

BaseUrlOwner base_url_owner(const Config& config, const ModelTable& table) {
  if (config.text("base_url").empty()) return {};
  const Layer layer = config.layer("base_url");
  const Config there = config.up_to(layer);
  // A model that this place names says more than a provider of a weaker one.
  const bool by_model = there.layer("model") == layer && there.layer("provider") < layer;
  if (layer != Layer::kFlag && there.is_set("provider") && !by_model) return {there.text("provider"), true};
  const std::string named = named_provider(there, table);
  return named.empty() ? BaseUrlOwner{there.text("provider"), false} : BaseUrlOwner{named, true};
}

std::vector<std::pair<std::string, std::string>> models_beside(const Config& config, std::string_view own) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& fallback : config.list("fallback")) out.emplace_back("fallback", fallback);
  out.emplace_back("compaction.model", config.text("compaction.model"));
  if (config.flag("agents.enabled")) out.emplace_back("agents.model", config.text("agents.model"));
  std::erase_if(out, [](const auto& each) { return each.second.empty(); });
  for (auto& [setting, model] : out) model = real_model(config, model, own);
  return out;
}

Result<void> check_network_files(const Config& config) {
  for (const std::string key : {"network.ca_file", "network.client_cert", "network.client_key"}) {
    const std::string path = config.text(key);
    if (path.empty()) continue;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const int failed = file.valid() ? 0 : errno;
    struct stat info {};
    const bool folder = file.valid() && ::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode);
    if (file.valid() && !folder) continue;
    const std::string shown = one_line(path, 200);
    return Error{Code::kInvalid,
                 config.origin(key) + ": " + key + ": " +
                     (folder ? shown + " is a directory" : errno_error("opening " + shown, failed).message) +
                     ": name a PEM file that you may read, or remove the setting"};
  }
  return {};
}

Result<ProviderSetup> provider_setup(const Config& config, const ModelTable& table, const std::string& name) {
  if (!provider_names(config).contains(name) || name == kScripted) return no_provider(config, name);
  if (const auto unclear = unclear_base_url(config, table, name)) return *unclear;
  ProviderSetup out;
  out.name = name;
  const std::string kind_key = key_of(name, "kind");
  out.row = find_provider(name);
  const std::string own_format(out.row == nullptr ? "" : out.row->format);
  out.format = &provider_format(config.is_set(kind_key) ? config.text(kind_key) : own_format);
  const Address address = address_of(config, table, name);
  out.url = address.url;
  out.url_origin = address.origin;
  if (out.url.empty())
    return Error{Code::kInvalid, "the provider '" + one_line(name, 60) + "' has no address: set " + address.setting};
  const Result<HttpUrl> url = parse_http_url(out.url);
  const std::string begin = address.setting + " (" + out.url_origin + "): ";
  if (!url) return Error{Code::kInvalid, begin + url.error().message};
  out.place = url->place();
  if (!url->secure && !url->loopback())
    return Error{Code::kInvalid, begin + "http://" + one_line(out.place, 100) +
                                     " would carry the key and the prompts unencrypted; use https"};
  out.key_variable = config.text(key_of(name, "api_key_env"));
  // An empty setting of Anthropic or Google means that no key is sent.
  if (out.key_variable.empty() && out.row != nullptr && out.row->format == provider_formats().front().name)
    out.key_variable = std::string(out.row->key_variable);
  say_where_keys_go(config, table, out, address, url->loopback());
  return out;
}

Result<const Credentials*> KeyRing::stored() const {
  const MutexLock lock(mutex_);
  if (!stored_) stored_ = Credentials::load(home_);
  if (!*stored_) return stored_->error();
  return &**stored_;
}

Result<KeySource> KeyRing::find(const ProviderSetup& setup) const {
  const auto is_set = [&](const std::string& variable) {
    return !variable.empty() && !is_blank(variables_(variable).value_or(""));
  };
  // The vendors' SDKs know these too.
  const std::string other(setup.other_variable && setup.row != nullptr ? setup.row->other_variable : "");
  for (const std::string& variable : {setup.key_variable, other}) {
    if (!is_set(variable)) continue;
    if (!setup.key_refused.empty()) return Error{Code::kInvalid, setup.key_refused};
    return KeySource{KeySource::Kind::kVariable, variable};
  }
  AGENTD_TRY(const Credentials* const stored, stored());
  const Credential* const found = stored->find(setup.name);
  if (found == nullptr && !setup.key_refused.empty()) return Error{Code::kInvalid, setup.key_refused};
  if (found == nullptr) return KeySource{};
  if (found->place != setup.place)
    return Error{Code::kInvalid,
                 "the key of " + one_line(setup.name, 60) + " was stored for " + one_line(found->place, 100) +
                     " and is not sent to other hosts, but requests go to " + one_line(setup.place, 100) + " (" +
                     setup.url_origin + "): restore the address, or store a key for it with " +
                     shell_command("agentd auth set", setup.name)};
  return KeySource{KeySource::Kind::kFile};
}

std::string KeyRing::value(const ProviderSetup& setup, const KeySource& source) const {
  if (source.kind == KeySource::Kind::kVariable) return variables_(source.variable).value_or("");
  if (source.kind == KeySource::Kind::kNone) return {};
  const auto all = stored();
  const Credential* const found = all ? (*all)->find(setup.name) : nullptr;
  return found == nullptr || found->place != setup.place ? std::string() : std::string(found->key);
}

std::string no_key_text(const ProviderSetup& setup) {
  return "no key for " + one_line(setup.name, 60) + ": set " + key_places(setup);
}

std::unique_ptr<ModelProvider> make_provider(const ProviderSetup& setup, const Config& config, const std::string& key,
                                             const KeySource& source, HttpClient& http, const Clock& clock) {
  return setup.format->make(
      {.name = setup.name,
       .url = setup.url,
       .key = key,
       .bearer = setup.row != nullptr && setup.row->bearer && source.variable == setup.row->other_variable,
       .key_source = setup.key_variable.empty() ? std::string() : key_places(setup),
       .config = config,
       .http = http,
       .clock = clock});
}

}  // namespace agentd
