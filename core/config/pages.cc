// SPDX-License-Identifier: Apache-2.0
#include "core/config/pages.h"

namespace agentd {
namespace {

constexpr std::size_t kCommentColumn = 48;

std::string with_comment(std::string line, const std::string& comment) {
  if (line.size() < kCommentColumn) line.resize(kCommentColumn, ' ');
  return line + "  # " + comment + "\n";
}

ConfigValue value_of(const Config& config, const KeySpec& key, const std::string& name) {
  if (key.type == ValueType::kList) return {{}, config.list(name), {}};
  return config.candidates(name).back().value;
}

// All keys to be shown: those of the table, and the free ones that somebody set.
std::vector<std::string> shown_keys(const Config& config, bool set_only) {
  std::vector<std::string> out;
  for (const KeySpec& key : config_keys()) {
    const std::string name(key.name);
    if (name.find('*') == std::string::npos && (!set_only || config.is_set(name))) out.push_back(name);
  }
  // Beside their section, where a reader looks for them.
  std::size_t at = out.size();
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].substr(0, 6) == "hooks.") at = i + 1;
  const std::vector<std::string> free = config.free_keys();
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), free.begin(), free.end());
  return out;
}

}  // namespace

std::string settings_page(const Config& config, bool set_only) {
  std::string out;
  std::vector<std::string> open;  // sections that the line before stood in
  for (const std::string& name : shown_keys(config, set_only)) {
    const std::vector<std::string> parts = key_parts(name);
    std::size_t same = 0;
    while (same < open.size() && same + 1 < parts.size() && open[same] == parts[same]) ++same;
    open.assign(parts.begin(), parts.end() - 1);
    for (std::size_t i = same; i < open.size(); ++i) out += std::string(2 * i, ' ') + open[i] + ":\n";
    const KeySpec& key = *find_key(name);
    const std::string indent(2 * open.size(), ' ');
    out += with_comment(indent + parts.back() + ": " + display(key, value_of(config, key, name)), config.origin(name));
  }
  return out;
}

std::string explanation(const Config& config, const KeySpec& key, const std::string& name) {
  if (config.candidates(name).empty()) return name + " is not set\n\n" + std::string(key.help) + "\n";
  std::string out = name + " = " + display(key, value_of(config, key, name)) + "\n\n" + std::string(key.help) + "\n";
  out += "Type: " + type_text(key) + ".";
  if (key.accumulates) out += " Every layer adds to the list.";
  const std::string variable = environment_name(key);
  if (!variable.empty()) out += " Environment: " + variable + ".";
  if (!key.provider_variable.empty()) out += " Where nothing else is set: " + std::string(key.provider_variable) + ".";
  out += "\n\nWho says what, the weakest first:\n";
  const std::vector<Candidate> all = config.candidates(name);
  for (const Candidate& candidate : all) {
    const bool wins = key.accumulates || &candidate == &all.back();
    out += std::string(wins ? "  * " : "    ") + std::string(name_of(candidate.layer));
    if (candidate.layer != Layer::kDefault) out += " (" + candidate.origin + ")";
    out += ": " + display(key, candidate.value) + "\n";
  }
  return out;
}

namespace {

std::string standard_text(const KeySpec& key) {
  if (key.type == ValueType::kList) return "[]";
  return key.standard.empty() ? "" : std::string(key.standard);
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string reference_page() {
  std::string out =
      "# Configuration\n\n"
      "This page is printed by `agentd config reference` from the table that the program itself "
      "reads\n"
      "(`core/config/config_keys.cc`); a test compares the two.\n\n"
      "Layers, from weak to strong: defaults, the provider's own variables (`ANTHROPIC_BASE_URL`),\n"
      "`/etc/agentd/config.yaml`, `~/.agent/config.yaml`, environment, flags (`--model`, `--set "
      "KEY=VALUE`).\n"
      "`AGENTD_HOME` moves `~/.agent`. `agentd config show` prints the values in force, `agentd "
      "config explain\n"
      "KEY` who said what.\n\n"
      "Neither a `.agent/config.yaml` nor a `.env` inside a project is read: what a repository brings "
      "is no\n"
      "setting. Its hooks wait for `agentd hooks trust`.\n\n"
      "An unknown key, a wrong value or a second document is an error with file, line and column, "
      "and exit code 2.\nSo is a variable that begins as those of a section do, such as "
      "`AGENTD_PERMISSIONS_`, and is none of them; any other\n`AGENTD_` that nothing reads is a warning.\n\n"
      "In the environment a flag may be written 1, yes or on, and 0, no or off.\n"
      "There and with `--set`, lists are written with commas, or in brackets as in a "
      "file. A key with\n"
      "`*` stands for a name of yours or of a hook and can be set in files and by `--set`. API keys are never "
      "part of the\n"
      "configuration: they are read from the environment variable that "
      "`providers.NAME.api_key_env` names, or stored by\n`agentd auth set NAME`.\n\n"
      "| key | value | default | environment | meaning |\n|---|---|---|---|---|\n";
  for (const KeySpec& key : config_keys()) {
    const std::string variable = environment_name(key);
    const std::string standard = standard_text(key);
    out += "| `" + std::string(key.name) + "` | " + cell(type_text(key)) + (key.accumulates ? "; layers add up" : "") +
           " | " + (standard.empty() ? "" : "`" + standard + "`") + " | " +
           (variable.empty() ? "" : "`" + variable + "`") + " | " + cell(std::string(key.help)) + " |\n";
  }
  return out;
}

}  // namespace agentd
