// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/secrets_setup.h"

#include <utility>

#include "core/codec/json.h"

namespace agentd {
namespace {

Result<ScrubOptions::Extra> rule_of(JsonView value) {
  for (std::size_t i = 0; value.is_object() && i < value.size(); ++i)
    if (value.key_at(i) != "id" && value.key_at(i) != "pattern")
      return Error{Code::kInvalid,
                   "has the unknown key " + std::string(value.key_at(i)) + ": the keys are id and pattern"};
  const std::string_view pattern = value["pattern"].string_or("");
  if (!value["id"].is_string() || pattern.empty())
    return Error{Code::kInvalid, "must be an object with id and pattern, both texts"};
  return ScrubOptions::Extra{std::string(value["id"].string_or("")), std::string(pattern)};
}

}  // namespace

Result<ScrubOptions> scrub_options(const Config& config) {
  ScrubOptions out;
  out.disable = config.list("secrets.disable");
  const std::string json = config.json("secrets.rules");
  if (json.empty()) return out;
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  const JsonView rules = document.root();
  if (!rules.is_array())
    return Error{Code::kInvalid, config.origin("secrets.rules") +
                                     ": secrets.rules must be a list of {id, pattern}, not " +
                                     std::string(rules.text())};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto rule = rule_of(rules.at(i));
    if (!rule)
      return Error{Code::kInvalid, config.origin("secrets.rules") + ": secrets.rules[" + std::to_string(i) + "] " +
                                       rule.error().message};
    out.extra.push_back(std::move(*rule));
  }
  return out;
}

std::string secrets_origin(const Config& config) {
  return config.origin(config.is_set("secrets.disable") ? "secrets.disable" : "secrets.rules");
}

std::string secrets_key_file(const std::string& home) { return home + "/secrets.key"; }

Result<std::unique_ptr<Secrets>> make_secrets(const Config& config, const std::string& key_file) {
  AGENTD_TRY(ScrubOptions rules, scrub_options(config));
  auto made = Secrets::make(std::move(rules),
                            [key_file] { return key_file.empty() ? new_secrets_key() : secrets_key(key_file); });
  if (!made) return made.error().with_context(secrets_origin(config));
  return made;
}

Result<std::string> pass_user_text(const Config& config, const std::string& home, std::string text) {
  if (!config.flag("secrets.scrub") || !config.flag("secrets.scrub_input")) return text;
  AGENTD_TRY(const std::unique_ptr<Secrets> secrets, make_secrets(config, secrets_key_file(home)));
  return secrets->pass(std::move(text)).text;
}

}  // namespace agentd
