// SPDX-License-Identifier: Apache-2.0
#include "core/cage/bubblewrap.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "core/cage/git_files.h"
#include "core/cage/places.h"

namespace agentd::cage {
namespace {

// One mount: the option with its words, but for the place.
struct Mount {
  std::vector<std::string> words;
  std::optional<Noted> noted;
};

class Mounts {
 public:
  explicit Mounts(const std::map<std::string, Identity>& known) : known_(known) {}

  void read_only(const std::string& path) { put(path, {"--ro-bind-try", path}); }
  void empty(const std::string& path) { put(path, {"--tmpfs"}); }
  // Places that a command could exchange are noted.
  void show(const std::string& source, const std::string& as) {
    Noted noted = note(source, Noted::As::kWritable);
    noted.path = as;
    put(as, {"--bind", source}, std::move(noted));
  }
  void writable(const std::string& path) { put(path, {"--bind", path}, note(path, Noted::As::kWritable)); }
  void guard(const std::string& path) { put(path, {"--ro-bind-try", path}, note(path, Noted::As::kReadOnly)); }
  void hide(const std::string& path) {
    if (is_directory(path))
      put(path, {"--perms", "0000", "--tmpfs"}, Noted{path, Noted::As::kEmpty, {}});
    else
      put(path, {"--ro-bind", "/dev/null"}, Noted{path, Noted::As::kReadOnly, identity_behind("/dev/null")});
  }
  void link(const std::string& path) {
    std::error_code failed;
    const std::string target = std::filesystem::read_symlink(path, failed).string();
    if (!failed) put(path, {"--symlink", target});
  }
  // A directory that something is mounted in becomes a mount itself: such a one cannot be moved away together with what
  // is guarded in it.
  void pin(const std::string& path, const std::string& root) {
    std::filesystem::path above = std::filesystem::path(path).parent_path();
    for (; is_below(above.string(), root) && above != root; above = above.parent_path())
      if (!places_.contains(key(above.string()))) writable(above.string());
  }
  void append_to(std::vector<std::string>& words, std::vector<Noted>& noted) const {
    std::string closed;  // nothing is shown below a hidden directory, where nobody could reach it
    for (const auto& [place, mount] : places_) {
      if (!closed.empty() && place.starts_with(closed)) continue;
      closed = mount.noted && mount.noted->as == Noted::As::kEmpty ? place : std::string();
      words.insert(words.end(), mount.words.begin(), mount.words.end());
      words.push_back(place.substr(0, place.size() - 1));
      if (mount.noted) noted.push_back(*mount.noted);
    }
  }

 private:
  // With a slash at the end the order of texts has parents before what is in them.
  static std::string key(const std::string& path) { return path + "/"; }
  void put(const std::string& path, std::vector<std::string> words, std::optional<Noted> noted = std::nullopt) {
    places_[key(path)] = {std::move(words), std::move(noted)};
  }
  Noted note(const std::string& path, Noted::As as) const {
    const auto known = known_.find(path);
    return {path, as, known == known_.end() ? identity_at(path) : known->second};
  }

  const std::map<std::string, Identity>& known_;
  std::map<std::string, Mount> places_;
};

std::vector<std::string> first_words(bool shares_network) {
  std::vector<std::string> out{"--unshare-all"};
  if (shares_network) out.emplace_back("--share-net");
  for (const char* const word : {"--new-session", "--as-pid-1", "--cap-drop", "ALL"}) out.emplace_back(word);
  return out;
}

// Where usr is one with the root, /bin and its like are links.
void show_readable(Mounts& mounts, const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  const bool top = std::count(path.begin(), path.end(), '/') == 1;
  if (S_ISLNK(info.st_mode) && top) return mounts.link(path);
  mounts.read_only(path);
}

}  // namespace

Invocation bubblewrap_words(const std::string& program, const View& view, const std::string& cwd, int words_fd,
                            const std::string& helper) {
  std::vector<std::string> out = first_words(view.shares_network);
  Mounts mounts(view.known);
  const auto in_writable = [&](const std::string& path) {
    return std::any_of(view.writable.begin(), view.writable.end(),
                       [&](const std::string& root) { return is_below(path, root); });
  };
  if (!view.scratch.empty()) mounts.show(view.scratch, "/tmp");
  const bool empties_home = !view.home.empty() && !in_writable(view.home);
  if (empties_home) mounts.empty(view.home);
  for (const std::string& path : view.readable)
    if (!in_writable(path) && !is_below(path, "/proc")) show_readable(mounts, path);
  for (const std::string& path : view.writable) mounts.writable(path);
  for (const std::string& path : view.guarded) {
    mounts.guard(path);
    for (const std::string& root : view.writable)
      if (is_below(path, root)) mounts.pin(path, root);
  }
  for (const std::string& path : view.hidden) {
    mounts.hide(path);
    for (const std::string& root : view.writable)
      if (is_below(path, root)) mounts.pin(path, root);
  }
  for (const char* const word : {"--proc", "/proc", "--dev", "/dev"}) out.emplace_back(word);
  Invocation invocation{{program, "--args", std::to_string(words_fd), "--"}, {}, {}};
  mounts.append_to(out, invocation.noted);
  // A file that is written there would be lost with the command: that fails instead.
  if (empties_home) out.insert(out.end(), {"--remount-ro", view.home});
  out.insert(out.end(), {"--ro-bind", helper, kHelperPlace, "--remount-ro", "/", "--chdir", cwd});
  // A word ends at its NUL, as it would on a command line: what follows it is no word of its own.
  for (const std::string& word : out) invocation.words.append(word, 0, word.find('\0')).push_back('\0');
  return invocation;
}

std::vector<std::string> few_guarded(std::vector<std::string> paths, const std::vector<std::string>& git) {
  if (paths.size() <= kGuardedMax) return paths;
  for (const std::string& each : git) {
    const std::string modules = each + "/modules";
    const bool had = std::erase_if(paths, [&](const std::string& path) { return is_below(path, modules); }) != 0;
    if (had) paths.push_back(modules);
  }
  return paths;
}

std::vector<std::string> bubblewrap_probe(const std::string& program, const std::string& helper) {
  std::vector<std::string> out = first_words(false);
  out.insert(out.begin(), program);
  for (const char* const word : {"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"})
    out.emplace_back(word);
  out.insert(out.end(), {"--ro-bind", helper, helper, "--"});  // it may be in /tmp
  return out;
}

}  // namespace agentd::cage
