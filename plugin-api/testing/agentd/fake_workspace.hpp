// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_workspace.hpp - agentd.workspace/1 over a directory of the test, and agentd.process/1 that runs commands in it
// or returns scripted results.
//
//   agentd::testing::fake_workspace files(host, directory);   // before host.create()
//   agentd::testing::fake_process commands(host, directory);
//   commands.script("git", {.output = "clean\n"});
//
// Linux only. Symbolic links that leave the directory are refused; unlike agentd, it does not protect from races.
//
// Threading: as fake_host.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/fake_host.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace agentd::testing {

class fake_workspace {
 public:
  fake_workspace(fake_host& host, std::filesystem::path root) : root_(std::filesystem::weakly_canonical(root)) {
    table_.size = sizeof(agentd_workspace);
    AGENTD_WORKSPACE_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.read = &read;
    table_.write = &write;
    table_.replace = &replace;
    table_.list = &list;
    table_.view = &view;
    table_.edit = &edit;
    host.offer(AGENTD_WORKSPACE_ID, static_cast<agentd_workspace*>(&table_), sizeof(agentd_workspace));
    host.conversation.cwd = root_.string();
  }
  fake_workspace(const fake_workspace&) = delete;
  fake_workspace& operator=(const fake_workspace&) = delete;

 private:
  struct owned : agentd_workspace {
    fake_workspace* owner;
  };
  static fake_workspace& of(const agentd_workspace* table) { return *static_cast<const owned*>(table)->owner; }
  // The path below the root; nothing if it leaves the root.
  std::optional<std::filesystem::path> inside(agentd_str path) const {
    std::error_code failed;
    const auto full = std::filesystem::weakly_canonical(root_ / std::filesystem::path(as_view(path)), failed);
    if (failed) return std::nullopt;
    const auto relative = full.lexically_relative(root_);
    if (relative.empty() || *relative.begin() == "..") return std::nullopt;
    return full;
  }
  static std::optional<std::string> bytes_of(const std::filesystem::path& path) {
    if (!std::filesystem::is_regular_file(path)) return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  static agentd_status put(const std::filesystem::path& path, std::string_view bytes) {
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return out.flush() ? AGENTD_OK : AGENTD_E_IO;
  }

  static agentd_status AGENTD_CALL read(const agentd_workspace* table, agentd_token, agentd_str path,
                                        std::uint64_t offset, std::uint64_t limit, agentd_str* out,
                                        std::uint64_t* total) noexcept {
    fake_workspace& self = of(table);
    const auto full = self.inside(path);
    if (!full) return AGENTD_E_DENIED;
    const auto bytes = bytes_of(*full);
    if (!bytes) return AGENTD_E_NOT_FOUND;
    constexpr std::uint64_t kLimit = 16u << 20;
    const std::string part =
        offset >= bytes->size()
            ? std::string()
            : bytes->substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(limit == 0 ? kLimit : limit));
    *out = self.memory_.text(part);
    if (total != nullptr) *total = bytes->size();
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL write(const agentd_workspace* table, agentd_token, agentd_str path,
                                         agentd_str bytes) noexcept {
    const auto full = of(table).inside(path);
    if (!full) return AGENTD_E_DENIED;
    return put(*full, as_view(bytes));
  }
  static agentd_status AGENTD_CALL replace(const agentd_workspace* table, agentd_token, agentd_str path,
                                           agentd_str expected, agentd_str bytes) noexcept {
    const auto full = of(table).inside(path);
    if (!full) return AGENTD_E_DENIED;
    const auto now = bytes_of(*full);
    if (!now) return AGENTD_E_NOT_FOUND;
    return *now == as_view(expected) ? put(*full, as_view(bytes)) : AGENTD_E_CONFLICT;
  }
  // It knows no secrets.
  static agentd_status AGENTD_CALL view(const agentd_workspace* table, agentd_token token, agentd_str path,
                                        std::uint64_t limit, agentd_str* out, std::uint64_t* total) noexcept {
    std::uint64_t size = 0;
    const agentd_status status = read(table, token, path, 0, limit, out, &size);
    if (status == AGENTD_OK && size > (limit == 0 ? 16u << 20 : limit)) *out = {nullptr, 0};
    if (status == AGENTD_OK && total != nullptr) *total = size;
    return status;
  }
  static agentd_status AGENTD_CALL edit(const agentd_workspace* table, agentd_token token, agentd_str path,
                                        agentd_str expected, agentd_str text) noexcept {
    return replace(table, token, path, expected, text);
  }
  static agentd_status AGENTD_CALL list(const agentd_workspace* table, agentd_token, agentd_str path,
                                        std::uint32_t depth, std::uint32_t limit, agentd_list* out,
                                        std::uint32_t* more) noexcept {
    fake_workspace& self = of(table);
    const auto full = self.inside(path);
    if (!full) return AGENTD_E_DENIED;
    if (!std::filesystem::is_directory(*full)) return AGENTD_E_NOT_FOUND;
    listing made{limit == 0 ? 10000 : limit, {}, false};
    self.walk(*full, *full, depth == 0 ? UINT32_MAX : depth, made);
    *out = self.memory_.list(std::move(made.rows));
    if (more != nullptr) *more = made.more ? 1 : 0;
    return AGENTD_OK;
  }
  struct listing {
    std::uint32_t limit;
    std::vector<agentd_file_entry> rows;
    bool more;
  };
  void walk(const std::filesystem::path& top, const std::filesystem::path& at, std::uint32_t depth, listing& to) {
    std::vector<std::filesystem::directory_entry> entries(std::filesystem::directory_iterator(at), {});
    std::sort(entries.begin(), entries.end());
    for (const auto& entry : entries) {
      if (to.rows.size() == to.limit) {
        to.more = true;
        return;
      }
      to.rows.push_back(row_of(top, entry));
      if (depth > 1 && !entry.is_symlink() && entry.is_directory()) walk(top, entry.path(), depth - 1, to);
    }
  }
  agentd_file_entry row_of(const std::filesystem::path& top, const std::filesystem::directory_entry& entry) {
    auto row = sized<agentd_file_entry>();
    row.kind = entry.is_symlink()        ? AGENTD_FILE_SYMLINK
               : entry.is_directory()    ? AGENTD_FILE_DIRECTORY
               : entry.is_regular_file() ? AGENTD_FILE_REGULAR
                                         : AGENTD_FILE_OTHER;
    row.path = memory_.text(entry.path().lexically_relative(top).generic_string());
    if (row.kind == AGENTD_FILE_REGULAR) row.bytes = entry.file_size();
    return row;
  }

  std::filesystem::path root_;
  keeper memory_;  // results live as long as the fake
  owned table_{};
};

struct command_result {
  std::string output{};
  int exit_code = 0;
  std::uint32_t flags = 0;  // AGENTD_PROCESS_
};

struct command_seen {
  std::vector<std::string> argv;
  std::string cwd, input;
  std::uint32_t timeout_ms = 0;
  std::vector<std::string> environment{};
  std::uint32_t flags = 0;
};

// A command that was started. It is not run: the test says what it writes and how it ends.
struct command_started {
  command_seen asked;
  std::string output{};   // so far; the test may append
  std::string written{};  // what the plugin wrote to its input
  bool input_closed = false, ended = false;
  std::int32_t exit_code = 0;
  std::uint32_t reason = 0;              // AGENTD_PROCESS_REASON_, once it has ended
  std::vector<std::uint32_t> signals{};  // that the plugin sent
  std::uint32_t rows = 0, columns = 0;
  std::uint64_t unread = 0;
};

class fake_process {
 public:
  fake_process(fake_host& host, std::filesystem::path cwd) : cwd_(std::move(cwd)) {
    table_.size = sizeof(agentd_process);
    AGENTD_PROCESS_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.run = &run;
    table_.start = &start;
    table_.read = &read;
    table_.write = &write;
    table_.signal = &signal;
    table_.wait = &wait;
    table_.list = &list;
    table_.resize = &resize;
    table_.end = &end;
    host.offer(AGENTD_PROCESS_ID, static_cast<agentd_process*>(&table_), sizeof(agentd_process));
  }
  fake_process(const fake_process&) = delete;
  fake_process& operator=(const fake_process&) = delete;

  // Commands whose argv[0] is `program` are not run; they return `answer`.
  void script(std::string_view program, command_result answer) { scripted_[std::string(program)] = std::move(answer); }
  // Every command of run(), in order.
  std::vector<command_seen> commands;
  // Every command of start(), by handle - 1. A program with a script ends at once, as that says; others run until the
  // test or end() ends them.
  std::vector<command_started> started;

 private:
  struct owned : agentd_process {
    fake_process* owner;
  };

  static agentd_status AGENTD_CALL run(const agentd_process* table, agentd_token, const agentd_process_options* options,
                                       const agentd_process_result** out) noexcept {
    fake_process& self = *static_cast<const owned*>(table)->owner;
    if (options == nullptr || options->argv.count == 0) return AGENTD_E_ARG;
    command_seen asked = self.seen(*options);
    if (asked.timeout_ms == 0) asked.timeout_ms = 120000;
    self.commands.push_back(asked);
    const auto scripted = self.scripted_.find(asked.argv[0]);
    command_result result;
    if (scripted != self.scripted_.end()) {
      result = scripted->second;
    } else if (!execute(asked, result)) {
      return AGENTD_E_NOT_FOUND;
    }
    *out = self.record_of(result, options->output_bytes_max);
    return AGENTD_OK;
  }
  command_seen seen(const agentd_process_options& options) const {
    command_seen out;
    for (std::string_view word : text_list(options.argv)) out.argv.emplace_back(word);
    for (std::string_view entry : text_list(options.environment)) out.environment.emplace_back(entry);
    out.cwd = options.cwd.len == 0 ? cwd_.string() : std::string(as_view(options.cwd));
    out.input = as_view(options.input);
    out.timeout_ms = options.timeout_ms;
    out.flags = options.flags;
    return out;
  }

  // ---- commands with handles

  static fake_process& of(const agentd_process* table) { return *static_cast<const owned*>(table)->owner; }
  command_started* find(std::uint64_t handle) {
    return handle == 0 || handle > started.size() ? nullptr : &started[static_cast<std::size_t>(handle - 1)];
  }
  const agentd_process_state* state_of(std::uint64_t handle) {
    const command_started& from = *find(handle);
    auto made = sized<agentd_process_state>();
    made.flags = from.asked.flags;
    made.handle = handle;
    made.state = from.ended ? AGENTD_PROCESS_STATE_ENDED : AGENTD_PROCESS_STATE_RUNNING;
    made.reason = from.ended ? from.reason : 0;
    made.exit_code = from.ended ? from.exit_code : -1;
    made.output_bytes = from.output.size();
    std::string line;
    for (const std::string& word : from.asked.argv) line += (line.empty() ? "" : " ") + word;
    made.command = memory_.text(line);
    return memory_.keep(made);
  }
  static agentd_status AGENTD_CALL start(const agentd_process* table, agentd_token,
                                         const agentd_process_options* options, std::uint64_t* handle) noexcept {
    fake_process& self = of(table);
    if (options == nullptr || handle == nullptr || options->argv.count == 0) return AGENTD_E_ARG;
    command_started made{.asked = self.seen(*options)};
    made.rows = options->rows;
    made.columns = options->columns;
    if (const auto scripted = self.scripted_.find(made.asked.argv[0]); scripted != self.scripted_.end()) {
      made.output = scripted->second.output;
      made.exit_code = scripted->second.exit_code;
      made.ended = true;
      made.reason = AGENTD_PROCESS_REASON_EXITED;
    }
    self.started.push_back(std::move(made));
    *handle = self.started.size();
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL read(const agentd_process* table, agentd_token, std::uint64_t handle,
                                        std::uint64_t position, std::uint64_t limit, std::uint32_t,
                                        const agentd_process_piece** out) noexcept {
    fake_process& self = of(table);
    command_started* const from = self.find(handle);
    if (out == nullptr) return AGENTD_E_ARG;
    if (from == nullptr) return AGENTD_E_NOT_FOUND;
    const bool unread = position == AGENTD_PROCESS_UNREAD;
    auto made = sized<agentd_process_piece>();
    made.first = std::min<std::uint64_t>(unread ? from->unread : position, from->output.size());
    const std::string_view bytes =
        std::string_view(from->output)
            .substr(static_cast<std::size_t>(made.first), static_cast<std::size_t>(limit == 0 ? 65536 : limit));
    made.next = made.first + bytes.size();
    if (unread) from->unread = made.next;
    made.bytes = self.memory_.text(bytes);
    made.state = self.state_of(handle);
    *out = self.memory_.keep(made);
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL write(const agentd_process* table, agentd_token, std::uint64_t handle,
                                         agentd_str bytes, std::uint32_t close) noexcept {
    command_started* const to = of(table).find(handle);
    if (to == nullptr) return AGENTD_E_NOT_FOUND;
    constexpr std::uint32_t kTakes = AGENTD_PROCESS_TAKES_INPUT | AGENTD_PROCESS_TERMINAL;
    if ((to->asked.flags & kTakes) == 0 || to->input_closed) return AGENTD_E_ARG;
    if (to->ended) return AGENTD_E_IO;
    to->written += as_view(bytes);
    to->input_closed = close != 0;
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL signal(const agentd_process* table, agentd_token, std::uint64_t handle,
                                          std::uint32_t number) noexcept {
    command_started* const to = of(table).find(handle);
    if (to == nullptr) return AGENTD_E_NOT_FOUND;
    if (to->ended) return AGENTD_E_IO;
    to->signals.push_back(number);
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL wait(const agentd_process* table, agentd_token, std::uint64_t handle, std::uint32_t,
                                        const agentd_process_state** out) noexcept {
    fake_process& self = of(table);
    if (out == nullptr) return AGENTD_E_ARG;
    if (self.find(handle) == nullptr) return AGENTD_E_NOT_FOUND;
    *out = self.state_of(handle);
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL list(const agentd_process* table, agentd_token, agentd_list* out) noexcept {
    fake_process& self = of(table);
    if (out == nullptr) return AGENTD_E_ARG;
    std::vector<agentd_process_state> rows;
    for (std::size_t i = 1; i <= self.started.size(); ++i) rows.push_back(*self.state_of(i));
    *out = self.memory_.list(std::move(rows));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL resize(const agentd_process* table, agentd_token, std::uint64_t handle,
                                          std::uint32_t rows, std::uint32_t columns) noexcept {
    command_started* const to = of(table).find(handle);
    if (to == nullptr) return AGENTD_E_NOT_FOUND;
    if ((to->asked.flags & AGENTD_PROCESS_TERMINAL) == 0) return AGENTD_E_ARG;
    to->rows = rows;
    to->columns = columns;
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL end(const agentd_process* table, agentd_token, std::uint64_t handle,
                                       const agentd_process_state** out) noexcept {
    fake_process& self = of(table);
    command_started* const to = self.find(handle);
    if (out == nullptr) return AGENTD_E_ARG;
    if (to == nullptr) return AGENTD_E_NOT_FOUND;
    if (!to->ended) {
      to->ended = true;
      to->exit_code = -1;
      to->reason = AGENTD_PROCESS_REASON_ENDED;
    }
    *out = self.state_of(handle);
    return AGENTD_OK;
  }

  // ---- run()

  const agentd_process_result* record_of(const command_result& from, std::uint64_t max) {
    const std::size_t kept = static_cast<std::size_t>(max == 0 ? 1u << 20 : max);
    auto made = sized<agentd_process_result>();
    made.flags = from.flags | (from.output.size() > kept ? AGENTD_PROCESS_TRUNCATED : 0);
    made.exit_code = from.exit_code;
    made.reason = (from.flags & AGENTD_PROCESS_TIMED_OUT) != 0   ? AGENTD_PROCESS_REASON_TIMED_OUT
                  : (from.flags & AGENTD_PROCESS_CANCELLED) != 0 ? AGENTD_PROCESS_REASON_CANCELLED
                                                                 : AGENTD_PROCESS_REASON_EXITED;
    made.output = memory_.text(std::string_view(from.output).substr(0, kept));
    made.output_bytes = from.output.size();
    return memory_.keep(made);
  }
  // Returns false if there is no such program. The command gets a process group, which is killed at the deadline.
  static bool execute(const command_seen& asked, command_result& result) {
    int output[2];
    int started[2];
    if (::pipe2(output, O_CLOEXEC) != 0) return false;
    if (::pipe2(started, O_CLOEXEC) != 0) return false;
    const int input = input_of(asked.input);
    std::vector<char*> argv;
    for (const std::string& word : asked.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) become(asked, argv.data(), input, output[1], started[1]);
    ::close(output[1]);
    ::close(started[1]);
    ::close(input);
    char failed = 0;
    const bool missing = child < 0 || ::read(started[0], &failed, 1) == 1;
    ::close(started[0]);
    if (!missing) collect(output[0], child, asked.timeout_ms, result);
    ::close(output[0]);
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return !missing;
  }
  // An unnamed file with the standard input.
  static int input_of(const std::string& text) {
    const int file = ::memfd_create("stdin", MFD_CLOEXEC);
    if (::write(file, text.data(), text.size()) >= 0) ::lseek(file, 0, SEEK_SET);
    return file;
  }
  [[noreturn]] static void become(const command_seen& asked, char** argv, int input, int output, int started) {
    ::setsid();
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    if (::chdir(asked.cwd.c_str()) == 0) ::execvp(argv[0], argv);
    const char failed = 1;
    if (::write(started, &failed, 1) != 1) ::_exit(126);
    ::_exit(127);
  }
  static void collect(int from, pid_t child, std::uint32_t timeout_ms, command_result& result) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd one{from, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) {
        result.flags |= AGENTD_PROCESS_TIMED_OUT;
        ::kill(-child, SIGKILL);
        return;
      }
      char buffer[4096];
      const ssize_t got = ::read(from, buffer, sizeof(buffer));
      if (got <= 0) return;
      result.output.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::filesystem::path cwd_;
  std::map<std::string, command_result, std::less<>> scripted_;
  keeper memory_;
  owned table_{};
};

}  // namespace agentd::testing
