// SPDX-License-Identifier: Apache-2.0
#pragma once
// handlers.h - what the routes do. Each answers its call once, at once or later.
//
// Threading: called on the threads of the daemon's pool.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/serve/daemon.h"

namespace agentd::serve {

// ---- handlers_system.cc
void healthz(Daemon& daemon, RouteCall call);
void readyz(Daemon& daemon, RouteCall call);
void metrics(Daemon& daemon, RouteCall call);
void openapi(Daemon& daemon, RouteCall call);

// ---- handlers_conversations.cc: what the store has
void list_conversations(Daemon& daemon, RouteCall call);
void show_conversation(Daemon& daemon, RouteCall call);
void list_messages(Daemon& daemon, RouteCall call);
void fork_conversation(Daemon& daemon, RouteCall call);
void delete_conversation(Daemon& daemon, RouteCall call);
void search_conversations(Daemon& daemon, RouteCall call);

// ---- handlers_sessions.cc: what works
void create_conversation(Daemon& daemon, RouteCall call);
void post_message(Daemon& daemon, RouteCall call);
void read_events(Daemon& daemon, RouteCall call);
void cancel_run(Daemon& daemon, RouteCall call);
void compact_conversation(Daemon& daemon, RouteCall call);
void undo_compaction(Daemon& daemon, RouteCall call);
void call_tool(Daemon& daemon, RouteCall call);
void list_sessions(Daemon& daemon, RouteCall call);

// ---- handlers_transfer.cc: conversations and the store as files
void export_conversation(Daemon& daemon, RouteCall call);
void import_conversation(Daemon& daemon, RouteCall call);
void backup_store(Daemon& daemon, RouteCall call);

// ---- handlers_clients.cc
void open_client(Daemon& daemon, RouteCall call);
void cancel_client(Daemon& daemon, RouteCall call);
void answer_client(Daemon& daemon, RouteCall call);
void continue_client(Daemon& daemon, RouteCall call);

// ---- handlers_client_calls.cc
void call_client(Daemon& daemon, RouteCall call);

// ---- handlers_approvals.cc
void list_approvals(Daemon& daemon, RouteCall call);
void answer_approval(Daemon& daemon, RouteCall call);

// ---- handlers_learning.cc
void list_checkpoints(Daemon& daemon, RouteCall call);
void save_checkpoint(Daemon& daemon, RouteCall call);
void show_checkpoint(Daemon& daemon, RouteCall call);
void resume_checkpoint(Daemon& daemon, RouteCall call);
void search_memories(Daemon& daemon, RouteCall call);
void list_memories(Daemon& daemon, RouteCall call);
void record_memory(Daemon& daemon, RouteCall call);
void show_memory(Daemon& daemon, RouteCall call);
void delete_memory(Daemon& daemon, RouteCall call);
void threshold(Daemon& daemon, RouteCall call);
void scrub(Daemon& daemon, RouteCall call);

// ---- handlers_mcp.cc
void post_mcp(Daemon& daemon, RouteCall call);
void get_mcp(Daemon& daemon, RouteCall call);
void end_mcp(Daemon& daemon, RouteCall call);

// ---- handlers_setup.cc
void list_hooks(Daemon& daemon, RouteCall call);
void list_traces(Daemon& daemon, RouteCall call);
void list_plugins(Daemon& daemon, RouteCall call);
void list_models(Daemon& daemon, RouteCall call);
void show_usage(Daemon& daemon, RouteCall call);
void show_config(Daemon& daemon, RouteCall call);

// ---- shared by them

// This many streams may be open at the same time, so that connections are left for requests.
inline constexpr std::size_t kStreamsMax = 256;
// The id in the path; nullopt after a 404 for what is none.
std::optional<Ulid> conversation_of(const RouteCall& call);
// As the store has it, or as it is before its first message. kNotFound: none of both.
Result<ConversationInfo> info_of(Daemon& daemon, const Ulid& conversation);
// kNotFound as the store says it, or that nothing was said in the conversation yet.
Error not_there(Daemon& daemon, const Ulid& conversation, const Error& error);
// The owner is who may do everything.
LiveSession::By by_of(const RouteCall& call);
// The command of the path; an empty one after a 404.
Clients::Client client_of(Daemon& daemon, const RouteCall& call);
void reply_json(const RouteCall& call, unsigned status, std::string_view json);
void reply_error(const RouteCall& call, const Error& error);
void reply_error(const RouteCall& call, const RunError& error);

}  // namespace agentd::serve
