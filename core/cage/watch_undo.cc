// SPDX-License-Identifier: Apache-2.0
// watch_undo.cc - the end of a watch: what differs is undone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/cage/path_list.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/watch.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 3;  // of undoing, while another command changes it again

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

// True also where there was none. One of the past that was not found is not in its place.
bool Watch::is_in_place(const std::string& path, const Baseline::Pin& pin) const {
  struct stat now {
  }, own{};
  if (::fstat(pin->get(), &own) != 0) return !of_past_;
  return look_at(path, now) && is_same_file(now, own);
}

// Commands can only put links in the roots and in the repositories that they may write.
bool Watch::may_move(const std::string& link) const {
  const auto contains = [&](const std::string& place) { return link != place && is_below(link, place); };
  return std::any_of(plan_.roots.begin(), plan_.roots.end(), contains) ||
         std::any_of(pins_.begin(), pins_.end(), [&](const auto& each) { return contains(each.first); });
}

// The rights that the state before has for a directory above a guarded path; 0: it has none.
std::uint32_t Watch::rights_of(const std::string& directory) const {
  for (auto each = held_.lower_bound(directory + "/"); each != held_.end() && is_below(each->first, directory);
       ++each) {
    const std::vector<std::uint32_t> way = before(each->first, *each->second.state)->way;
    const auto within = static_cast<std::size_t>(
        std::count(each->first.begin() + static_cast<std::ptrdiff_t>(directory.size()), each->first.end(), '/'));
    if (way.size() >= within) return way[within - 1];
  }
  return 0;
}

// A directory that a command has closed hides what is behind it: now, and from the state before the next command. So it
// gets its rights back, and one that the command has made is opened. `ways` opens what was closed before, too.
void Watch::open_ways(std::vector<Way>& ways, std::vector<std::string>& out) const {
  std::set<std::string> opened;
  const auto open = [&](const std::string& path) {
    for (std::string& each : open_above(path, [this](const std::string& above) { return rights_of(above); }))
      opened.insert(std::move(each));
  };
  for (const auto& [path, held] : held_) {
    if (!is_hidden(path)) continue;
    if (hidden_.contains(path))
      ways.push_back(Way::opened(path));
    else
      open(path);
  }
  for (const auto& [path, pin] : pins_) {
    if (is_hidden(path)) open(path);
    for (const char* const parts : {"/modules", "/worktrees"}) open_below(path + parts, "HEAD");
  }
  for (const std::string& path : opened)
    out.push_back(path + " was closed" + by_whom(path) +
                  ", so that agentd could not see what is in it, and has the rights to read it again");
}

std::string Watch::undo_one(const std::string& path, Baseline::State& state, const Aside& aside) const {
  const Way opened = Way::opened(path);
  const TreePointer was = before(path, state);
  const bool made = !was->exists();
  if (made) baseline_->refuse(path);
  const bool led = is_led_elsewhere(path, *was);
  const std::string what = path +
                           (led              ? " was led elsewhere by a link"
                            : made           ? " was made"
                            : is_there(path) ? " was changed"
                                             : " was removed") +
                           by_whom(path) + ", which the sandbox does not allow, and ";
  if (was->rest != 0) return what + "it has too many files to be restored: check it now";
  Aside::Moved moved{true, {}};
  bool back = false;
  for (int round = 0; round < kRounds && !back; ++round) {
    if (const std::string link = link_in_the_way(path); led && !link.empty())
      moved = may_move(link) ? aside.move(link) : Aside::Moved{};
    if (is_there(path)) moved = aside.move(path);
    if (!moved.gone) return what + "it could not be undone: check it now";
    if (!made) {
      const Way way = Way::made(path, was->way);
      (void)(way.complete() && restore(path, *was));
    }
    TreePointer now = look(path);
    back = has_same_content(*now, *was);
    if (back) state.renew(std::move(now));
  }
  const std::string end = !back  ? "could not be restored completely: check it now"
                          : made ? "is undone"
                                 : "is as it was before";
  return what + end + moved.kept();
}

// The rights of the directories above a pinned one, by the state before of what is in it.
std::vector<std::uint32_t> Watch::rights_of_way(const std::string& pinned) const {
  for (auto each = held_.lower_bound(pinned + "/"); each != held_.end() && is_below(each->first, pinned); ++each) {
    const std::vector<std::uint32_t> way = before(each->first, *each->second.state)->way;
    const auto within =
        std::count(each->first.begin() + static_cast<std::ptrdiff_t>(pinned.size()), each->first.end(), '/');
    if (static_cast<std::ptrdiff_t>(way.size()) > within) return {way.begin() + within, way.end()};
  }
  return {};
}

// Something else is there, or nothing is although the directory is elsewhere. Links in the way go first: what is behind
// them is none of the repository's. A removed one is gone: in a directory that was made in its place the guarded paths
// are restored, and none is made for them; anything else there could lead elsewhere.
void Watch::undo_pin(const std::string& path, const Baseline::Pin& pin, const Aside& aside,
                     std::vector<std::string>& out) const {
  if (is_in_place(path, pin)) return;
  const Way opened = Way::opened(path);
  struct stat now {
  }, own{}, found{};
  Aside::Moved gone{true, {}};
  std::string link;
  for (int round = 0; round < kRounds && gone.gone; ++round) {
    const std::string next = link_in_the_way(path);
    if (next.empty() || !may_move(next)) break;
    link = next;
    gone = aside.move(link);
  }
  if (!gone.gone) return;  // undo_one() says so
  const bool there = look_at(path, now);
  if (!there && link.empty() && !open_directory_at(fs::path(path).parent_path().string(), O_PATH).valid())
    return;  // together with its worktree
  const bool known = ::fstat(pin->get(), &own) == 0;
  std::error_code failed;
  const std::string place =
      known ? fs::read_symlink("/proc/self/fd/" + std::to_string(pin->get()), failed).string() : std::string();
  if (aside.contains(place) && link.empty()) return;
  const Physical from = physical(place);
  const bool moved = from.valid() && !aside.contains(place) &&
                     ::fstatat(from.folder.get(), from.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                     is_same_file(found, own);
  if (!moved && !there)
    out.push_back(path + " was removed" + by_whom(path) + ", with the hooks and settings of Git in it" +
                  (link.empty() ? "" : ", and the link " + link + " is moved away") + ": restore it" + gone.kept());
  if (!moved && (!there || S_ISDIR(now.st_mode))) return;
  if (there) gone = aside.move(path);
  bool back = gone.gone;
  if (back && moved) {
    const Way way = Way::made(path, rights_of_way(path));
    const Physical to = physical(path);
    back = to.valid() && ::renameat(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str()) == 0;
    // A command that still runs has exchanged it at this moment.
    if (back && !is_in_place(path, pin)) {
      gone = aside.move(path);
      back = false;
    }
  }
  out.push_back(path + " was " +
                (!link.empty() ? "led elsewhere by a link"
                 : there       ? "replaced"
                               : "moved") +
                by_whom(path) + ", which the sandbox does not allow, and " +
                (!back   ? "could not be restored: check it now"
                 : moved ? "is in its place again"
                         : "the new file is moved away") +
                gone.kept());
}

// A removed part can show another one: a repository that was behind it.
void Watch::undo_parts(const Aside& aside, std::vector<std::string>& out) const {
  const auto name = [](const GitPart& part) {
    switch (part.kind) {
      case GitPart::Kind::kBare:
        return fs::path(part.path).parent_path().string() + " was made a repository";
      case GitPart::Kind::kDirectory:
        return part.spelled + " was made a repository, to which " + part.pointer + " leads,";
      case GitPart::Kind::kIndex:
        return part.path + " was made to lead Git elsewhere,";
      case GitPart::Kind::kUnread:
        return part.path + " was made to lead Git where agentd does not read,";
      case GitPart::Kind::kNamed:
        return part.path + " was made in a worktree, where settings of Git name it,";
      default:
        return part.path + " was added to the repository";
    }
  };
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<GitPart> parts = new_parts();
    if (parts.empty()) return;
    for (const GitPart& part : parts) {
      const std::string place = place_of(part);
      if (place.empty() || !is_there(place)) continue;
      const Aside::Moved moved = aside.move(place);
      out.push_back(name(part) + by_whom(part.path) +
                    " with hooks or settings that can run programs, which the sandbox does not allow, and " +
                    (moved.gone ? "is undone" : "it could not be undone: check it now") + moved.kept());
    }
  }
}

std::vector<std::string> Watch::undo(const Aside& aside) {
  std::vector<std::string> out;
  if (!of_past_) hold_others();
  std::vector<Way> ways;
  open_ways(ways, out);
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
      std::all_of(pins_.begin(), pins_.end(), [&](const auto& each) { return is_in_place(each.first, each.second); });
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
