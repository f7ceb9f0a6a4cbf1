// SPDX-License-Identifier: Apache-2.0
// player: a hook for the tests that does at each event what chance says: it is silent, acts (fitting or not), fails,
// throws, asks the host's services, answers late or never, or waits for its cancel word. Chance comes from
// `config: {seed: N}` and the number of the call, so that a seed plays the same moves, though not at the same time.
#include <agentd/hook.hpp>
#include <agentd/tasks.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#ifndef PLAYER_CONCURRENCY
#define PLAYER_CONCURRENCY AGENTD_SERIAL
#endif
#ifndef PLAYER_FLAGS
#define PLAYER_FLAGS 0
#endif

namespace {

using std::chrono::milliseconds;

// splitmix64: https://prng.di.unimi.it/splitmix64.c
class Chance {
 public:
  Chance(std::uint64_t seed, std::uint64_t call) : state_(seed * 1'000'003 + call) { (void)next(); }
  unsigned below(unsigned limit) { return static_cast<unsigned>(next() % limit); }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

template <typename Actions>
void act(const Actions& on, Chance& chance) {
  switch (chance.below(24)) {
    case 0:
      on.block("the player says no");
      break;
    case 1:
      if (chance.below(5) == 0) on.stop_run("the player ends it");
      break;
    case 2:
      on.continue_with("and now the next thing");
      break;
    case 3:
      on.compact({.strategy = AGENTD_STRATEGY_FULL});
      break;
    case 4:
      on.compact({.strategy = AGENTD_STRATEGY_TAIL, .keep_tokens = chance.below(2'000)});
      break;
    case 5:
      on.summary("What the player remembers.");
      break;
    case 6:
      on.summary();
      break;
    case 7:
      on.rewrite("another text");
      break;
    case 8:
      on.rewrite(R"({"command":"true"})");
      break;
    case 9:
      on.rewrite("\xff\xfe no text");
      break;
    case 10:
      on.rewrite(" \n");
      break;
    case 11:
      on.inject_context("the player was here");
      break;
    case 12:
      on.inject_context(std::string(3'000, 'c'));
      break;
    case 13:
      on.system_message("a line of the player");
      break;
    case 14:
      on.disable_tools("toy");
      break;
    case 15:
      on.enable_tools("toy,nosuch");
      break;
    case 16:
      on.allow("fine", chance.below(2) == 0);
      break;
    case 17:
      on.deny("not fine");
      break;
    case 18:
      on.ask("is it?");
      break;
    case 19:
      on.callback("compact");
      break;
    case 20:
      on.set_then_continue(true);
      break;
    case 21:
      on.set_title("played");
      break;
    case 22:
      on.set_keep_tokens(chance.below(5'000));
      break;
    case 23:
      on.replace(agentd::replacement().keep(1, 1 + chance.below(20)).user("replaced"));
      break;
  }
}

// What comes back does not matter; that it comes, and that nothing breaks, does.
void ask(const agentd::context& host, Chance& chance) {
  switch (chance.below(9)) {
    case 0:
      (void)host.compactor().count("how long is this?");
      break;
    case 1:
      (void)host.compactor().compact({.strategy = AGENTD_STRATEGY_FULL});
      break;
    case 2:
      (void)host.compactor().prompt();
      break;
    case 3: {
      auto thread = host.threads().open({.system = "You are brief."});
      if (thread) (void)thread->send("who are you?");
      if (thread && chance.below(2) == 0) (void)thread->send("and who am I?");
      break;
    }
    case 4: {
      const std::string key = "key" + std::to_string(chance.below(4));
      (void)host.store().put(key, std::string(chance.below(9'000), 'v'));
      break;
    }
    case 5:
      (void)host.store().scan("", "", 10);
      break;
    case 6: {
      const auto all = host.store().conversations({.limit = 2});
      if (all && !all->empty()) (void)host.store().messages((*all)[0].conversation_id(), AGENTD_SCOPE_VIEW);
      break;
    }
    case 7:
      (void)host.json();
      break;
    case 8:
      (void)host.store().changes(0, 10);
      break;
  }
}

}  // namespace

struct Player {
  static constexpr unsigned concurrency = PLAYER_CONCURRENCY;
  static constexpr unsigned hook_flags = PLAYER_FLAGS;
  static constexpr bool wants_messages = true;
  static constexpr std::string_view hook_requires[] = {agentd::id::tasks, agentd::id::compactor,
                                                       agentd::id::store, agentd::id::thread_factory,
                                                       agentd::id::tools, agentd::id::json};

  explicit Player(agentd::init& from) : tasks_(from) {
    const std::string config(from.config_json());
    const std::size_t colon = config.find(':');
    if (colon != std::string::npos) seed_ = std::strtoull(config.c_str() + colon + 1, nullptr, 10);
    if constexpr (PLAYER_FLAGS == 0)
      (void)from.add_tool<&Player::toy>({.name = "toy", .input_schema = R"({"type":"object"})", .tag = 1});
  }

#define PLAYER_PLAYS(NAME, name, id, payload) \
  agentd_status on_##name(agentd::call& c) { return play(c); }
  AGENTD_EVENT_LIST(PLAYER_PLAYS)
#undef PLAYER_PLAYS

  agentd_status toy(agentd::call& c, agentd::tool_view) {
    const agentd_status status = play(c);
    return status == AGENTD_OK ? c.output("played") : status;
  }

 private:
  agentd_status play(agentd::call& c) {
    Chance chance(seed_, calls_.fetch_add(1, std::memory_order_relaxed));
    const unsigned move = chance.below(200);
    if (move < 100) return AGENTD_OK;
    if (move < 140) return act(c, chance), AGENTD_OK;
    if (move < 146) return c.fail("the player fails");
    if (move < 150) throw std::runtime_error("the player throws");
    if (move < 172) return ask(c, chance), AGENTD_OK;
    if (move < 178) return std::this_thread::sleep_for(milliseconds(chance.below(120))), AGENTD_OK;
    if (move < 184) return wait_for_cancel(c);
    // Later: most in time, some after the deadline, few after they were given up.
    const unsigned wait = move < 196 ? chance.below(80) : 100 + chance.below(700);
    auto answer = std::make_shared<agentd::pending>(c.defer());
    auto started = tasks_.start("player", [answer, chance, wait](agentd::task_view) mutable {
      std::this_thread::sleep_for(milliseconds(wait));
      if (chance.below(2) == 0) ask(*answer, chance);
      (void)answer->arena_text("in the call's memory");
      (void)answer->cancelled();
      if (chance.below(3) != 0) act(*answer, chance);
      answer->complete(chance.below(8) == 0 ? AGENTD_E_CANCELLED : AGENTD_OK);
    });
    if (started) started->detach();
    return AGENTD_OK;
  }
  static agentd_status wait_for_cancel(const agentd::call& c) {
    for (int i = 0; i < 200 && !c.cancelled(); ++i) std::this_thread::sleep_for(milliseconds(5));
    return AGENTD_E_CANCELLED;
  }

  std::uint64_t seed_ = 1;
  std::atomic<std::uint64_t> calls_{0};
  agentd::tasks tasks_;
};
AGENTD_HOOK(Player, PLAYER_ID, "1.0.0")
