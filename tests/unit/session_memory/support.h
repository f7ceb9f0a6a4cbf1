// SPDX-License-Identifier: Apache-2.0
#pragma once
// support.h - a key space, logs and a model in memory, with losses and kills where a test wants them.
//
// Threading: one test thread.

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/session_memory/engine.h"

namespace session_memory::testing {

// Thrown where a process would die.
struct Killed {};

class FakeKeys : public KeySpace {
 public:
  struct Value {
    std::string text;
    std::uint64_t version = 0;
  };
  std::map<std::string, Value, std::less<>> values;
  int commits = 0;
  int conflicts = 0;                    // the next commits that lose
  std::optional<int> kill_before = {};  // number of the commit, from 1
  std::optional<int> kill_after = {};

  agentd::Result<std::optional<Row>> get(std::string_view key) override {
    const auto found = values.find(key);
    if (found == values.end()) return std::optional<Row>();
    return std::optional<Row>(Row{found->first, found->second.text, found->second.version});
  }
  agentd::Result<std::vector<Row>> scan(std::string_view prefix, std::string_view after, std::uint32_t limit) override {
    std::vector<Row> out;
    for (const auto& [key, value] : values)
      if (key.starts_with(prefix) && (after.empty() || key > after) && out.size() < limit)
        out.push_back({key, value.text, value.version});
    return out;
  }
  agentd::Result<void> commit(std::span<const Change> changes) override {
    ++commits;
    if (kill_before == commits) throw Killed();
    if (conflicts > 0) {
      --conflicts;
      return agentd::Error{agentd::Code::kConflict, "lost"};
    }
    for (const Change& each : changes) {
      const auto found = values.find(each.key);
      const std::uint64_t version = found == values.end() ? Change::kAbsent : found->second.version;
      if (each.expect != Change::kAny && each.expect != version)
        return agentd::Error{agentd::Code::kConflict, "key " + each.key};
    }
    ++version_;
    for (const Change& each : changes) {
      if (each.kind == Change::Kind::kPut) values[each.key] = {each.value, version_};
      if (each.kind == Change::Kind::kErase) values.erase(each.key);
    }
    if (kill_after == commits) throw Killed();
    return {};
  }

  // The rows whose key begins so, without their versions.
  std::map<std::string, std::string> rows(std::string_view prefix) const {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : values)
      if (key.starts_with(prefix)) out[key] = value.text;
    return out;
  }

 private:
  std::uint64_t version_ = 0;
};

class FakeLogs : public LogSource {
 public:
  std::map<std::string, SessionLog> logs;
  agentd::Result<SessionLog> read(const std::string& conversation, std::uint64_t from, std::uint64_t through) override {
    const auto found = logs.find(conversation);
    if (found == logs.end()) return agentd::Error{agentd::Code::kNotFound, "no conversation " + conversation};
    SessionLog out = found->second.since(from);
    std::erase_if(out.texts, [&](const LoggedText& each) { return each.seq > through; });
    std::erase_if(out.calls, [&](const LoggedCall& each) { return each.seq > through; });
    return out;
  }
};

class FakeTalk : public Talk {
 public:
  std::deque<agentd::Result<std::string>> answers;
  std::string cheap;
  std::vector<std::string> models, prompts;
  bool kill = false;

  std::string cheap_model(const std::string&, const std::string&) override { return cheap; }
  agentd::Result<std::string> ask(const std::string& model, const std::string&, const std::string& prompt) override {
    models.push_back(model);
    prompts.push_back(prompt);
    if (std::exchange(kill, false)) throw Killed();
    if (answers.empty()) return agentd::Error{agentd::Code::kUnavailable, "the model does not answer"};
    agentd::Result<std::string> out = std::move(answers.front());
    answers.pop_front();
    return out;
  }
};

inline constexpr const char* kConversation = "01JZ8QF3V0000000000000000A";
inline constexpr std::int64_t kNow = 1'767'225'600'000;

// A log that is written line by line.
class LogWriter {
 public:
  LogWriter& user(std::string text) { return say(LoggedText::By::kUser, std::move(text)); }
  LogWriter& model(std::string text) { return say(LoggedText::By::kModel, std::move(text)); }
  LogWriter& bash(const std::string& command, std::string output, bool failed) {
    return call("bash", R"({"command":")" + command + R"("})", std::move(output), failed);
  }
  LogWriter& edit(const std::string& path) {
    return call("edit_file", R"({"path":")" + path + R"(","old_string":"a","new_string":"b"})", "done", false);
  }
  LogWriter& call(std::string tool, std::string input, std::string output, bool failed) {
    LoggedCall made;
    made.seq = ++seq_;
    made.result_seq = ++seq_;
    made.tool = std::move(tool);
    made.call_id = "c" + std::to_string(made.seq);
    made.input_json = std::move(input);
    made.output = std::move(output);
    made.failed = failed;
    log_.calls.push_back(std::move(made));
    return *this;
  }
  std::uint64_t seq() const { return seq_; }
  SessionLog log() const {
    SessionLog out = log_;
    out.last_ms = kNow;
    return out;
  }

 private:
  LogWriter& say(LoggedText::By by, std::string text) {
    log_.texts.push_back({by, ++seq_, std::move(text)});
    return *this;
  }
  SessionLog log_;
  std::uint64_t seq_ = 0;
};

// An engine with what it needs, in memory. A second one over the same keys is another process.
struct World {
  FakeKeys keys;
  FakeLogs logs;
  FakeTalk talk;
  std::int64_t now = kNow;
  std::uint64_t ids = 0;

  Surroundings surroundings(const std::string& holder = "one") {
    Surroundings out;
    out.now_ms = [this] { return now; };
    out.new_id = [this] { return derived_id("made by a test", 0, ids++); };
    out.scrub = [](std::string_view text) -> agentd::Result<std::string> {
      std::string made(text);
      for (std::size_t at = made.find("SECRET"); at != std::string::npos; at = made.find("SECRET"))
        made.replace(at, 6, "[redacted]");
      return made;
    };
    out.holder = holder;
    return out;
  }
};

inline Memory lesson(std::string title, std::string content, std::string subject = "build") {
  Memory out;
  out.title = std::move(title);
  out.content = std::move(content);
  out.subject = std::move(subject);
  out.created_ms = kNow;
  return out;
}

}  // namespace session_memory::testing
