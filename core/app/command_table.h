// SPDX-License-Identifier: Apache-2.0
#pragma once
// command_table.h - the parts of the table of commands (all_commands() in cli.h): options that commands of several
// files share, and the rows that are in files of their own.
//
// Threading: constants and pure functions.

#include <cstddef>
#include <vector>

#include "core/app/cli.h"

namespace agentd::app {

inline constexpr std::size_t kManyWords = 100'000;

inline constexpr OptionSpec kProvider{
    "provider", 'p', "NAME", "the provider: anthropic, openai, groq, ollama ... or scripted", {}, "provider"};
inline constexpr OptionSpec kModel{
    "model", 'm', "MODEL", "the model's name, alone or with its provider: openai/gpt-6.1-sol", {}, "model"};
inline constexpr OptionSpec kScript{"script",       0, "FILE", "replay the answers of FILE (provider scripted)", {},
                                    "scripted.file"};
inline constexpr OptionSpec kSet{"set", 0,  "KEY=VALUE", "set a configuration key for this call (repeats)",
                                 {},    {}, {},          true};
inline constexpr OptionSpec kAsJson{"json", 0, {}, "print JSON, one object a line"};

// The rows of `agentd hooks`, in the order of the help.
std::vector<CommandSpec> hooks_commands();
// The rows of `agentd conversation export` and `import`.
std::vector<CommandSpec> transfer_commands();
// The row of `agentd serve`.
CommandSpec serve_command_spec();
CommandSpec acp_command_spec();
CommandSpec mcp_serve_spec();
// The row of `agentd attach`.
CommandSpec attach_command_spec();
// The rows of `agentd mcp`.
std::vector<CommandSpec> mcp_commands();
// The rows of `agentd auth token`.
std::vector<CommandSpec> token_commands();

}  // namespace agentd::app
