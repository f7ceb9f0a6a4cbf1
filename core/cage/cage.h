// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage.h - the sandbox around the commands of one session's tools.
//
// A command may write below the workspace's roots and in a /tmp and a cache of its own; it may read the system and the
// toolchains; the rest of the home directory it cannot open. It has no network but for hosts that the settings name,
// and no privileges. What runs code later by itself (places.h) is kept as it was. docs/adr/0032 has the reasons.
//
// Threading: thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cage/identity.h"
#include "core/cage/layers.h"
#include "core/cage/network.h"
#include "core/cage/scratch.h"
#include "core/cage/watch.h"
#include "core/process/command_cage.h"

namespace agentd::cage {

struct CageSettings {
  std::string helper;       // the path of agentd-cage
  std::string user_home;    // $HOME
  std::string xdg_config;   // $XDG_CONFIG_HOME; empty = not set
  std::string agentd_home;  // cannot be read
  std::string path;         // PATH, whose directories in the home are readable
  std::vector<std::string> roots;
  std::vector<std::string> kept;      // further paths that may not change
  std::vector<std::string> readable;  // further ones of the user's settings
  std::vector<std::string> writable;
  std::optional<std::vector<std::string>> caches;  // instead of cache_places()
  std::string cache_name{};  // whose cache it has, of those with the same name; empty = of those with the same roots
  std::vector<std::string> network;
  bool all_network = false;    // as it is outside
  bool local_sockets = false;  // AF_UNIX; in the layer bubblewrap alone
};

// Checks the settings against this machine. kInvalid: a setting can't be meant so; kNotFound: a directory that it
// names does not exist.
Result<void> check_settings(const CageSettings& settings);

// The rights of a command in a directory or a file, and why: for people.
struct Verdict {
  bool readable = false, writable = false;
  std::string reason;
};

struct Orders;
class JournalFile;

class Cage final : public CommandCage {
 public:
  // kUnavailable: the layer cannot keep these rules on this machine, or its directories cannot be made; kInvalid: a
  // setting is wrong. REQUIRES: the layer holds.
  static Result<std::unique_ptr<Cage>> make(CageSettings settings, Layer layer);
  // Removes its /tmp.
  ~Cage() override;
  Cage(const Cage&) = delete;
  Cage& operator=(const Cage&) = delete;

  Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string& cwd,
                            const std::vector<std::string>& environment) override;

  // By the rules; `path` is absolute.
  Verdict explain(const std::string& path) const;

 private:
  struct Command;
  Cage(CageSettings settings, Layer layer, NetworkRules network);
  Result<void> prepare();
  void find_hidden(const std::string& home);
  Result<void> check_hidden() const;
  Result<void> check_identities() const;
  struct Guarded {
    std::vector<std::string> paths, watched, pinned, parts;  // `watched`: for which no mounts are made
    std::vector<std::string> absent;                         // of worktrees that bubblewrap's view does not show
  };
  Guarded guarded_now() const;
  std::unique_ptr<Watch> watch(Guarded guarded, std::vector<std::string> watched, Trees elsewhere);
  std::vector<std::string> readable_now() const;
  Orders usual_orders(const std::string& home) const;
  Result<void> add_descriptors(Orders& orders, UniqueFd words, std::vector<UniqueFd>& out) const;
  std::vector<std::string> environment_of(const std::vector<std::string>& given) const;

  const CageSettings settings_;
  const Layer layer_;
  const NetworkRules network_;
  ScratchDirectory scratch_directory_;
  std::string scratch_, cache_;
  std::vector<std::string> roots_, readable_, writable_, hidden_;
  // The identities of writable places, since the layers take them by their paths: a command may exchange one that is in
  // another. And of readable ones whose paths lead through writable places.
  std::map<std::string, Identity> identities_, led_;
  GitUser user_;
  std::int64_t since_ns_ = 0;  // of the first sandbox of this process: an older file was made by none of its commands
  std::shared_ptr<Baseline> baseline_;    // shared with all sandboxes of this process
  std::shared_ptr<JournalFile> journal_;  // shared with the commands, which may outlive this
  Mutex mutex_;
  Trees known_ GUARDED_BY(mutex_);  // the states of guarded paths that the last command began with
};

// In place of a cage where none can be made: it refuses each command.
class NoCage final : public CommandCage {
 public:
  explicit NoCage(std::string why) : why_(std::move(why)) {}
  Result<CagedCommand> wrap(const std::vector<std::string>&, const std::string&,
                            const std::vector<std::string>&) override {
    return Error{Code::kUnavailable, why_};
  }

 private:
  const std::string why_;
};

// Why no layer holds and what to do about each, for the refusal and for doctor.
std::string no_layer_text(const Layers& layers);

}  // namespace agentd::cage
