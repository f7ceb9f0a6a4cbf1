// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <mutex>

namespace agentd {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

class FileLog final : public Log {
 public:
  FileLog(std::string path, LogLevel at_least) : path_(std::move(path)), at_least_(at_least) {}

  void write(LogLevel level, std::string_view area, std::string_view text) override {
    if (level < at_least_) return;
    std::call_once(opened_, [this] { open(); });
    if (logger_) logger_->log(level_of(level), "{}: {}", area, text);
  }

 private:
  void open() {
    try {
      auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path_);
      logger_ = std::make_unique<spdlog::logger>("agentd", std::move(sink));
      logger_->set_level(level_of(at_least_));
      logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %P %l %v");
      logger_->flush_on(spdlog::level::debug);
    } catch (const spdlog::spdlog_ex& error) {
      std::fprintf(stderr, "agentd: the log is off: %s\n", error.what());
    }
  }

  const std::string path_;
  const LogLevel at_least_;
  std::once_flag opened_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace

std::unique_ptr<Log> make_file_log(std::string path, LogLevel at_least) {
  return std::make_unique<FileLog>(std::move(path), at_least);
}

}  // namespace agentd
