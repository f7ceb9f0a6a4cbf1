// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/provider_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/config/config_keys.h"
#include "core/runtime/version.h"
#include "providers/anthropic/anthropic.h"
#include "providers/google/google.h"
#include "providers/openai/hosts.h"
#include "providers/openai/openai.h"

namespace agentd {
namespace {

AnthropicCache cache_of(const std::string& setting) {
  return setting == "off" ? AnthropicCache::kOff : setting == "1h" ? AnthropicCache::kHour : AnthropicCache::kMinutes;
}

OpenAiApi api_of(const std::string& setting) {
  return setting == "responses" ? OpenAiApi::kResponses : setting == "chat" ? OpenAiApi::kChat : OpenAiApi::kAuto;
}

// A provider's setting, or the default of `providers.*` where the configuration has none.
std::uint64_t whole_of(const Config& config, const std::string& name, std::string_view setting) {
  const std::string key = "providers." + name + "." + std::string(setting);
  return config.is_set(key) ? config.whole(key) : std::stoull(std::string(find_key(key)->standard));
}

TransferLimits limits_of(const Config& config, const std::string& name) {
  TransferLimits out;
  out.user_agent = "agentd/" AGENTD_VERSION;
  out.retry.retries = static_cast<std::uint32_t>(whole_of(config, name, "max_retries"));
  out.idle_timeout = Milliseconds(whole_of(config, name, "idle_timeout_ms"));
  out.total_timeout = Milliseconds(whole_of(config, name, "total_timeout_ms"));
  return out;
}

// The members that every provider's options have.
template <typename Options>
Options options_of(ProviderParts& parts) {
  Options out;
  out.limits = limits_of(parts.config, parts.name);
  out.name = std::move(parts.name);
  out.key_source = std::move(parts.key_source);
  out.base_url = std::move(parts.url);
  return out;
}

std::unique_ptr<ModelProvider> make_anthropic(ProviderParts parts) {
  auto options = options_of<AnthropicOptions>(parts);
  (parts.bearer ? options.auth_token : options.api_key) = std::move(parts.key);
  options.betas = parts.config.list("providers.anthropic.betas");
  options.cache = cache_of(parts.config.text("providers.anthropic.cache"));
  return make_anthropic_provider(std::move(options), parts.http, parts.clock);
}

std::unique_ptr<ModelProvider> make_google(ProviderParts parts) {
  auto options = options_of<GoogleOptions>(parts);
  options.api_key = std::move(parts.key);
  return make_google_provider(std::move(options), parts.http, parts.clock);
}

std::unique_ptr<ModelProvider> make_openai(ProviderParts parts) {
  const std::string api = parts.config.text("providers." + parts.name + ".api");
  auto options = options_of<OpenAiOptions>(parts);
  options.api_key = std::move(parts.key);
  options.api = api_of(api);
  return make_openai_provider(std::move(options), parts.http, parts.clock);
}

constexpr ProviderFormat kFormats[] = {{"openai", make_openai}, {"anthropic", make_anthropic}, {"google", make_google}};

constexpr ProviderRow kRows[] = {
    {.name = "anthropic",
     .format = "anthropic",
     .base_url = "https://api.anthropic.com",
     .key_variable = "ANTHROPIC_API_KEY",
     .other_variable = "ANTHROPIC_AUTH_TOKEN",
     .bearer = true,
     .plain_names = true},
    {.name = "google",
     .format = "google",
     .base_url = "https://generativelanguage.googleapis.com",
     .key_variable = "GEMINI_API_KEY",
     .other_variable = "GOOGLE_API_KEY",
     .plain_names = true},
    {.name = kScripted},
};

std::vector<ProviderRow> all_rows() {
  std::vector<ProviderRow> out(std::begin(kRows), std::end(kRows));
  for (const OpenAiHost& host : openai_hosts())
    out.push_back({.name = host.name,
                   .format = "openai",
                   .base_url = host.base_url,
                   .key_variable = host.key_variable,
                   .plain_names = host.plain_names});
  return out;
}

}  // namespace

std::span<const ProviderFormat> provider_formats() { return kFormats; }

const ProviderFormat& provider_format(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const ProviderFormat& each) { return each.name == name; });
  return found == std::end(kFormats) ? kFormats[0] : *found;
}

std::span<const ProviderRow> provider_rows() {
  static const std::vector<ProviderRow> rows = all_rows();
  return rows;
}

const ProviderRow* find_provider(std::string_view name) {
  const auto rows = provider_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ProviderRow& each) { return each.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace agentd
