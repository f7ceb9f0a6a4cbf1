// SPDX-License-Identifier: Apache-2.0
// compact_diff.cc - what a compaction dropped, shortened and kept.
#include "core/app/commands/compact_diff.h"

#include <map>

#include "core/app/compaction_text.h"
#include "core/app/exit_codes.h"
#include "core/app/render.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kWordsBytes = 72;

struct Change {
  char marker = '=';  // - dropped, ~ shortened, = kept, + added
  std::uint64_t seq = 0;
  std::string role, words;
  std::uint64_t tokens_before = 0, tokens_after = 0;
};

struct Sum {
  std::uint64_t messages = 0, before = 0, after = 0;
};

struct Diff {
  std::vector<Change> changes;
  std::string summary;
  std::map<char, Sum> sums;
};

std::string_view name_of(char marker) {
  if (marker == '-') return "dropped";
  if (marker == '~') return "shortened";
  return marker == '+' ? "added" : "kept";
}

std::string role_of(const agentd_message& row) {
  if (row.role == AGENTD_ROLE_SUMMARY) return "summary";
  if (row.role == AGENTD_ROLE_ASSISTANT) return "assistant";
  if ((row.flags & AGENTD_MESSAGE_CONTEXT) != 0) return "context";
  const bool result = row.blocks.count != 0 && blocks_of(row)[0].kind == AGENTD_BLOCK_TOOL_RESULT;
  return result ? "tool" : "user";
}

// The beginning of its text, else of its calls.
std::string words_of(const agentd_message& row) {
  std::string call;
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) {
    const agentd_block& block = blocks_of(row)[i];
    if (block.kind == AGENTD_BLOCK_TOOL_USE && call.empty())
      call = std::string(view_of(block.name)) + " " + call_summary(view_of(block.json));
    if (block.kind == AGENTD_BLOCK_THINKING || block.text.len == 0) continue;
    return one_line(view_of(block.text), kWordsBytes);
  }
  return one_line(call, kWordsBytes);
}

std::string text_of(const agentd_message& row) {
  std::string out;
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) out += full_text(blocks_of(row)[i]);
  return out;
}

bool is_same(const agentd_message& a, const agentd_message& b) {
  if (a.blocks.count != b.blocks.count) return false;
  for (std::uint32_t i = 0; i < a.blocks.count; ++i)
    if (full_text(blocks_of(a)[i]) != full_text(blocks_of(b)[i])) return false;
  return true;
}

Change change_of(const agentd_message* before, const agentd_message* after) {
  const agentd_message& row = before != nullptr ? *before : *after;
  Change out{'=', row.seq, role_of(row), words_of(row), 0, 0};
  if (before != nullptr) out.tokens_before = before->tokens;
  if (after != nullptr) out.tokens_after = after->tokens;
  if (before == nullptr) out.marker = '+';
  if (after == nullptr) out.marker = '-';
  if (before != nullptr && after != nullptr && !is_same(*before, *after)) out.marker = '~';
  return out;
}

Result<Diff> make_diff(const History& history, const LoggedBoundary& boundary) {
  AGENTD_TRY(const Conversation before, view_at(history, boundary.record.base_seq));
  AGENTD_TRY(const Conversation after, view_at(history, boundary.seq));
  std::map<std::uint64_t, const agentd_message*> now;
  for (const agentd_message& row : after.rows()) now[row.seq] = &row;
  Diff out;
  for (const agentd_message& row : before.rows()) {
    const auto found = now.find(row.seq);
    out.changes.push_back(change_of(&row, found == now.end() ? nullptr : found->second));
    if (found != now.end()) now.erase(found);
  }
  for (const agentd_message& row : after.rows()) {
    if (!now.contains(row.seq)) continue;
    if (row.seq == boundary.record.summary_seq)
      out.summary = text_of(row);
    else
      out.changes.push_back(change_of(nullptr, &row));
  }
  for (const Change& change : out.changes) {
    Sum& sum = out.sums[change.marker];
    ++sum.messages;
    sum.before += change.tokens_before;
    sum.after += change.tokens_after;
  }
  return out;
}

std::string as_json(const History& history, const LoggedBoundary& boundary, Diff diff) {
  JsonWriter out;
  out.begin_object().member("type", "compaction_diff").member("conversation_id", history.id);
  out.member("boundary_id", boundary.record.id).member("boundary_seq", boundary.seq);
  out.member("method", boundary.record.method).member("undone", boundary.undone);
  for (const char marker : {'-', '~', '=', '+'}) {
    const Sum& sum = diff.sums[marker];
    out.key(name_of(marker)).begin_object().member("messages", sum.messages);
    out.member("tokens_before", sum.before).member("tokens_after", sum.after).end_object();
  }
  out.key("messages").begin_array();
  for (const Change& change : diff.changes) {
    out.begin_object().member("change", name_of(change.marker)).member("seq", change.seq);
    out.member("role", change.role).member("words", change.words);
    out.member("tokens_before", change.tokens_before);
    out.member("tokens_after", change.tokens_after).end_object();
  }
  out.end_array().member("summary", diff.summary).end_object();
  return std::string(out.text());
}

std::string tokens_text(const Change& change) {
  if (change.marker == '~') return with_commas(change.tokens_before) + " → " + with_commas(change.tokens_after);
  return with_commas(change.marker == '+' ? change.tokens_after : change.tokens_before);
}

std::string sum_text(char marker, const Sum& sum) {
  std::string tokens = with_commas(marker == '+' ? sum.after : sum.before);
  if (marker == '~') tokens += " → " + with_commas(sum.after);
  return std::string(name_of(marker)) + " " + counted(sum.messages, "message") + " (about " + tokens + " tokens)";
}

std::string as_text(const History& history, const LoggedBoundary& boundary, Diff diff) {
  const BoundaryRecord& record = boundary.record;
  std::string out = "Compaction " + record.id + " of conversation " + history.id + ", " + time_text(boundary.time_ms) +
                    ", " + record.trigger + ", " + record.method + (boundary.undone ? ", undone" : "") + "\n";
  for (const char marker : {'-', '~', '=', '+'})
    if (diff.sums.contains(marker)) out += sum_text(marker, diff.sums[marker]) + "\n";
  out += "\n";
  for (const Change& change : diff.changes)
    out += std::string(1, change.marker) + " [" + std::to_string(change.seq) + "] " + change.role + " · " +
           change.words + " · " + tokens_text(change) + "\n";
  if (!diff.summary.empty()) out += "\nSummary:\n" + diff.summary + "\n";
  return neutral(out);
}

}  // namespace

int show_compaction_diff(App& app, const Arguments& arguments, const Store& store, const Ulid& id) {
  const auto history = read_history(store, id);
  if (!history) return app.fail(store_exit(history.error()), history.error().message);
  const LoggedBoundary* boundary = history->last();
  if (!arguments.words().empty()) {
    const auto found = find_boundary(*history, arguments.words()[0]);
    if (!found) return app.fail(found.error().code, found.error().message);
    boundary = *found;
  }
  if (boundary == nullptr)
    return app.fail(kExitNotFound,
                    "conversation " + history->id + " has no compaction in effect; name an undone one by its boundary");
  auto diff = make_diff(*history, *boundary);
  if (!diff) return app.fail(store_exit(diff.error()), diff.error().message);
  app.out().print(arguments.has("json") ? as_json(*history, *boundary, std::move(*diff)) + "\n"
                                        : as_text(*history, *boundary, std::move(*diff)));
  return kExitOk;
}

}  // namespace agentd::app
