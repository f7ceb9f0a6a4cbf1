// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/neutral.h"

namespace agentd {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Lines after the first are indented, so that no text looks like an entry of its own.
std::string shown(std::string_view text) {
  std::string out = visible(text);
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += 3) out.insert(at + 1, "  ");
  return out;
}

std::string off_sentence(const std::string& why) {
  return "logging is off: " + neutral_line(why, 400) + "; set log.file to another path, or log.level to off";
}

Error unwritable(const std::string& path, int why) {
  return {Code::kDenied, off_sentence(path + " cannot be written (" + std::generic_category().message(why) + ")")};
}

class FileLog final : public Log {
 public:
  FileLog(std::string path, LogLevel at_least) : path_(std::move(path)), at_least_(at_least) {}

  void write(LogLevel level, std::string_view area, std::string_view text) override {
    if (level < at_least_) return;
    const MutexLock lock(mutex_);
    if (!std::exchange(tried_, true)) open();
    if (logger_) logger_->log(level_of(level), "{}: {}", area, shown(text));
  }

 private:
  void open() REQUIRES(mutex_) {
    try {
      // It is made before spdlog opens it, which would let everybody read it.
      spdlog::details::os::create_dir(spdlog::details::os::dir_name(path_));
      const UniqueFd made(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0600));
      auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(path_);
      logger_ = std::make_unique<spdlog::logger>("agentd", std::move(sink));
      logger_->set_level(level_of(at_least_));
      logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %P %l %v");
      logger_->flush_on(spdlog::level::debug);
      logger_->set_error_handler([this](const std::string& why) { tell_loss(why); });
    } catch (const spdlog::spdlog_ex& error) {
      std::fprintf(stderr, "agentd: warning: %s\n", off_sentence(error.what()).c_str());
    }
  }

  // Reports once, and never on two threads at the same time.
  void tell_loss(const std::string& why) {
    if (!lost_.test_and_set())
      std::fprintf(stderr, "agentd: warning: log entries are lost: %s\n", neutral_line(why, 400).c_str());
  }

  const std::string path_;
  const LogLevel at_least_;
  std::atomic_flag lost_;
  Mutex mutex_;
  bool tried_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<spdlog::logger> logger_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Log> make_file_log(std::string path, LogLevel at_least) {
  return std::make_unique<FileLog>(std::move(path), at_least);
}

Result<void> check_log_file(const std::string& path) {
  // O_NONBLOCK: a pipe that nobody reads must not block the caller.
  const UniqueFd opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
  if (opened.valid()) return {};
  if (errno != ENOENT) return unwritable(path, errno);
  // Missing directories will be made; the nearest existing one must allow it.
  std::filesystem::path above = std::filesystem::absolute(path);
  do {
    above = above.parent_path();
    if (::faccessat(AT_FDCWD, above.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  } while (errno == ENOENT && above.has_relative_path());
  return unwritable(path, errno);
}

}  // namespace agentd
