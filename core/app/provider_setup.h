// SPDX-License-Identifier: Apache-2.0
#pragma once
// provider_setup.h - which providers the configuration knows, which of them a model's name means,
// and what each needs: an address, a key, a wire format.
//
// Threading: functions over values.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/app/config.h"
#include "core/base/result.h"
#include "core/model/router.h"
#include "core/net/http.h"
#include "core/tokens/tokens.h"

namespace agentd::app {

inline constexpr std::string_view kScripted = "scripted";

// Every name that may stand in front of a model's: the vendors, the servers that agentd has a row
// for, and providers.NAME of the configuration.
std::set<std::string> provider_names(const Config& config);

// The provider and the model of a run, from the settings `provider` and `model` taken together. A
// name that says its provider goes there ("openai/gpt-6.1-sol"); one that the table knows goes to
// its vendor, unless `provider` was set. kInvalid: no provider has that name.
Result<ModelRoute> model_in_force(const Config& config, const ModelTable& table);

struct ProviderSetup {
  enum class Kind { kAnthropic, kGoogle, kOpenAi };
  std::string name;
  Kind kind = Kind::kOpenAi;
  std::string url;
  std::string place;         // "host" or "host:port", for people
  std::string url_origin;    // of the setting
  std::string key_variable;  // empty: the server wants no key
};
// kInvalid: no provider has that name; its address is no URL; its http would show key and prompts
// to others on the way; or its key would go to a host that it was not set for. The sentence names
// the setting. `in_force`: the general base_url is this provider's.
Result<ProviderSetup> provider_setup(const Config& config, const std::string& name, bool in_force);

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The variable that holds a key of the provider; empty = none is set.
std::string key_in(const ProviderSetup& setup, const Variables& variables);

// `http` and `clock` outlive the provider.
std::unique_ptr<ModelProvider> make_provider(const ProviderSetup& setup, const Config& config,
                                             const Variables& variables, HttpClient& http,
                                             const Clock& clock);

}  // namespace agentd::app
