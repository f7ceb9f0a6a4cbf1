// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/session_log.h"

#include <algorithm>
#include <functional>

#include "core/codec/json.h"
#include "plugins/session_memory/terms.h"

namespace session_memory {
namespace {

using agentd::JsonDocument;

constexpr std::size_t kRunLeast = 3, kRunMost = 6;
constexpr std::size_t kToolBytesMax = 32u << 20;

std::string text_in(std::string_view json, std::initializer_list<const char*> names) {
  const auto input = JsonDocument::parse(json);
  if (!input) return {};
  for (const char* name : names) {
    const std::string_view found = input->root()[name].string_or("");
    if (!found.empty()) return std::string(found);
  }
  return {};
}

// The hash of each word, made once: a word is in up to 18 runs, and a session's end has little time.
std::vector<std::uint64_t> hashes_of(std::string_view text) {
  std::vector<std::uint64_t> out;
  for (const std::string& word : words_of(text)) out.push_back(std::hash<std::string>{}(word));
  return out;
}

std::uint64_t hash_of(const std::vector<std::uint64_t>& words, std::size_t at, std::size_t count) {
  std::uint64_t out = 0xcbf29ce484222325u + count;
  for (std::size_t i = at; i < at + count; ++i) out = (out ^ words[i]) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
  return out;
}

template <typename Each>
void each_run(const std::vector<std::uint64_t>& words, Each&& each) {
  for (std::size_t count = kRunLeast; count <= kRunMost; ++count)
    for (std::size_t at = 0; at + count <= words.size(); ++at) each(hash_of(words, at, count));
}

// A piece of the log, in order.
struct Said {
  std::uint64_t seq = 0;
  std::string_view text;
  bool by_tool = false;
};

std::vector<Said> in_order(const SessionLog& log) {
  std::vector<Said> out;
  for (const LoggedText& each : log.texts) out.push_back({each.seq, each.text, false});
  for (const LoggedCall& each : log.calls) {
    out.push_back({each.seq, each.input_json, false});
    if (each.result_seq != 0) out.push_back({each.result_seq, each.output, true});
  }
  std::stable_sort(out.begin(), out.end(), [](const Said& a, const Said& b) { return a.seq < b.seq; });
  return out;
}

bool is_stop(std::string_view text, std::size_t at, std::size_t& bytes) {
  bytes = 1;
  if (text[at] == '\n') return true;
  for (const std::string_view stop : {"。", "！", "？", "；"})
    if (text.substr(at, stop.size()) == stop) {
      bytes = stop.size();
      return true;
    }
  const bool mark = text[at] == '.' || text[at] == '!' || text[at] == '?' || text[at] == ';';
  return mark && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n');
}

}  // namespace

std::string LoggedCall::command() const {
  const bool runs = tool == "bash" || tool == "shell" || tool == "run_shell_command" || tool == "Bash";
  return runs ? text_in(input_json, {"command", "cmd"}) : std::string();
}

std::string LoggedCall::changed_file() const {
  constexpr std::string_view kChange[] = {"edit_file", "write_file", "Edit", "Write", "MultiEdit", "apply_patch"};
  const bool changes = std::find(std::begin(kChange), std::end(kChange), tool) != std::end(kChange);
  return changes ? text_in(input_json, {"path", "file_path", "filename"}) : std::string();
}

std::string_view SessionLog::said_before(std::uint64_t seq) const {
  std::string_view out;
  for (const LoggedText& each : texts)
    if (each.by == LoggedText::By::kModel && each.seq <= seq) out = each.text;
  return out;
}

SessionLog SessionLog::since(std::uint64_t seq) const {
  SessionLog out;
  out.last_ms = last_ms;
  for (const LoggedText& each : texts)
    if (each.seq >= seq) out.texts.push_back(each);
  for (const LoggedCall& each : calls)
    if (each.seq >= seq) out.calls.push_back(each);
  return out;
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = 1;
    const bool ends = is_stop(text, at, bytes);
    at += bytes;
    if (!ends) continue;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
    out.push_back(text.substr(begin, at - begin));
    begin = at;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

Borrowed::Borrowed(const SessionLog& log, std::span<const std::string_view> also) {
  for (const LoggedText& each : log.texts)
    if (each.by == LoggedText::By::kModel) track(each.text);
  for (const LoggedCall& each : log.calls) track(each.command());
  for (const std::string_view each : also) track(each);
  std::size_t bytes = 0;
  for (const Said& each : in_order(log)) {
    if (each.by_tool) bytes += each.text.size();
    if (bytes > kToolBytesMax) break;
    mark(each.text, each.by_tool ? From::kTool : From::kOwn);
  }
  if (bytes > kToolBytesMax)
    for (auto& [hash, from] : runs_) from = From::kTool;
  // The user's words are the user's, also if a tool printed them first.
  for (const LoggedText& each : log.texts) {
    if (each.by != LoggedText::By::kUser) continue;
    each_run(hashes_of(each.text), [&](std::uint64_t hash) {
      if (const auto found = runs_.find(hash); found != runs_.end()) found->second = From::kOwn;
    });
  }
}

void Borrowed::track(std::string_view text) {
  each_run(hashes_of(text), [&](std::uint64_t hash) { runs_.emplace(hash, From::kUnknown); });
}

void Borrowed::mark(std::string_view text, From from) {
  if (runs_.empty()) return;
  each_run(hashes_of(text), [&](std::uint64_t hash) {
    const auto found = runs_.find(hash);
    if (found != runs_.end() && found->second == From::kUnknown) found->second = from;
  });
}

bool Borrowed::is_borrowed(std::string_view sentence) const {
  const std::vector<std::uint64_t> words = hashes_of(sentence);
  if (words.size() < kRunLeast) return false;
  const std::size_t count = std::min(words.size(), kRunMost);
  for (std::size_t at = 0; at + count <= words.size(); ++at) {
    const auto found = runs_.find(hash_of(words, at, count));
    if (found != runs_.end() && found->second == From::kTool) return true;
  }
  return false;
}

std::string Borrowed::without_borrowed(std::string_view text) const {
  std::string out;
  for (const std::string_view sentence : sentences_of(text)) {
    bool borrowed = is_borrowed(sentence);
    // `make -j8`: a command in a sentence of the model's own.
    for (std::size_t at = sentence.find('`'); !borrowed && at != std::string_view::npos;) {
      const std::size_t end = sentence.find('`', at + 1);
      if (end == std::string_view::npos) break;
      borrowed = is_borrowed(sentence.substr(at + 1, end - at - 1));
      at = sentence.find('`', end + 1);
    }
    if (!borrowed) out += sentence;
  }
  while (out.ends_with('\n') || out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace session_memory
