// SPDX-License-Identifier: Apache-2.0
// store.cc - agentd store check, stats, backup, salvage: maintenance of the store on disk.
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/store/store_care.h"

namespace agentd::app {
namespace {

// The store in the home, or the one that the command names.
Result<std::string> directory_of(const App& app, const Arguments& arguments) {
  if (!arguments.words().empty()) return arguments.words()[0];
  AGENTD_TRY(const std::string home, app.home());
  return home + "/store";
}

Result<std::string> absolute_target(const App& app, const std::string& path) {
  if (path.starts_with('/')) return path;
  AGENTD_TRY(const std::string cwd, app.directory());
  return cwd + "/" + path;
}

std::string finding_json(std::string_view type, const StoreFinding& finding) {
  JsonWriter out;
  out.begin_object().member("type", type).optional("conversation_id", finding.conversation);
  if (finding.first != 0) out.member("first_seq", finding.first);
  if (finding.last != 0) out.member("last_seq", finding.last);
  out.member("what", finding.what).end_object();
  return std::string(out.text()) + "\n";
}

std::string report_json(std::string_view type, const StoreReport& report, std::uint64_t findings) {
  JsonWriter out;
  out.begin_object().member("type", type).member("findings", findings);
  out.member("pages", report.pages).member("conversations", report.conversations);
  out.member("records", report.records).member("blobs", report.blobs);
  out.member("receipts", report.receipts).member("keys", report.keys).end_object();
  return std::string(out.text()) + "\n";
}

std::string counts(const StoreReport& report) {
  return counted(report.conversations, "conversation") + ", " + counted(report.records, "record") + ", " +
         counted(report.blobs, "blob") + ", " + counted(report.receipts, "receipt") + ", " +
         counted(report.keys, "key") + " of plugins";
}

void print_findings(Output& out, std::string_view type, const std::vector<StoreFinding>& findings, std::uint64_t more,
                    bool json) {
  for (const StoreFinding& finding : findings)
    out.print(json ? finding_json(type, finding) : neutral_line(text_of(finding), 4096) + "\n");
  if (more != 0 && !json) out.print("and " + counted(more, "more finding") + "\n");
}

// The result of checking an untrusted file, even if the checking process crashes.
int check_apart(App& app, const Arguments& arguments, const std::string& directory) {
  const auto report = check_store(directory);
  if (!report) return app.fail(store_exit(report.error()), report.error().message);
  const bool json = arguments.has("json");
  const std::uint64_t findings = report->damage.size() + report->more;
  print_findings(app.out(), "damage", report->damage, report->more, json);
  if (json)
    app.out().print(report_json("checked", *report, findings));
  else
    app.out().print(directory + ": " + counts(*report) +
                    (findings == 0 ? "; no damage found\n" : "; " + counted(findings, "finding") + "\n"));
  if (findings == 0) return kExitOk;
  if (json) return kExitStore;
  return app.fail(kExitStore,
                  "the store " + directory + " is damaged; recover the readable part with 'agentd store salvage DIR'");
}

int printed(App& app, const std::string& text) {
  app.out().print(text);
  return kExitOk;
}

int confirmed(App& app, const std::string& text) {
  app.out().confirm(text);
  return kExitOk;
}

// The answers of hooks that are kept.
std::string receipts_text(const StoreStats& stats) {
  const std::string count = with_commas(stats.receipts);
  return stats.receipts == 0 ? count : count + ", the oldest of " + time_text(stats.oldest_receipt_ms);
}

int no_store(App& app, const Error& error) { return app.fail(store_exit(error), error.message); }

// A conflict is the directory that the call names.
int no_copy(App& app, const Error& error) {
  if (error.code == Code::kConflict) return app.fail(kExitUsage, error.message);
  return no_store(app, error);
}

}  // namespace

int store_check_command(App& app, const Arguments& arguments) {
  const Result<std::string> directory = directory_of(app, arguments);
  if (!directory) return app.fail(kExitUsage, directory.error().message);
  return check_apart(app, arguments, *directory);
}

int store_stats_command(App& app, const Arguments& arguments) {
  const auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  StoreStats stats;
  if (*store != nullptr) {
    const auto asked = (*store)->stats();
    if (!asked) return no_store(app, asked.error());
    stats = *asked;
  } else {
    const auto directory = directory_of(app, arguments);
    if (!directory) return app.fail(kExitUsage, directory.error().message);
    return app.fail(kExitNotFound, "no store in " + *directory + "; nothing has been saved yet");
  }
  if (arguments.has("json")) {
    JsonWriter out;
    out.begin_object().member("path", stats.path).member("format", std::uint64_t{stats.format});
    out.member("conversations", stats.conversations).member("bytes", stats.bytes);
    out.member("map_bytes", stats.map_bytes).member("receipts", stats.receipts);
    if (stats.receipts != 0) out.member("oldest_receipt_ms", stats.oldest_receipt_ms);
    out.end_object();
    return printed(app, std::string(out.text()) + "\n");
  }
  return printed(app, "store          " + stats.path + "\nformat         " + std::to_string(stats.format) +
                          "\nconversations  " + with_commas(stats.conversations) + "\nfile           " +
                          with_commas(stats.bytes) + " bytes\nmap            " + with_commas(stats.map_bytes) +
                          " bytes; it grows automatically\nreceipts       " + receipts_text(stats) + "\n");
}

int store_backup_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<std::string> to = absolute_target(app, arguments.words()[0]);
  if (!to) return app.fail(kExitFailure, to.error().message);
  const auto report = backup_store(*home + "/store", *to);
  if (!report) return no_copy(app, report.error());
  if (arguments.has("json")) return printed(app, report_json("copied", *report, 0));
  return confirmed(app, "Copied to " + *to + " and checked: " + counts(*report) +
                            "\nTo restore it, replace this directory with the copy: " + *home + "/store.\n");
}

int store_salvage_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<std::string> to = absolute_target(app, arguments.words()[0]);
  if (!to) return app.fail(kExitFailure, to.error().message);
  const auto report = salvage_store(*home + "/store", *to, app.clock());
  if (!report) return no_copy(app, report.error());
  const bool json = arguments.has("json");
  print_findings(app.out(), "lost", report->lost, report->more, json);
  const std::uint64_t lost = report->lost.size() + report->more;
  if (json) return printed(app, report_json("salvaged", report->kept, lost));
  return confirmed(app, "Saved in " + *to + ": " + counts(report->kept) +
                            (lost == 0 ? "; nothing is lost\n" : "; the losses are listed above\n") +
                            "To use it, move " + *home + "/store away and move this directory there.\n");
}

}  // namespace agentd::app
