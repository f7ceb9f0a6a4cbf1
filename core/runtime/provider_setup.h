// SPDX-License-Identifier: Apache-2.0
#pragma once
// provider_setup.h - which providers the configuration knows, which of them a model's name means,
// and what each needs: an address, a key, a wire format.
//
// Threading: functions over values; KeyRing is thread-safe when the variables may be read from every thread.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/config/config.h"
#include "core/model/router.h"
#include "core/net/http.h"
#include "core/runtime/credentials.h"
#include "core/tokens/tokens.h"

namespace agentd {

inline constexpr std::string_view kScripted = "scripted";

// The section `network`, for make_http_client().
HttpSettings http_settings(const Config& config);

// Every name that may stand in front of a model's: the vendors, the servers that agentd has a row
// for, and providers.NAME of the configuration.
std::set<std::string> provider_names(const Config& config);

// The name that a model is asked by, and that hooks and records have: an alias is the model that it stands
// for, and a model of the conversation's own provider goes by its name alone, unless that would be another's.
std::string real_model(const Config& config, std::string_view name, std::string_view own);

// The provider and the model of a run, from the settings `provider` and `model` taken together. A
// name that says its provider goes there ("openai/gpt-6.1-sol"); one that the table knows goes to
// its vendor, unless `provider` was set. kInvalid: no provider has that name.
Result<ModelRoute> model_in_force(const Config& config, const ModelTable& table);

// The settings that name models beside the conversation's own, with each model's real_model(): fallback,
// compaction.model, and agents.model where there are subagents.
std::vector<std::pair<std::string, std::string>> models_beside(const Config& config, std::string_view own);

struct ProviderSetup {
  enum class Kind { kAnthropic, kGoogle, kOpenAi };
  std::string name;
  Kind kind = Kind::kOpenAi;
  std::string url;
  std::string place;         // "host" or "host:port", for people
  std::string url_origin;    // of the setting
  std::string key_variable;  // empty: the server wants no key
  // Why the key in the vendor's variables may not go to that address; empty = it may.
  std::string key_refused;
  // Whether the vendor's other variable (ANTHROPIC_AUTH_TOKEN, GOOGLE_API_KEY) counts: another host gets what
  // was named for it alone.
  bool other_variable = true;
};
// kInvalid: no provider has that name; its address is no URL; or its http would show key and prompts
// to others on the way. The sentence names the setting. `in_force`: the general base_url is this provider's.
Result<ProviderSetup> provider_setup(const Config& config, const std::string& name, bool in_force);

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// Where a provider's key comes from.
struct KeySource {
  enum class Kind { kNone, kVariable, kFile };
  Kind kind = Kind::kNone;
  std::string variable{};  // of kVariable
  explicit operator bool() const { return kind != Kind::kNone; }
};

// The keys of this user: variables of the environment, and the file of `agentd auth`, which is read when a
// provider has no variable that is set.
class KeyRing {
 public:
  KeyRing(Variables variables, std::string home) : variables_(std::move(variables)), home_(std::move(home)) {}
  // A variable beats the file. kInvalid: there is one, and it was not set, or not stored, for the provider's
  // address; kDenied: the file must not be used as it is. The sentence says what to do.
  Result<KeySource> find(const ProviderSetup& setup) const;
  // The key itself; empty for kNone. REQUIRES: find() of that provider gave the source.
  std::string value(const ProviderSetup& setup, const KeySource& source) const;

 private:
  Result<const Credentials*> stored() const;

  const Variables variables_;
  const std::string home_;
  mutable std::once_flag read_;
  mutable Result<Credentials> stored_{Credentials()};  // after read_
};

// "there is no key for groq: set GROQ_API_KEY, or store one with 'agentd auth set groq'".
std::string no_key_text(const ProviderSetup& setup);

// `key` is the value of `source`. `http` and `clock` outlive the provider.
std::unique_ptr<ModelProvider> make_provider(const ProviderSetup& setup, const Config& config, const std::string& key,
                                             const KeySource& source, HttpClient& http, const Clock& clock);

}  // namespace agentd
