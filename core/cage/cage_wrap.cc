// SPDX-License-Identifier: Apache-2.0
// cage_wrap.cc - what a cage does for each command.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "core/cage/aside.h"
#include "core/cage/baseline.h"
#include "core/cage/bubblewrap.h"
#include "core/cage/cage.h"
#include "core/cage/hints.h"
#include "core/cage/journal.h"
#include "core/cage/orders.h"
#include "core/cage/path_list.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/proxy.h"
#include "core/cage/watch.h"
#include "core/process/landlock.h"
#include "core/process/spawn.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

using Sockets = CagedCalls::Sockets;

// The descriptor at which bubblewrap finds its words: they are passed behind the orders.
constexpr int kWordsFd = kOrdersFd + 1;

// A file in it has another name, by which a command could write around a mount. True also if there are too many to
// tell.
bool has_other_names(const std::string& path) {
  constexpr int kEntriesMax = 2'000;
  std::error_code failed;
  const auto has_several = [&](const fs::path& file) {
    struct stat info {};
    return ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1;
  };
  if (has_several(path)) return true;
  int left = kEntriesMax;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed))
    if (left-- == 0 || has_several(at->path())) return true;
  return false;
}

// Its position is at the beginning.
Result<UniqueFd> sealed(const std::string& text) {
  UniqueFd out(::memfd_create("sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!out.valid()) return errno_error("keeping the orders of the sandbox", errno);
  AGENTD_TRY_VOID(write_all(out.get(), text));
  ::lseek(out.get(), 0, SEEK_SET);
  ::fcntl(out.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return out;
}

bool is_set(const std::vector<std::string>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& each) {
    return each.starts_with(name) && each.size() > name.size() && each[name.size()] == '=';
  });
}

// Each mount costs, and for root /etc is many readable parts. Landlock inside closes the others, where there is one.
void add_views(std::vector<std::string>& out, const std::vector<std::string>& readable) {
  const bool closed_inside = landlock_version() >= 1;
  for (const std::string& path : readable)
    add_new(out, {closed_inside && is_below(path, "/etc") ? std::string("/etc") : path});
}

}  // namespace

Result<void> Cage::check_identities() const {
  for (const auto& [path, own] : identities_) {
    const Identity now = identity_at(path);
    if (own.kind != 0 && now == own) continue;
    // A missing one may have been made, but be no link.
    if (own.kind == 0 && (now.kind != 0 ? now.kind == S_IFDIR : link_in_the_way(path).empty())) continue;
    return Error{Code::kUnavailable,
                 path +
                     " is no longer the directory that it was when the session began, so no command "
                     "runs: put it back, or start agentd again"};
  }
  return {};
}

// Looked up for each command: a repository may have got submodules in the meantime.
Cage::Guarded Cage::guarded_now() const {
  Guarded out;
  std::set<std::string> paths, watched, git_links;
  for (const std::string& root : roots_) {
    const GitPlaces git = git_places(root, user_, roots_);
    const std::vector<std::string> others = guarded_places(root, user_.home);
    paths.insert(others.begin(), others.end());
    paths.insert(git.guarded.begin(), git.guarded.end());
    watched.insert(git.watched.begin(), git.watched.end());
    git_links.insert(git.links.begin(), git.links.end());
    add_new(out.pinned, git.pinned);
    for (const GitPart& part : git.parts) out.parts.push_back(part.path);
    for (const GitAbsent& each : git.absent)
      if (!is_below(each.top, "/tmp") && !is_in(each.top, writable_)) add_new(out.absent, {each.administration});
  }
  for (const std::string& path : settings_.kept)
    if (is_in(real_as_far(path), roots_)) paths.insert(real_as_far(path));
  // Where the home is the workspace: places of keys that are not there yet, since some of them decide who may log in.
  if (!user_.home.empty())
    for (const std::string& path : secret_places(user_.home))
      if (is_in(path, roots_) && (::access(path.c_str(), F_OK) != 0 || !links_of(path).empty())) paths.insert(path);
  // Each link on the way is watched, and where they lead is guarded in its own right.
  for (const std::string& path : std::set<std::string>(paths)) {
    const std::vector<std::string> links = links_of(path);
    for (const std::string& link : links)
      if (is_in(link, roots_)) paths.insert(link);
    if (!links.empty() && is_in(real_as_far(path), roots_)) paths.insert(real_as_far(path));
  }
  paths.merge(git_links);
  for (const std::string& path : paths) watched.erase(path);
  out.paths.assign(paths.begin(), paths.end());
  out.watched.assign(watched.begin(), watched.end());
  return out;
}

std::vector<std::string> Cage::environment_of(const std::vector<std::string>& given) const {
  std::vector<std::string> out;
  for (const std::string& each : given)
    if (!each.starts_with("TMPDIR=")) out.push_back(each);
  const std::string tmp = layer_ == Layer::kBubblewrap ? "/tmp" : scratch_;
  out.push_back("TMPDIR=" + tmp);
  const auto add_unless_set = [&](const std::string& name, const std::string& value) {
    if (!is_set(given, name)) out.push_back(name + "=" + value);
  };
  add_unless_set("XDG_CACHE_HOME", cache_);
  add_unless_set("CCACHE_DIR", cache_ + "/ccache");
  add_unless_set("GOCACHE", cache_ + "/go-build");
  add_unless_set("PIP_CACHE_DIR", cache_ + "/pip");
  add_unless_set("npm_config_cache", cache_ + "/npm");
  // Keys stay outside, and a commit that cannot be signed would fail.
  if (!is_set(given, "GIT_CONFIG_COUNT"))
    for (const char* const each : {"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=commit.gpgSign", "GIT_CONFIG_VALUE_0=false",
                                   "GIT_CONFIG_KEY_1=tag.gpgSign", "GIT_CONFIG_VALUE_1=false"})
      out.emplace_back(each);
  out.push_back("AGENTD_SANDBOX=" + std::string(name_of(layer_)));
  return out;
}

// The parts that live from the start of a command to its end.
struct Cage::Command {
  Command(std::unique_ptr<Watch> states, std::shared_ptr<JournalFile> file)
      : watch(std::move(states)), journal(std::move(file)) {
    journal->begin(*watch);
  }
  // A command that was not started changed nothing.
  ~Command() { end(); }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  void end() {
    if (watch) journal->end();
    watch.reset();
  }

  std::unique_ptr<Watch> watch;                // null = it has ended
  const std::shared_ptr<JournalFile> journal;  // shared with the cage and its other commands
  std::unique_ptr<Proxy> proxy;
  CageFacts facts;
  std::string agentd_home;
  std::vector<std::string> undone_before;  // of commands of an agentd that was killed

  CagedCommand::After finish(std::string_view output) {
    CagedCommand::After after;
    after.remarks = watch->undo(Aside::in_home(agentd_home));
    end();
    after.undone = !after.remarks.empty();
    if (after.undone || !undone_before.empty()) forget_old_undone(agentd_home);
    add_new(after.remarks, undone_before);
    const std::vector<std::string> refusals = proxy ? proxy->refusals() : std::vector<std::string>();
    add_new(after.remarks, refusals);
    CageFacts known = facts;
    known.by_proxy = proxy != nullptr && refusals.empty();
    add_new(after.remarks, hints_for(known, output));
    return after;
  }
};

std::unique_ptr<Watch> Cage::watch(Guarded guarded, std::vector<std::string> watched, Trees elsewhere) {
  WatchHints hints;
  hints.elsewhere = std::move(elsewhere);
  {
    const MutexLock lock(mutex_);
    hints.known = known_;
  }
  WatchPlan plan{std::move(watched), std::move(guarded.pinned), roots_, std::move(guarded.parts), user_, since_ns_};
  auto out = std::make_unique<Watch>(std::move(plan), hints, baseline_);
  const MutexLock lock(mutex_);
  known_ = out->states();
  return out;
}

// A path that leads to another file now than at the beginning is not readable.
std::vector<std::string> Cage::readable_now() const {
  std::vector<std::string> out = readable_;
  std::erase_if(out, [&](const std::string& path) {
    const auto led = led_.find(path);
    return led != led_.end() && identity_behind(path) != led->second;
  });
  return out;
}

Orders Cage::usual_orders(const std::string& home) const {
  const bool apart = layer_ == Layer::kBubblewrap;
  Orders orders;
  orders.apart = apart;
  orders.readable = readable_now();
  orders.writable = writable_;
  for (const auto& [path, own] : led_)
    if (std::find(orders.readable.begin(), orders.readable.end(), path) != orders.readable.end())
      orders.noted.push_back({path, Noted::As::kAny, own});
  if (!apart)
    for (const auto& [path, own] : identities_)
      if (own.kind != 0) orders.noted.push_back({path, Noted::As::kAny, own});
  if (apart) {
    add_new(orders.writable, {"/tmp"});
    if (!settings_.user_home.empty() && ::access(settings_.user_home.c_str(), F_OK) == 0)
      add_new(orders.writable, {home});
  }
  orders.devices = apart
                       ? std::vector<std::string>{"/dev"}
                       : std::vector<std::string>{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  orders.sockets = apart || settings_.all_network ? Sockets::kAll : Sockets::kNone;
  orders.local_sockets = apart && settings_.local_sockets;
  return orders;
}

// The orders, bubblewrap's words if there are any, then what the keeper holds.
Result<void> Cage::add_descriptors(Orders& orders, UniqueFd words, std::vector<UniqueFd>& out) const {
  int next = words.valid() ? kWordsFd : kOrdersFd;
  UniqueFd owner(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (owner.valid()) orders.owner = ++next;
  UniqueFd lock(journal_->lock() < 0 ? -1 : ::fcntl(journal_->lock(), F_DUPFD_CLOEXEC, 3));
  if (lock.valid()) orders.lock = ++next;
  AGENTD_TRY(UniqueFd file, sealed(text_of(orders)));
  out.push_back(std::move(file));
  for (UniqueFd* const each : {&words, &owner, &lock})
    if (each->valid()) out.push_back(std::move(*each));
  return {};
}

Result<CagedCommand> Cage::wrap(const std::vector<std::string>& argv, const std::string& cwd,
                                const std::vector<std::string>& environment) {
  AGENTD_TRY(const std::string program, find_program(argv.at(0), environment));
  AGENTD_TRY_VOID(check_identities());
  OtherProcesses others = see_other_processes(settings_.agentd_home, journal_->journal());
  const std::string directory = cwd.empty() ? roots_.at(0) : real_as_far(cwd);
  const bool apart = layer_ == Layer::kBubblewrap;
  View view{{}, {}, {}, hidden_, real_as_far(settings_.user_home), scratch_, settings_.all_network, {}};
  for (const auto& [path, own] : identities_)
    if (own.kind != 0) view.known[path] = own;
  Guarded guarded = guarded_now();
  std::vector<std::string> watched = std::move(guarded.watched);
  for (std::string& path : guarded.paths) {
    // A link would be followed; guarded_now() has its target, too.
    const Identity own = apart ? identity_at(path) : Identity();
    const bool mounts = own.kind != 0 && own.kind != S_IFLNK;
    if (mounts) view.known[path] = own;
    if (mounts && has_other_names(path)) watched.push_back(path);
    (mounts ? view.guarded : watched).push_back(std::move(path));
  }
  // Git would prune its files of worktrees that this view does not show.
  for (const std::string& path : apart ? guarded.absent : std::vector<std::string>()) {
    const Identity own = identity_at(path);
    if (own.kind != S_IFDIR) continue;
    view.known[path] = own;
    view.guarded.push_back(path);
  }
  const std::vector<std::string> repositories = guarded.pinned;
  // Shared with finish(), which the caller keeps.
  const auto command =
      std::make_shared<Command>(watch(std::move(guarded), std::move(watched), std::move(others.states)), journal_);
  command->agentd_home = settings_.agentd_home;
  command->undone_before = std::move(others.undone);
  command->facts.network_off = !settings_.all_network && network_.empty();
  command->facts.local_sockets = !apart                    ? CageFacts::LocalSockets::kNever
                                 : settings_.local_sockets ? CageFacts::LocalSockets::kOpen
                                                           : CageFacts::LocalSockets::kClosed;
  Orders orders = usual_orders(view.home);
  if (!settings_.all_network && !network_.empty()) {
    AGENTD_TRY(command->proxy, Proxy::start(network_));
    orders.proxy = command->proxy->socket();
    orders.reaches_machine = network_.name_this_machine();
    if (!apart) orders.sockets = Sockets::kTcp;
    view.readable.push_back(fs::path(orders.proxy).parent_path().string());
  }
  CagedCommand out;
  UniqueFd words;
  if (apart) {
    add_views(view.readable, orders.readable);
    view.writable = writable_;
    // It is shown as /tmp.
    std::erase(view.writable, scratch_ == cache_ ? std::string() : scratch_);
    const std::size_t guarded_paths = view.guarded.size();
    view.guarded = few_guarded(std::move(view.guarded), repositories);
    command->facts.has_mounts = true;
    command->facts.modules_closed = view.guarded.size() != guarded_paths;
    Invocation invocation = bubblewrap_words(bubblewrap_program(), view, directory, kWordsFd, settings_.helper);
    out.argv = std::move(invocation.argv);
    orders.noted.insert(orders.noted.end(), invocation.noted.begin(), invocation.noted.end());
    AGENTD_TRY(words, sealed(invocation.words));
  }
  add_new(orders.readable, {"/proc"});  // no view of this machine's: bubblewrap makes one of its own
  out.argv.insert(out.argv.end(), {apart ? kHelperPlace : settings_.helper, std::to_string(kOrdersFd), program});
  out.argv.insert(out.argv.end(), argv.begin() + 1, argv.end());
  out.environment = environment_of(environment);
  AGENTD_TRY_VOID(add_descriptors(orders, std::move(words), out.descriptors));
  out.finish = [command](std::string_view output, int) { return command->finish(output); };
  return out;
}

}  // namespace agentd::cage
