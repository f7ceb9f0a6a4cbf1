// SPDX-License-Identifier: Apache-2.0
#pragma once
// provider_table.h - the known providers and the API formats, one row each.
//
// A server that speaks a known format is one row of providers/openai/hosts.cc; a provider with a format of its own is a
// folder in providers and a row in both tables of provider_table.cc. A test compares the settings and
// docs/reference/models.md with the rows.
//
// Threading: immutable data.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// Replays a file, and has no address.
inline constexpr std::string_view kScripted = "scripted";

// The parts of a provider.
struct ProviderParts {
  std::string name, url;
  std::string key;         // empty = none
  bool bearer = false;     // the key is sent as a bearer token, not as the format's own header
  std::string key_source;  // "GROQ_API_KEY, or ...": for messages about the key
  const Config& config;
  HttpClient& http;
  const Clock& clock;
};

// A value of providers.NAME.kind.
struct ProviderFormat {
  std::string_view name;  // "openai"
  std::unique_ptr<ModelProvider> (*make)(ProviderParts parts);
};
std::span<const ProviderFormat> provider_formats();
// The format of that name; OpenAI's for other names.
const ProviderFormat& provider_format(std::string_view name);

struct ProviderRow {
  std::string_view name{};            // "groq"
  std::string_view format{};          // of provider_formats(); empty: it replays a file
  std::string_view base_url{};        // its address
  std::string_view key_variable{};    // the environment variable that holds its key; empty: it needs no key
  std::string_view other_variable{};  // the vendor's own SDKs read this one, too; empty = none
  bool bearer = false;                // other_variable holds a bearer token
  bool plain_names = false;           // no model of the vendor has a slash in its name
};
std::span<const ProviderRow> provider_rows();
// Null for an unknown name.
const ProviderRow* find_provider(std::string_view name);

}  // namespace agentd
