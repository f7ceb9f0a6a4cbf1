// SPDX-License-Identifier: Apache-2.0
#include "core/cage/cage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/cage/aside.h"
#include "core/cage/baseline.h"
#include "core/cage/bubblewrap.h"
#include "core/cage/hints.h"
#include "core/cage/journal.h"
#include "core/cage/orders.h"
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

// The descriptors at which the helper finds its orders and bubblewrap its words: in the order in which they are passed.
constexpr int kOrdersFd = 3, kWordsFd = 4;

// Without a slash at the end, links resolved as far as the path exists.
std::string real(const std::string& path) {
  std::error_code failed;
  std::string out = fs::weakly_canonical(path, failed).string();
  if (failed) out = fs::path(path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

bool is_in(const std::string& path, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& each) { return is_below(path, each); });
}

void add(std::vector<std::string>& out, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (std::find(out.begin(), out.end(), each) == out.end()) out.push_back(each);
}

constexpr const char* kScratchPrefix = "agentd-cage-";

// Directories of killed owners go first.
// Not where commands write by another path: they could exchange it.
Result<ScratchDirectory> make_scratch(const std::vector<std::string>& roots) {
  const char* const wish = std::getenv("TMPDIR");
  std::string place = real(wish != nullptr && wish[0] == '/' ? wish : "/tmp");
  if (is_in(place, roots)) place = "/tmp";
  (void)remove_ownerless(place, kScratchPrefix);
  (void)remove_ownerless(Proxy::kPlace, Proxy::kPrefix);
  return ScratchDirectory::make(place, kScratchPrefix);
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
    add(out, {closed_inside && is_below(path, "/etc") ? std::string("/etc") : path});
}

// Paths of the settings that no layer could keep.
Result<void> check_places(const std::string& setting, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string shown = setting + ": " + one_line(path, 200);
    if (!path.starts_with('/')) return Error{Code::kInvalid, shown + " is not an absolute path"};
    if (real(path) == "/")
      return Error{Code::kInvalid, shown +
                                       " is the whole file system, around which there is no sandbox: name a "
                                       "directory, or set sandbox.layer to 'off'"};
    if (::access(path.c_str(), F_OK) != 0)
      return Error{Code::kNotFound, shown + " does not exist: create it, or omit it"};
  }
  return {};
}

// The time of the first sandbox of this process: an older file was made by none of its commands.
std::int64_t first_ns() {
  static const std::int64_t first = [] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }();
  return first;
}

}  // namespace

Cage::Cage(CageSettings settings, Layer layer, NetworkRules network)
    : settings_(std::move(settings)), layer_(layer), network_(std::move(network)) {}

Result<void> check_settings(const CageSettings& settings) {
  AGENTD_TRY(const NetworkRules network, NetworkRules::parse(settings.network));
  AGENTD_TRY_VOID(check_places("sandbox.writable", settings.writable));
  return check_places("sandbox.readable", settings.readable);
}

Result<std::unique_ptr<Cage>> Cage::make(CageSettings settings, Layer layer) {
  AGENTD_TRY_VOID(check_settings(settings));
  AGENTD_TRY(NetworkRules network, NetworkRules::parse(settings.network));
  std::unique_ptr<Cage> out(new Cage(std::move(settings), layer, std::move(network)));
  AGENTD_TRY_VOID(out->prepare());
  return out;
}

Cage::~Cage() = default;

Result<void> Cage::prepare() {
  (void)first_ns();
  const std::string home = settings_.user_home.empty() ? std::string() : real(settings_.user_home);
  user_ = {home, settings_.xdg_config};
  baseline_ = Baseline::shared();
  auto journal = Journal::shared(settings_.agentd_home);
  journal_ = std::make_shared<JournalFile>(journal ? *journal : nullptr);
  for (const std::string& root : settings_.roots) {
    roots_.push_back(real(root));
    if (roots_.back() == "/")
      return Error{Code::kUnavailable,
                   "the workspace is the whole file system, around which there is no sandbox: work "
                   "in a directory, or name one in workspace.roots"};
    // Its keys, its store and its tokens would be the commands'.
    if (is_below(roots_.back(), real(settings_.agentd_home)))
      return Error{Code::kUnavailable, "the workspace is in agentd's own home (" + real(settings_.agentd_home) +
                                           "), in which no command runs: work in another directory"};
  }
  AGENTD_TRY(scratch_directory_, make_scratch(roots_));
  scratch_ = scratch_directory_.space();
  std::string key;
  for (const std::string& root : roots_) key += root + '\n';
  if (!home.empty()) cache_ = home + "/.cache/agentd/cage/" + hex(sha256(key)).substr(0, 16);
  if (cache_.empty() || !make_directories(cache_)) cache_ = scratch_;
  writable_ = roots_;
  for (const std::string& root : roots_) add(writable_, git_places(root, user_).writable);
  for (const std::string& path : settings_.writable) add(writable_, {real(path)});
  add(writable_, {scratch_, cache_});
  readable_ = system_places();
  add(readable_, tool_places(home, settings_.path));
  add(readable_, settings_.caches ? *settings_.caches : cache_places(home));
  add(readable_, settings_.readable);
  add(readable_, {settings_.helper});
  hidden_ = secret_places(home);
  add(hidden_, {real(settings_.agentd_home)});
  std::erase_if(hidden_, [&](const std::string& path) {
    const bool own_root =
        std::any_of(roots_.begin(), roots_.end(), [&](const auto& root) { return is_below(root, path); });
    return own_root || !(is_in(path, writable_) || is_in(path, readable_)) || ::access(path.c_str(), F_OK) != 0;
  });
  for (const std::string& path : writable_) {
    struct stat info {};
    identities_[path] = look_at(path, info) ? Identity{info.st_dev, info.st_ino} : Identity{};
  }
  return check_hidden();
}

Result<void> Cage::check_identities() const {
  for (const auto& [path, own] : identities_) {
    struct stat now {};
    const bool there = look_at(path, now);
    if (there && now.st_dev == own.device && now.st_ino == own.inode) continue;
    // A missing one may have been made, but be no link.
    if (own.inode == 0 && (there ? S_ISDIR(now.st_mode) : link_in_the_way(path).empty())) continue;
    return Error{Code::kUnavailable,
                 path +
                     " is no longer the directory that it was when the session began, so no command "
                     "runs: put it back, or start agentd again"};
  }
  return {};
}

// Landlock cannot close a part of what it opens.
Result<void> Cage::check_hidden() const {
  if (layer_ != Layer::kLandlock || hidden_.empty()) return {};
  return Error{Code::kUnavailable,
               "the directories that commands may use contain " + hidden_.front() +
                   ", which Landlock alone cannot hide from them: work in a directory below, or install bubblewrap"};
}

// Looked up for each command: a repository may have got submodules in the meantime.
Cage::Guarded Cage::guarded_now() const {
  Guarded out;
  std::set<std::string> paths, watched;
  for (const std::string& root : roots_) {
    const GitPlaces git = git_places(root, user_);
    const std::vector<std::string> others = guarded_places(root, user_.home);
    paths.insert(others.begin(), others.end());
    paths.insert(git.guarded.begin(), git.guarded.end());
    watched.insert(git.watched.begin(), git.watched.end());
    add(out.pinned, git.pinned);
    for (const GitPart& part : git.parts) out.parts.push_back(part.path);
  }
  for (const std::string& path : settings_.kept)
    if (is_in(real(path), roots_)) paths.insert(real(path));
  // Where the home is the workspace: places of keys that are not there yet, since some of them decide who may log in.
  if (!user_.home.empty())
    for (const std::string& path : secret_places(user_.home))
      if (is_in(path, roots_) && ::access(path.c_str(), F_OK) != 0) paths.insert(path);
  // A link is watched, and its target guarded in its own right.
  std::error_code unknown;
  for (const std::string& path : std::set<std::string>(paths)) {
    const std::string way = link_in_the_way(path);
    if (!way.empty() && is_in(way, roots_)) paths.insert(way);
    const bool leads = !way.empty() || fs::is_symlink(fs::symlink_status(path, unknown));
    if (leads && is_in(real(path), roots_)) paths.insert(real(path));
  }
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
    add(after.remarks, undone_before);
    const std::vector<std::string> refusals = proxy ? proxy->refusals() : std::vector<std::string>();
    add(after.remarks, refusals);
    CageFacts known = facts;
    known.by_proxy = proxy != nullptr && refusals.empty();
    add(after.remarks, hints_for(known, output));
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
  WatchPlan plan{std::move(watched), std::move(guarded.pinned), roots_, std::move(guarded.parts), user_, first_ns()};
  auto out = std::make_unique<Watch>(std::move(plan), hints, baseline_);
  const MutexLock lock(mutex_);
  known_ = out->states();
  return out;
}

Orders Cage::usual_orders(const std::string& home) const {
  const bool apart = layer_ == Layer::kBubblewrap;
  Orders orders;
  orders.apart = apart;
  orders.readable = readable_;
  orders.writable = writable_;
  add(orders.readable, {"/proc"});
  if (apart) {
    add(orders.writable, {"/tmp"});
    if (!settings_.user_home.empty() && ::access(settings_.user_home.c_str(), F_OK) == 0) add(orders.writable, {home});
  }
  orders.devices = apart
                       ? std::vector<std::string>{"/dev"}
                       : std::vector<std::string>{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  orders.sockets = apart || settings_.all_network ? Sockets::kAll : Sockets::kNone;
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
  const std::string directory = cwd.empty() ? roots_.at(0) : real(cwd);
  const bool apart = layer_ == Layer::kBubblewrap;
  View view{{}, {}, {}, hidden_, real(settings_.user_home), scratch_, settings_.all_network};
  Guarded guarded = guarded_now();
  std::vector<std::string> watched = std::move(guarded.watched);
  for (std::string& path : guarded.paths) {
    // A link would be followed; guarded_now() has its target, too.
    std::error_code unknown;
    const bool mounts = apart && fs::exists(fs::symlink_status(path, unknown)) && real(path) == path;
    (mounts ? view.guarded : watched).push_back(std::move(path));
  }
  const std::vector<std::string> repositories = guarded.pinned;
  // Shared with finish(), which the caller keeps.
  const auto command =
      std::make_shared<Command>(watch(std::move(guarded), std::move(watched), std::move(others.states)), journal_);
  command->agentd_home = settings_.agentd_home;
  command->undone_before = std::move(others.undone);
  command->facts.network_off = !settings_.all_network && network_.empty();
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
    add_views(view.readable, readable_);
    view.writable = writable_;
    // It is shown as /tmp.
    std::erase(view.writable, scratch_ == cache_ ? std::string() : scratch_);
    const std::size_t guarded_paths = view.guarded.size();
    view.guarded = few_guarded(std::move(view.guarded), repositories);
    command->facts.modules_closed = view.guarded.size() != guarded_paths;
    Invocation invocation = bubblewrap_words(bubblewrap_program(), view, directory, kWordsFd);
    out.argv = std::move(invocation.argv);
    AGENTD_TRY(words, sealed(invocation.words));
  }
  out.argv.insert(out.argv.end(), {settings_.helper, std::to_string(kOrdersFd), program});
  out.argv.insert(out.argv.end(), argv.begin() + 1, argv.end());
  out.environment = environment_of(environment);
  AGENTD_TRY_VOID(add_descriptors(orders, std::move(words), out.descriptors));
  out.finish = [command](std::string_view output, int) { return command->finish(output); };
  return out;
}

Verdict Cage::explain(const std::string& path) const {
  const std::string at = real(path);
  const std::string home = settings_.user_home.empty() ? std::string() : real(settings_.user_home);
  std::vector<std::string> never = secret_places(home);
  never.push_back(real(settings_.agentd_home));
  const bool opened = is_in(at, roots_) && !is_in(at, hidden_);
  if (is_in(at, hidden_) || (is_in(at, never) && !opened))
    return {false, false, "it has keys or belongs to agentd, which no setting opens"};
  const Guarded guarded = guarded_now();
  const bool is_guarded = is_in(at, guarded.paths) || is_in(at, guarded.watched);
  if (is_in(at, writable_) && is_guarded)
    return {true, false, "its content is run later by itself, outside of the sandbox"};
  if (is_in(at, writable_)) return {true, true, "it is in the workspace, or in sandbox.writable"};
  // A home can be in a directory of the system.
  const bool in_home = !home.empty() && is_below(at, home);
  const bool shown = std::any_of(readable_.begin(), readable_.end(), [&](const std::string& each) {
    return is_below(at, each) && (!in_home || is_below(each, home));
  });
  if (shown) return {true, false, "it belongs to the system, a toolchain or a cache, or is in sandbox.readable"};
  return {false, false, "nothing opens it; 'sandbox.readable: [" + at + "]' in your settings would"};
}

std::string no_layer_text(const Layers& layers) {
  return "commands are not run, because no sandbox can be made. bubblewrap: " + layers.bubblewrap.why + " (" +
         layers.bubblewrap.cure + "). Landlock: " + layers.landlock.why + " (" + layers.landlock.cure +
         "). 'sandbox.layer: off' in your settings runs them with all your rights";
}

}  // namespace agentd::cage
