// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/codec/yaml.h"
#include "core/config/rule_names.h"
#include "core/dialects/dialect.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

// Booleans in environment variables: converts 1 and 0, yes and no, on and off to "true" and "false"; other texts
// are unchanged.
std::string as_flag(const std::string& text) {
  const std::string low = ascii_lower(text);
  if (low == "1" || low == "yes" || low == "on") return "true";
  if (low == "0" || low == "no" || low == "off") return "false";
  return low == "true" || low == "false" ? low : text;
}

constexpr std::uint64_t kConfigBytesMax = 1u << 20;
constexpr std::size_t kShownValueBytes = 60;

Error wrong_value(const KeySpec& key, std::string_view name, std::string_view text) {
  return {Code::kInvalid,
          std::string(name) + " must be " + type_text(key) + ", not '" + one_line(text, kShownValueBytes) + "'"};
}

bool is_whole(const KeySpec& key, std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto real = static_cast<double>(value);
  return error == std::errc() && stop == text.data() + text.size() && real >= key.low && real <= key.high;
}

bool is_fraction(const KeySpec& key, std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() && std::isfinite(value) && value >= key.low &&
         value <= key.high;
}

// A pasted key must not be taken for a variable's name: messages show names.
bool is_variable_name(std::string_view text) {
  for (const std::string_view key : {"sk_", "gsk_", "AIza"})
    if (text.starts_with(key)) return false;
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return std::all_of(text.begin(), text.end(), is_part) &&
         (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0);
}

Result<ConfigValue> parse_choice(const KeySpec& key, std::string_view name, std::string_view text) {
  const std::vector<std::string> names = split(key.choices, '|');
  if (std::find(names.begin(), names.end(), text) != names.end()) return ConfigValue{std::string(text), {}, {}};
  Error error = wrong_value(key, name, text);
  error.message += did_you_mean(text, names);
  return error;
}

// Splits at commas, but not within the parentheses of a rule: bash(git log --format=a,b).
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out(1);
  int open = 0;
  for (const char c : text) {
    open += c == '(' ? 1 : c == ')' && open > 0 ? -1 : 0;
    if (c == ',' && open == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return open == 0 ? out : split(text, ',');
}

std::vector<std::string> parse_items(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string& part : split_list(text)) {
    const std::size_t begin = part.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    items.push_back(part.substr(begin, part.find_last_not_of(" \t") - begin + 1));
  }
  return items;
}

Result<ConfigValue> list_of(const KeySpec& key, std::string_view name, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kMap) return wrong_value(key, name, "a section");
  ConfigValue out;
  if (node.kind == YamlNode::Kind::kScalar) out.items.push_back(node.scalar);
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kScalar)
      return Error{Code::kInvalid, std::string(name) + " must be a list of plain texts"};
    out.items.push_back(item.scalar);
  }
  return out;
}

// "a, b", or as in a file: "[a, b]". A glob may have brackets, too: "[ab]*".
Result<ConfigValue> parse_list(const KeySpec& key, std::string_view name, std::string_view text) {
  ConfigValue out{{}, parse_items(text), {}};
  if (out.items.empty()) return out;
  if (out.items.front().front() == '[' && out.items.back().back() == ']') {
    const auto node = parse_yaml(text, name);
    if (node && node->kind == YamlNode::Kind::kList) return list_of(key, name, *node);
  }
  for (const std::string& item : out.items)
    if (std::count(item.begin(), item.end(), '[') != std::count(item.begin(), item.end(), ']'))
      return Error{Code::kInvalid, std::string(name) + " must be a list like 'a, *' or '[a, \"*\"]', not '" +
                                       one_line(text, kShownValueBytes) + "'"};
  return out;
}

std::string place(const std::string& file, const YamlNode& node) {
  return file + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) + ": ";
}

// The names of a section from the top down; one of a hook may hold dots.
std::vector<std::string> parts_of(std::string_view section) {
  constexpr std::string_view kHooks = "hooks.";
  if (section.substr(0, kHooks.size()) != kHooks) return split(section, '.');
  return {"hooks", std::string(section.substr(kHooks.size()))};
}

// The name directly below a section in a key's own; empty = the key is not below it, or any name is.
std::string_view name_below(std::string_view key, const std::vector<std::string>& section) {
  for (const std::string& part : section) {
    const std::size_t dot = key.find('.');
    const std::string_view own = key.substr(0, dot);
    if (dot == std::string_view::npos || (own != part && own != "*")) return {};
    key.remove_prefix(dot + 1);
  }
  const std::string_view name = key.substr(0, key.find('.'));
  return name == "*" ? std::string_view() : name;
}

// The keys directly below a section ("" = the top), for "did you mean".
std::vector<std::string> names_below(std::string_view section) {
  std::set<std::string> names;
  const std::vector<std::string> above = parts_of(section);
  for (const KeySpec& key : config_keys())
    if (const std::string_view name = name_below(key.name, above); !name.empty()) names.emplace(name);
  return {names.begin(), names.end()};
}

bool is_listed(std::string_view section, std::string_view name) {
  const auto keys = config_keys();
  const std::vector<std::string> above = parts_of(section);
  return std::any_of(keys.begin(), keys.end(),
                     [&](const KeySpec& key) { return !name.empty() && name_below(key.name, above) == name; });
}

bool is_section(std::string_view name) {
  if (find_key(name) != nullptr) return false;
  const std::string free = std::string(name) + ".*";  // whose keys are names of the user's
  const auto keys = config_keys();
  const std::vector<std::string> above = parts_of(name);
  return std::any_of(keys.begin(), keys.end(),
                     [&](const KeySpec& key) { return key.name == free || !name_below(key.name, above).empty(); });
}

// Advice for a name that other agents' settings use; empty = unknown name.
std::string of_other_tool(const std::string& section, const std::string& name, const YamlNode& node) {
  if (section.empty() && (name == "mcpServers" || name == "mcp_servers"))
    return "'" + name +
           "' is how other agents name servers of the Model Context Protocol: write them as 'mcp: {servers: {NAME: "
           "...}}', or add each with 'agentd mcp add' (docs/guide/mcp.md)";
  if (section != "hooks" || node.kind != YamlNode::Kind::kList) return {};
  if (find_event(name) != nullptr)
    return "hooks are not configured here: put this one into a file of its own in the directory hooks next to this "
           "file, such as NAME.yaml with 'on: " +
           name + "' in it (docs/guide/hooks.md)";
  for (const Dialect dialect : all_dialects()) {
    const DialectTraits& traits = traits_of(dialect);
    if (traits.settings_folder.empty() || canonical_event(dialect, name) == 0) continue;
    const std::string id(name_of(dialect));
    return "'" + name + "' is how " + std::string(traits.program) +
           " configures hooks in its settings.json: keep them in such a file, and name it here with 'adapt: [\"" + id +
           ":FILE\"]', or import them with 'agentd hooks import FILE'";
  }
  return {};
}

// The configuration permits tools and names hook directories, so a file that others may write is not read.
Result<void> refuse_foreign(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return Error{Code::kInvalid, path + " belongs to another user (uid " + std::to_string(info.st_uid) +
                                     "), so it is not read: chown it to yourself"};
  if ((info.st_mode & S_IWOTH) != 0)
    return Error{Code::kInvalid, path + " is writable by all users, so it is not read: chmod o-w " + shell_word(path)};
  return {};
}

// A config.yml where config.yaml is read would be ignored silently: it is an error.
Result<void> refuse_other_name(const std::string& path) {
  const std::string other = path.substr(0, path.rfind('.')) + ".yml";
  struct stat info {};
  if (!path.ends_with(".yaml") || ::stat(other.c_str(), &info) != 0) return {};
  return Error{Code::kInvalid, other + " is not read: its name must be " + path.substr(path.rfind('/') + 1) + ": mv " +
                                   shell_word(other) + " " + shell_word(path)};
}

}  // namespace

// Builds a Config layer by layer.
class ConfigReader {
 public:
  Result<void> read_file_layer(Layer layer, const std::string& path) {
    if (path.empty()) return {};
    AGENTD_TRY_VOID(refuse_foreign(path));
    Result<std::string> text = read_file(path, kConfigBytesMax);
    struct stat info {};
    if (!text && text.error().code == Code::kNotFound) {
      if (::lstat(path.c_str(), &info) != 0) return refuse_other_name(path);
      return Error{Code::kInvalid, path + " is a dangling link: restore its target, or remove the link"};
    }
    if (!text) return Error{Code::kInvalid, text.error().message};
    AGENTD_TRY(const YamlNode root, parse_yaml(*text, path));
    if (root.kind == YamlNode::Kind::kNull) return {};
    if (root.kind != YamlNode::Kind::kMap)
      return Error{Code::kInvalid, path + ":1:1: a configuration must be a list of 'key: value' lines"};
    return read_section(layer, path, "", root);
  }

  // As in the providers' SDKs: surrounding white space is ignored, and empty means unset.
  Result<void> read_provider_variables(const Environment& environment) {
    if (!environment) return {};
    for (const KeySpec& key : config_keys()) {
      const std::string name(key.provider_variable);
      if (name.empty()) continue;
      std::string text = environment(name).value_or("");
      text.erase(text.find_last_not_of(" \t\r\n") + 1);
      text.erase(0, text.find_first_not_of(" \t\r\n"));
      if (text.empty()) continue;
      AGENTD_TRY(ConfigValue value, parse_value(key, name, text));
      add(std::string(key.name), {Layer::kProvider, name, std::move(value)});
    }
    return {};
  }

  Result<void> read_environment(const Environment& environment) {
    if (!environment) return {};
    for (const KeySpec& key : config_keys()) {
      const std::string name = environment_name(key);
      if (name.empty()) continue;
      const std::optional<std::string> text = environment(name);
      if (!text) continue;
      AGENTD_TRY(ConfigValue value, parse_value(key, name, key.type == ValueType::kBool ? as_flag(*text) : *text));
      add(std::string(key.name), {Layer::kEnvironment, name, std::move(value)});
    }
    return {};
  }

  // A misspelt AGENTD_PERMISSIONS_DENY would deny nothing.
  Result<void> check_variables(std::vector<std::string> variables) {
    const auto others = other_variables();
    std::erase_if(variables, [&](const std::string& name) {
      return std::find(others.begin(), others.end(), name) != others.end();
    });
    if (variables.empty()) return {};
    std::vector<std::string> known;
    std::set<std::string> sections;
    for (const KeySpec& key : config_keys()) {
      const std::string name = environment_name(key);
      if (name.empty()) continue;
      known.push_back(name);
      if (const std::size_t dot = key.name.find('.'); dot != std::string_view::npos)
        sections.insert(name.substr(0, kOwnPrefix.size() + dot + 1));
    }
    for (const std::string_view name : others) known.emplace_back(name);
    for (const std::string& name : variables) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string mean = did_you_mean(name, known);
      const std::string text = "the environment variable " + one_line(name, kShownValueBytes) + " is not a setting" +
                               (mean.empty() ? ": 'agentd config reference' lists them" : mean);
      if (std::any_of(sections.begin(), sections.end(),
                      [&](const std::string& section) { return name.starts_with(section); }))
        return Error{Code::kInvalid, text};
      config_.warnings_.push_back(text);
    }
    return {};
  }

  Result<void> read_flag(const ConfigSources::Flag& flag) {
    const KeySpec* key = find_key(flag.key);
    if (key == nullptr) return unknown_flag_key(flag);
    // An empty value would silently add nothing to an accumulating list.
    if (key->type == ValueType::kList && is_blank(flag.value) && (flag.flag != "--set" || key->accumulates))
      return Error{Code::kInvalid, flag.flag + (flag.flag == "--set" ? " " + flag.key : "") +
                                       ": the value is empty: name at least one, or omit the setting"};
    AGENTD_TRY(ConfigValue value, parse_value(*key, flag.flag == "--set" ? flag.key : flag.flag, flag.value));
    add(flag.key, {Layer::kFlag, flag.flag, std::move(value)});
    return {};
  }

  Result<void> check_ladder() const {
    const double compact = config_.fraction("compaction.compact_at");
    const double force = config_.fraction("compaction.force_at");
    if (force >= compact) return {};
    return Error{Code::kInvalid, "compaction.force_at (" + config_.text("compaction.force_at") + ", " +
                                     config_.origin("compaction.force_at") + ") is below compaction.compact_at (" +
                                     config_.text("compaction.compact_at") + ", " +
                                     config_.origin("compaction.compact_at") +
                                     "): raise the first, or lower the second"};
  }

  Result<void> check_permissions() const {
    for (const char* list : {"permissions.allow", "permissions.ask", "permissions.deny"})
      for (const Candidate& said : config_.candidates(list))
        for (const std::string& rule : said.value.items)
          if (const std::string wrong = wrong_rule(rule); !wrong.empty())
            return Error{Code::kInvalid, said.origin + ": " + list + ": " + wrong};
    return {};
  }

  Result<void> check_aliases() const {
    for (const std::string& alias : config_.model_aliases()) {
      const std::string key = "models.aliases." + alias, model = config_.text(key);
      const std::string begin = config_.origin(key) + ": " + one_line(key, 2 * kShownValueBytes) + ": ";
      if (alias.find('/') != std::string::npos)
        return Error{Code::kInvalid, begin + "a name with a slash means a provider's model: choose another one"};
      if (is_blank(model)) return Error{Code::kInvalid, begin + "name the model that it stands for"};
      if (config_.is_set("models.aliases." + model))
        return Error{Code::kInvalid, begin + "'" + one_line(model, kShownValueBytes) + "' is an alias itself (" +
                                         config_.origin("models.aliases." + model) +
                                         "): name the model that it stands for"};
    }
    return {};
  }

  Config take() { return std::move(config_); }

 private:
  static Error unknown_flag_key(const ConfigSources::Flag& flag) {
    std::vector<std::string> names;
    for (const KeySpec& key : config_keys()) names.emplace_back(key.name);
    return {Code::kInvalid,
            flag.flag + ": unknown key '" + one_line(flag.key, kShownValueBytes) + "'" + did_you_mean(flag.key, names)};
  }

  Result<void> read_section(Layer layer, const std::string& path, const std::string& section, const YamlNode& node) {
    for (const auto& [name, value] : node.members) {
      const std::string full = section.empty() ? name : section + "." + name;
      // A dot inside one name would stand for another key's path; hooks and models may have one in theirs.
      if (name.find('.') != std::string::npos && section != "hooks" && section != "models.aliases")
        return unknown(path, section, name, value);
      const KeySpec* key = find_key(full);
      if (key != nullptr) {
        AGENTD_TRY_VOID(read_value(layer, path, full, *key, value));
      } else if (!is_section(full) || (!is_listed(section, name) && value.kind != YamlNode::Kind::kMap)) {
        return unknown(path, section, name, value);
      } else if (value.kind == YamlNode::Kind::kMap) {
        AGENTD_TRY_VOID(read_section(layer, path, full, value));
      } else if (value.kind != YamlNode::Kind::kNull) {
        return Error{Code::kInvalid, place(path, value) + "'" + full + "' is a section with keys of its own"};
      }
    }
    return {};
  }

  static Error unknown(const std::string& path, const std::string& section, const std::string& name,
                       const YamlNode& node) {
    if (const std::string other = of_other_tool(section, name, node); !other.empty())
      return {Code::kInvalid, place(path, node) + other};
    const std::string in = section.empty() ? "" : " in '" + section + "'";
    return {Code::kInvalid, place(path, node) + "unknown key '" + one_line(name, kShownValueBytes) + "'" + in +
                                did_you_mean(name, names_below(section))};
  }

  Result<void> read_value(Layer layer, const std::string& path, const std::string& name, const KeySpec& key,
                          const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) return {};  // "key:" alone says nothing
    const std::string origin = path + ":" + std::to_string(node.line);
    Result<ConfigValue> value = value_of(key, name, node);
    if (!value) return Error{Code::kInvalid, place(path, node) + value.error().message};
    add(name, {layer, origin, std::move(*value)});
    return {};
  }

  static Result<ConfigValue> value_of(const KeySpec& key, const std::string& name, const YamlNode& node) {
    if (key.type == ValueType::kAny) return ConfigValue{{}, {}, node.json()};
    if (key.type == ValueType::kList) return list_of(key, name, node);
    if (node.kind == YamlNode::Kind::kList) return wrong_value(key, name, "a list");
    if (node.kind == YamlNode::Kind::kMap) return wrong_value(key, name, "a section");
    const bool text =
        key.type == ValueType::kText || key.type == ValueType::kVariable || key.type == ValueType::kChoice;
    if (node.quoted && !text) return wrong_value(key, name, "\"" + node.scalar + "\"");
    return parse_value(key, name, node.scalar);
  }

  void add(const std::string& name, Candidate candidate) { config_.said_[name].push_back(std::move(candidate)); }

  Config config_;
};

std::string_view name_of(Layer layer) {
  switch (layer) {
    case Layer::kDefault:
      return "default";
    case Layer::kProvider:
      return "provider's environment";
    case Layer::kSystem:
      return "system";
    case Layer::kUser:
      return "user";
    case Layer::kEnvironment:
      return "environment";
    case Layer::kFlag:
      return "flag";
  }
  return "default";
}

Result<ConfigValue> parse_value(const KeySpec& key, std::string_view name, std::string_view text) {
  ConfigValue value;
  value.text = std::string(text);
  switch (key.type) {
    case ValueType::kText:
      return value;
    case ValueType::kVariable:
      if (is_variable_name(text)) return value;
      return Error{Code::kInvalid, std::string(name) +
                                       " must be the name of an environment variable (letters, digits and _): put the "
                                       "key into a variable, or store it with 'agentd auth set PROVIDER', and never "
                                       "write the key itself here"};
    case ValueType::kBool:
      if (text != "true" && text != "false") return wrong_value(key, name, text);
      return value;
    case ValueType::kWhole:
      if (!is_whole(key, text)) return wrong_value(key, name, text);
      return value;
    case ValueType::kFraction:
      if (!is_fraction(key, text)) return wrong_value(key, name, text);
      return value;
    case ValueType::kChoice:
      return parse_choice(key, name, text);
    case ValueType::kList:
      return parse_list(key, name, text);
    case ValueType::kAny: {
      AGENTD_TRY(const YamlNode node, parse_yaml(text, name));
      return ConfigValue{{}, {}, node.json()};
    }
  }
  return value;
}

Result<Config> Config::load(const ConfigSources& sources) {
  ConfigReader reader;
  AGENTD_TRY_VOID(reader.read_provider_variables(sources.environment));
  AGENTD_TRY_VOID(reader.read_file_layer(Layer::kSystem, sources.system_file));
  AGENTD_TRY_VOID(reader.read_file_layer(Layer::kUser, sources.user_file));
  AGENTD_TRY_VOID(reader.check_variables(sources.variables));
  AGENTD_TRY_VOID(reader.read_environment(sources.environment));
  for (const ConfigSources::Flag& flag : sources.flags) AGENTD_TRY_VOID(reader.read_flag(flag));
  AGENTD_TRY_VOID(reader.check_ladder());
  AGENTD_TRY_VOID(reader.check_permissions());
  AGENTD_TRY_VOID(reader.check_aliases());
  return reader.take();
}

const Candidate* Config::winner(std::string_view key) const {
  const auto found = said_.find(key);
  return found == said_.end() || found->second.empty() ? nullptr : &found->second.back();
}

std::string Config::text(std::string_view key) const {
  const Candidate* said = winner(key);
  if (said != nullptr) return said->value.text;
  const KeySpec* spec = find_key(key);
  AGENTD_ASSERT(spec != nullptr);
  return std::string(spec->standard);
}

bool Config::flag(std::string_view key) const { return text(key) == "true"; }

std::uint64_t Config::whole(std::string_view key) const {
  const std::string value = text(key);
  std::uint64_t out = 0;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

std::int64_t Config::integer(std::string_view key) const {
  const std::string value = text(key);
  std::int64_t out = 0;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

double Config::fraction(std::string_view key) const {
  const std::string value = text(key);
  double out = 0;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

std::vector<std::string> Config::list(std::string_view key) const {
  const KeySpec* spec = find_key(key);
  AGENTD_ASSERT(spec != nullptr);
  const auto found = said_.find(key);
  if (found == said_.end()) return parse_items(spec->standard);
  if (!spec->accumulates) return found->second.back().value.items;
  std::vector<std::string> out;
  for (const Candidate& said : found->second) out.insert(out.end(), said.value.items.begin(), said.value.items.end());
  return out;
}

std::string Config::json(std::string_view key) const {
  const Candidate* said = winner(key);
  return said == nullptr ? "" : said->value.json;
}

Config Config::up_to(Layer strongest) const {
  Config out;
  out.warnings_ = warnings_;
  for (const auto& [key, all] : said_) {
    std::vector<Candidate> kept;
    for (const Candidate& said : all)
      if (said.layer <= strongest) kept.push_back(said);
    if (!kept.empty()) out.said_.emplace(key, std::move(kept));
  }
  return out;
}

Layer Config::layer(std::string_view key) const {
  const Candidate* const said = winner(key);
  return said == nullptr ? Layer::kDefault : said->layer;
}

bool Config::is_set(std::string_view key) const { return winner(key) != nullptr; }

std::vector<Candidate> Config::candidates(std::string_view key) const {
  const KeySpec* spec = find_key(key);
  AGENTD_ASSERT(spec != nullptr);
  std::vector<Candidate> out;
  if (spec->name.find('*') == std::string_view::npos)
    out.push_back({Layer::kDefault, "default", {std::string(spec->standard), parse_items(spec->standard), {}}});
  const auto found = said_.find(key);
  if (found != said_.end()) out.insert(out.end(), found->second.begin(), found->second.end());
  return out;
}

std::string Config::origin(std::string_view key) const {
  const KeySpec* spec = find_key(key);
  const auto found = said_.find(key);
  if (found == said_.end()) return "default";
  if (spec == nullptr || !spec->accumulates) return found->second.back().origin;
  std::string out;
  for (const Candidate& said : found->second) out += (out.empty() ? "" : ", ") + said.origin;
  return out;
}

std::vector<std::string> Config::free_keys() const {
  std::vector<std::string> out;
  for (const auto& [name, said] : said_) {
    const KeySpec* key = find_key(name);
    if (key != nullptr && key->name.find('*') != std::string_view::npos) out.push_back(name);
  }
  return out;
}

std::vector<std::string> Config::names_below(std::string_view section) const {
  std::set<std::string> names;
  for (const std::string& key : free_keys())
    if (key.starts_with(section)) names.emplace(free_part(key));
  return {names.begin(), names.end()};
}

std::vector<std::string> Config::hook_names() const { return names_below("hooks."); }
std::vector<std::string> Config::provider_names() const { return names_below("providers."); }
std::vector<std::string> Config::mcp_server_names() const { return names_below("mcp.servers."); }
std::vector<std::string> Config::model_aliases() const { return names_below("models.aliases."); }

namespace {

// Inside a hook's own configuration, or in a URL's user part, anything may be a secret.
std::string mask_url(const std::string& text) {
  const std::size_t scheme = text.find("://");
  const std::size_t at = text.find('@');
  if (scheme == std::string::npos || at == std::string::npos || at < scheme) return text;
  return text.substr(0, scheme + 3) + "***" + text.substr(at);
}

bool is_plain(const std::string& text) {
  const bool starts = !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '/' ||
                                        text[0] == '_' || text[0] == '.');
  return starts &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "_-./:+@") == std::string::npos &&
         text.back() != ':';
}

std::string quote(const std::string& text) {
  if (is_plain(text)) return text;
  std::string out = "\"";
  for (const char c : one_line(text, 4096)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string display(const KeySpec& key, const ConfigValue& value) {
  // A hook's own configuration, and a server's environment, may have keys in it.
  const bool may_hide = key.name.starts_with("hooks.") || key.name.starts_with("mcp.");
  if (key.type == ValueType::kAny && may_hide) return "\"***\"";
  if (key.type == ValueType::kAny) return value.json.empty() ? "\"\"" : mask_url(value.json);
  if (key.type != ValueType::kList) return quote(mask_url(value.text));
  std::string out = "[";
  for (std::size_t i = 0; i < value.items.size(); ++i) out += (i == 0 ? "" : ", ") + quote(mask_url(value.items[i]));
  return out + "]";
}

}  // namespace agentd
