// SPDX-License-Identifier: Apache-2.0
#include "core/validate/subject.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <utility>

#include "core/codec/json.h"

namespace agentd::validation {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kModuleBytesMax = 256u << 20, kSidecarBytesMax = 256 * 1024;
constexpr std::string_view kPrefix = "agentd-validate-";

// Replaces the copy's path by the file's in the host's message.
void rename_in(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// ---- the directory

// Opens and locks the directory for the workbench's lifetime: its processes end with it.
Result<UniqueFd> claim(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return errno_error("opening " + path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return errno_error("locking " + path, errno);
  return fd;
}

// Removes directories of killed processes: owned by the user, unlocked, and old enough to have been locked.
void drop_stale(const fs::path& temporary) {
  constexpr std::time_t kYoungSeconds = 10;
  std::error_code failed;
  for (fs::directory_iterator each(temporary, failed), end; !failed && each != end; each.increment(failed)) {
    const std::string path = each->path().string();
    struct stat info {};
    if (!each->path().filename().string().starts_with(kPrefix) || ::lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (std::time(nullptr) - info.st_mtime < kYoungSeconds) continue;
    std::error_code ignored;
    if (const auto claimed = claim(path)) fs::remove_all(path, ignored);
  }
}

HookDescription describe(const std::string& directory, const std::string& name, const std::string& path) {
  PluginHostOptions options;
  options.directories = {{directory, Precedence::kUser}};
  options.isolation = Isolation::kInProcess;  // describes the file, wherever it runs
  for (HookDescription& each : describe_hooks(options)) {
    if (each.name != name) continue;
    rename_in(each.obstacle, each.path, path);
    each.path = path;
    return std::move(each);
  }
  HookDescription none;
  none.name = name;
  none.path = path;
  none.obstacle = path + " is not a hook: its name must end in .so";
  return none;
}

}  // namespace

Result<std::unique_ptr<Workbench>> Workbench::open(const std::string& path, const std::string& config_json,
                                                   const std::string& worker) {
  std::unique_ptr<Workbench> out(new Workbench());
  AGENTD_TRY_VOID(out->read(path, config_json, worker));
  return out;
}

Workbench::~Workbench() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

Result<void> Workbench::read(const std::string& path, const std::string& config_json, const std::string& worker) {
  const auto config = JsonDocument::parse(config_json);
  if (!config || !config->root().is_object()) return Error{Code::kInvalid, "--config must be one JSON object"};
  AGENTD_TRY(subject_.bytes, read_file(path, kModuleBytesMax));
  subject_.path = path;
  subject_.name = fs::path(path).stem().string();
  subject_.config_json = config_json;
  subject_.worker = worker;
  const std::string beside = (fs::path(path).parent_path() / (subject_.name + ".hook.json")).string();
  if (auto sidecar = read_file(beside, kSidecarBytesMax)) subject_.sidecar = std::move(*sidecar);
  std::error_code failed;
  const fs::path temporary = fs::temp_directory_path(failed);
  if (!failed) drop_stale(temporary);
  root_ = (temporary / (std::string(kPrefix) + "XXXXXX")).string();
  if (failed || ::mkdtemp(root_.data()) == nullptr) {
    const std::string wanted = std::exchange(root_, std::string());
    return errno_error("making a directory like " + wanted, errno);
  }
  AGENTD_TRY(lock_, claim(root_));
  subject_.directory = root_ + "/work";
  const std::string copies = root_ + "/file";
  AGENTD_TRY_VOID(make_directories(subject_.directory));
  AGENTD_TRY_VOID(make_directories(copies));
  AGENTD_TRY_VOID(write_file_atomically(copies + "/" + subject_.name + ".so", subject_.bytes, 0600));
  if (!subject_.sidecar.empty())
    AGENTD_TRY_VOID(write_file_atomically(copies + "/" + subject_.name + ".hook.json", subject_.sidecar, 0600));
  description_ = describe(copies, subject_.name, path);
  if (description_.manifest) subject_.manifest = *description_.manifest;
  NullLog log;
  AGENTD_TRY(subject_.sealed, seal(subject_.bytes, path, root_ + "/private", log));
  return {};
}

void Workbench::tidy() const {
  std::error_code ignored;
  fs::remove_all(subject_.directory, ignored);
  fs::create_directory(subject_.directory, ignored);
}

}  // namespace agentd::validation
