// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/table.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/view.h"
#include "core/session/removal.h"
#include "core/workplace/project.h"

namespace agentd::app {
namespace {

constexpr std::uint32_t kConversationsStandard = 20;

void print_list(Output& out, const std::vector<ConversationInfo>& list) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(list.size());
  for (const ConversationInfo& info : list)
    rows.push_back({info.id, time_text(info.updated_ms), with_commas(info.messages),
                    neutral_line(info.title.empty() ? "(no title)" : info.title, 80)});
  out.print(table_text({{"ID"}, {"UPDATED"}, {"MESSAGES", true}, {"TITLE"}}, rows, out.columns()));
}

Result<ConversationQuery> list_query_of(const App& app, const Arguments& arguments) {
  ConversationQuery query;
  query.limit = kConversationsStandard;
  query.text = arguments.value("search");
  if (!arguments.has("all")) query.project_id = find_project(app.surroundings().cwd).id;
  if (arguments.has("limit")) {
    AGENTD_TRY(const std::uint64_t limit, parse_count("limit", arguments.value("limit")));
    query.limit = static_cast<std::uint32_t>(limit);
  }
  return query;
}

// The records of the next request, in the order of the view.
std::vector<StoredRecord> view_records(const std::vector<StoredRecord>& log, const ViewState& view) {
  std::vector<StoredRecord> out;
  for (const SeqRange& range : view.ranges())
    for (std::uint64_t seq = range.first; seq <= range.last && seq <= log.size(); ++seq) {
      const StoredRecord& record = log[seq - 1];
      // A stored summary without a boundary is not part of the view.
      const bool stored = record.record.type == RecordType::kSummary && range.first != range.last;
      if (carries_message(record.record.type) && !stored) out.push_back(record);
    }
  return out;
}

// The data that `show` prints for a revision: the index and the records at that time.
Result<Transcript> transcript_of(const History& history, std::uint64_t revision, bool view_only) {
  Transcript out;
  ViewState view;
  out.records = records_until(history, revision);
  for (const StoredRecord& record : out.records) {
    AGENTD_TRY_VOID(fold(out.info, record));
    AGENTD_TRY_VOID(view.apply(record));
  }
  if (!view_only) return out;
  out.records = view_records(out.records, view);
  out.prunes = view.prunes();
  return out;
}

Format format_of(const Arguments& arguments) {
  const std::string name = arguments.value("format");
  if (name == "json") return Format::kJson;
  return name == "markdown" ? Format::kMarkdown : Format::kText;
}

bool confirmed(App& app, const ConversationInfo& info) {
  return says_yes(app,
                  "conversation " + info.id + " \"" + neutral_line(info.title, 80) + "\", " +
                      counted(info.messages, "message") +
                      (info.wait.id.empty() ? "" : "; a tool call waits for an answer in it") + "\n",
                  "Delete it permanently? [y/N] ");
}

}  // namespace

int list_command(App& app, const Arguments& arguments) {
  if (const auto cwd = app.directory(); !cwd && !arguments.has("all"))
    return app.fail(kExitFailure, cwd.error().message + ", or list all projects with --all");
  const Result<ConversationQuery> query = list_query_of(app, arguments);
  if (!query) return app.fail(kExitUsage, query.error().message);
  const auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  Result<std::vector<ConversationInfo>> list = std::vector<ConversationInfo>{};
  ConversationQuery one_more = *query;
  if (one_more.limit != UINT32_MAX) ++one_more.limit;
  if (*store != nullptr) list = (*store)->list(one_more);
  if (!list) return app.fail(store_exit(list.error()), list.error().message);
  const bool more = list->size() > query->limit;
  if (more) list->pop_back();
  if (arguments.has("json")) {
    for (const ConversationInfo& info : *list) app.out().print(write_info(info) + "\n");
  } else if (!list->empty()) {
    print_list(app.out(), *list);
  } else if (arguments.has("all") || arguments.has("search")) {
    app.out().print("no conversations\n");
  } else {
    app.out().print("no conversations in this project; --all lists all projects\n");
  }
  if (more) app.err().line("there are more than " + with_commas(query->limit) + ": --limit N shows N of them");
  app.err().flush();
  return kExitOk;
}

int show_command(App& app, const Arguments& arguments) {
  if (arguments.has("log") && arguments.has("format"))
    return app.fail(kExitUsage, "--log has its own format; omit --format");
  auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto history = read_history(*found->store, found->id);
  if (!history) return app.fail(store_exit(history.error()), history.error().message);
  std::uint64_t revision = history->revision();
  if (arguments.has("at")) {
    const auto moment = find_moment(*history, arguments.value("at"));
    if (!moment) return app.fail(moment.error().code, moment.error().message);
    revision = *moment;
  }
  const auto shown = transcript_of(*history, revision, arguments.has("view"));
  if (!shown) return app.fail(store_exit(shown.error()), shown.error().message);
  if (arguments.has("log")) {
    for (const StoredRecord& record : shown->records)
      app.out().print(app.out().tty() ? neutral(record_line(record)) : record_line(record));
    return kExitOk;
  }
  const auto text = write_transcript(*shown, format_of(arguments));
  if (!text) return app.fail(store_exit(text.error()), text.error().message);
  // A file gets every byte; a terminal would interpret some of them.
  app.out().print(app.out().tty() ? neutral(*text) : *text);
  return kExitOk;
}

int delete_command(App& app, const Arguments& arguments) {
  auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto info = found->store->info(found->id);
  if (!info) return app.fail(store_exit(info.error()), info.error().message);
  if (!arguments.has("yes") && !app.surroundings().input_tty)
    return app.fail(kExitUsage, "not deleted: there is no terminal to confirm on; pass --yes to delete " + info->id);
  if (!arguments.has("yes") && !confirmed(app, *info)) {
    app.out().print("nothing was deleted\n");
    return kExitFailure;
  }
  const auto removed = remove_conversation(*found->store, *app.home(), app.clock(), found->id);
  if (!removed) return app.fail(store_exit(removed.error()), removed.error().message);
  app.out().confirm("deleted " + info->id + "\n");
  if (removed->pages_left != 0)
    app.err().line("agentd: " + counted(removed->pages_left, "page") +
                   " that it had could not be overwritten, because another process reads an older state of the store: "
                   "'agentd conversation erase --removed' does it when that has ended");
  return kExitOk;
}

}  // namespace agentd::app
