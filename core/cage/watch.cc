// SPDX-License-Identifier: Apache-2.0
#include "core/cage/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include "core/base/file.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFileMax = 1u << 20, kSettingsMax = 64u << 10;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return out;
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string target_of(const std::string& path) {
  std::error_code failed;
  return fs::read_symlink(path, failed).string();
}

}  // namespace

// Bounds of what is kept of one guarded path.
struct Watch::Budget {
  std::size_t entries = 2'000;
  std::uint64_t bytes = 8u << 20;
};

// The time of change cannot be set, so equal ones mean equal contents. A directory has another one when something else
// in it was put back.
bool Watch::Entry::operator==(const Entry& other) const {
  if (mode != other.mode || device != other.device || inode != other.inode) return false;
  return S_ISDIR(mode) || (changed_s == other.changed_s && changed_ns == other.changed_ns && bytes == other.bytes);
}

Watch::Watch(std::vector<std::string> paths, const std::vector<std::string>& pinned, std::string aside)
    : aside_(std::move(aside)) {
  for (const std::string& path : pinned) {
    UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory.valid()) pins_.push_back({path, std::move(directory)});
  }
  for (std::string& path : paths) {
    Tree tree = look(path, true);
    before_.emplace(std::move(path), std::move(tree));
  }
}

Watch::Tree Watch::look(const std::string& path, bool with_content) {
  Tree out;
  Budget budget;
  look_into(path, {}, with_content, budget, out);
  return out;
}

void Watch::look_into(const std::string& path, const std::string& below, bool with_content, Budget& budget, Tree& out) {
  struct stat info {};
  const std::string whole = below.empty() ? path : path + "/" + below;
  if (::lstat(whole.c_str(), &info) != 0 || budget.entries == 0) return;
  --budget.entries;
  Entry entry{info.st_mode,        info.st_dev,          info.st_ino, static_cast<std::uint64_t>(info.st_size),
              info.st_ctim.tv_sec, info.st_ctim.tv_nsec, {},          true};
  if (S_ISLNK(info.st_mode)) {
    entry.content = target_of(whole);
  } else if (S_ISREG(info.st_mode) && with_content) {
    entry.whole = entry.bytes <= std::min(kFileMax, budget.bytes);
    if (auto text = entry.whole ? read_file(whole, kFileMax) : Result<std::string>(Error{}); text)
      entry.content = std::move(*text);
    else
      entry.whole = false;
    budget.bytes -= std::min<std::uint64_t>(budget.bytes, entry.content.size());
  }
  out.emplace(below, std::move(entry));
  if (!S_ISDIR(info.st_mode)) return;
  for (const std::string& name : names_in(whole))
    look_into(path, below.empty() ? name : below + "/" + name, with_content, budget, out);
}

// Parents come before what is in them.
bool Watch::put_back(const std::string& path, const Tree& before) {
  bool done = true;
  for (const auto& [below, entry] : before) {
    const std::string whole = below.empty() ? path : path + "/" + below;
    const mode_t mode = entry.mode & 07777;
    if (S_ISDIR(entry.mode))
      done = ::mkdir(whole.c_str(), 0700) == 0 && done;
    else if (S_ISLNK(entry.mode))
      done = ::symlink(entry.content.c_str(), whole.c_str()) == 0 && done;
    else if (S_ISREG(entry.mode) && entry.whole)
      done = static_cast<bool>(write_file_atomically(whole, entry.content, mode)) && done;
    else
      done = false;
  }
  for (auto each = before.rbegin(); each != before.rend(); ++each)
    if (S_ISDIR(each->second.mode))
      (void)::chmod((each->first.empty() ? path : path + "/" + each->first).c_str(), each->second.mode & 07777);
  return done;
}

// A command can take away the rights that moving and removing need: of a directory and of all below it.
void Watch::open_up(const std::string& path) {
  const auto open_one = [](const std::string& each) {
    struct stat info {};
    if (::lstat(each.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & 0700) != 0700)
      (void)::chmod(each.c_str(), (info.st_mode & 07777) | 0700);
  };
  open_one(path);
  std::error_code failed;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) open_one(at->path().string());
}

// The directories above a path that were open when the command began, and are not now.
void Watch::open_way(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 || errno != EACCES) return;
  std::string above;
  for (const fs::path& part : fs::path(path).parent_path()) {
    above = above.empty() ? part.string() : (fs::path(above) / part).string();
    if (::lstat(above.c_str(), &info) == 0 && info.st_uid == ::geteuid() && ::access(above.c_str(), R_OK | X_OK) != 0)
      (void)::chmod(above.c_str(), (info.st_mode & 07777) | 0700);
  }
}

// Files, directories and links; anything else in it is not kept.
bool Watch::copy_aside(const std::string& path, const std::string& place) {
  std::error_code failed;
  const auto copy_one = [&failed](const fs::path& from, const fs::path& to) {
    const fs::file_status status = fs::symlink_status(from, failed);
    if (fs::is_symlink(status)) return fs::copy_symlink(from, to, failed);
    if (fs::is_directory(status)) return (void)fs::create_directory(to, failed);
    if (fs::is_regular_file(status)) (void)fs::copy_file(from, to, failed);
  };
  copy_one(path, place);
  fs::recursive_directory_iterator at(path, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed))
    copy_one(at->path(), fs::path(place) / at->path().lexically_relative(path));
  return !failed;
}

// It is gone afterwards if anything can bring that about, kept or not: a full disk must not keep it in its place.
Watch::Aside Watch::move_aside(const std::string& path) const {
  open_up(path);
  const std::string folder = fs::path(path).parent_path().string();
  struct stat info {};
  if (::access(folder.c_str(), W_OK | X_OK) != 0 && ::lstat(folder.c_str(), &info) == 0)
    (void)::chmod(folder.c_str(), (info.st_mode & 07777) | 0700);
  Aside out;
  if (make_directories(aside_)) {
    out.place = aside_ + "/" + fs::path(path).filename().string();
    for (int next = 2; ::lstat(out.place.c_str(), &info) == 0; ++next)
      out.place = aside_ + "/" + fs::path(path).filename().string() + "." + std::to_string(next);
    out.gone = ::rename(path.c_str(), out.place.c_str()) == 0;
    if (!out.gone && !copy_aside(path, out.place)) out.place.clear();
  }
  if (!out.gone) {
    std::error_code failed;
    fs::remove_all(path, failed);
    out.gone = ::lstat(path.c_str(), &info) != 0;
  }
  return out;
}

std::string Watch::undo_one(const std::string& path, const Tree& before, const Tree& after) const {
  const bool made = before.empty();
  const std::string what = path + (made ? " was made" : after.empty() ? " was removed" : " was changed");
  Aside aside{true, {}};
  if (!after.empty()) aside = move_aside(path);
  const std::string kept = aside.place.empty() ? "" : "; what the command left is in " + aside.place;
  if (!aside.gone)
    return what + " by the command, which the sandbox does not allow, and it could not be undone: check it now";
  if (made) return what + " by the command, which the sandbox does not allow, and is undone" + kept;
  const bool back = put_back(path, before);
  return what + " by the command, which the sandbox does not allow, and " +
         (back ? "is as it was before" : "could not be restored completely: check it now") + kept;
}

// Something else is there, or nothing is although the directory is elsewhere. A removed one is gone: in a directory
// that was made in its place the guarded paths are put back; anything else there could lead elsewhere.
void Watch::undo_pin(const Pin& pin, std::vector<std::string>& out) const {
  struct stat now {
  }, own{};
  if (::fstat(pin.directory.get(), &own) != 0) return;
  const bool there = ::lstat(pin.path.c_str(), &now) == 0;
  if (there && now.st_dev == own.st_dev && now.st_ino == own.st_ino) return;
  const std::string place = target_of("/proc/self/fd/" + std::to_string(pin.directory.get()));
  struct stat found {};
  const bool moved = ::lstat(place.c_str(), &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino;
  if (!moved && (!there || S_ISDIR(now.st_mode))) return;
  Aside aside{true, {}};
  if (there) aside = move_aside(pin.path);
  const std::string& kept = aside.place;
  const bool back = aside.gone && (!moved || ::rename(place.c_str(), pin.path.c_str()) == 0);
  out.push_back(pin.path + " was " + (there ? "replaced" : "moved") +
                " by the command, which the sandbox does not allow, and " +
                (!back   ? "could not be restored: check it now"
                 : moved ? "is in its place again"
                         : "the new file is moved away") +
                (kept.empty() ? "" : "; what the command left is in " + kept));
}

std::vector<std::string> Watch::undo() const {
  std::vector<std::string> out;
  for (const Pin& pin : pins_) undo_pin(pin, out);
  for (const auto& [path, before] : before_) {
    open_way(path);
    const Tree after = look(path, false);
    if (after == before) continue;
    // A path that is gone together with its directory does nothing any more.
    if (after.empty() && ::access(fs::path(path).parent_path().c_str(), F_OK) != 0) continue;
    const bool is_new_repository = before.empty() && fs::path(path).filename() == ".git";
    if (is_new_repository && is_plain_repository(path)) continue;
    out.push_back(undo_one(path, before, after));
  }
  return out;
}

namespace {

// Settings that `git init`, `git clone` and `git remote` write, which name no program and no other file.
bool is_plain_setting(std::string_view section, std::string_view key) {
  using Keys = std::initializer_list<std::string_view>;
  const auto one_of = [&](Keys keys) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (section == "core")
    return one_of({"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
                   "symlinks"});
  if (section == "remote") return one_of({"url", "fetch", "tagopt"});
  if (section == "branch") return one_of({"remote", "merge", "rebase"});
  if (section == "user") return one_of({"name", "email"});
  if (section == "extensions") return one_of({"objectformat", "refstorage"});
  return section == "submodule" && one_of({"active", "url"});
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return out;
}

// A section's or a key's name at the beginning of the text.
std::string word_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
  return lower(text.substr(0, end));
}

bool is_plain_line(std::string_view line, std::string& section) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty() || line.front() == '#' || line.front() == ';') return true;
  if (line.back() == '\\') return false;
  if (line.front() == '[') {
    section = word_of(line.substr(1));
    return line.back() == ']' && std::count(line.begin(), line.end(), ']') == 1;
  }
  // "ext::" runs a program.
  return is_plain_setting(section, word_of(line)) && line.find("::") == std::string_view::npos;
}

bool has_plain_settings(const std::string& path) {
  const auto text = read_file(path, kSettingsMax);
  if (!text) return false;
  std::string section;
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t end = std::min(text->find('\n', from), text->size());
    if (!is_plain_line(std::string_view(*text).substr(from, end - from), section)) return false;
    from = end + 1;
  }
  return true;
}

}  // namespace

bool is_plain_repository(const std::string& git) {
  struct stat info {};
  if (::lstat(git.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  for (const char* const name : {"commondir", "config.worktree", "modules", "worktrees"})
    if (::lstat((git + "/" + name).c_str(), &info) == 0) return false;
  const std::string hooks = git + "/hooks", settings = git + "/config";
  if (::lstat(settings.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || !has_plain_settings(settings)) return false;
  if (::lstat(hooks.c_str(), &info) != 0) return true;
  if (!S_ISDIR(info.st_mode)) return false;
  const std::vector<std::string> names = names_in(hooks);
  return std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".sample"); });
}

}  // namespace agentd::cage
