// SPDX-License-Identifier: Apache-2.0
#include "core/cage/cage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/cage/baseline.h"
#include "core/cage/journal.h"
#include "core/cage/path_list.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/proxy.h"

namespace agentd::cage {
namespace {

constexpr const char* kScratchPrefix = "agentd-cage-";

// Directories of killed owners go first.
// Not where commands write by another path: they could exchange it.
Result<ScratchDirectory> make_scratch(const std::vector<std::string>& roots) {
  const char* const wish = std::getenv("TMPDIR");
  std::string place = real_as_far(wish != nullptr && wish[0] == '/' ? wish : "/tmp");
  if (is_in(place, roots)) place = "/tmp";
  (void)remove_ownerless(place, kScratchPrefix);
  (void)remove_ownerless(Proxy::kPlace, Proxy::kPrefix);
  return ScratchDirectory::make(place, kScratchPrefix);
}

// Paths of the settings that no layer could keep.
Result<void> check_places(const std::string& setting, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string shown = setting + ": " + one_line(path, 200);
    if (!path.starts_with('/')) return Error{Code::kInvalid, shown + " is not an absolute path"};
    if (real_as_far(path) == "/")
      return Error{Code::kInvalid, shown +
                                       " is the whole file system, around which there is no sandbox: name a "
                                       "directory, or set sandbox.layer to 'off'"};
    if (::access(path.c_str(), F_OK) != 0)
      return Error{Code::kNotFound, shown + " does not exist: create it, or omit it"};
  }
  return {};
}

// The places that no setting opens, also where links lead.
std::vector<std::string> secrets_of(const std::string& home, const std::string& agentd_home) {
  std::vector<std::string> out;
  for (const std::string& path : secret_places(home)) add_new(out, {path, real_as_far(path)});
  add_new(out, {real_as_far(agentd_home)});
  return out;
}

// The time of the first sandbox of this process.
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
  since_ns_ = first_ns();
  const std::string home = settings_.user_home.empty() ? std::string() : real_as_far(settings_.user_home);
  user_ = {home, settings_.xdg_config};
  baseline_ = Baseline::shared();
  auto journal = Journal::shared(settings_.agentd_home);
  journal_ = std::make_shared<JournalFile>(journal ? *journal : nullptr);
  for (const std::string& root : settings_.roots) {
    roots_.push_back(real_as_far(root));
    if (roots_.back() == "/")
      return Error{Code::kUnavailable,
                   "the workspace is the whole file system, around which there is no sandbox: work "
                   "in a directory, or name one in workspace.roots"};
    // Its keys, its store and its tokens would be the commands'.
    if (is_below(roots_.back(), real_as_far(settings_.agentd_home)))
      return Error{Code::kUnavailable, "the workspace is in agentd's own home (" + real_as_far(settings_.agentd_home) +
                                           "), in which no command runs: work in another directory"};
  }
  AGENTD_TRY(scratch_directory_, make_scratch(roots_));
  scratch_ = scratch_directory_.space();
  std::string key = settings_.cache_name;
  if (key.empty())
    for (const std::string& root : roots_) key += root + '\n';
  if (!home.empty()) cache_ = home + "/.cache/agentd/cage/" + hex(sha256(key)).substr(0, 16);
  cache_ = cache_.empty() || !make_directories(cache_) ? scratch_ : real_as_far(cache_);
  writable_ = roots_;
  for (const std::string& root : roots_) add_new(writable_, git_places(root, user_, roots_).writable);
  for (const std::string& path : settings_.writable) add_new(writable_, {real_as_far(path)});
  add_new(writable_, {scratch_, cache_});
  readable_ = system_places();
  std::vector<std::string> usual = tool_places(home, settings_.path);
  add_new(usual, settings_.caches ? *settings_.caches : cache_places(home));
  if (layer_ == Layer::kLandlock) usual = parts_without(usual, secrets_of(home, settings_.agentd_home));
  add_new(readable_, usual);
  add_new(readable_, settings_.readable);
  add_new(readable_, {settings_.helper});
  find_hidden(home);
  for (const std::string& path : writable_) identities_[path] = identity_at(path);
  // A link to it that commands can change would let them read what they lead it to.
  for (const std::string& path : readable_) {
    const std::vector<std::string> links = links_of(path);
    const bool led = std::any_of(links.begin(), links.end(), [&](const auto& link) { return is_in(link, writable_); });
    if (!is_in(path, writable_) && (led || is_in(real_as_far(path), writable_))) led_[path] = identity_behind(path);
  }
  return check_hidden();
}

// Where the view shows a link it stays one, and what it leads to is hidden.
void Cage::find_hidden(const std::string& home) {
  const auto is_shown = [&](const std::string& link) {
    const auto contains = [&](const std::string& place) { return link != place && is_below(link, place); };
    return std::any_of(writable_.begin(), writable_.end(), contains) ||
           std::any_of(readable_.begin(), readable_.end(), contains);
  };
  for (const std::string& path : secrets_of(home, settings_.agentd_home)) {
    const std::vector<std::string> links = links_of(path);
    if (std::none_of(links.begin(), links.end(), is_shown)) add_new(hidden_, {path});
    add_new(hidden_, {real_as_far(path)});
  }
  std::erase_if(hidden_, [&](const std::string& path) {
    const bool own_root =
        std::any_of(roots_.begin(), roots_.end(), [&](const auto& root) { return is_below(root, path); });
    return own_root || !(is_in(path, writable_) || is_in(path, readable_)) || ::access(path.c_str(), F_OK) != 0;
  });
}

// Landlock cannot close a part of what it opens. What is in tools and caches is left out of them before.
Result<void> Cage::check_hidden() const {
  if (layer_ != Layer::kLandlock || hidden_.empty()) return {};
  const std::string& secret = hidden_.front();
  const bool of_root = is_in(secret, roots_);
  const auto holds = [&](const std::string& path) { return is_below(secret, real_as_far(path)); };
  const bool of_writable = std::any_of(settings_.writable.begin(), settings_.writable.end(), holds);
  const std::string setting = of_writable ? "sandbox.writable" : "sandbox.readable";
  return Error{Code::kUnavailable, (of_root ? std::string("the workspace contains ") : setting + " contains ") +
                                       secret + ", which Landlock alone cannot hide from commands: " +
                                       (of_root ? std::string("work in a directory below")
                                                : "name directories in " + setting + " that do not contain it") +
                                       ", or install bubblewrap"};
}

Verdict Cage::explain(const std::string& path) const {
  const std::string at = real_as_far(path);
  const std::string home = settings_.user_home.empty() ? std::string() : real_as_far(settings_.user_home);
  const std::vector<std::string> never = secrets_of(home, settings_.agentd_home);
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
