// SPDX-License-Identifier: Apache-2.0
#pragma once
// config.h - the configuration: its layers, the value in use, and errors.
//
// Layers from weak to strong: defaults, a provider's own environment variables (ANTHROPIC_BASE_URL),
// /etc/agentd/config.yaml, config.yaml in the home directory, environment (AGENTD_...), flags. A project's own
// ./.agent/config.yaml is not read: a repository cannot change settings. Every value remembers its origin. A file
// that does not exist costs one failed open.
//
// Threading: immutable after load.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/config/config_keys.h"

namespace agentd {

enum class Layer { kDefault, kProvider, kSystem, kUser, kEnvironment, kFlag };
std::string_view name_of(Layer layer);

struct ConfigValue {
  std::string text;                // scalars
  std::vector<std::string> items;  // lists
  std::string json;                // kAny
};

// One layer's value for a key.
struct Candidate {
  Layer layer = Layer::kDefault;
  std::string origin;  // "/home/ann/.agent/config.yaml:7", "AGENTD_MODEL", "--model"
  ConfigValue value;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct ConfigSources {
  std::string system_file, user_file;    // empty = none
  Environment environment;               // empty = none
  std::vector<std::string> variables{};  // names in the environment that begin with AGENTD_
  // Key, value, and the flag that set it: {"model", "m", "--model"}.
  struct Flag {
    std::string key, value, flag;
  };
  std::vector<Flag> flags;
};

class Config {
 public:
  // kInvalid: "FILE:LINE:COLUMN: unknown key 'x': did you mean 'y'?", a value of the wrong type, an unknown variable
  // with the prefix of a section, or an alias of an alias.
  static Result<Config> load(const ConfigSources& sources);

  // REQUIRES (all getters): a name of the table, without "*", and of that type.
  std::string text(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::uint64_t whole(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;  // may be negative
  double fraction(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;
  std::string json(std::string_view key) const;  // empty = not set

  // The configuration without the layers above this one.
  Config up_to(Layer strongest) const;
  // The layer of the value in use; the strongest one of an accumulating list.
  Layer layer(std::string_view key) const;

  // True if a layer above the defaults sets it.
  bool is_set(std::string_view key) const;
  // All candidates, weakest first, including a default.
  std::vector<Candidate> candidates(std::string_view key) const;
  // The origin of the value in use; all origins of an accumulating list.
  std::string origin(std::string_view key) const;
  // Warnings about the environment: unknown variables AGENTD_....
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Names of hooks with their own settings, sorted.
  std::vector<std::string> hook_names() const;
  // Names of providers that the configuration describes, sorted; without the built-in ones, which have their own
  // keys.
  std::vector<std::string> provider_names() const;
  // Names of servers of the Model Context Protocol, sorted.
  std::vector<std::string> mcp_server_names() const;
  // The user's aliases for models, sorted.
  std::vector<std::string> model_aliases() const;
  // Set keys with a free part, sorted: "hooks.guardrail.enabled".
  std::vector<std::string> free_keys() const;

 private:
  friend class ConfigReader;
  std::vector<std::string> names_below(std::string_view section) const;
  const Candidate* winner(std::string_view key) const;
  std::map<std::string, std::vector<Candidate>, std::less<>> said_;  // weakest first
  std::vector<std::string> warnings_;
};

// One value for people: lists as [a, b], possible secrets as ***.
std::string display(const KeySpec& key, const ConfigValue& value);

// Parses a key's value from one line of text, as in flags and the environment. kInvalid: "KEY must be ..., not
// 'TEXT'"; without the text where it may be a secret.
Result<ConfigValue> parse_value(const KeySpec& key, std::string_view name, std::string_view text);

}  // namespace agentd
