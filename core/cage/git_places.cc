// SPDX-License-Identifier: Apache-2.0
#include "core/cage/git_places.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/paths.h"
#include "core/cage/git_files.h"
#include "core/cage/git_index.h"
#include "core/cage/git_settings.h"
#include "core/cage/path_list.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/plain.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kGitDepthMax = 16;               // of submodules in submodules, and of directories in their names
constexpr std::size_t kMountedWorktrees = 50;  // the others are watched

mode_t kind_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & S_IFMT : 0;
}

// The values of core.worktree, which Git writes for a submodule; the last one counts.
std::vector<std::string> worktrees_named_in(const std::string& file) {
  std::vector<std::string> out;
  for (const GitSetting& each : settings_in(file))
    if (each.name == "core.worktree") out.push_back(each.value);
  return out;
}

std::string worktree_of(const std::string& git) {
  const std::vector<std::string> named = worktrees_named_in(git + "/config");
  return named.empty() ? std::string() : resolved(git, named.back());
}

// Git asks for no more than that: HEAD is read later, and the others need not be directories.
bool has_shape(const std::string& directory) {
  const auto has = [&](const char* name) { return kind_of(directory + name) != 0; };
  return kind_of(directory + "/HEAD") != 0 &&
         (kind_of(directory + "/commondir") != 0 || (has("/objects") && has("/refs")));
}

// As `git init --separate-git-dir` makes it: it names no worktree, so it is no bare repository's, and no `.git` of
// another worktree, of a submodule or of a linked worktree, which name theirs.
bool is_separate(const std::string& git, const std::string& pointer) {
  if (fs::path(git).filename() == ".git" || !is_git_directory(git)) return false;
  for (const char* const name : {"/gitdir", "/commondir"})
    if (kind_of(git + name) != 0) return false;
  bool bare = true;
  for (const GitSetting& each : settings_in(git + "/config")) {
    if (each.name == "core.worktree") return false;
    if (each.name == "core.bare") bare = each.value != "false";
  }
  struct stat own {
  }, leading{};
  return !bare && ::stat(git.c_str(), &own) == 0 && ::stat(pointer.c_str(), &leading) == 0 &&
         own.st_uid == leading.st_uid;
}

void only_once(std::vector<std::string>& list) {
  const std::set<std::string> once(list.begin(), list.end());
  list.assign(once.begin(), once.end());
}

// Husky's scripts are next to the directory that it names.
std::string hook_place(const fs::path& path, const std::string& top) {
  return path.filename() == "_" && path.parent_path() != top ? path.parent_path().string() : path.string();
}

// The hooks that are links; one to a directory is none.
std::vector<std::string> links_to_files(const std::string& hooks) {
  std::vector<std::string> out;
  for (const std::string& name : names_in(real_path(hooks)))
    if (const std::string path = hooks + "/" + name; kind_of(path) == S_IFLNK && !is_directory(path))
      out.push_back(path);
  return out;
}

class Finder {
 public:
  Finder(const std::string& root, const GitUser& user, std::vector<std::string> roots)
      : root_(root),
        roots_(std::move(roots)),
        user_(user),
        of_user_(git_targets(user_git_settings(user.home, user.xdg), user.home)) {
    add_new(roots_, {root_});
  }

  GitPlaces find() {
    std::string git = root_ + "/.git";
    out_.parts.push_back({GitPart::Kind::kPointer, git});
    if (kind_of(git) == S_IFLNK) {
      out_.links = links_of(git);
      git = real_path(git);
      if (is_directory(git)) lead(root_ + "/.git", behind(out_.links, git), git, git);
    }
    targets(of_user_, root_);
    if (is_directory(git)) {
      out_.pinned.push_back(git);
      repository(root_, git, git, kGitDepthMax);
    } else {
      out_.guarded.push_back(root_ + "/.git");
      if (!git.empty() && kind_of(git) == S_IFREG) follow(git);
    }
    bare(root_, kGitDepthMax);
    below();
    around();
    return finish();
  }

 private:
  // The files that Git reads its settings and its hooks from, and those that lead it to another directory of them.
  void guard(const std::string& git) {
    for (const char* const name : {"hooks", "config", "config.worktree", "commondir", "remotes", "branches"})
      hold_led(git + "/" + name);
    for (const std::string& link : links_to_files(git + "/hooks")) hold_led(link);
    keep_worktree(git);
  }
  void hold(const std::string& path) { (loose_ ? out_.watched : out_.guarded).push_back(path); }
  // With links on its way: those, which may begin outside of the root, and what they lead to, there or not.
  void hold_led(const std::string& path) {
    const std::vector<std::string> links = links_of(path);
    hold(path);
    out_.links.insert(out_.links.end(), links.begin(), links.end());
    if (links.empty()) return;
    std::string end = real_as_far(path);
    std::error_code failed;
    // Through links that lead to nothing yet.
    for (std::size_t hop = 0; hop < links.size() && !failed; ++hop) {
      const std::vector<std::string> missing = links_of(end);
      if (missing.empty()) break;
      const fs::path target = fs::read_symlink(missing[0], failed);
      end = real_as_far((fs::path(missing[0]).parent_path() / target).string() + end.substr(missing[0].size()));
    }
    if (is_in(end, roots_)) hold(end);
  }

  // A checkout writes where core.worktree leads: a link can lead it to a place that commands cannot write.
  void keep_worktree(const std::string& git) {
    for (const char* const file : {"/config", "/config.worktree"})
      for (const std::string& each : worktrees_named_in(git + file)) {
        if (is_in(resolved(git, each), roots_)) continue;
        for (const std::string& link : links_of(each.starts_with('/') ? each : git + "/" + each))
          out_.parts.push_back({GitPart::Kind::kUnread, link});
      }
  }

  void targets(const GitTargets& all, const std::string& top) {
    for (const std::string& each : all.files) hold_led(each);
    for (const std::string& each : all.programs) name(lexical_path(each, top));
    for (const std::string& each : all.hooks) {
      const std::string named = lexical_path(each, top), hooks = hook_place(named, top);
      name(hooks);
      for (const std::string& directory : named == hooks ? std::vector{hooks} : std::vector{hooks, named})
        for (const std::string& link : links_to_files(directory)) name(link);
    }
  }
  void name(const std::string& path) {
    hold_led(path);
    out_.parts.push_back({GitPart::Kind::kNamed, path});
  }

  // A directory that a `.git` leads to, and the repository that it belongs to.
  void lead(const std::string& pointer, const std::string& spelled, const std::string& git, const std::string& common) {
    out_.parts.push_back({GitPart::Kind::kDirectory, git, common, pointer, spelled});
    if (!common.empty() && common != git)
      out_.parts.push_back({GitPart::Kind::kDirectory, common, common, pointer, spelled});
  }
  // The next link on a way, or `end`, which is behind all of them.
  static std::string behind(const std::vector<std::string>& links, const std::string& end) {
    return links.size() > 1 ? links[1] : end;
  }

  // A repository with one of its worktrees: of several that lead to the same directory, each has names of its own.
  // `common`: where its settings are.
  void repository(const std::string& top, const std::string& git, const std::string& common, int depth) {
    if (!seen_.insert(real_path(git) + "\n" + top).second) return;
    guard(common);
    if (git != common) guard(git);
    targets(of_user_, top);
    targets(git_targets({common + "/config", git + "/config.worktree"}, user_.home), top);
    if (seen_.insert(real_path(git)).second) modules(git + "/modules", depth);
    if (seen_.insert(real_path(common) + "/worktrees").second) {
      modules(common + "/modules", depth);
      worktrees(common, depth);
    }
    const Gitlinks links = gitlinks(top, git + "/index", top);
    bool known = links.complete && kind_of(git + "/index") != S_IFLNK;
    for (const std::string& path : links.paths) {
      if (is_in(path, roots_))
        link(path + "/.git", depth);
      else
        known = false;
    }
    if (!known) out_.parts.push_back({GitPart::Kind::kIndex, git + "/index"});
    if (git != top) bare(top, depth);
    if (depth > 0) other_worktree(top, git, common, depth);
  }

  // Where core.worktree leads: there Git looks for hooks and programs that settings name by a relative path.
  void other_worktree(const std::string& top, const std::string& git, const std::string& common, int depth) {
    for (const std::string& file : {common + "/config", git + "/config.worktree"})
      for (const std::string& each : worktrees_named_in(file)) {
        const std::string other = resolved(git, each);
        if (other != top && is_in(other, roots_)) repository(other, git, common, depth - 1);
      }
  }

  // Git takes the directory itself for a repository, also where a `.git` in it is broken.
  void bare(const std::string& top, int depth) {
    if (!has_shape(top)) return;
    out_.parts.push_back({GitPart::Kind::kBare, top + "/HEAD"});
    const std::string common = common_of(top);
    if (depth > 0) repository(top, top, common.empty() ? top : common, depth - 1);
  }

  // The directories in the root: bare repositories, and worktrees of one that is in the root. A bare one without
  // worktrees is only watched, so that it can be removed.
  void below() {
    for (const std::string& name : names_in(root_)) {
      const std::string top = root_ + "/" + name, pointer = top + "/.git";
      if (name == ".git" || kind_of(top) != S_IFDIR) continue;
      const mode_t kind = kind_of(pointer);
      if (kind == S_IFREG || kind == S_IFLNK) {
        const std::string git = kind == S_IFREG ? pointed_to(pointer) : behind_link(pointer);
        if (git.empty()) lost(pointer);
        if (git.empty()) out_.parts.push_back({GitPart::Kind::kUnread, pointer});
        if (!is_root(git) && is_in(git, roots_)) within(top, pointer, git);
      } else if (has_shape(top)) {
        loose_ = kind_of(top + "/worktrees") == 0;
        bare(top, kGitDepthMax);
        loose_ = false;
      }
    }
  }

  // A worktree whose repository has been removed: what a command puts there in its place is none of the user's.
  void lost(const std::string& pointer) {
    if (!is_in(path_named_in(pointer), roots_)) return;
    out_.watched.push_back(pointer);
    out_.parts.push_back({GitPart::Kind::kPointer, pointer});
  }

  // A worktree whose file `.git` leads to a directory in the root: commands can write that anyway, so it is guarded
  // whatever it says of itself. The links on the way lead to it, too.
  void within(const std::string& top, const std::string& pointer, const std::string& git) {
    const std::string common = common_of(git);
    const std::string named = kind_of(pointer) == S_IFREG ? path_named_in(pointer) : behind(links_of(pointer), git);
    out_.guarded.push_back(pointer);
    out_.guarded.push_back(git + "/gitdir");
    out_.parts.push_back({GitPart::Kind::kPointer, pointer});
    lead(pointer, named, git, common);
    if (named != git) out_.guarded.push_back(named + "/config");
    const bool is_usual = std::any_of(roots_.begin(), roots_.end(),
                                      [&](const std::string& root) { return is_below(common, root + "/.git"); });
    if (!is_root(common) && is_in(common, roots_) && !is_usual) out_.pinned.push_back(common);
    repository(top, git, common.empty() ? git : common, kGitDepthMax);
  }

  bool is_root(const std::string& path) const { return std::find(roots_.begin(), roots_.end(), path) != roots_.end(); }
  // The directory of a link `.git`, be it to that or to a file that names it.
  static std::string behind_link(const std::string& link) {
    const std::string real = real_path(link);
    return is_directory(real) ? real : pointed_to(real);
  }

  // Git enters no submodule through a link, but its user does. Where another link leads is a new part.
  void behind_links(const std::string& git, int depth) {
    const std::string real = real_path(git);
    if (depth > 0 && is_in(real, roots_) && real != root_ + "/.git") link(real, depth - 1);
  }

  void link(const std::string& git, int depth) {
    out_.parts.push_back({GitPart::Kind::kLink, git});
    if (!link_in_the_way(git).empty()) return behind_links(git, depth);
    const mode_t kind = kind_of(git);
    if (depth == 0 && kind != 0) out_.parts.push_back({GitPart::Kind::kUnread, git});
    if (kind != S_IFDIR || depth == 0) {
      out_.guarded.push_back(git);
      if (kind == 0 || depth == 0) return;
    } else {
      out_.pinned.push_back(git);
    }
    const std::string target = kind == S_IFREG ? pointed_to(git) : kind == S_IFLNK ? real_path(git) : git;
    if (target.empty()) return;
    const std::string common = kind == S_IFDIR ? git : common_of(target);
    if (kind == S_IFREG) lead(git, path_named_in(git), target, common);
    if (kind == S_IFLNK) lead(git, behind(links_of(git), target), target, common);
    repository(fs::path(git).parent_path().string(), target, common.empty() ? target : common, depth - 1);
  }

  // A link in the place of such a directory is not followed, and is no part that a command may make.
  bool is_link(const std::string& directory) {
    if (kind_of(directory) != S_IFLNK) return false;
    out_.guarded.push_back(directory);
    out_.parts.push_back({GitPart::Kind::kModule, directory});
    return true;
  }

  // A submodule's name can have slashes. Git takes for a repository what has a HEAD.
  void modules(const std::string& directory, int depth) {
    if (is_link(directory)) return;
    for (const std::string& name : names_in(directory)) {
      const std::string path = directory + "/" + name;
      const mode_t kind = kind_of(path);
      if (kind == S_IFLNK) {  // not followed: it could lead in circles
        out_.guarded.push_back(path);
        out_.parts.push_back({GitPart::Kind::kModule, path});
      }
      if (kind != S_IFDIR) continue;
      if (depth <= 0) {
        out_.guarded.push_back(path);
        out_.parts.push_back({GitPart::Kind::kUnread, path});
      } else if (kind_of(path + "/HEAD") != 0) {
        out_.parts.push_back({GitPart::Kind::kModule, path});
        guard(path);
        modules(path + "/modules", depth - 1);
      } else {
        modules(path, depth - 1);
      }
    }
  }

  void worktrees(const std::string& common, int depth) {
    std::size_t count = 0;
    if (is_link(common + "/worktrees")) return;
    for (const std::string& name : names_in(common + "/worktrees")) {
      const std::string administration = common + "/worktrees/" + name;
      out_.parts.push_back({GitPart::Kind::kWorktree, administration, real_path(common)});
      auto& list = ++count > kMountedWorktrees ? out_.watched : out_.guarded;
      for (const char* const file : {"config.worktree", "commondir", "gitdir"})
        list.push_back(administration + "/" + file);
      modules(administration + "/modules", depth - 1);
      if (const std::string own = common_of(administration); own != real_path(common) && is_in(own, roots_)) guard(own);
      std::string pointer = path_in(administration + "/gitdir");
      if (!pointer.starts_with('/')) pointer = lexical_path(pointer, administration);
      if (const std::string top = real_as_far(fs::path(pointer).parent_path().string()); !is_in(top, roots_))
        out_.absent.push_back({top, administration});
      if (fs::path(pointer).filename() != ".git" || !is_in(pointer, roots_)) continue;
      list.push_back(pointer);
      out_.parts.push_back({GitPart::Kind::kPointer, pointer});
      if (is_hidden(pointer)) out_.parts.push_back({GitPart::Kind::kUnread, administration});
      if (depth > 0) repository(fs::path(pointer).parent_path().string(), administration, common, depth - 1);
      // A command has led it elsewhere.
      const std::string git = pointed_to(pointer);
      if (kind_of(pointer) != 0 && git != real_path(administration))
        out_.parts.push_back({GitPart::Kind::kUnread, pointer});
      if (depth > 0 && !git.empty() && git != real_path(administration) && !is_root(git) && is_in(git, roots_))
        within(fs::path(pointer).parent_path().string(), pointer, git);
    }
  }

  // A root whose `.git` is a file.
  void follow(const std::string& pointer) {
    const std::string git = pointed_to(pointer);
    if (git.empty() || git == root_) return;
    if (is_below(git, root_)) return within(root_, pointer, git);
    const std::string common = common_of(git);
    const bool names_root = resolved(git, path_in(git + "/gitdir")) == real_path(pointer) ||
                            worktree_of(git) == real_path(root_) ||
                            (is_separate(git, pointer) && !is_below(root_, git));
    if (!names_root || !is_git_directory(common)) return;
    // A repository that a command has made would otherwise open any other one.
    const bool is_worktree = fs::path(git).parent_path() == fs::path(common) / "worktrees";
    if (git != common && !is_worktree) return;
    out_.guarded.push_back(git + "/gitdir");
    out_.pinned = {common, git};
    for (const std::string& each : {common, git})
      if (!is_below(each, root_) && (out_.writable.empty() || !is_below(each, out_.writable[0])))
        out_.writable.push_back(each);
    repository(root_, git, common, kGitDepthMax);
  }

  // The root is a part of a larger worktree: its settings and its submodules can lead here.
  void around() {
    for (fs::path top = fs::path(root_).parent_path(); top.has_relative_path(); top = top.parent_path()) {
      const std::string dot = top.string() + "/.git";
      const std::string git = is_directory(dot) ? dot : pointed_to(dot);
      const std::string common = git.empty() ? std::string() : common_of(git);
      if (common.empty()) continue;
      targets(of_user_, top.string());
      targets(git_targets({common + "/config", git + "/config.worktree"}, user_.home), top.string());
      for (const std::string& path : gitlinks(top.string(), git + "/index", root_).paths)
        if (is_below(path, root_) && path != root_) link(path + "/.git", kGitDepthMax);
      return;
    }
  }

  // A path that commands cannot write needs no guard, and to guard the root or its `.git` as a whole would leave
  // nothing.
  GitPlaces finish() {
    const auto is_out = [&](const std::string& path) {
      const bool is_usual = fs::path(path).filename() == ".git" && is_root(fs::path(path).parent_path().string());
      return !(is_in(path, roots_) || is_in(path, out_.writable)) || is_root(path) ||
             (is_usual && kind_of(path) == S_IFDIR);
    };
    std::erase_if(out_.guarded, is_out);
    std::erase_if(out_.watched, is_out);
    std::erase_if(out_.links, is_out);
    std::erase_if(out_.parts, [&](const GitPart& part) { return is_out(part.path); });
    only_once(out_.guarded);
    only_once(out_.watched);
    only_once(out_.pinned);
    return std::move(out_);
  }

  const std::string root_;
  std::vector<std::string> roots_;
  const GitUser user_;
  const GitTargets of_user_;
  bool loose_ = false;  // what is found is watched, not guarded
  std::set<std::string> seen_;
  GitPlaces out_;
};

}  // namespace

GitPlaces git_places(const std::string& root, const GitUser& user, const std::vector<std::string>& roots) {
  return Finder(root, user, roots).find();
}

std::vector<std::string> git_hook_places(const std::string& root, const GitUser& user,
                                         const std::vector<std::string>& roots) {
  GitPlaces places = git_places(root, user, roots);
  for (const auto& more : {places.watched, places.links})
    places.guarded.insert(places.guarded.end(), more.begin(), more.end());
  return std::move(places.guarded);
}

bool is_plain_part(const GitPart& part) {
  switch (part.kind) {
    case GitPart::Kind::kLink:
      return is_plain_repository(part.path) || is_plain_pointer(part.path);
    case GitPart::Kind::kModule:
      return is_plain_git_directory(part.path);
    case GitPart::Kind::kWorktree:
      return is_plain_worktree(part.path, part.common);
    case GitPart::Kind::kBare:
      return is_plain_git_directory(fs::path(part.path).parent_path().string());
    case GitPart::Kind::kPointer:
      return is_straight(text_of_pointer(part.path));
    case GitPart::Kind::kIndex:
      return false;
    case GitPart::Kind::kDirectory:
      return part.common.empty() || part.common == part.path ? is_plain_git_directory(part.path)
                                                             : is_plain_worktree(part.path, part.common);
    case GitPart::Kind::kUnread:
      return false;
    case GitPart::Kind::kNamed:
      return is_without_programs(real_path(part.path));
  }
  return false;
}

}  // namespace agentd::cage
