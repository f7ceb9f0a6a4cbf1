// SPDX-License-Identifier: Apache-2.0
#include "core/native/ext_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/native/ext_ask.h"

namespace agentd {
namespace {

constexpr std::uint64_t kReadDefault = 16u << 20;
constexpr std::uint64_t kReadMax = 64u << 20;
constexpr std::uint32_t kListDefault = 10'000;
constexpr std::uint32_t kListMax = 1'000'000;

ExtShared& shared_of(const agentd_workspace* table) {
  return *reinterpret_cast<const ExtWorkspaceTable*>(table)->shared;
}

// ---- agentd.workspace/1

agentd_status AGENTD_CALL workspace_read(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         uint64_t offset, uint64_t limit, agentd_str* out, uint64_t* total) noexcept {
  ExtShared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::read>);
  const std::uint64_t most = limit == 0 ? kReadDefault : std::min(limit, kReadMax);
  std::uint64_t size = 0;
  auto text = ask.read(ask.absolute(view_of(path)), offset, most, &size);
  if (!text) return ask.fail(text.error());
  *out = ask.copy(*text);
  if (out->ptr == nullptr) return AGENTD_E_NOT_FOUND;
  if (total != nullptr) *total = size;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL workspace_write(const agentd_workspace* table, agentd_token token, agentd_str path,
                                          agentd_str bytes) noexcept {
  ExtShared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(path) || !is_text(bytes)) return ask.incomplete(service_facts_of<&agentd_workspace::write>);
  auto written = ask.files().write(ask.absolute(view_of(path)), view_of(bytes));
  return written ? AGENTD_OK : ask.fail(written.error());
}

agentd_status AGENTD_CALL workspace_replace(const agentd_workspace* table, agentd_token token, agentd_str path,
                                            agentd_str expected, agentd_str bytes) noexcept {
  ExtShared& shared = shared_of(table);
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
  ExtShared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::list>);
  const std::uint32_t most = limit == 0 ? kListDefault : std::min(limit, kListMax);
  const std::string folder = ask.absolute(view_of(path));
  auto listing = ask.files().list(folder, depth, most);
  if (!listing) return ask.fail(listing.error());
  auto* const rows = ask.make<agentd_file_entry>(listing->entries.size());
  if (rows == nullptr) return AGENTD_E_NOT_FOUND;
  for (std::size_t i = 0; i < listing->entries.size(); ++i) {
    const FileEntry& from = listing->entries[i];
    const bool seen = ask.withheld() == nullptr || !ask.withheld()->entry(folder + "/" + from.path);
    rows[i] = {sizeof(agentd_file_entry), seen ? kind_of(from.kind) : AGENTD_FILE_WITHHELD, ask.copy(from.path),
               seen ? from.bytes : 0, seen ? from.modified_ns : 0};
  }
  *out = {rows, static_cast<std::uint32_t>(listing->entries.size()), sizeof(agentd_file_entry)};
  if (more != nullptr) *more = listing->more ? 1 : 0;
  return AGENTD_OK;
}

// ---- the text of a file that a model may see

Result<std::string> view_of_bytes(const ExtShared& shared, std::string bytes) {
  if (shared.secrets == nullptr) return bytes;
  AGENTD_TRY(Scrubbed seen, shared.secrets->scrub(bytes));
  return std::move(seen.text);
}

agentd_status AGENTD_CALL workspace_view(const agentd_workspace* table, agentd_token token, agentd_str path,
                                         uint64_t limit, agentd_str* out, uint64_t* total) noexcept {
  ExtShared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr || !is_text(path)) return ask.incomplete(service_facts_of<&agentd_workspace::view>);
  const std::uint64_t most = limit == 0 ? kReadDefault : std::min(limit, kReadMax);
  std::uint64_t size = 0;
  auto bytes = ask.read(ask.absolute(view_of(path)), 0, most, &size);
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
Result<void> edit_view(const ExtShared& shared, Workspace& files, const std::string& path, std::string_view expected,
                       std::string_view text) {
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
  ExtShared& shared = shared_of(table);
  const Ask ask(shared, token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(path) || !is_text(expected) || !is_text(text))
    return ask.incomplete(service_facts_of<&agentd_workspace::edit>);
  auto edited = edit_view(shared, ask.files(), ask.absolute(view_of(path)), view_of(expected), view_of(text));
  return edited ? AGENTD_OK : ask.fail(edited.error());
}

constexpr agentd_workspace kWorkspace{sizeof(agentd_workspace), 0,
                                      workspace_read,           workspace_write,
                                      workspace_replace,        workspace_list,
                                      workspace_view,           workspace_edit};

}  // namespace

ExtTables::ExtTables(TokenTable& tokens, Workspace& workspace, const Clock& clock, FilesOfSession files,
                     const Secrets* secrets, CommandsOfSession commands)
    : shared_{tokens, &workspace, clock, std::move(files), secrets, std::move(commands), {}, {}},
      workspace_{kWorkspace, &shared_},
      process_{process_functions(), &shared_} {}

ExtTables::ExtTables(TokenTable& tokens, const Clock& clock, FilesOfSession files, const Secrets* secrets,
                     CommandsOfSession commands)
    : shared_{tokens, nullptr, clock, std::move(files), secrets, std::move(commands), {}, {}},
      workspace_{kWorkspace, &shared_},
      process_{process_functions(), &shared_} {}

}  // namespace agentd
