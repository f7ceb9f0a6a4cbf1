// SPDX-License-Identifier: Apache-2.0
// conversation_import.cc - conversation import: a conversation out of a file, of agentd or of another agent.
#include <filesystem>

#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/message_input.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/runtime/store_setup.h"
#include "core/transfer/bring.h"
#include "core/transfer/transcript_file.h"

namespace agentd::app {
namespace {

constexpr std::size_t kTranscriptBytesMax = 1u << 30;

// Before the store is touched.
struct Incoming {
  FileForm form = FileForm::kUnknown;
  LogFile log;
  ForeignTranscript transcript;
  Digest bytes{};
};

Result<std::string> bytes_of(App& app, const std::string& path) {
  return path == "-" ? read_all(app.surroundings().input, kTranscriptBytesMax) : read_file(path, kTranscriptBytesMax);
}

Result<FileForm> wanted_form(const Arguments& arguments, std::string_view bytes) {
  const std::string from = arguments.value("from");
  for (const FileForm form : {FileForm::kAgentd, FileForm::kClaude, FileForm::kCodex})
    if (from == name_of(form)) return form;
  const FileForm found = form_of(bytes);
  if (found != FileForm::kUnknown) return found;
  return Error{Code::kInvalid,
               "the file is neither an export of agentd nor a transcript of Claude Code or a rollout of Codex"};
}

Result<Incoming> read_incoming(App& app, const Arguments& arguments) {
  AGENTD_TRY(const std::string bytes, bytes_of(app, arguments.words()[0]));
  Incoming out;
  AGENTD_TRY(out.form, wanted_form(arguments, bytes));
  if (out.form == FileForm::kAgentd) {
    AGENTD_TRY(out.log, read_log_file(bytes));
  } else {
    AGENTD_TRY(out.transcript, read_transcript(out.form, bytes));
    out.bytes = sha256(bytes);
  }
  return out;
}

// Where the session elsewhere has worked, or else where this program does.
Result<ImportPlace> place_of(App& app, const ForeignTranscript& transcript) {
  std::error_code failed;
  std::string cwd = transcript.cwd;
  if (!cwd.starts_with('/') || !std::filesystem::is_directory(cwd, failed)) {
    AGENTD_TRY(cwd, app.directory());
  }
  return ImportPlace{find_project(cwd).id, cwd};
}

std::string json_of(const Incoming& incoming, const Brought& brought) {
  JsonWriter out;
  out.begin_object().member("id", brought.info.id).member("outcome", name_of(brought.what));
  out.member("form", name_of(incoming.form)).member("from", brought.from).member("title", brought.info.title);
  out.member("messages", brought.info.messages).member("newer", brought.newer).optional("note", brought.note);
  out.key("left_out").begin_object();
  for (const auto& [what, count] : incoming.transcript.left_out) out.member(what, count);
  out.end_object().end_object();
  return std::string(out.text());
}

void tell(App& app, const Incoming& incoming, const Brought& brought) {
  if (!brought.note.empty()) app.err().line("note: " + neutral_line(brought.note, 400));
  app.err().flush();
  const std::string& id = brought.info.id;
  if (brought.what == Brought::What::kHere) {
    app.out().print(id + " is here already" +
                    (brought.newer == 0 ? "" : ", with " + counted(brought.newer, "newer record")) + "\n");
    return;
  }
  const bool own = incoming.form == FileForm::kAgentd;
  app.out().print("Imported " + id + " \"" + neutral_line(brought.info.title, 80) + "\"\nTaken: " +
                  (own ? counted(brought.info.messages, "message") : neutral_line(taken_of(incoming.transcript), 400)) +
                  "\n");
  if (const std::string left = left_out_of(incoming.transcript); !left.empty())
    app.out().print("Left out: " + neutral_line(left, 800) + "\n");
  app.out().print("Continue with: agentd run --resume " + id + " \"...\"\n");
}

Result<Brought> bring(App& app, Store& store, Incoming& incoming) {
  IdSource ids(app.clock());
  if (incoming.form == FileForm::kAgentd) return bring_log(store, ids, app.clock(), std::move(incoming.log));
  AGENTD_TRY(const ImportPlace place, place_of(app, incoming.transcript));
  return bring_transcript(store, ids, app.clock(), incoming.transcript, place, incoming.bytes);
}

}  // namespace

int import_command(App& app, const Arguments& arguments) {
  auto incoming = read_incoming(app, arguments);
  if (!incoming) return app.fail(error_exit(incoming.error(), kExitUsage, kExitFailure), incoming.error().message);
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto store = open_store(*home, true, app.clock());
  if (!store) return app.fail(kExitStore, store.error().message);
  const auto brought = bring(app, **store, *incoming);
  if (!brought) return app.fail(error_exit(brought.error(), kExitUsage, kExitStore), brought.error().message);
  if (arguments.has("json"))
    app.out().line(json_of(*incoming, *brought));
  else
    tell(app, *incoming, *brought);
  return kExitOk;
}

}  // namespace agentd::app
