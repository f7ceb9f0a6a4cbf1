// SPDX-License-Identifier: Apache-2.0
// handlers_conversations.cc - conversations as the store has them.
#include "core/agent/conversation_mode.h"
#include "core/codec/json.h"
#include "core/conversation/message_json.h"
#include "core/search/search.h"
#include "core/serve/handlers.h"
#include "core/session/removal.h"

namespace agentd::serve {
namespace {

constexpr std::uint32_t kListUsual = 20, kListMax = 1'000;
constexpr std::uint64_t kMessagesUsual = 1'000, kMessagesMax = 10'000;
constexpr std::size_t kPageBytesMax = 4u << 20;  // after which a page ends

std::string text_of(const RouteCall& call, std::string_view name) { return std::string(call.asked(name).value_or("")); }

// The project that the query names by its id or by a directory; empty = all.
std::string project_asked(const RouteCall& call) {
  if (const auto id = call.asked("project_id")) return std::string(*id);
  if (const auto directory = call.asked("project")) return find_project(std::string(*directory)).id;
  return {};
}

}  // namespace

void list_conversations(Daemon& daemon, RouteCall call) {
  ConversationQuery query;
  query.project_id = project_asked(call);
  query.text = text_of(call, "text");
  query.after = text_of(call, "after");
  query.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.asked_number("limit", kListUsual), kListMax));
  const auto list = daemon.store().list(query);
  if (!list) return reply_error(call, list.error());
  JsonWriter out;
  out.begin_object().key("conversations").begin_array();
  for (const ConversationInfo& info : *list) out.raw(write_info(info));
  out.end_array();
  if (!list->empty() && list->size() == query.limit) out.member("next", list->back().id);
  out.end_object();
  reply_json(call, 200, out.text());
}

void show_conversation(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const auto info = info_of(daemon, *id);
  if (!info) return reply_error(call, info.error());
  const auto live = daemon.sessions().find(id->text());
  JsonWriter out;
  out.begin_object().key("conversation").raw(write_info(*info));
  if (const auto mode = mode_of_conversation(daemon.store(), id->text()); mode && *mode)
    out.member("mode", name_of(**mode));
  out.member("state", live ? name_of(live->state()) : name_of(LiveSession::State::kParked)).end_object();
  reply_json(call, 200, out.text());
}

void list_messages(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const std::uint64_t after = call.asked_number("after", 0);
  const std::uint64_t limit = std::min(call.asked_number("limit", kMessagesUsual), kMessagesMax);
  const auto info = info_of(daemon, *id);
  if (!info) return reply_error(call, info.error());
  JsonWriter out;
  out.begin_object().member("revision", info->revision).key("messages").begin_array();
  std::uint64_t count = 0, last = after;
  Result<void> written;
  if (after < info->revision && limit > 0) {
    const auto read = daemon.store().read(*id, after + 1, info->revision, [&](const StoredRecord& record) {
      const bool shown = carries_message(record.record.type) || record.record.type == RecordType::kBoundary ||
                         record.record.type == RecordType::kRevert;
      if (shown && (count == limit || out.text().size() > kPageBytesMax)) return false;
      if (shown) ++count;
      written = write_record_json(out, record);
      last = record.seq;
      return written.has_value();
    });
    if (!read) return reply_error(call, read.error());
    if (!written) return reply_error(call, written.error());
  }
  out.end_array();
  if (last < info->revision && last != after) out.member("next", last);
  out.end_object();
  reply_json(call, 200, out.text());
}

void fork_conversation(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const auto info = daemon.store().info(*id);
  if (!info) return reply_error(call, not_there(daemon, *id, info.error()));
  const std::uint64_t at = call.json("at").uint_or(0);
  GenesisRecord genesis;
  genesis.conversation_id = daemon.runtime().agent_parts().ids.next().text();
  genesis.project_id = info->project_id;
  genesis.cwd = info->cwd;
  const std::string title(call.json("title").string_or(info->title));
  const std::string fork = genesis.conversation_id;
  if (const auto kept = copy_mode(daemon.store(), id->text(), fork); !kept) return reply_error(call, kept.error());
  const auto made = daemon.store().fork(*id, at, std::move(genesis), title);
  if (!made) (void)forget_mode(daemon.store(), fork);
  if (!made) return reply_error(call, made.error());
  JsonWriter out;
  out.begin_object().key("conversation").raw(write_info(*made)).end_object();
  reply_json(call, 201, out.text());
}

void delete_conversation(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const auto session = daemon.sessions().find(id->text());
  // One in which nothing was said is not in the store.
  const bool live = session != nullptr;
  // The session is that of a command, which is told at its next message, and may go on in another conversation.
  const bool lent = live && session->is_lent();
  if (lent && session->unsaid())
    return reply_error(call, RunError{RunError::Kind::kBlocked,
                                      "a command works in this conversation, which is stored with its first message"});
  if (lent ? !session->idle_since_ns() : !daemon.sessions().forget(id->text()))
    return reply_error(call, RunError{RunError::Kind::kBlocked, "the conversation has an active run: cancel it first"});
  const auto removed = remove_conversation(daemon.store(), daemon.runtime().home(), daemon.runtime().clock(), *id);
  if (!removed && !(live && !lent && removed.error().code == Code::kNotFound))
    return reply_error(call, removed.error());
  if (!lent) daemon.sessions().forget_deleted(id->text());  // one that was taken up in between
  JsonWriter out;
  out.begin_object().member("deleted", id->text()).end_object();
  reply_json(call, 200, out.text());
}

void search_conversations(Daemon& daemon, RouteCall call) {
  SearchQuery query;
  query.text = text_of(call, "q");
  query.project_id = project_asked(call);
  query.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.asked_number("limit", query.limit), kListMax));
  const SearchIndex index(daemon.runtime().home(), daemon.store(), daemon.runtime().clock(), daemon.runtime().log());
  const auto answer = index.search(query);
  if (!answer) return reply_error(call, answer.error());
  JsonWriter out;
  out.begin_object().key("hits").begin_array();
  for (const SearchedConversation& one : answer->found)
    for (const SearchHit& hit : one.hits) {
      out.begin_object().member("conversation_id", one.info.id).member("title", one.info.title);
      out.member("project_id", one.info.project_id).member("seq", hit.seq).member("time_ms", hit.time_ms);
      out.member("role", hit.role).member("snippet", hit.snippet.text).end_object();
    }
  out.end_array().member("more", answer->more).key("notes").begin_array();
  for (const std::string& note : answer->notes) out.string(note);
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
