// SPDX-License-Identifier: Apache-2.0
#include "core/native/ext_tables.h"

#include <agentd/service_list.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/bridge/record.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/process/process.h"

namespace agentd {
namespace {

constexpr std::uint64_t kReadDefault = 16u << 20;
constexpr std::uint64_t kReadMax = 64u << 20;
constexpr std::uint32_t kListDefault = 10'000;
constexpr std::uint32_t kListMax = 1'000'000;
constexpr std::uint32_t kArgumentsMax = 4096;
constexpr std::uint64_t kOutputDefault = 1u << 20;
constexpr std::uint64_t kOutputMax = 64u << 20;
constexpr Milliseconds kCommandTime{120'000};
constexpr std::size_t kProcessOptionsFirstBytes = 64;  // of release 1.0

// One call of a table: the slot of its token, and how results and errors are returned.
class Ask {
 public:
  Ask(ExtTables::Shared& shared, agentd_token token)
      : shared_(shared),
        token_(token),
        slot_(shared.tokens.find(token)),
        own_(slot_ != nullptr && shared.files ? shared.files(slot_->conversation()) : nullptr) {}

  // AGENTD_OK, or why the call gets nothing: its token is stale, or it has no files.
  agentd_status refusal() const {
    if (slot_ == nullptr) return AGENTD_E_NOT_FOUND;
    if (own_ || shared_.workspace != nullptr) return AGENTD_OK;
    return fail({Code::kUnavailable,
                 "the call belongs to no session of an open project, so there are no files and no commands for it"});
  }
  CallSlot& slot() const { return *slot_; }
  // REQUIRES: no refusal().
  Workspace& files() const { return own_ ? *own_ : *shared_.workspace; }

  agentd_status fail(const Error& error) const {
    const agentd_status status = status_of(error.code);
    slot_->fail(token_, status, error.message);
    return status;
  }
  agentd_status incomplete(const service_facts& facts) const { return fail({Code::kInvalid, service_needs(facts)}); }

  template <typename T>
  T* make(std::size_t count = 1) const {
    return static_cast<T*>(slot_->allocate(token_, sizeof(T) * std::max<std::size_t>(count, 1), alignof(T)));
  }
  // Null ptr if memory is short or the token has ended.
  agentd_str copy(std::string_view text) const { return slot_->copy(token_, text); }

  // The call's working directory, or else the first root.
  std::string cwd() const {
    const Dispatch* const dispatch = slot_->dispatch();
    if (dispatch != nullptr && dispatch->envelope != nullptr && dispatch->envelope->cwd.len != 0)
      return std::string(view_of(dispatch->envelope->cwd));
    const auto& roots = files().roots();
    return roots.empty() ? std::string() : roots.front();
  }

  std::string absolute(std::string_view path) const {
    if (path.starts_with("/")) return std::string(path);
    std::string base = cwd();
    if (path.empty() || path == ".") return base;
    return base + "/" + std::string(path);
  }

 private:
  ExtTables::Shared& shared_;
  agentd_token token_;
  CallSlot* slot_;
  const std::shared_ptr<Workspace> own_;  // shared with the session, which may end meanwhile
};

bool is_text(const agentd_str& text) { return text.ptr != nullptr || text.len == 0; }

ExtTables::Shared& shared_of(const agentd_workspace* table) {
  return *reinterpret_cast<const ExtTables::WorkspaceTable*>(table)->shared;
}

// ---- agentd.workspace/1

agentd_status AGENTD_CALL workspace_read(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         uint64_t offset, uint64_t limit, agentd_str* out, uint64_t* total) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::read>);
  const std::uint64_t most = limit == 0 ? kReadDefault : std::min(limit, kReadMax);
  std::uint64_t size = 0;
  auto text = ask.files().read(ask.absolute(view_of(path)), offset, most, &size);
  if (!text) return ask.fail(text.error());
  *out = ask.copy(*text);
  if (out->ptr == nullptr) return AGENTD_E_NOT_FOUND;
  if (total != nullptr) *total = size;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL workspace_write(const agentd_workspace* table, agentd_token token, agentd_str path,
                                          agentd_str bytes) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(path) || !is_text(bytes)) return ask.incomplete(service_facts_of<&agentd_workspace::write>);
  auto written = ask.files().write(ask.absolute(view_of(path)), view_of(bytes));
  return written ? AGENTD_OK : ask.fail(written.error());
}

agentd_status AGENTD_CALL workspace_replace(const agentd_workspace* table, agentd_token token, agentd_str path,
                                            agentd_str expected, agentd_str bytes) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(path) || !is_text(expected) || !is_text(bytes))
    return ask.incomplete(service_facts_of<&agentd_workspace::replace>);
  auto replaced = ask.files().replace(ask.absolute(view_of(path)), view_of(expected), view_of(bytes));
  return replaced ? AGENTD_OK : ask.fail(replaced.error());
}

std::uint32_t kind_of(FileEntry::Kind kind) {
  switch (kind) {
    case FileEntry::Kind::kRegular:
      return AGENTD_FILE_REGULAR;
    case FileEntry::Kind::kDirectory:
      return AGENTD_FILE_DIRECTORY;
    case FileEntry::Kind::kSymlink:
      return AGENTD_FILE_SYMLINK;
    case FileEntry::Kind::kOther:
      return AGENTD_FILE_OTHER;
  }
  return AGENTD_FILE_OTHER;
}

agentd_status AGENTD_CALL workspace_list(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         uint32_t depth, uint32_t limit, agentd_list* out, uint32_t* more) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::list>);
  const std::uint32_t most = limit == 0 ? kListDefault : std::min(limit, kListMax);
  auto listing = ask.files().list(ask.absolute(view_of(path)), depth, most);
  if (!listing) return ask.fail(listing.error());
  auto* const rows = ask.make<agentd_file_entry>(listing->entries.size());
  if (rows == nullptr) return AGENTD_E_NOT_FOUND;
  for (std::size_t i = 0; i < listing->entries.size(); ++i) {
    const FileEntry& from = listing->entries[i];
    rows[i] = {sizeof(agentd_file_entry), kind_of(from.kind), ask.copy(from.path), from.bytes, from.modified_ns};
  }
  *out = {rows, static_cast<std::uint32_t>(listing->entries.size()), sizeof(agentd_file_entry)};
  if (more != nullptr) *more = listing->more ? 1 : 0;
  return AGENTD_OK;
}

// ---- the text of a file that a model may see

Result<std::string> view_of_bytes(const ExtTables::Shared& shared, std::string bytes) {
  if (shared.secrets == nullptr) return bytes;
  AGENTD_TRY(Scrubbed seen, shared.secrets->scrub(bytes));
  return std::move(seen.text);
}

agentd_status AGENTD_CALL workspace_view(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         uint64_t limit, agentd_str* out, uint64_t* total) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::view>);
  const std::uint64_t most = limit == 0 ? kReadDefault : std::min(limit, kReadMax);
  std::uint64_t size = 0;
  auto bytes = ask.files().read(ask.absolute(view_of(path)), 0, most, &size);
  if (!bytes) return ask.fail(bytes.error());
  if (size > most) bytes->clear();
  auto text = view_of_bytes(shared, std::move(*bytes));
  if (!text) {
    (void)ask.fail(text.error());
    return AGENTD_E_UNSUPPORTED;
  }
  *out = ask.copy(*text);
  if (out->ptr == nullptr) return AGENTD_E_NOT_FOUND;
  if (total != nullptr) *total = size;
  return AGENTD_OK;
}

// The secrets of the file are in this process alone, on their way from the file to the file.
Result<void> edit_view(const ExtTables::Shared& shared, Workspace& files, const std::string& path,
                       std::string_view expected, std::string_view text) {
  if (shared.secrets == nullptr) return files.replace(path, expected, text);
  std::uint64_t size = 0;
  AGENTD_TRY(const std::string bytes, files.read(path, 0, kReadMax, &size));
  AGENTD_TRY(const std::string seen, view_of_bytes(shared, bytes));
  if (size > bytes.size() || seen != expected) return Error{Code::kConflict, path + " has changed since it was read"};
  AGENTD_TRY(const std::string whole, shared.secrets->restored(bytes, text));
  return files.replace(path, bytes, whole);
}

agentd_status AGENTD_CALL workspace_edit(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         agentd_str expected, agentd_str text) noexcept {
  ExtTables::Shared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(path) || !is_text(expected) || !is_text(text))
    return ask.incomplete(service_facts_of<&agentd_workspace::edit>);
  auto edited = edit_view(shared, ask.files(), ask.absolute(view_of(path)), view_of(expected), view_of(text));
  return edited ? AGENTD_OK : ask.fail(edited.error());
}

// ---- agentd.process/1

Result<ProcessRequest> request_of(const agentd_process_options& options, const Ask& ask) {
  const agentd_list& argv = options.argv;
  if (argv.first == nullptr || argv.count == 0 || argv.count > kArgumentsMax || argv.stride < sizeof(agentd_str) ||
      argv.stride > kRecordBytesMax)
    return Error{Code::kInvalid, "process.run needs a list of arguments that begins with the program"};
  if (!is_text(options.cwd) || !is_text(options.input))
    return Error{Code::kInvalid, "process.run got a text whose pointer is null"};
  ProcessRequest request;
  const auto* at = static_cast<const char*>(argv.first);
  for (std::uint32_t i = 0; i < argv.count; ++i, at += argv.stride) {
    agentd_str text{};
    std::memcpy(&text, at, sizeof(text));
    if (!is_text(text)) return Error{Code::kInvalid, "process.run got an argument whose pointer is null"};
    request.argv.emplace_back(view_of(text));
  }
  request.cwd = ask.absolute(view_of(options.cwd));
  request.input = std::string(view_of(options.input));
  request.output_bytes_max =
      options.output_bytes_max == 0 ? kOutputDefault : std::min(options.output_bytes_max, kOutputMax);
  return request;
}

Deadline deadline_of(const agentd_process_options& options, agentd_live& live, const Clock& clock) {
  const Milliseconds time = options.timeout_ms == 0 ? kCommandTime : Milliseconds(options.timeout_ms);
  return {std::min(Deadline::after(clock, time).at_ns, std::atomic_ref(live.deadline_ns).load())};
}

std::uint32_t flags_of(const ProcessResult& result) {
  return (result.timed_out ? AGENTD_PROCESS_TIMED_OUT : 0) | (result.cancelled ? AGENTD_PROCESS_CANCELLED : 0) |
         (result.truncated ? AGENTD_PROCESS_TRUNCATED : 0);
}

agentd_status AGENTD_CALL process_run(const agentd_process* table, agentd_token token,
                                      const agentd_process_options* options,
                                      const agentd_process_result** out) noexcept {
  ExtTables::Shared& shared = *reinterpret_cast<const ExtTables::ProcessTable*>(table)->shared;
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (options == nullptr || out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::run>);
  auto known = normalise<agentd_process_options>(options, kProcessOptionsFirstBytes, "the options of process.run");
  if (!known) return ask.fail(known.error());
  auto request = request_of(*known, ask);
  if (!request) return ask.fail(request.error());
  auto result = run_process(*request, shared.clock, ask.slot().service_cancel(),
                            deadline_of(*known, ask.slot().live(), shared.clock));
  if (!result) return ask.fail(result.error());
  auto* const made = ask.make<agentd_process_result>();
  if (made == nullptr) return AGENTD_E_NOT_FOUND;
  *made = {sizeof(agentd_process_result),
           flags_of(*result),
           result->exit_code,
           result->signal,
           ask.copy(result->output),
           result->output_bytes,
           static_cast<std::uint64_t>(result->duration.count()) * 1'000'000u};
  *out = made;
  return AGENTD_OK;
}

constexpr agentd_workspace kWorkspace{sizeof(agentd_workspace), 0,
                                      workspace_read,           workspace_write,
                                      workspace_replace,        workspace_list,
                                      workspace_view,           workspace_edit};
constexpr agentd_process kProcess{sizeof(agentd_process), 0, process_run};

}  // namespace

ExtTables::ExtTables(TokenTable& tokens, Workspace& workspace, const Clock& clock, FilesOfSession files,
                     const Secrets* secrets)
    : shared_{tokens, &workspace, clock, std::move(files), secrets},
      workspace_{kWorkspace, &shared_},
      process_{kProcess, &shared_} {}

ExtTables::ExtTables(TokenTable& tokens, const Clock& clock, FilesOfSession files, const Secrets* secrets)
    : shared_{tokens, nullptr, clock, std::move(files), secrets},
      workspace_{kWorkspace, &shared_},
      process_{kProcess, &shared_} {}

}  // namespace agentd
