// SPDX-License-Identifier: Apache-2.0
#pragma once
// server_parts.h - a server's definitions and state as others see them, and the services that the client needs.
//
// Threading: values, but for Pins.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/net/http.h"

namespace agentd::mcp {

// A tool as its server has listed it, which the user agrees to as a whole.
struct Definition {
  std::string name, title, description, input_schema_json, output_schema_json, annotations_json;
  // SHA-256 of all of it in one form, hex: equal for equal JSON, whatever its order and spaces.
  std::string digest() const;
};

// The definitions that the user has agreed to. Thread-safe.
class Pins {
 public:
  virtual ~Pins() = default;
  enum class Verdict : std::uint8_t {
    kAgreed,   // these very definitions
    kNew,      // never seen of a server whose tools are known
    kChanged,  // agreed to with another digest
  };
  // For all tools of a server at once, in their order. The first time of a server records them all, as agreed to.
  virtual std::vector<Verdict> judge(const std::string& server, const std::vector<Definition>& tools) = 0;
};

enum class ServerState : std::uint8_t { kNotStarted, kStarting, kReady, kFailed };
std::string_view name_of(ServerState state);

struct ServerStatus {
  std::string name;
  ServerState state = ServerState::kNotStarted;
  std::string why{};               // of kFailed: a sentence
  std::string title{}, version{};  // as it says
  std::string protocol{};          // the version in use
  struct ToolState {
    std::string name;  // as the model knows it
    Definition definition;
    Pins::Verdict verdict = Pins::Verdict::kAgreed;
  };
  std::vector<ToolState> tools{};
  std::string error_text{};  // the end of what a program wrote to standard error
};

struct McpParts {
  const Clock& clock;
  HttpClient& http;
  Pins& pins;
  // Told once each: a fault of a server, or a definition that was not agreed to; a sentence. On any thread.
  std::function<void(const std::string& text)> warn;
  std::string client_version;
};

}  // namespace agentd::mcp
