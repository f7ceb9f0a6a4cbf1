// SPDX-License-Identifier: Apache-2.0
// trader.cc - offers services and asks for those of others; built under two names.
//
// TRADER is its name, "a" or "b"; with CONCURRENT it takes any number of calls at once.
#include <agentd/drafts.hpp>
#include <agentd/hook.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <string>

struct Trader {
  static constexpr std::string_view hook_drafts[] = {agentd::id::provide, agentd::id::services};
#ifdef CONCURRENT
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;
#endif
  static constexpr std::string_view kOwn = "org.agentd.test." TRADER "/1";

  explicit Trader(agentd::init& from) : others_(from) {
    agentd::provide<&Trader::echo>(from, {.interface_id = kOwn, .operation = "echo"});
    agentd::provide<&Trader::tell>(from, {.interface_id = kOwn, .operation = "tell", .tag = 77});
    agentd::provide<&Trader::fail>(from, {.interface_id = kOwn, .operation = "fail"});
    agentd::provide<&Trader::nothing>(from, {.interface_id = kOwn, .operation = "nothing"});
    agentd::provide<&Trader::garbage>(from, {.interface_id = kOwn, .operation = "garbage"});
    agentd::provide<&Trader::ask>(from, {.interface_id = kOwn, .operation = "ask"});
    agentd::provide<&Trader::wait>(from, {.interface_id = kOwn, .operation = "wait"});
    agentd::provide<&Trader::crash>(from, {.interface_id = kOwn, .operation = "crash"});
    agentd::provide<&Trader::tell>(from, {.interface_id = "agentd.memory/1", .operation = "search", .tag = 78});
  }

  std::string echo(agentd::call&, agentd::service_view asked) { return std::string(asked.input_json()); }
  std::string tell(agentd::call& c, agentd::service_view asked) {
    return std::string("\"" TRADER " ") + std::to_string(asked.tag()) + " " + std::string(asked.caller()) + " " +
           std::string(asked.project_id()) + " " + std::to_string(c.conversation()) + "\"";
  }
  agentd_status fail(agentd::call& c, agentd::service_view) { return c.fail(AGENTD_E_NOT_FOUND, "nothing there"); }
  void nothing(agentd::call&, agentd::service_view) {}
  std::string garbage(agentd::call&, agentd::service_view) { return "no JSON"; }
  // {"of", "do", "with"}: what another service answers, or its status.
  std::string ask(agentd::call& c, agentd::service_view asked) {
    const agentd::json_view in = asked.input();
    const auto got = others_.call(c, in.text("of"), in.text("do"), in["with"].raw());
    return got ? std::string(*got) : std::to_string(got.status());
  }
  // {"said"}: makes that file, then waits for its cancel.
  agentd_status wait(agentd::call& c, agentd::service_view asked) {
    const std::string file = asked.input().text("said");
    if (!file.empty()) ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
    while (!c.cancelled()) {
      const timespec moment{0, 1'000'000};
      ::nanosleep(&moment, nullptr);
    }
    return c.cancel_reason() == AGENTD_CANCEL_DEADLINE ? AGENTD_E_DEADLINE : AGENTD_E_CANCELLED;
  }
  void crash(agentd::call&, agentd::service_view) { __builtin_trap(); }

 private:
  agentd::registry others_;
};
AGENTD_HOOK(Trader, "org.agentd.test." TRADER, "1.0.0")
