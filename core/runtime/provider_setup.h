// SPDX-License-Identifier: Apache-2.0
#pragma once
// provider_setup.h - the known providers, the provider of a model's name, and each one's address, key and wire
// format.
//
// Threading: functions over values; KeyRing is thread-safe when the variables may be read from every thread.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/config/config.h"
#include "core/model/router.h"
#include "core/net/http.h"
#include "core/runtime/credentials.h"
#include "core/runtime/provider_table.h"
#include "core/tokens/tokens.h"

namespace agentd {

// The section `network`, for make_http_client().
HttpSettings http_settings(const Config& config);
// The same for plugins: a JSON object of those that are set, with the keys of the section.
std::string network_json(const Config& config);

// Every provider name: the vendors, the servers that agentd has a row for, and providers.NAME of the
// configuration.
std::set<std::string> provider_names(const Config& config);

// The name of a model in requests, hooks and records: an alias is replaced by its model, and the conversation's
// own provider is dropped, unless the rest would name another provider's model.
std::string real_model(const Config& config, std::string_view name, std::string_view own);

// The provider and the model of a run, from the settings `provider` and `model` taken together. A name with a
// provider goes there ("openai/gpt-6.1-sol"); a name in the table goes to its vendor, unless `provider` was set.
// Without a model it is the provider's default at that time. kInvalid: no provider has that name, or a flag sets a
// provider other than the one in the model's name.
Result<ModelRoute> model_in_force(const Config& config, const ModelTable& table, std::int64_t wall_ms);

// The provider whose address the setting base_url is. On the command line: the one that the run asks. In a file or the
// environment: `provider`, or else that of `model`, as this place and weaker ones set them, a `model` of this place
// before a `provider` of a weaker one. A stronger place that selects another provider does not send that one's key
// there.
struct BaseUrlOwner {
  std::string provider;  // empty: base_url is not set
  bool named = false;    // false: the default provider, since no setting names one
};
BaseUrlOwner base_url_owner(const Config& config, const ModelTable& table);

// The settings that name models besides the conversation's own, with each model's real_model(): fallback,
// compaction.model, and agents.model if subagents are enabled.
std::vector<std::pair<std::string, std::string>> models_beside(const Config& config, std::string_view own);

// Checks that the files of the section `network` can be opened for reading. kInvalid, with the setting and its origin.
Result<void> check_network_files(const Config& config);

struct ProviderSetup {
  std::string name;
  const ProviderRow* row = nullptr;  // null for a provider of the configuration
  const ProviderFormat* format = nullptr;
  std::string url;
  std::string place;         // "host" or "host:port", for people
  std::string url_origin;    // of the setting
  std::string key_variable;  // empty: the server needs no key
  // Why the key in the vendor's variables must not be sent to that address; empty = it may.
  std::string key_refused;
  // True if the vendor's other variable (ANTHROPIC_AUTH_TOKEN, GOOGLE_API_KEY) is used: other hosts get only a key
  // named for them.
  bool other_variable = true;
};
// The one place that decides where a provider's requests go and which keys may go there: runs ask it, and so do the
// commands that tell of them. kInvalid: no provider has that name; its address is not a URL; its http would send key
// and prompts unencrypted; or base_url may be this provider's or another one's. The message names the setting.
Result<ProviderSetup> provider_setup(const Config& config, const ModelTable& table, const std::string& name);

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The source of a provider's key.
struct KeySource {
  enum class Kind { kNone, kVariable, kFile };
  Kind kind = Kind::kNone;
  std::string variable{};  // of kVariable
  explicit operator bool() const { return kind != Kind::kNone; }
};

// The user's keys: environment variables, and the file of `agentd auth`, which is read if a provider has no set
// variable.
class KeyRing {
 public:
  KeyRing(Variables variables, std::string home) : variables_(std::move(variables)), home_(std::move(home)) {}
  // A variable takes precedence over the file. kInvalid: the key was not set or stored for the provider's address;
  // kDenied: the file must not be used in its present state. The message says what to do.
  Result<KeySource> find(const ProviderSetup& setup) const;
  // The key itself; empty for kNone. REQUIRES: find() of that provider gave the source.
  std::string value(const ProviderSetup& setup, const KeySource& source) const;

 private:
  Result<const Credentials*> stored() const;

  const Variables variables_;
  const std::string home_;
  mutable Mutex mutex_;
  mutable std::optional<Result<Credentials>> stored_ GUARDED_BY(mutex_);  // once read it stays
};

// "no key for groq: set GROQ_API_KEY, or store one with 'agentd auth set groq'".
std::string no_key_text(const ProviderSetup& setup);

// `key` is the value of `source`. `http` and `clock` outlive the provider.
std::unique_ptr<ModelProvider> make_provider(const ProviderSetup& setup, const Config& config, const std::string& key,
                                             const KeySource& source, HttpClient& http, const Clock& clock);

}  // namespace agentd
