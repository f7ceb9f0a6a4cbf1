// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_check.h - what clients were told, and whether the logs of a store keep it: every acknowledged message is there,
// every call has one outcome, every chain holds.
//
// Threading: pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/store.h"

namespace agentd::sessions {

// Something that the log must have from then on.
struct Fact {
  enum class Kind : char {
    kMessage = 'm',  // a user's message was acknowledged: `text`, at `seq`
    kAnswer = 'a',   // a run has ended with the answer `text`
    kTool = 't',     // a tool has begun; `text` is the call's id
    kWait = 'w',     // a call waits for a person; `text` is the wait's id
  };
  Kind kind = Kind::kMessage;
  std::string conversation;
  std::uint64_t seq = 0;
  std::string text;  // without line ends
};
// One line with its end, and the reverse; nullopt for another line.
std::string line_of(const Fact& fact);
std::optional<Fact> read_fact(std::string_view line);

struct Logs {
  struct Log {
    bool of_subagent = false;
    std::vector<StoredRecord> records;
  };
  std::map<std::string, Log> by_id;
  std::vector<std::string> broken;  // a sentence for every log that cannot be read, or whose chain does not hold
};
Logs read_logs(const Store& store);

// A sentence for everything that does not hold, at most `kFindingsMax` of them.
using Findings = std::vector<std::string>;
constexpr std::size_t kFindingsMax = 10;

// Every fact is in its log, once.
Findings check_facts(const Logs& logs, const std::vector<Fact>& facts);
// Every call has one intent at most, and one result; none only in a subagent's log, which nobody continues, and where
// `may_be_open` says so.
Findings check_calls(const Logs& logs, bool may_be_open);

// Every wait of the facts that has neither an answer nor a result is among `listed`, but for those of subagents.
Findings check_waits(const Logs& logs, const std::vector<Fact>& facts, const std::set<std::string>& listed);

// "conversation/call" of the calls that have no result, but for those of subagents and of conversations that wait.
std::set<std::string> open_calls(const Logs& logs);
// Each of the calls has one result by now, and it says that its outcome is unknown.
Findings check_unknown(const Logs& logs, const std::set<std::string>& calls);

}  // namespace agentd::sessions
