// SPDX-License-Identifier: Apache-2.0
#pragma once
// hosts.h - servers with OpenAI's formats and their differences: one row each.
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

// The differences in Chat Completions.
struct ChatDialect {
  std::string_view output_limit = "max_tokens";  // the key
  // The key under which a model's thinking is sent back with its answers; empty = the server refuses it.
  std::string_view reasoning = "reasoning_content";
  bool thinking_back = false;       // its models want that, unless a request says otherwise
  std::size_t call_id_bytes = 0;    // call ids are that many letters and digits; 0 = unchanged
  bool usage_on_request = true;     // stream_options.include_usage is supported
  bool effort = true;               // reasoning_effort is supported
  bool user_behind_results = true;  // a user message may directly follow tool results
};

struct OpenAiHost {
  std::string_view name;          // the provider's: "deepseek"
  std::string_view place;         // host, or host:port, of its address
  std::string_view base_url;      // its address
  std::string_view key_variable;  // empty: it needs no key
  bool responses = false;         // it has the Responses API, which is the better one
  ChatDialect chat{};
  bool plain_names = false;  // no model of the vendor has a slash in its name
};

std::span<const OpenAiHost> openai_hosts();
// By the address, whatever the provider's name; the row for other servers when none has it.
const OpenAiHost& openai_host_at(std::string_view base_url);

}  // namespace agentd
