// SPDX-License-Identifier: Apache-2.0
#include "core/cage/watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "core/cage/git_settings.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/plain.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 3;                         // of undoing, while another command changes it again
constexpr std::size_t kSearchMax = 200'000;        // entries of directories, for one that was moved
constexpr std::int64_t kSecondNs = 1'000'000'000;  // and a step of the clock of files is shorter than kStepNs
constexpr std::int64_t kStepNs = 20'000'000;

std::uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return look_at(path, info) ? info.st_ino : 0;
}

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

bool has_directory(const std::string& path) { return open_directory_at(parent_of(path), O_PATH).valid(); }

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// True also where there is none to look for.
bool is_in_place(const std::string& path, const Baseline::Pin& pin) {
  struct stat now {
  }, own{};
  if (::fstat(pin->get(), &own) != 0) return true;
  return look_at(path, now) && is_same(now, own);
}

// Where it is now, by its identity: at its path, or anywhere around it.
UniqueFd find_directory(const Watch::PinnedThen& pin) {
  const auto matches = [&](const std::string& path) {
    struct stat info {};
    return look_at(path, info) && S_ISDIR(info.st_mode) && info.st_dev == pin.device && info.st_ino == pin.inode;
  };
  if (matches(pin.path)) return open_directory_at(pin.path, O_PATH);
  if (!has_directory(pin.path)) return {};
  std::size_t left = kSearchMax;
  std::error_code failed;
  fs::recursive_directory_iterator at(parent_of(pin.path), fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator() && left > 0; at.increment(failed), --left)
    if (matches(at->path().string())) return open_directory_at(at->path().string(), O_PATH);
  return {};
}

bool is_before(const std::string& path, std::int64_t since_ns) {
  struct stat info {};
  return !look_at(path, info) || info.st_ctim.tv_sec * kSecondNs + info.st_ctim.tv_nsec + kStepNs < since_ns;
}

// Neither it, nor a directory around it, nor a file that Git follows in it has changed since then: it was not moved
// here either. What its settings name in the workspace may have changed meanwhile.
bool is_older(const GitPart& part, const WatchPlan& plan) {
  std::vector<std::string> files{part.path};
  struct stat info {};
  if (look_at(part.path, info) && S_ISDIR(info.st_mode)) {
    for (const char* const name : {"config", "config.worktree", "commondir", "gitdir", "hooks"})
      files.push_back(part.path + "/" + name);
    for (const std::string& name : names_in(part.path + "/hooks")) files.push_back(part.path + "/hooks/" + name);
    const GitTargets named = git_targets({part.path + "/config", part.path + "/config.worktree"}, plan.user.home);
    if (!named.files.empty() || !named.hooks.empty() || !named.programs.empty()) return false;
  }
  for (const std::string& root : plan.roots)
    for (std::string above = parent_of(part.path); is_below(above, root) && above != root; above = parent_of(above))
      files.push_back(above);
  return std::all_of(files.begin(), files.end(),
                     [&](const std::string& file) { return is_before(file, plan.since_ns); });
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
  Held& held = held_[path];
  held.has_link = !link_in_the_way(path).empty();
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
    pins_[each.path] = std::make_shared<UniqueFd>(find_directory(each));
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

// A link that was put in the way leads Git and others to files that are not guarded.
bool Watch::is_led_elsewhere(const std::string& path, const Tree& before) const {
  if (is_there(path) || link_in_the_way(path).empty()) return false;
  if (before.exists()) return true;
  const auto held = held_.find(path);
  return !of_past_ && held != held_.end() && !held->second.has_link && ::access(path.c_str(), F_OK) == 0;
}

bool Watch::differs(const std::string& path, Baseline::State& state) const {
  if (!physical(path).valid() && errno == EACCES) open_way(path);
  if (const std::uint64_t inode = state.accepted_inode())
    return is_there(path) && inode_of(path) != inode && !may_stay(path);
  const TreePointer before = of_past_ ? states_.at(path) : state.before();
  if (is_led_elsewhere(path, *before)) return true;
  if (!of_past_ && is_untouched(glance(path), *before)) return false;
  // Another process may have restored it.
  if (TreePointer now = look(path); has_same_content(*now, *before)) {
    state.renew(std::move(now));
    return false;
  }
  // A path that is gone together with its directory does nothing any more.
  if (!is_there(path) && !has_directory(path)) return false;
  if (before->exists() || !may_stay(path)) return true;
  return is_plain_repository(path) && !accept(path);
}

// The user may give a new repository hooks before the last command has ended: then those are undone, not all of it.
bool Watch::accept(const std::string& path) const {
  std::vector<std::string> parts;
  for (const char* const name : {"hooks", "config", "config.worktree", "commondir"}) parts.push_back(path + "/" + name);
  baseline_->accept(path, inode_of(path), parts);
  if (may_stay(path)) return true;
  baseline_->refuse(path);
  return false;
}

std::string Watch::undo_one(const std::string& path, Baseline::State& state, const Aside& aside) const {
  const TreePointer before = of_past_ ? states_.at(path) : state.before();
  const bool made = !before->exists();
  if (made) baseline_->refuse(path);
  const bool led = is_led_elsewhere(path, *before);
  const std::string what = path +
                           (led              ? " was led elsewhere by a link"
                            : made           ? " was made"
                            : is_there(path) ? " was changed"
                                             : " was removed") +
                           by_whom(path) + ", which the sandbox does not allow, and ";
  if (before->rest != 0) return what + "it has too many files to be restored: check it now";
  Aside::Moved moved{true, {}};
  bool back = false;
  for (int round = 0; round < kRounds && !back; ++round) {
    if (const std::string link = link_in_the_way(path); led && !link.empty()) moved = aside.move(link);
    if (is_there(path)) moved = aside.move(path);
    if (!moved.gone) return what + "it could not be undone: check it now";
    if (!made) (void)(make_way(path) && restore(path, *before));
    TreePointer now = look(path);
    back = has_same_content(*now, *before);
    if (back) state.renew(std::move(now));
  }
  const std::string end = !back  ? "could not be restored completely: check it now"
                          : made ? "is undone"
                                 : "is as it was before";
  return what + end + moved.kept();
}

// Something else is there, or nothing is although the directory is elsewhere. A removed one is gone: in a directory
// that was made in its place the guarded paths are restored; anything else there could lead elsewhere.
void Watch::undo_pin(const std::string& path, const Baseline::Pin& pin, const Aside& aside,
                     std::vector<std::string>& out) const {
  if (is_in_place(path, pin)) return;
  struct stat now {
  }, own{}, found{};
  const bool there = look_at(path, now);
  if (!there && !has_directory(path)) return;  // together with its worktree
  ::fstat(pin->get(), &own);
  std::error_code failed;
  const std::string place = fs::read_symlink("/proc/self/fd/" + std::to_string(pin->get()), failed).string();
  if (aside.contains(place)) return;
  const Physical from = physical(place), to = physical(path);
  const bool moved = from.valid() && to.valid() &&
                     ::fstatat(from.folder.get(), from.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                     is_same(found, own);
  if (!moved && !there)
    out.push_back(path + " was removed" + by_whom(path) + ", with the hooks and settings of Git in it: restore it");
  if (!moved && (!there || S_ISDIR(now.st_mode))) return;
  Aside::Moved gone{true, {}};
  if (there) gone = aside.move(path);
  const bool back =
      gone.gone && (!moved || ::renameat(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str()) == 0);
  out.push_back(path + " was " + (there ? "replaced" : "moved") + by_whom(path) +
                ", which the sandbox does not allow, and " +
                (!back   ? "could not be restored: check it now"
                 : moved ? "is in its place again"
                         : "the new file is moved away") +
                gone.kept());
}

std::vector<GitPart> Watch::new_parts() const {
  const std::set<std::string> known(plan_.parts.begin(), plan_.parts.end());
  std::vector<GitPart> out;
  for (const std::string& root : plan_.roots)
    for (GitPart& part : git_places(root, plan_.user).parts)
      if (!known.contains(part.path) && is_there(part.path) && !is_plain_part(part) && !is_older(part, plan_))
        out.push_back(std::move(part));
  return out;
}

// A removed part can show another one: a repository that was behind it.
void Watch::undo_parts(const Aside& aside, std::vector<std::string>& out) const {
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<GitPart> parts = new_parts();
    if (parts.empty()) return;
    for (const GitPart& part : parts) {
      if (!is_there(part.path)) continue;
      const Aside::Moved moved = aside.move(part.path);
      out.push_back(part.path + " was added to the repository" + by_whom(part.path) +
                    " with hooks or settings that can run programs, which the sandbox does not allow, and " +
                    (moved.gone ? "is undone" : "it could not be undone: check it now") + moved.kept());
    }
  }
}

std::vector<std::string> Watch::undo(const Aside& aside) {
  std::vector<std::string> out;
  if (!of_past_) hold_others();
  const auto check = [&](bool undoes) {
    bool any = false;
    for (auto& [path, held] : held_) {
      const bool differs_now = differs(path, *held.state);
      held.checked = !differs_now;
      any = any || differs_now;
      if (differs_now && undoes) out.push_back(undo_one(path, *held.state, aside));
    }
    return any;
  };
  const bool pins_stay =
      std::all_of(pins_.begin(), pins_.end(), [](const auto& each) { return is_in_place(each.first, each.second); });
  if (!pins_stay || check(false) || !new_parts().empty()) {
    const MutexLock lock(baseline_->undoing());
    for (const auto& [path, pin] : pins_) undo_pin(path, pin, aside, out);
    (void)check(true);
    undo_parts(aside, out);
  }
  release();
  return out;
}

}  // namespace agentd::cage
