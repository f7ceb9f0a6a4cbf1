// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_fixture.h - a bundled plugin, loaded as a user's agentd would load it, in the fake host.
//
// Threading: one test thread.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <agentd/fake_host.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/clock.h"
#include "core/codec/json.h"
#include "core/process/commands.h"
#include "core/process/workspace.h"
#include "core/scrub/secrets.h"

namespace agentd::testing {

inline agentd_entry load_plugin(const std::string& name) {
  const std::string path = std::string(AGENTD_HOOKS_DIR) + "/" + name + ".so";
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    ADD_FAILURE() << ::dlerror();
    std::abort();
  }
  return reinterpret_cast<agentd_entry>(::dlsym(module, AGENTD_ENTRY_SYMBOL));
}

// A folder of the test's own.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plugins.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path = std::filesystem::canonical(pattern).string();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  void put(const std::string& name, std::string_view text) const {
    const std::filesystem::path full = std::filesystem::path(path) / name;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  std::string get(const std::string& name) const {
    std::ifstream in(path + "/" + name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::string path;
};

// agentd.workspace/1 over core's own workspace, agentd.process/1 over core's own commands: what
// the tools do here is what they do in agentd.
class RealServices {
 public:
  // `kept` and `hidden` as open_workspace() has them.
  RealServices(fake_host& host, const std::string& root, std::vector<std::string> kept = {},
               std::vector<std::string> hidden = {})
      : root_(root) {
    auto opened = open_workspace({root}, std::move(kept), std::move(hidden));
    EXPECT_TRUE(opened) << opened.error().message;
    if (opened) workspace_ = std::move(*opened);
    files_.table = {sizeof(agentd_workspace), 0, read, write, replace, list, view, edit};
    files_.owner = this;
    commands_.table = {sizeof(agentd_process), 0,      run, start, command_read, command_write, signal, wait,
                       command_list,           resize, end};
    commands_.owner = this;
    host.offer(AGENTD_WORKSPACE_ID, &files_.table, sizeof files_.table);
    host.offer(AGENTD_PROCESS_ID, &commands_.table, sizeof commands_.table);
    host.conversation.cwd = root;
  }
  CancelToken cancel;
  int reads = 0;
  const Secrets* secrets = nullptr;  // null = files are shown as they are
  std::string spill_directory{};     // of commands; empty = nothing is spilled

 private:
  template <typename Table>
  struct Owned {
    Table table{};
    RealServices* owner = nullptr;
  };
  static RealServices& of(const agentd_workspace* table) {
    return *reinterpret_cast<const Owned<agentd_workspace>*>(table)->owner;
  }
  static agentd_status status_of(Code code) {
    switch (code) {
      case Code::kInvalid:
        return AGENTD_E_ARG;
      case Code::kNotFound:
        return AGENTD_E_NOT_FOUND;
      case Code::kBusy:
        return AGENTD_E_BUSY;
      case Code::kConflict:
        return AGENTD_E_CONFLICT;
      case Code::kDenied:
        return AGENTD_E_DENIED;
      case Code::kCancelled:
        return AGENTD_E_CANCELLED;
      case Code::kUnavailable:
      case Code::kCorrupt:
        return AGENTD_E_IO;
      case Code::kInternal:
        return AGENTD_E_INTERNAL;
    }
    return AGENTD_E_INTERNAL;
  }
  static std::string text(agentd_str from) { return std::string(as_view(from)); }

  static agentd_status read(const agentd_workspace* table, agentd_token, agentd_str path, std::uint64_t offset,
                            std::uint64_t limit, agentd_str* out, std::uint64_t* total) noexcept {
    ++of(table).reads;
    auto got = of(table).workspace_->read(text(path), offset, limit, total);
    if (!got) return status_of(got.error().code);
    *out = of(table).memory_.text(*got);
    return AGENTD_OK;
  }
  static agentd_status write(const agentd_workspace* table, agentd_token, agentd_str path, agentd_str bytes) noexcept {
    const auto wrote = of(table).workspace_->write(text(path), as_view(bytes));
    return wrote ? AGENTD_OK : status_of(wrote.error().code);
  }
  static agentd_status replace(const agentd_workspace* table, agentd_token, agentd_str path, agentd_str expected,
                               agentd_str bytes) noexcept {
    const auto wrote = of(table).workspace_->replace(text(path), as_view(expected), as_view(bytes));
    return wrote ? AGENTD_OK : status_of(wrote.error().code);
  }
  static agentd_status view(const agentd_workspace* table, agentd_token, agentd_str path, std::uint64_t limit,
                            agentd_str* out, std::uint64_t* total) noexcept {
    RealServices& self = of(table);
    ++self.reads;
    auto got = self.workspace_->read(text(path), 0, limit, total);
    if (!got) return status_of(got.error().code);
    if (*total > limit) got->clear();
    const std::string shown = self.secrets == nullptr ? *got : self.secrets->pass(*got).text;
    *out = self.memory_.text(shown);
    return AGENTD_OK;
  }
  static agentd_status edit(const agentd_workspace* table, agentd_token, agentd_str path, agentd_str expected,
                            agentd_str becomes) noexcept {
    RealServices& self = of(table);
    std::uint64_t total = 0;
    const auto bytes = self.workspace_->read(text(path), 0, 64u << 20, &total);
    if (!bytes) return status_of(bytes.error().code);
    const std::string shown = self.secrets == nullptr ? *bytes : self.secrets->pass(*bytes).text;
    if (shown != as_view(expected)) return AGENTD_E_CONFLICT;
    const Result<std::string> whole =
        self.secrets == nullptr ? text(becomes) : self.secrets->restored(*bytes, as_view(becomes));
    if (!whole) return status_of(whole.error().code);
    const auto wrote = self.workspace_->replace(text(path), *bytes, *whole);
    return wrote ? AGENTD_OK : status_of(wrote.error().code);
  }
  static agentd_status list(const agentd_workspace* table, agentd_token, agentd_str path, std::uint32_t depth,
                            std::uint32_t limit, agentd_list* out, std::uint32_t* more) noexcept {
    auto got = of(table).workspace_->list(text(path), depth, limit);
    if (!got) return status_of(got.error().code);
    std::vector<agentd_file_entry> rows;
    for (const FileEntry& entry : got->entries) {
      auto row = sized<agentd_file_entry>();
      row.kind = static_cast<std::uint32_t>(entry.kind) + 1;
      row.path = of(table).memory_.text(entry.path);
      row.bytes = entry.bytes;
      row.modified_ns = entry.modified_ns;
      rows.push_back(row);
    }
    *out = of(table).memory_.list(std::move(rows));
    *more = got->more ? 1 : 0;
    return AGENTD_OK;
  }
  static agentd_status run(const agentd_process* table, agentd_token, const agentd_process_options* options,
                           const agentd_process_result** out) noexcept {
    RealServices& self = of(table);
    const auto got = self.host_.run(self.request_of(*options), self.cancel,
                                    Deadline::after(self.clock_, Milliseconds(options->timeout_ms)));
    if (!got) return status_of(got.error().code);
    auto made = sized<agentd_process_result>();
    made.flags = (got->timed_out ? AGENTD_PROCESS_TIMED_OUT : 0u) | (got->cancelled ? AGENTD_PROCESS_CANCELLED : 0u) |
                 (got->truncated ? AGENTD_PROCESS_TRUNCATED : 0u);
    made.exit_code = got->exit_code;
    made.signal = got->signal;
    made.output = self.memory_.text(got->output);
    made.output_bytes = got->output_bytes;
    made.spill_path = self.memory_.text(got->spill_path);
    made.spill_bytes = got->spill_bytes;
    *out = self.memory_.keep(made);
    return AGENTD_OK;
  }

  // ---- commands with handles

  static RealServices& of(const agentd_process* table) {
    return *reinterpret_cast<const Owned<agentd_process>*>(table)->owner;
  }
  CommandRequest request_of(const agentd_process_options& options) const {
    CommandRequest out;
    for (std::string_view word : text_list(options.argv)) out.process.argv.emplace_back(word);
    out.process.cwd = root_;
    out.process.output_bytes_max = options.output_bytes_max;
    out.process.grace = Milliseconds(100);
    out.process.spill.directory = spill_directory;
    out.description = text(options.description);
    return out;
  }
  agentd_process_state record_of(const CommandState& from) {
    auto made = sized<agentd_process_state>();
    made.handle = from.handle;
    made.state = static_cast<std::uint32_t>(from.phase) + 1;
    made.reason = static_cast<std::uint32_t>(from.reason);
    made.exit_code = from.exit_code;
    made.signal = from.signal;
    made.output_bytes = from.output_bytes;
    made.spill_bytes = from.spill_bytes;
    made.command = memory_.text(from.command);
    made.spill_path = memory_.text(from.spill_path);
    return made;
  }
  agentd_status give(const Result<CommandState>& state, const agentd_process_state** out) {
    if (!state) return status_of(state.error().code);
    *out = memory_.keep(record_of(*state));
    return AGENTD_OK;
  }
  static agentd_status start(const agentd_process* table, agentd_token, const agentd_process_options* options,
                             std::uint64_t* handle) noexcept {
    CommandRequest request = of(table).request_of(*options);
    request.time = Milliseconds(options->timeout_ms);
    const auto got = of(table).host_.start(std::move(request));
    if (!got) return status_of(got.error().code);
    *handle = *got;
    return AGENTD_OK;
  }
  static agentd_status command_read(const agentd_process* table, agentd_token, std::uint64_t handle,
                                    std::uint64_t position, std::uint64_t limit, std::uint32_t wait_ms,
                                    const agentd_process_piece** out) noexcept {
    RealServices& self = of(table);
    const auto got = self.host_.read(handle, position, static_cast<std::size_t>(limit), self.cancel,
                                     Deadline::after(self.clock_, Milliseconds(wait_ms)));
    if (!got) return status_of(got.error().code);
    auto made = sized<agentd_process_piece>();
    made.first = got->first;
    made.next = got->next;
    made.bytes = self.memory_.text(got->bytes);
    made.state = self.memory_.keep(self.record_of(got->state));
    *out = self.memory_.keep(made);
    return AGENTD_OK;
  }
  static agentd_status command_write(const agentd_process* table, agentd_token, std::uint64_t handle, agentd_str bytes,
                                     std::uint32_t close) noexcept {
    const auto wrote = of(table).host_.write(handle, as_view(bytes), close != 0, of(table).cancel, Deadline{});
    return wrote ? AGENTD_OK : status_of(wrote.error().code);
  }
  static agentd_status signal(const agentd_process* table, agentd_token, std::uint64_t handle,
                              std::uint32_t number) noexcept {
    const auto sent = of(table).host_.signal(handle, static_cast<int>(number));
    return sent ? AGENTD_OK : status_of(sent.error().code);
  }
  static agentd_status wait(const agentd_process* table, agentd_token, std::uint64_t handle, std::uint32_t wait_ms,
                            const agentd_process_state** out) noexcept {
    RealServices& self = of(table);
    return self.give(self.host_.wait(handle, self.cancel, Deadline::after(self.clock_, Milliseconds(wait_ms))), out);
  }
  static agentd_status command_list(const agentd_process* table, agentd_token, agentd_list* out) noexcept {
    std::vector<agentd_process_state> rows;
    for (const CommandState& state : of(table).host_.list()) rows.push_back(of(table).record_of(state));
    *out = of(table).memory_.list(std::move(rows));
    return AGENTD_OK;
  }
  static agentd_status resize(const agentd_process* table, agentd_token, std::uint64_t handle, std::uint32_t rows,
                              std::uint32_t columns) noexcept {
    const TerminalSize size{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
    const auto done = of(table).host_.resize(handle, size);
    return done ? AGENTD_OK : status_of(done.error().code);
  }
  static agentd_status end(const agentd_process* table, agentd_token, std::uint64_t handle,
                           const agentd_process_state** out) noexcept {
    return of(table).give(of(table).host_.end(handle), out);
  }

  const std::string root_;
  std::unique_ptr<Workspace> workspace_;
  SystemClock clock_;
  keeper memory_;
  CommandTable host_{std::make_shared<CommandReader>(clock_)};
  Owned<agentd_workspace> files_;
  Owned<agentd_process> commands_;
};

}  // namespace agentd::testing
