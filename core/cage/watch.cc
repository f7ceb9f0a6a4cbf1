// SPDX-License-Identifier: Apache-2.0
#include "core/cage/watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "core/base/paths.h"
#include "core/cage/git_files.h"
#include "core/cage/git_settings.h"
#include "core/cage/path_list.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/plain.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSearchMax = 200'000;   // entries of directories, for one that was moved
constexpr std::int64_t kStepNs = 20'000'000;  // a step of the clock of files is shorter

std::uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return look_at(path, info) ? info.st_ino : 0;
}

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

bool has_directory(const std::string& path) { return open_directory_at(parent_of(path), O_PATH).valid(); }

// Where it is now, by its identity: at its path, or anywhere around it. Around that is in a root where its own
// directory is gone.
UniqueFd find_directory(const Watch::PinnedThen& pin, const std::vector<std::string>& roots) {
  const auto open_if_same = [&](const std::string& path) {
    UniqueFd own = open_directory_at(path, O_PATH);
    struct stat info {};
    const bool same =
        own.valid() && ::fstat(own.get(), &info) == 0 && info.st_dev == pin.device && info.st_ino == pin.inode;
    return same ? std::move(own) : UniqueFd();
  };
  if (UniqueFd own = open_if_same(pin.path); own.valid()) return own;
  std::string around = parent_of(pin.path);
  while (!open_directory_at(around, O_PATH).valid()) {
    around = parent_of(around);
    if (!is_in(around, roots)) return {};
  }
  std::size_t left = kSearchMax;
  std::error_code failed;
  fs::recursive_directory_iterator at(around, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator() && left > 0; at.increment(failed), --left)
    if (UniqueFd own = open_if_same(at->path().string()); own.valid()) return own;
  return {};
}

bool is_before(const std::string& path, std::int64_t since_ns) {
  struct stat info {};
  return !look_at(path, info) || info.st_ctim.tv_sec * kSecondNs + info.st_ctim.tv_nsec + kStepNs < since_ns;
}

// The directories that Git follows for a part: itself, the one of its HEAD, or those that a file `.git` leads to.
std::vector<std::string> git_directories(const GitPart& part) {
  struct stat info {};
  if (!look_at(part.path, info)) return {};
  if (part.kind == GitPart::Kind::kBare) return {parent_of(part.path)};
  if (S_ISDIR(info.st_mode)) return {part.path};
  std::vector<std::string> out;
  const std::string git = S_ISREG(info.st_mode) ? pointed_to(part.path) : std::string();
  if (!git.empty()) add_new(out, {git, common_of(git)});
  std::erase(out, std::string());
  return out;
}

bool is_whole(const std::string& git) {
  return open_directory_at(git + "/objects", O_PATH).valid() && open_directory_at(git + "/refs", O_PATH).valid();
}

bool is_root(const std::string& directory, const WatchPlan& plan) {
  return std::find(plan.roots.begin(), plan.roots.end(), directory) != plan.roots.end();
}

// Neither it nor a file that Git follows in it or behind it has changed since then. Nor have the directories around it:
// it was not moved here. Those of a submodule are not asked, since they change with each commit in it.
bool is_older(const GitPart& part, const WatchPlan& plan) {
  using Kind = GitPart::Kind;
  if (part.kind == Kind::kDirectory) return false;  // there was none before
  // The times of a root change with its files. Elsewhere they tell whether a command has completed it, unless a link in
  // it leads to what was missing.
  if (part.kind == Kind::kBare && !(is_whole(parent_of(part.path)) && !is_root(parent_of(part.path), plan)))
    return false;
  if (part.kind == Kind::kNamed && !links_of(part.path).empty()) return false;
  const bool is_of_submodule = part.kind == Kind::kLink || part.kind == Kind::kNamed;
  std::vector<std::string> files;
  struct stat info {};
  if (part.kind != Kind::kLink || !look_at(part.path, info) || !S_ISDIR(info.st_mode)) files.push_back(part.path);
  if (part.kind == Kind::kNamed)
    for (const std::string& name : names_in(part.path)) files.push_back(part.path + "/" + name);
  for (const std::string& git : part.kind == Kind::kNamed ? std::vector<std::string>() : git_directories(part)) {
    if (!is_of_submodule) files.push_back(git);
    for (const char* const name : {"config", "config.worktree", "commondir", "gitdir", "hooks"})
      files.push_back(git + "/" + name);
    for (const std::string& name : names_in(git + "/hooks")) files.push_back(git + "/hooks/" + name);
    // The hooks and programs that they name are parts themselves.
    add_new(files, git_targets({git + "/config", git + "/config.worktree"}, plan.user.home).files);
  }
  std::vector<std::string> around;
  for (const std::string& file : is_of_submodule ? std::vector<std::string>() : files)
    for (const std::string& root : plan.roots)
      for (std::string above = parent_of(file); is_below(above, root) && above != root; above = parent_of(above))
        add_new(around, {above});
  add_new(files, around);
  return std::all_of(files.begin(), files.end(),
                     [&](const std::string& file) { return is_before(file, plan.since_ns); });
}

// The `.git` of a linked worktree, as the file "gitdir" named it; empty = this is no such file.
std::string pointer_before(const std::string& path, const Tree& before) {
  const auto own = before.entries.find("");
  if (own == before.entries.end() || fs::path(path).filename() != "gitdir") return {};
  std::string_view named = own->second.content;
  while (named.ends_with('\n') || named.ends_with('\r')) named.remove_suffix(1);
  return lexical_path(named, parent_of(path));
}

// The directory of a linked worktree was removed, and the worktree is still there: without "gitdir" nobody would find
// it again, so what a command puts in its place would not be seen.
bool is_led_to(const std::string& path, const Tree& before) {
  const std::string pointer = pointer_before(path, before);
  return fs::path(pointer).filename() == ".git" && path_named_in(pointer) == parent_of(path);
}

// As by `git worktree move`: nothing is left in the place of before, and the worktree that is named now leads back.
bool is_of_moved_worktree(const std::string& path, const Tree& before) {
  const std::string pointer = pointer_before(path, before), administration = parent_of(path);
  return !pointer.empty() && fs::path(administration).parent_path().filename() == "worktrees" &&
         !is_there(parent_of(pointer)) && is_there(lexical_path(path_in(path), administration)) &&
         is_plain_worktree(administration, real_path(administration + "/../.."));
}

// A repository that a command may have made stays.
bool may_stay(const std::string& path) {
  return fs::path(path).filename() == ".git" && (is_plain_repository(path) || is_plain_pointer(path));
}

}  // namespace

Watch::Watch(WatchPlan plan, const WatchHints& hints, std::shared_ptr<Baseline> baseline)
    : plan_(std::move(plan)), baseline_(std::move(baseline)), of_past_(false) {
  // A change that is being undone right now would be taken for the state before.
  { const MutexLock wait(baseline_->undoing()); }
  for (const std::string& path : plan_.pinned) {
    auto& pin = pins_[path];
    if (!pin) pin = baseline_->pin(path);
  }
  for (const std::string& path : plan_.paths) hold(path, hints);
  for (const std::string& root : plan_.roots)
    for (const auto& [path, state] : hints.elsewhere)
      if (is_below(path, root)) hold(path, hints);
  hold_others();
}

void Watch::hold(const std::string& path, const WatchHints& hints) {
  if (held_.contains(path)) return;
  const auto known = hints.known.find(path), elsewhere = hints.elsewhere.find(path);
  const bool hidden = is_hidden(path);
  const Way way = Way::opened(hidden ? path : std::string());
  if (hidden) hidden_.insert(path);
  Held& held = held_[path];
  held.state = baseline_->enter(path);
  if (elsewhere != hints.elsewhere.end()) elsewhere_.insert(path);
  states_[path] = held.state->before(known == hints.known.end() ? nullptr : known->second,
                                     elsewhere == hints.elsewhere.end() ? nullptr : elsewhere->second);
}

// A path that exists only since another command has made it is none of the state before.
void Watch::hold_others() {
  for (const std::string& root : plan_.roots)
    for (const std::string& path : baseline_->held_in(root)) hold(path, {});
}

Watch::Watch(WatchPlan plan, Trees states, const std::vector<PinnedThen>& pinned, std::shared_ptr<Baseline> baseline)
    : plan_(std::move(plan)), baseline_(std::move(baseline)), of_past_(true), states_(std::move(states)) {
  for (const PinnedThen& each : pinned) {
    pins_[each.path] = std::make_shared<UniqueFd>(find_directory(each, plan_.roots));
  }
  for (const auto& [path, state] : states_) held_[path].state = baseline_->enter(path);
}

Watch::~Watch() { release(); }

void Watch::release() {
  for (const auto& [path, held] : held_) baseline_->leave(path, held.checked);
  if (!of_past_)
    for (const auto& [path, pin] : pins_) baseline_->unpin(path);
  held_.clear();
  pins_.clear();
}

std::vector<Watch::PinnedThen> Watch::pinned() const {
  std::vector<PinnedThen> out;
  for (const auto& [path, pin] : pins_) {
    struct stat info {};
    if (::fstat(pin->get(), &info) == 0) out.push_back({path, info.st_dev, info.st_ino});
  }
  return out;
}

std::string Watch::by_whom(const std::string& path) const {
  if (of_past_) return " by a command of an agentd that was killed";
  return elsewhere_.contains(path) || baseline_->is_shared(path) ? " while this command and others ran"
                                                                 : " by the command";
}

TreePointer Watch::before(const std::string& path, Baseline::State& state) const {
  return of_past_ ? states_.at(path) : state.before();
}

// A link that was put in the way leads Git and others to files that are not guarded. One that was there before has a
// target that is guarded by its own path. A new one may lead to a repository in the workspace that might stay itself.
bool Watch::is_led_elsewhere(const std::string& path, const Tree& before) const {
  if (is_there(path) || link_in_the_way(path).empty()) return false;
  if (before.exists()) return true;
  if (before.led) return false;
  const std::string real = real_path(path);
  const bool is_repository = fs::path(path).filename() == ".git" && fs::path(real).filename() == ".git";
  if (real.empty() || !is_repository || !is_in(real, plan_.roots)) return !real.empty();
  return !may_stay(real) && !is_older({GitPart::Kind::kLink, real}, plan_);
}

bool Watch::differs(const std::string& path, Baseline::State& state) const {
  const Way way = Way::opened(is_hidden(path) ? path : std::string());
  if (const std::uint64_t inode = state.accepted_inode())
    return is_there(path) && inode_of(path) != inode && !may_stay(path);
  const TreePointer was = before(path, state);
  if (is_led_elsewhere(path, *was)) return true;
  if (!of_past_ && is_untouched(glance(path), *was)) return false;
  // Another process may have restored it.
  if (TreePointer now = look(path); has_same_content(*now, *was)) {
    state.renew(std::move(now));
    return false;
  }
  if (is_of_moved_worktree(path, *was)) return false;
  // A path that is gone together with its directory does nothing any more, unless something leads there.
  if (!is_there(path) && !has_directory(path)) return is_led_to(path, *was);
  if (was->exists() || fs::path(path).filename() != ".git") return true;
  return !accept(path) && !is_plain_pointer(path);
}

// The reading that is checked is kept as the state before of its parts: a command that changes them meanwhile has
// changed that. The user may give a new repository hooks before the last command has ended: then those are undone, not
// all of it.
bool Watch::accept(const std::string& path) const {
  const GitReading now = read_git_directory(path);
  if (!is_plain_repository(now)) return false;
  std::map<std::string, TreePointer> parts;
  for (const auto& [name, tree] : now.parts) parts[path + "/" + name] = tree;
  baseline_->accept(path, now.inode, parts);
  return true;
}

// The files that settings name in a new worktree may be those of an older one, and a link may lead to those.
bool Watch::is_plain_name(const GitPart& part, const std::vector<GitPart>& known) const {
  const std::string real = real_path(part.path);
  if (!links_of(part.path).empty() && !is_in(real, plan_.roots)) return false;
  if (is_plain_part(part)) return true;
  const TreePointer now = look(real);
  return std::any_of(known.begin(), known.end(), [&](const GitPart& each) {
    const std::string other = each.kind == GitPart::Kind::kNamed ? real_path(each.path) : std::string();
    return !other.empty() && is_copy(*now, *look(other));
  });
}

std::vector<GitPart> Watch::new_parts() const {
  const std::set<std::string> known(plan_.parts.begin(), plan_.parts.end());
  std::vector<GitPart> out;
  for (const std::string& root : plan_.roots) {
    std::vector<GitPart> parts = git_places(root, plan_.user, plan_.roots).parts;
    const auto first_new = std::stable_partition(parts.begin(), parts.end(),
                                                 [&](const GitPart& part) { return known.contains(part.path); });
    if (first_new == parts.end()) continue;
    const std::vector<GitPart> before(parts.begin(), first_new);
    std::set<std::string> walked;
    for (const GitPart& part : parts)
      if (part.kind == GitPart::Kind::kModule || part.kind == GitPart::Kind::kWorktree) walked.insert(part.path);
    std::vector<std::string> trusted;  // repositories of the user
    for (const std::string& each : plan_.roots) trusted.push_back(common_directory_of(each));
    // A `.git` can lead into a repository which is no part, so that nothing else judges it.
    const auto is_plain = [&](const GitPart& part) {
      struct stat info {};
      const bool is_file = part.kind == GitPart::Kind::kLink && look_at(part.path, info) && S_ISREG(info.st_mode);
      if (!is_file || !is_plain_part(part)) return !is_file && is_plain_part(part);
      const std::string git = pointed_to(part.path), common = common_of(git);
      return walked.contains(git) && (std::find(trusted.begin(), trusted.end(), common) != trusted.end() ||
                                      (!common.empty() && is_plain_git_directory(common)));
    };
    for (auto part = first_new; part != parts.end(); ++part) {
      const bool is_name = part->kind == GitPart::Kind::kNamed;
      if (part->kind == GitPart::Kind::kDirectory && !known.contains(part->pointer)) continue;
      if (!is_there(part->path) && !(is_name && !links_of(part->path).empty())) continue;
      if (!(is_name ? is_plain_name(*part, before) : is_plain(*part)) && !is_older(*part, plan_))
        out.push_back(std::move(*part));
    }
  }
  return out;
}

// The path to move, so that Git does not follow a part: a link that a command has put on the way, if there is one.
std::string Watch::place_of(const GitPart& part) const {
  const bool is_directory = part.kind == GitPart::Kind::kDirectory;
  if (!is_directory && part.kind != GitPart::Kind::kNamed) return part.path;
  for (const std::string& link : links_of(is_directory ? part.spelled : part.path))
    if (may_move(link) && !is_before(link, plan_.since_ns)) return link;
  return is_directory ? real_path(part.spelled) : part.path;
}

}  // namespace agentd::cage
