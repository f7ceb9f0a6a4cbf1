// SPDX-License-Identifier: Apache-2.0
// handlers_transfer.cc - conversations and the store as files.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/process/filter.h"
#include "core/process/process.h"
#include "core/serve/handlers.h"
#include "core/transfer/bring.h"
#include "core/transfer/log_file.h"
#include "core/transfer/transcript_file.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10;  // that are sent at once, if not a batch has more
constexpr std::size_t kNameMax = 64;
constexpr std::chrono::minutes kBackupTime{60};

// Sends the file in the pace of its reader: the next piece is made when the client has taken the last one.
class Export final : public std::enable_shared_from_this<Export> {
 public:
  Export(Daemon& daemon, std::unique_ptr<LogExport> file, std::shared_ptr<HttpStream> stream)
      : daemon_(daemon), file_(std::move(file)), stream_(std::move(stream)) {}

  // On a thread of the pool.
  void go_on() {
    std::string piece;
    bool complete = false;
    while (piece.size() < kPieceBytes && !complete) {
      auto next = file_->next();
      if (!next) return broken(next.error());
      complete = next->empty();
      piece += *next;
    }
    if (!stream_->send(std::move(piece))) return;
    if (complete) return stream_->close();
    stream_->when_taken([self = shared_from_this()] {
      if (!self->daemon_.add_work([self] { self->go_on(); })) self->broken({Code::kBusy, "too many requests wait"});
    });
  }

 private:
  // The client sees it by the last line, which is missing.
  void broken(const Error& error) {
    daemon_.runtime().log().write(LogLevel::kWarning, "serve",
                                  "the export of " + file_->head().conversation_id + " ended: " + error.message);
    stream_->close();
  }

  Daemon& daemon_;
  const std::unique_ptr<LogExport> file_;
  const std::shared_ptr<HttpStream> stream_;  // shared with the connection
};

FileForm form_asked(const RouteCall& call) {
  const std::string_view from = call.asked("from").value_or("auto");
  for (const FileForm form : {FileForm::kAgentd, FileForm::kClaude, FileForm::kCodex})
    if (from == name_of(form)) return form;
  return form_of(call.exchange->body());
}

void reply_brought(const RouteCall& call, FileForm form, const Brought& brought,
                   const std::map<std::string, std::uint64_t>& left_out) {
  JsonWriter out;
  out.begin_object().member("id", brought.info.id).member("outcome", name_of(brought.what));
  out.member("form", name_of(form)).member("from", brought.from).member("title", brought.info.title);
  out.member("messages", brought.info.messages).member("newer", brought.newer).optional("note", brought.note);
  out.key("left_out").begin_object();
  for (const auto& [what, count] : left_out) out.member(what, count);
  out.end_object().end_object();
  reply_json(call, 200, out.text());
}

// A conversation works where its log says: a client may not write what it may not ask for.
bool may_work_in(Daemon& daemon, const RouteCall& call, const std::string& cwd) {
  if (cwd.empty() || !daemon.workplaces().is_closed(cwd)) return true;
  call.exchange->reply(error_reply(
      403, "forbidden", "no client works in the conversation's directory: it has keys, or belongs to agentd"));
  return false;
}

void import_log(Daemon& daemon, const RouteCall& call) {
  auto file = read_log_file(call.exchange->body());
  if (!file) return reply_error(call, file.error());
  if (!may_work_in(daemon, call, file->info.cwd)) return;
  const RuntimeParts parts = daemon.runtime().agent_parts();
  const auto brought = bring_log(parts.store, parts.ids, parts.clock, std::move(*file));
  if (!brought) return reply_error(call, brought.error());
  reply_brought(call, FileForm::kAgentd, *brought, {});
}

void import_transcript(Daemon& daemon, const RouteCall& call, FileForm form) {
  const std::string& bytes = call.exchange->body();
  const auto transcript = read_transcript(form, bytes);
  if (!transcript) return reply_error(call, transcript.error());
  std::error_code failed;
  std::string cwd = transcript->cwd;
  if (!cwd.starts_with('/') || !std::filesystem::is_directory(cwd, failed)) cwd = call.asked("cwd").value_or("");
  if (!cwd.starts_with('/') || !std::filesystem::is_directory(cwd, failed))
    return call.exchange->reply(error_reply(
        400, "bad_request", "the transcript's directory is not here: name another one as an absolute path by 'cwd'"));
  if (!may_work_in(daemon, call, cwd)) return;
  const RuntimeParts parts = daemon.runtime().agent_parts();
  const auto brought =
      bring_transcript(parts.store, parts.ids, parts.clock, *transcript, {find_project(cwd).id, cwd}, sha256(bytes));
  if (!brought) return reply_error(call, brought.error());
  reply_brought(call, form, *brought, transcript->left_out);
}

bool is_backup_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kNameMax && std::all_of(name.begin(), name.end(), plain);
}

// The directory of backups, which is no link to another place.
Result<std::string> backups_of(const std::string& home) {
  const std::string out = home + "/backups";
  AGENTD_TRY_VOID(make_directories(out));
  struct stat found {};
  if (::lstat(out.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
    return Error{Code::kDenied, "backups in agentd's home is not a directory of its own"};
  return out;
}

// A process may open a store once, so that another one copies it.
Result<FilterResult> copy_store(Daemon& daemon, const std::string& to) {
  const DaemonOptions& options = daemon.options();
  if (options.program.empty()) return Error{Code::kUnavailable, "the daemon does not know its own program"};
  FilterRequest request;
  request.program = options.program;
  request.argv = {"agentd", "store", "backup", to, "--json"};
  request.cwd = "/";
  request.environment = clean_environment();
  request.environment.push_back("AGENTD_HOME=" + daemon.runtime().home());
  const Clock& clock = daemon.runtime().clock();
  return run_filter(request, clock, CancelToken(), Deadline::after(clock, kBackupTime));
}

}  // namespace

void export_conversation(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  if (daemon.figures().streams >= kStreamsMax)
    return reply_error(call, Error{Code::kBusy, "too many streams are open: close one, or try again later"});
  auto file = LogExport::begin(daemon.store(), *id, daemon.options().version, daemon.runtime().clock().wall_ms());
  if (!file) return reply_error(call, not_there(daemon, *id, file.error()));
  HttpReply head;
  head.content_type = "application/x-ndjson";
  head.fields.emplace_back("content-disposition", "attachment; filename=\"" + id->text() + ".jsonl\"");
  const auto stream = call.exchange->stream(std::move(head), {});
  std::make_shared<Export>(daemon, std::move(*file), stream)->go_on();
}

void import_conversation(Daemon& daemon, RouteCall call) {
  const FileForm form = form_asked(call);
  if (form == FileForm::kUnknown)
    return call.exchange->reply(
        error_reply(400, "bad_request",
                    "the body is neither an export of agentd nor a transcript of Claude Code or a rollout of Codex"));
  if (form == FileForm::kAgentd) return import_log(daemon, call);
  import_transcript(daemon, call, form);
}

void backup_store(Daemon& daemon, RouteCall call) {
  const std::string name(call.json("name").string_or(""));
  if (!is_backup_name(name))
    return call.exchange->reply(
        error_reply(400, "bad_request", "'name' has 1 to 64 letters, digits, '-' and '_', and no other character"));
  const MutexLock one_at_a_time(daemon.backing_up());
  const auto backups = backups_of(daemon.runtime().home());
  if (!backups) return reply_error(call, backups.error());
  const std::string to = *backups + "/" + name;
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0)
    return reply_error(call, Error{Code::kConflict, "there is a backup '" + name + "' already: choose another name"});
  const auto done = copy_store(daemon, to);
  if (!done) return reply_error(call, done.error());
  const auto report = JsonDocument::parse(done->output);
  if (done->exit_code != 0 || !report)
    return reply_error(
        call, Error{Code::kInternal,
                    "the backup failed: " + one_line(done->error.empty() ? "its process ended" : done->error, 400)});
  JsonWriter out;
  out.begin_object().member("directory", to);
  for (const std::string_view key : {"conversations", "records", "blobs"})
    out.member(key, report->root()[key].uint_or(0));
  out.end_object();
  reply_json(call, 201, out.text());
}

}  // namespace agentd::serve
