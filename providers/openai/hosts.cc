// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/hosts.h"

#include <algorithm>
#include <array>

#include "core/codec/url.h"

namespace agentd {
namespace {

constexpr ChatDialect kPlain{};
constexpr ChatDialect kCompletionTokens{.output_limit = "max_completion_tokens"};
// It refuses members of a message that it does not know.
constexpr ChatDialect kGroq{.output_limit = "max_completion_tokens", .reasoning = {}};

constexpr std::array<OpenAiHost, 10> kHosts{{
    {"openai", "api.openai.com", "https://api.openai.com/v1", "OPENAI_API_KEY", true, kCompletionTokens, true},
    // A request with tools is refused if an earlier answer is without its thinking, also one of an earlier run.
    {"deepseek",
     "api.deepseek.com",
     "https://api.deepseek.com/v1",
     "DEEPSEEK_API_KEY",
     false,
     {.thinking_back = true, .effort = false}},
    {"mistral",
     "api.mistral.ai",
     "https://api.mistral.ai/v1",
     "MISTRAL_API_KEY",
     false,
     {.reasoning = {}, .call_id_bytes = 9, .usage_on_request = false, .effort = false, .user_behind_results = false}},
    {"groq", "api.groq.com", "https://api.groq.com/openai/v1", "GROQ_API_KEY", false, kGroq},
    {"xai", "api.x.ai", "https://api.x.ai/v1", "XAI_API_KEY", false, kCompletionTokens},
    {"openrouter", "openrouter.ai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", false, kPlain},
    {"ollama", "localhost:11434", "http://localhost:11434/v1", "", false, kPlain},
    {"lmstudio", "localhost:1234", "http://localhost:1234/v1", "", false, kPlain},
    {"llamacpp", "localhost:8080", "http://localhost:8080/v1", "", false, kPlain},
    {"vllm", "localhost:8000", "http://localhost:8000/v1", "", false, kPlain},
}};

constexpr OpenAiHost kAnyOther{"", "", "", "", false, kPlain};

}  // namespace

std::span<const OpenAiHost> openai_hosts() { return kHosts; }

const OpenAiHost& openai_host_at(std::string_view base_url) {
  const auto url = parse_http_url(base_url);
  if (!url) return kAnyOther;
  const std::string place = url->place();
  const auto found =
      std::find_if(kHosts.begin(), kHosts.end(), [&](const OpenAiHost& each) { return each.place == place; });
  return found == kHosts.end() ? kAnyOther : *found;
}

}  // namespace agentd
