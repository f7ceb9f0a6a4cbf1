// SPDX-License-Identifier: Apache-2.0
#pragma once
// world.h - what a seed plays: clients with sessions on a few conversations, their model, tools, hooks and store, with
// faults, interrupts and kills, until all is calm and the last process has read everything again.
//
// Only the agent, its services, the dispatcher and the stores are real. Everything that happens is drawn from the
// baton.
//
// Threading: as baton.h says.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/store/store.h"
#include "tests/simulator/baton.h"

namespace agentd::simulator {

// What a seed was to show, and did not: empty = everything held.
struct Report {
  std::vector<std::string> violations;
  std::uint64_t switches = 0, digest = 0;
  // What the seed has seen. `together`: tools that ran beside others of their session.
  std::uint64_t runs = 0, effects = 0, kills = 0, compactions = 0, refused = 0, undos = 0, children = 0, together = 0,
                posts = 0, repeated = 0;
};

// Things that were acknowledged, done or decided, for the checks at the end.
class Facts {
 public:
  explicit Facts(Report& report) : report_(report) {}

  void violated(const std::string& what);
  Report& counted() { return report_; }

  struct Said {
    Ulid conversation;
    std::string question, answer;
  };
  std::vector<Said> said;  // of runs that ended well
  // Posted messages, each with its text as its key. One of a process that died, or that a hook has blocked, may be
  // gone. One that was posted again may be handed back as well as stored.
  struct Posted {
    std::string conversation{};
    bool handed_back = false, acknowledged = false, may_be_gone = false, again = false;
    int stored = 0;  // how often a log has it
  };
  std::map<std::string, Posted> posted;
  // Questions with a key. `answered`: its run ended well; `known`: that, or the key was known when it came again.
  struct Keyed {
    std::string conversation, question;
    bool answered = false, known = false;
    int stored = 0;
  };
  std::map<std::string, Keyed> keyed;
  std::map<std::string, int> effects;                   // conversation/call: how often its tool ran
  std::set<std::string> blocked;                        // calls that the guard has refused
  std::map<std::string, int> owners;                    // conversation: leases
  std::map<std::string, int> inside;                    // conversation: its tools that run now
  std::map<std::string, std::string> first_at;          // session: the event that the first observer saw last
  std::uint64_t questions = 0, answers = 0, calls = 0;  // so that each has a name of its own

 private:
  Report& report_;
};

// Plays the seed on stores that `make_store` makes; it is opened again for each process. `stuck` as in Baton.
Report play(std::uint64_t seed, const std::function<std::unique_ptr<Store>(const Clock&)>& make_store,
            const std::function<void(const std::string& why)>& stuck);

}  // namespace agentd::simulator
