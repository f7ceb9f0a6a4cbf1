// SPDX-License-Identifier: Apache-2.0
#include "tests/sessions/log_check.h"

#include <charconv>
#include <utility>

#include "core/agent/states.h"
#include "core/conversation/message.h"
#include "core/conversation/view.h"
#include "tests/support/log_records.h"

namespace agentd::sessions {
namespace {

void add(Findings& to, std::string finding) {
  if (to.size() < kFindingsMax) to.push_back(std::move(finding));
}

struct Call {
  int asked = 0, intents = 0, results = 0;
  std::string status;
};
using Calls = std::map<std::string, Call>;  // by "conversation/call"

void take(const StoredRecord& stored, const std::string& conversation, Calls& calls) {
  const Record& record = stored.record;
  if (record.type == RecordType::kToolIntent) {
    if (const auto intent = read_tool_intent(record)) ++calls[conversation + "/" + intent->call_id].intents;
  } else if (record.type == RecordType::kAssistantMessage) {
    if (const auto message = read_message(record))
      for (const Block& block : message->message.blocks)
        if (block.kind == BlockKind::kToolUse) ++calls[conversation + "/" + block.call_id].asked;
  } else if (record.type == RecordType::kToolResult) {
    if (const auto result = read_tool_result(record)) {
      Call& call = calls[conversation + "/" + result->call_id];
      ++call.results;
      call.status = result->status;
    }
  }
}

Calls calls_of(const std::string& conversation, const Logs::Log& log) {
  Calls out;
  for (const StoredRecord& record : log.records) take(record, conversation, out);
  return out;
}

// The texts of one kind of message, with their sequences.
std::multimap<std::string, std::uint64_t> texts_of(const Logs::Log& log, RecordType type) {
  std::multimap<std::string, std::uint64_t> out;
  for (const StoredRecord& stored : log.records)
    if (stored.record.type == type)
      if (const auto message = read_message(stored.record)) out.emplace(message->message.text(), stored.seq);
  return out;
}

// The waits of a log, by their ids: true once there is an answer, another wait for the call, or its result.
std::map<std::string, bool> waits_of(const Logs::Log& log) {
  std::map<std::string, bool> out;
  std::map<std::string, std::string> open;  // wait by call
  const auto end = [&](const std::string& call_id) {
    if (const auto wait = open.find(call_id); wait != open.end()) out[wait->second] = true;
  };
  for (const StoredRecord& stored : log.records) {
    const Record& record = stored.record;
    if (record.type == RecordType::kWait) {
      const auto wait = read_wait(record);
      if (!wait) continue;
      end(wait->call_id);
      out[wait->id] = false;
      open[wait->call_id] = wait->id;
    } else if (record.type == RecordType::kAnswer) {
      const auto answer = read_answer(record);
      if (const auto wait = answer ? out.find(answer->wait) : out.end(); wait != out.end()) wait->second = true;
    } else if (record.type == RecordType::kToolResult) {
      if (const auto result = read_tool_result(record)) end(result->call_id);
    }
  }
  return out;
}

// A call of the conversation has not begun, since somebody has to answer first.
bool is_waiting(const std::string& id, const Logs::Log& log) {
  Conversation conversation(id, [](const agentd_message&) { return std::uint64_t{0}; });
  return conversation.load(log.records) && conversation.wait() != nullptr && !conversation.wait()->begun;
}

// The parts of one log that are looked up repeatedly.
struct Index {
  std::multimap<std::string, std::uint64_t> messages, answers;
  Calls calls;
  std::map<std::string, bool> waits;
};

std::string why_missing(const Index& log, const Fact& fact) {
  if (fact.kind == Fact::Kind::kTool) {
    const auto call = log.calls.find(fact.conversation + "/" + fact.text);
    return call != log.calls.end() && call->second.intents == 1 ? "" : "a tool began without an intent in the log";
  }
  if (fact.kind == Fact::Kind::kWait) return log.waits.contains(fact.text) ? "" : "a wait is not in the log";
  const auto& texts = fact.kind == Fact::Kind::kMessage ? log.messages : log.answers;
  const auto [first, last] = texts.equal_range(fact.text);
  if (first == last) return "what was acknowledged is not in the log";
  if (fact.kind == Fact::Kind::kAnswer) return {};
  for (auto at = first; at != last; ++at)
    if (at->second == fact.seq) return {};
  return "what was acknowledged is in the log at another sequence";
}

}  // namespace

std::string line_of(const Fact& fact) {
  return std::string(1, static_cast<char>(fact.kind)) + " " + fact.conversation + " " + std::to_string(fact.seq) + " " +
         fact.text + "\n";
}

std::optional<Fact> read_fact(std::string_view line) {
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  Fact out;
  if (line.size() < 2 || line[1] != ' ') return std::nullopt;
  if (line[0] != 'm' && line[0] != 'a' && line[0] != 't' && line[0] != 'w') return std::nullopt;
  out.kind = static_cast<Fact::Kind>(line[0]);
  line.remove_prefix(2);
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  out.conversation = line.substr(0, end);
  line.remove_prefix(end + 1);
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), out.seq);
  if (error != std::errc() || rest == line.data() + line.size() || *rest != ' ') return std::nullopt;
  out.text = line.substr(static_cast<std::size_t>(rest - line.data()) + 1);
  return out;
}

Logs read_logs(const Store& store) {
  Logs out;
  const auto all = store.list({{}, {}, {}, 0, 0, UINT32_MAX});
  if (!all) out.broken.push_back("the store cannot be listed: " + all.error().message);
  if (!all) return out;
  for (const ConversationInfo& info : *all) {
    const Ulid id = *Ulid::parse(info.id);
    Logs::Log& log = out.by_id[info.id];
    log.of_subagent = !info.agent_type.empty();
    const auto read = store.read(id, 1, 0, [&](const StoredRecord& record) {
      log.records.push_back(record);
      return true;
    });
    if (!read) add(out.broken, "the log of " + info.id + " cannot be read: " + read.error().message);
    if (auto verified = store.verify(id); !verified)
      add(out.broken, "the chain of " + info.id + " is broken: " + verified.error().message);
  }
  return out;
}

Findings check_facts(const Logs& logs, const std::vector<Fact>& facts) {
  Findings out;
  std::map<std::string, Index> indexes;
  std::set<std::string> begun;
  for (const Fact& fact : facts) {
    const std::string what = fact.conversation + ": " + fact.text.substr(0, 60);
    const auto log = logs.by_id.find(fact.conversation);
    if (log == logs.by_id.end()) {
      add(out, "the conversation of " + what + " is not in the store");
      continue;
    }
    auto [index, fresh] = indexes.try_emplace(fact.conversation);
    if (fresh)
      index->second = {texts_of(log->second, RecordType::kUserMessage),
                       texts_of(log->second, RecordType::kAssistantMessage), calls_of(fact.conversation, log->second),
                       waits_of(log->second)};
    if (std::string why = why_missing(index->second, fact); !why.empty()) add(out, why + ": " + what);
    if (fact.kind == Fact::Kind::kTool && !begun.insert(fact.conversation + "/" + fact.text).second)
      add(out, "a tool ran twice: " + what);
  }
  return out;
}

Findings check_calls(const Logs& logs, bool may_be_open) {
  Findings out;
  for (const auto& [id, log] : logs.by_id)
    for (const auto& [key, call] : calls_of(id, log)) {
      if (call.asked != 1) add(out, key + " is asked for " + std::to_string(call.asked) + " times");
      if (call.intents > 1) add(out, key + " has " + std::to_string(call.intents) + " intents");
      if (call.results > 1 || (call.results == 0 && !may_be_open && !log.of_subagent))
        add(out, key + " has " + std::to_string(call.results) + " results");
      if (call.status == name_of(ToolStatus::kOk) && call.intents == 0) add(out, key + " succeeded without an intent");
    }
  return out;
}

Findings check_waits(const Logs& logs, const std::vector<Fact>& facts, const std::set<std::string>& listed) {
  Findings out;
  for (const Fact& fact : facts) {
    const auto log = logs.by_id.find(fact.conversation);
    if (fact.kind != Fact::Kind::kWait || log == logs.by_id.end() || log->second.of_subagent) continue;
    const auto waits = waits_of(log->second);
    const auto wait = waits.find(fact.text);
    if (wait != waits.end() && !wait->second && !listed.contains(fact.text))
      add(out, "an open wait is not listed: " + fact.text);
  }
  return out;
}

std::set<std::string> open_calls(const Logs& logs) {
  std::set<std::string> out;
  for (const auto& [id, log] : logs.by_id) {
    if (log.of_subagent || is_waiting(id, log)) continue;
    for (const auto& [key, call] : calls_of(id, log))
      if (call.results == 0) out.insert(key);
  }
  return out;
}

Findings check_unknown(const Logs& logs, const std::set<std::string>& calls) {
  Findings out;
  Calls all;
  for (const auto& [id, log] : logs.by_id)
    for (const StoredRecord& record : log.records) take(record, id, all);
  for (const std::string& key : calls)
    if (all[key].results != 1 || all[key].status != name_of(ToolStatus::kUnknown))
      add(out, key + " was open, and has now " + std::to_string(all[key].results) + " results, the last one " +
                   (all[key].status.empty() ? "none" : all[key].status));
  return out;
}

}  // namespace agentd::sessions
