// SPDX-License-Identifier: Apache-2.0
// conversation_history.cc - boundaries of a conversation, and forks at any moment of it.
#include "core/agent/conversation_mode.h"
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/ids.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::string_view kForkMark = "(fork)";

std::string boundary_json(const History& history, const LoggedBoundary& boundary) {
  const BoundaryRecord& record = boundary.record;
  JsonWriter out;
  out.begin_object().member("id", record.id).member("seq", boundary.seq);
  out.member("conversation_id", history.id).member("time_ms", boundary.time_ms);
  out.member("trigger", record.trigger).member("reason", record.reason);
  out.member("phase", record.phase).member("strategy", record.strategy);
  out.member("method", record.method).member("result", record.result);
  out.member("base_seq", record.base_seq).member("summary_seq", record.summary_seq);
  out.member("pre_tokens", record.pre_tokens).member("post_tokens", record.post_tokens);
  out.optional("model", record.model).optional("author", record.author);
  out.optional("instructions", record.instructions);
  out.key("kept").begin_array();
  for (const SeqRange& range : record.kept) out.begin_array().number(range.first).number(range.last).end_array();
  out.end_array().member("undone", boundary.undone).end_object();
  return std::string(out.text());
}

std::string column(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string boundary_line(const LoggedBoundary& boundary) {
  const BoundaryRecord& record = boundary.record;
  return record.id + "  " + column(std::to_string(boundary.seq), 6) + "  " + time_text(boundary.time_ms) + "  " +
         column(record.trigger, 7) + "  " + column(record.reason, 9) + "  " + column(record.method, 8) + "  " +
         column(record.result, 8) + "  " + with_commas(record.pre_tokens) + " → " + with_commas(record.post_tokens) +
         (boundary.undone ? "  undone" : "") + "\n";
}

std::string fork_title(const std::string& title) {
  if (title.empty()) return std::string(kForkMark);
  return title.ends_with(kForkMark) ? title : title + " " + std::string(kForkMark);
}

}  // namespace

int boundaries_command(App& app, const Arguments& arguments) {
  const auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto history = read_history(*found->store, found->id);
  if (!history) return app.fail(store_exit(history.error()), history.error().message);
  if (arguments.has("json")) {
    for (const LoggedBoundary& boundary : history->boundaries)
      app.out().print(boundary_json(*history, boundary) + "\n");
    return kExitOk;
  }
  if (history->boundaries.empty()) {
    app.out().print("conversation " + history->id + " was never compacted\n");
    return kExitOk;
  }
  app.out().print(
      "BOUNDARY                    SEQ     WHEN              TRIGGER  REASON     METHOD    RESULT    "
      "TOKENS\n");
  for (const LoggedBoundary& boundary : history->boundaries) app.out().print(neutral(boundary_line(boundary)));
  return kExitOk;
}

int fork_command(App& app, const Arguments& arguments) {
  const auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto parent = found->store->info(found->id);
  if (!parent) return app.fail(store_exit(parent.error()), parent.error().message);
  std::uint64_t at = parent->revision;
  if (arguments.has("at")) {
    const auto history = read_history(*found->store, found->id);
    if (!history) return app.fail(store_exit(history.error()), history.error().message);
    const auto moment = find_moment(*history, arguments.value("at"));
    if (!moment) return app.fail(moment.error().code, moment.error().message);
    at = *moment;
  }
  GenesisRecord genesis;
  genesis.conversation_id = IdSource(app.clock()).next().text();
  genesis.project_id = parent->project_id;
  genesis.cwd = parent->cwd;
  genesis.provider = parent->provider;
  genesis.model = parent->model;
  if (const auto kept = copy_mode(*found->store, parent->id, genesis.conversation_id); !kept)
    return app.fail(store_exit(kept.error()), kept.error().message);
  const auto fork = found->store->fork(found->id, at, genesis, fork_title(parent->title));
  if (!fork) (void)forget_mode(*found->store, genesis.conversation_id);
  if (!fork) return app.fail(store_exit(fork.error()), fork.error().message);
  if (arguments.has("json")) {
    app.out().print(write_info(*fork) + "\n");
    return kExitOk;
  }
  app.out().print("Forked conversation " + parent->id + " at sequence " + std::to_string(at) + "\nNew conversation " +
                  fork->id + " \"" + neutral_line(fork->title, 80) + "\"\n");
  return kExitOk;
}

}  // namespace agentd::app
