// SPDX-License-Identifier: Apache-2.0
#pragma once
// hosts.h - servers that speak OpenAI's formats, and in what they differ: one row each.
//
// Sources: platform.openai.com/docs; api-docs.deepseek.com; docs.mistral.ai; console.groq.com/docs;
// docs.x.ai; openrouter.ai/docs; docs.ollama.com/openai; lmstudio.ai/docs; docs.vllm.ai; the
// server's README of llama.cpp.
//
// Threading: immutable data.

#include <cstddef>
#include <span>
#include <string_view>

namespace agentd {

// Of Chat Completions.
struct ChatDialect {
  std::string_view output_limit = "max_tokens";  // the key
  // What the model thought goes back with the answers of the tool loop that it belongs to, under
  // this key; empty = it does not go back.
  std::string_view reasoning{};
  std::size_t call_id_bytes = 0;    // ids of calls are that many letters and digits; 0 = as they came
  bool usage_on_request = true;     // stream_options.include_usage is understood
  bool effort = true;               // reasoning_effort is understood
  bool user_behind_results = true;  // a message of the user may stand right behind results of tools
};

struct OpenAiHost {
  std::string_view name;          // of the provider: "deepseek"
  std::string_view place;         // host, or host:port, of its address
  std::string_view base_url;      // its address
  std::string_view key_variable;  // empty: it wants no key
  bool responses = false;         // the Responses API is there and is the better one
  ChatDialect chat{};
};

std::span<const OpenAiHost> openai_hosts();
// By the provider's name; null = there is none.
const OpenAiHost* find_openai_host(std::string_view name);
// By the address, whatever the provider is called; the row of any other server when none has it.
const OpenAiHost& openai_host_at(std::string_view base_url);

}  // namespace agentd
