// SPDX-License-Identifier: Apache-2.0
#include "core/trust/script_copy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kInterpreters{"node", "nodejs", "bun", "bunx", "deno", "tsx"};
constexpr std::string_view kPrefix = "script-";
constexpr std::uint64_t kPackageBytesMax = 1u << 20;
constexpr std::chrono::hours kLeftoverAge{24};

constexpr std::array<const char*, 3> kTemporary{"/tmp", "/var/tmp", "/dev/shm"};

// True for a sticky directory of root's, where others cannot remove files, on a file system mounted with exec.
bool can_hold_programs(const char* directory) {
  struct stat info {};
  struct statvfs system {};
  return ::lstat(directory, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == 0 &&
         ((info.st_mode & S_ISVTX) != 0 || (info.st_mode & 022) == 0) && ::statvfs(directory, &system) == 0 &&
         (system.f_flag & ST_NOEXEC) == 0;
}

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, std::min(line.find_first_of(kBlanks), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The package.json of the copy: the "type" that the nearest package.json above the original states.
std::string package_of(const std::string& original) {
  for (fs::path folder = fs::path(original).parent_path();; folder = folder.parent_path()) {
    std::error_code failed;
    if (fs::is_regular_file(folder / "package.json", failed)) {
      const auto text = read_file((folder / "package.json").string(), kPackageBytesMax);
      const auto json = text ? JsonDocument::parse(*text) : Result<JsonDocument>(text.error());
      const std::string_view kind = json ? json->root()["type"].string_or("") : "";
      if (kind != "module" && kind != "commonjs") break;
      return std::string(JsonWriter().begin_object().member("type", kind).end_object().text());
    }
    if (folder == folder.parent_path()) break;
  }
  return "{}";
}

Result<void> write_once(const std::string& path, std::string_view bytes, mode_t mode) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error("making " + path, errno);
  if (auto wrote = write_all(fd.get(), bytes); !wrote) return wrote.error().with_context("copying a script");
  if (::fchmod(fd.get(), mode) != 0) return errno_error("protecting " + path, errno);
  return {};
}

void remove_leftovers(const std::string& directory) {
  std::error_code failed;
  for (fs::directory_iterator each(directory, failed), end; !failed && each != end; each.increment(failed)) {
    if (!each->path().filename().string().starts_with(kPrefix)) continue;
    std::error_code gone;
    const auto written = fs::last_write_time(each->path(), gone);
    if (!gone && fs::file_time_type::clock::now() - written > kLeftoverAge) fs::remove_all(each->path(), gone);
  }
}

}  // namespace

bool wants_real_file(std::string_view script) {
  if (!script.starts_with("#!")) return false;
  std::string_view line = script.substr(2, script.find('\n') - 2);
  std::string_view word = next_word(line);
  if (base_name(word) == "env") {
    // Options of env and NAME=value stand before the program.
    do word = next_word(line);
    while (word.starts_with('-') || word.find('=') != std::string_view::npos);
  }
  return std::find(kInterpreters.begin(), kInterpreters.end(), base_name(word)) != kInterpreters.end();
}

ScriptCopy::~ScriptCopy() {
  if (directory_.empty()) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

PrivateScript::PrivateScript(std::string bytes, std::string original, std::string private_directory)
    : bytes_(std::move(bytes)),
      original_(std::move(original)),
      private_directory_(std::move(private_directory)),
      kind_(package_of(original_)) {
  remove_leftovers(private_directory_);
}

Result<ScriptCopy> PrivateScript::place() const {
  auto copy = place_in_private_directory();
  struct stat info {};
  const bool is_link = ::lstat(private_directory_.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
  if (copy || is_link) return copy;
  for (const char* const directory : kTemporary) {
    if (!can_hold_programs(directory)) continue;
    if (auto elsewhere = place_in(directory)) return elsewhere;
  }
  return copy;
}

Result<ScriptCopy> PrivateScript::place_in_private_directory() const {
  AGENTD_TRY_VOID(make_private_directory(private_directory_));
  return place_in(private_directory_);
}

Result<ScriptCopy> PrivateScript::place_in(const std::string& parent) const {
  std::string directory = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr)  // mode 0700
    return errno_error("making a private copy of " + original_, errno);
  ScriptCopy copy(directory);
  copy.path = directory + "/" + std::string(base_name(original_));
  AGENTD_TRY_VOID(write_once(copy.path, bytes_, 0500));
  // Always written: otherwise the interpreter would go on looking in the directories above.
  AGENTD_TRY_VOID(write_once(directory + "/package.json", kind_, 0400));
  return copy;
}

}  // namespace agentd
