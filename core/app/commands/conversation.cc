// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/app/approver.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/project.h"
#include "core/app/transcript.h"
#include "core/app/wiring.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/view.h"

namespace agentd::app {
namespace {

constexpr std::uint32_t kListStandard = 20;

// The store, or null when there is none yet.
Result<std::unique_ptr<Store>, Failure> existing_store(const App& app) {
  const Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  auto store = open_store(*home, false, app.clock());
  if (store) return std::move(*store);
  if (store.error().code == Code::kNotFound) return std::unique_ptr<Store>();
  return Failure{kExitStore, store.error().message};
}

struct Found {
  std::unique_ptr<Store> store;
  Ulid id;
};

Result<Found, Failure> existing_conversation(const App& app, const std::string& text) {
  auto store = existing_store(app);
  if (!store) return store.error();
  if (*store == nullptr)
    return Failure{kExitNotFound,
                   "there is no conversation " + one_line(text, 60) + ": nothing was saved yet"};
  const auto id = find_conversation(**store, text);
  if (!id) return id.error();
  return Found{std::move(*store), *id};
}

void print_list(Output& out, const std::vector<ConversationInfo>& list) {
  out.print("ID                          UPDATED           MESSAGES  TITLE\n");
  for (const ConversationInfo& info : list) {
    std::string count = with_commas(info.messages);
    count.insert(0, count.size() < 8 ? 8 - count.size() : 0, ' ');
    out.print(info.id + "  " + time_text(info.updated_ms) + "  " + count + "  " +
              neutral_line(info.title.empty() ? "(no title)" : info.title, 80) + "\n");
  }
}

Result<ConversationQuery> query_of(const App& app, const Arguments& arguments) {
  ConversationQuery query;
  query.limit = kListStandard;
  query.text = arguments.value("search");
  if (!arguments.has("all")) query.project_id = find_project(app.surroundings().cwd).id;
  if (arguments.has("limit")) {
    AGENTD_TRY(const std::uint64_t limit, parse_count("limit", arguments.value("limit")));
    query.limit = static_cast<std::uint32_t>(limit);
  }
  return query;
}

// Records that the next request would hold, in the order of the view.
std::vector<StoredRecord> view_records(const std::vector<StoredRecord>& log,
                                       const ViewState& view) {
  std::vector<StoredRecord> out;
  for (const SeqRange& range : view.ranges())
    for (const StoredRecord& record : log)
      if (record.seq >= range.first && record.seq <= range.last &&
          carries_message(record.record.type))
        out.push_back(record);
  return out;
}

Result<std::vector<StoredRecord>> read_log(const Store& store, const Ulid& id, ViewState& view) {
  std::vector<StoredRecord> out;
  Result<void> folded;
  AGENTD_TRY_VOID(store.read(id, 1, 0, [&](const StoredRecord& record) {
    folded = view.apply(record);
    out.push_back(record);
    return folded.has_value();
  }));
  if (!folded) return folded.error();
  return out;
}

Format format_of(const Arguments& arguments) {
  const std::string name = arguments.value("format");
  if (name == "json") return Format::kJson;
  return name == "markdown" ? Format::kMarkdown : Format::kText;
}

bool confirmed(App& app, const ConversationInfo& info) {
  app.out().print("Delete " + info.id + " \"" + neutral_line(info.title, 80) + "\" with " +
                  with_commas(info.messages) + " messages for good? [y/N] ");
  app.out().flush();
  const std::optional<std::string> answer = read_line(app.surroundings().input);
  return answer && (*answer == "y" || *answer == "yes");
}

}  // namespace

int list_command(App& app, const Arguments& arguments) {
  const Result<ConversationQuery> query = query_of(app, arguments);
  if (!query) return app.fail(kExitUsage, query.error().message);
  const auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  Result<std::vector<ConversationInfo>> list = std::vector<ConversationInfo>{};
  if (*store != nullptr) list = (*store)->list(*query);
  if (!list) return app.fail(store_exit(list.error()), list.error().message);
  if (arguments.has("json")) {
    for (const ConversationInfo& info : *list) app.out().print(write_info(info) + "\n");
  } else if (!list->empty()) {
    print_list(app.out(), *list);
  } else if (arguments.has("all") || arguments.has("search")) {
    app.out().print("no conversations\n");
  } else {
    app.out().print("no conversations in this project; --all lists those of all projects\n");
  }
  return kExitOk;
}

int show_command(App& app, const Arguments& arguments) {
  if (arguments.has("log") && arguments.has("format"))
    return app.fail(kExitUsage, "--log has a form of its own; leave out --format");
  auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto info = found->store->info(found->id);
  if (!info) return app.fail(store_exit(info.error()), info.error().message);
  ViewState view;
  auto records = read_log(*found->store, found->id, view);
  if (!records) return app.fail(store_exit(records.error()), records.error().message);
  if (arguments.has("view")) *records = view_records(*records, view);
  if (arguments.has("log")) {
    for (const StoredRecord& record : *records) app.out().print(record_line(record));
    return kExitOk;
  }
  const auto text = write_transcript({*info, std::move(*records)}, format_of(arguments));
  if (!text) return app.fail(store_exit(text.error()), text.error().message);
  app.out().print(*text);
  return kExitOk;
}

int delete_command(App& app, const Arguments& arguments) {
  auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  const auto info = found->store->info(found->id);
  if (!info) return app.fail(store_exit(info.error()), info.error().message);
  if (!arguments.has("yes") && !app.surroundings().input_tty)
    return app.fail(kExitUsage, "nobody can be asked here: say --yes to delete " + info->id);
  if (!arguments.has("yes") && !confirmed(app, *info)) {
    app.out().print("nothing was deleted\n");
    return kExitFailure;
  }
  const auto removed = found->store->remove(found->id);
  if (!removed) return app.fail(store_exit(removed.error()), removed.error().message);
  app.out().print("deleted " + info->id + "\n");
  return kExitOk;
}

}  // namespace agentd::app
