// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript.h - a session of another agent, as its file was read: a transcript of Claude Code or a rollout of Codex.
//
// Neither form is documented by its vendor: what is not known is passed over and counted. Messages, calls with their
// results, images and summaries become records; what a vendor has signed or encrypted does not, because no other
// request may contain it. A call without a result gets one that says so.
//
// Threading: pure functions.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/conversation/record.h"

namespace agentd {

enum class FileForm : std::uint8_t { kUnknown, kAgentd, kClaude, kCodex };
std::string_view name_of(FileForm form);  // "agentd", "claude", "codex"; empty for kUnknown

struct ForeignTranscript {
  FileForm form = FileForm::kUnknown;
  std::string session_id, cwd, version, title{};
  struct Timed {
    std::int64_t time_ms = 0;
    std::vector<Record> records;  // one commit
  };
  // Records without a genesis. A boundary refers to the records by their places here, from 1 on.
  std::vector<Timed> commits;

  std::uint64_t messages = 0, calls = 0, media = 0, compactions = 0;
  std::map<std::string, std::uint64_t> left_out;  // how many of what: "thinking block" -> 3
};

// "12 messages, 3 tool calls" and "message of a subagent (1), thinking block (2)"; the second is empty if nothing is
// left out.
std::string taken_of(const ForeignTranscript& transcript);
std::string left_out_of(const ForeignTranscript& transcript);

}  // namespace agentd
