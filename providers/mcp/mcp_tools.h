// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_tools.h - the tools of several servers as those of one source.
//
// A server is started by start(), on a thread of its own, and again when it has ended, with pauses that double. Its
// tools are those that it has listed and that the user has agreed to; they keep their names while it is away, and a
// call then waits for its start, or fails with the reason.
//
// A tool's name is mcp__SERVER__TOOL: characters that a model's API does not take are replaced by "_", and a name that
// is too long, or that another tool has, ends with a part of the digest of its own name. It is the same in each session
// and whichever server lists first.
//
// Threading: thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/net/http.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"
#include "providers/mcp/server_setup.h"

namespace agentd::mcp {

// A tool as its server has listed it, which the user agrees to as a whole.
struct Definition {
  std::string name, title, description, input_schema_json, output_schema_json, annotations_json;
  // SHA-256 of all of it in one form, hex: equal for equal JSON, whatever its order and spaces.
  std::string digest() const;
};

// What the user has agreed to. Thread-safe.
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
  // What is wrong with a server, or was not agreed to, once for each; a sentence. On any thread.
  std::function<void(const std::string& text)> warn;
  std::string client_version;
};

class McpTools final : public ToolSource {
 public:
  // `parts` outlive it.
  McpTools(std::vector<ServerSetup> servers, McpParts parts);
  // Ends the servers.
  ~McpTools() override;
  McpTools(const McpTools&) = delete;
  McpTools& operator=(const McpTools&) = delete;

  // Starts those that are not; returns at once.
  void start();
  // Waits until each server has listed its tools, or failed, or the deadline.
  void wait(const CancelToken& cancel, Deadline deadline);

  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override {
    return call_for(session, call, nullptr, cancel, deadline);
  }
  // `person`: whom a server may ask during the call; null = each question is declined.
  Result<ToolOutcome> call_for(const SessionContext& session, const ToolCall& call, Elicitor* person,
                               const CancelToken& cancel, Deadline deadline);
  // True for a tool that it has, or had.
  bool has(std::string_view name) const;
  std::vector<ServerStatus> status() const;
  // Judges all tools again: the user may have agreed.
  void judge_again();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace agentd::mcp
