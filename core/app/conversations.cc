// SPDX-License-Identifier: Apache-2.0
#include "core/app/conversations.h"

#include <algorithm>
#include <charconv>

#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/runtime/lookup.h"
#include "core/runtime/store_setup.h"
#include "core/tokens/tokens.h"

namespace agentd::app {
namespace {

constexpr std::size_t kPrefixMin = 4;
constexpr std::size_t kShownTitleBytes = 40;

// A number of the log; ids start with a zero.
bool is_sequence(const std::string& name) {
  return !name.empty() && name[0] != '0' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::uint64_t, Failure> sequence_of(const History& history, const std::string& name) {
  std::uint64_t seq = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), seq);
  if (read.ec == std::errc() && seq <= history.revision()) return seq;
  return Failure{kExitNotFound, "conversation " + history.id + " has no sequence " + one_line(name, kShownTitleBytes) +
                                    "; its last one is " + std::to_string(history.revision())};
}

bool begins(const std::string& id, const std::string& prefix) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return prefix.size() <= id.size() &&
         std::equal(prefix.begin(), prefix.end(), id.begin(), [&](char a, char b) { return upper(a) == upper(b); });
}

Failure no_boundary(const History& history, const std::string& name) {
  return {kExitNotFound, "conversation " + history.id + " has no boundary '" + one_line(name, kShownTitleBytes) +
                             "'; 'agentd conversation boundaries " + history.id + "' lists them"};
}

// A run that fails at its first request leaves the user's message, and what hooks have added.
bool has_answer(const Store& store, const ConversationInfo& info) {
  constexpr std::uint64_t kFewMessages = 8;
  const auto id = Ulid::parse(info.id);
  if (!id || info.messages > kFewMessages || info.compactions != 0) return true;
  const auto history = read_history(store, *id);
  return !history || std::any_of(history->records.begin(), history->records.end(), [](const StoredRecord& each) {
    return each.record.type == RecordType::kAssistantMessage;
  });
}

}  // namespace

std::string unanswered_note(const Store& store, const Project& project, const Ulid& found) {
  const auto newest = store.info(found);
  if (!newest || has_answer(store, *newest)) return {};
  ConversationQuery query;
  query.project_id = project.id;
  const auto list = store.list(query);
  if (!list) return {};
  for (const ConversationInfo& info : *list)
    if (info.messages != 0 && info.agent_type.empty() && has_answer(store, info))
      return "--follow continues " + newest->id + " \"" + one_line(newest->title, kShownTitleBytes) +
             "\", which has no answer yet; the newest with one is \"" + one_line(info.title, kShownTitleBytes) +
             "\": --resume " + info.id;
  return {};
}

Result<std::unique_ptr<Store>, Failure> existing_store(const App& app) {
  const Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  auto store = open_store(*home, false, app.clock());
  if (store) return std::move(*store);
  if (store.error().code == Code::kNotFound) return std::unique_ptr<Store>();
  return Failure{kExitStore, store.error().message};
}

Result<FoundConversation, Failure> existing_conversation(const App& app, const std::string& text) {
  auto store = existing_store(app);
  if (!store) return store.error();
  if (*store == nullptr)
    return Failure{kExitNotFound, "no conversation " + one_line(text, 60) + ": nothing has been saved yet"};
  const auto id = find_conversation(**store, text);
  if (!id) return failure_of(id.error());
  return FoundConversation{std::move(*store), *id};
}

Result<FoundConversation, Failure> wanted_conversation(const App& app, const Arguments& arguments) {
  const bool by_id = arguments.has("conversation-id");
  if (by_id && arguments.has("follow")) return Failure{kExitUsage, "--follow and an id exclude each other"};
  if (by_id) return existing_conversation(app, arguments.value("conversation-id"));
  const Result<std::string> cwd = app.directory();
  if (!cwd) return Failure{kExitFailure, cwd.error().message};
  auto store = existing_store(app);
  if (!store) return store.error();
  if (*store == nullptr) *store = make_memory_store(app.clock());
  const auto id = newest_conversation(**store, find_project(*cwd).id);
  if (!id) return failure_of(id.error());
  return FoundConversation{std::move(*store), *id};
}

const LoggedBoundary* History::last() const {
  const auto found =
      std::find_if(boundaries.rbegin(), boundaries.rend(), [](const LoggedBoundary& one) { return !one.undone; });
  return found == boundaries.rend() ? nullptr : &*found;
}

Result<History> read_history(const Store& store, const Ulid& id) {
  History out;
  out.id = id.text();
  AGENTD_TRY_VOID(store.read(id, 1, 0, [&](const StoredRecord& record) {
    out.records.push_back(record);
    return true;
  }));
  ViewState view;
  for (const StoredRecord& record : out.records) {
    AGENTD_TRY_VOID(view.apply(record));
    if (record.record.type == RecordType::kBoundary) {
      AGENTD_TRY(BoundaryRecord boundary, read_boundary(record.record));
      out.boundaries.push_back({record.seq, record.time_ms, std::move(boundary), false});
    } else if (record.record.type == RecordType::kRevert) {
      AGENTD_TRY(const RevertRecord revert, read_revert(record.record));
      for (LoggedBoundary& boundary : out.boundaries)
        if (boundary.seq == revert.to_seq) boundary.undone = true;
    }
  }
  return out;
}

Result<const LoggedBoundary*, Failure> find_boundary(const History& history, const std::string& name) {
  const bool number = is_sequence(name);
  if (!number && name.size() < kPrefixMin) return no_boundary(history, name);
  const LoggedBoundary* only = nullptr;
  for (const LoggedBoundary& boundary : history.boundaries) {
    if (number ? std::to_string(boundary.seq) != name : !begins(boundary.record.id, name)) continue;
    if (only != nullptr)
      return Failure{kExitUsage, "'" + one_line(name, kShownTitleBytes) + "' matches more than one boundary, such as " +
                                     only->record.id + " and " + boundary.record.id + "; give more characters"};
    only = &boundary;
  }
  if (only == nullptr) return no_boundary(history, name);
  return only;
}

Result<std::uint64_t, Failure> find_moment(const History& history, const std::string& name) {
  if (is_sequence(name)) return sequence_of(history, name);
  const auto boundary = find_boundary(history, name);
  if (!boundary) return boundary.error();
  return (*boundary)->record.base_seq;
}

std::vector<StoredRecord> records_until(const History& history, std::uint64_t revision) {
  const auto count = std::min<std::uint64_t>(revision, history.revision());
  return {history.records.begin(), history.records.begin() + static_cast<std::ptrdiff_t>(count)};
}

Result<Conversation> view_at(const History& history, std::uint64_t revision) {
  Conversation out(history.id, [](const agentd_message& row) { return SimpleEstimator().count_row(row); });
  AGENTD_TRY_VOID(out.load(records_until(history, revision)));
  return out;
}

}  // namespace agentd::app
