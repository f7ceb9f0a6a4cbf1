// SPDX-License-Identifier: Apache-2.0
#pragma once
// server_setup.h - a server of the Model Context Protocol as the settings have it.
//
// Threading: a value.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/process/command_cage.h"

namespace agentd::mcp {

struct ServerSetup {
  std::string name;  // of the user's: letters, digits, "_", "-"; at most 32
  // Equal for setups that start the same server in the same way, whatever the text; empty = equal to none.
  std::string identity{};
  // A program that speaks over its standard input and output; empty = `url`.
  std::vector<std::string> argv{};
  std::string cwd{};                       // absolute
  std::vector<std::string> environment{};  // all of it
  std::shared_ptr<CommandCage> cage{};     // null = outside of one
  // Or an address of streamable HTTP.
  std::string url{};
  std::vector<std::pair<std::string, std::string>> headers{};  // with each request; may be secrets, never told
  // The values of `environment` and `headers` that are not told in messages either.
  std::vector<std::string> secrets{};
  Milliseconds start_timeout{30'000};       // until it has listed its tools
  Milliseconds call_timeout{600'000};       // of a tool call; progress begins it again
  std::vector<std::string> tools{};         // names or globs of those to offer; empty = all
  std::vector<std::string> except_tools{};  // of those that are left out
  std::string start_hint{};                 // follows the reason why it did not start
  bool trust_annotations = false;           // a tool with readOnlyHint may run beside others and needs no question
};

}  // namespace agentd::mcp
