// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/serve/sides.h"
#include "core/base/thread.h"
#include "core/session/client_session.h"

namespace agentd::bench {
namespace {

template <class T>
T must(Result<T, RunError> result) {
  if (!result) stop(result.error().message);
  return std::move(*result);
}
void must(const Result<void, RunError>& result) {
  if (!result) stop(result.error().message);
}

class NoEvents final : public EventSink {
 public:
  void on_event(const RunEvent&) override {}
};

// As the daemon has it, without a door.
class Process {
 public:
  explicit Process(const Setting& setting) : setting_(setting) {
    surroundings_.environment = [home = setting.home()](const std::string& name) -> std::optional<std::string> {
      if (name == "HOME" || name == "AGENTD_HOME") return home;
      if (name == "PATH") return "/usr/local/bin:/usr/bin:/bin";
      return std::nullopt;
    };
    config_.emplace(expect(Config::load(expect(config_sources(surroundings_)))));
    const Warn warn = [](const std::string&) {};
    runtime_ = must(Runtime::begin(surroundings_, *config_, clock_, {true, true}, warn));
    must(runtime_->open());
    HookWishes wishes;
    wishes.hooks = false;
    workplace_ = must(Workplace::find(*runtime_, setting.project(), wishes, warn));
    must(workplace_->hooks().load(workplace_->roots_of(setting.project())));
  }
  const Clock& clock() const { return clock_; }

  std::vector<std::unique_ptr<ClientSession>> open(std::size_t count) {
    std::vector<std::unique_ptr<ClientSession>> out(count);
    call_together(kAtOnce, kAtOnce - 1, [&](std::size_t worker) {
      for (std::size_t i = worker; i < count; i += kAtOnce) {
        OpenRequest request{setting_.project(), events_};
        request.trace_hooks = true;
        request.waits = true;
        out[i] = must(ClientSession::prepare(*workplace_, std::move(request)));
        must(out[i]->open({}, {}, "hello"));
        turn(*out[i]);
      }
    });
    return out;
  }
  static void turn(ClientSession& client) {
    RunRequest request;
    request.text = "hello";
    (void)must(client.session()->run(request, {}));
  }

 private:
  const Setting& setting_;
  const SystemClock clock_;
  NoEvents events_;
  ProcessSurroundings surroundings_;
  std::optional<Config> config_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Workplace> workplace_;
};

}  // namespace

Figures in_process(const std::string& parent, Load load) {
  Figures out;
  const Setting setting(parent, true);
  Process process(setting);
  (void)process.open(1);
  const double before = pss_kib(::getpid());
  const std::uint64_t begin = process.clock().monotonic_ns();
  const auto all = process.open(load.sessions);
  out.opened_each =
      static_cast<double>(load.sessions) * 1e9 / static_cast<double>(process.clock().monotonic_ns() - begin);
  out.kib_each = (pss_kib(::getpid()) - before) / static_cast<double>(load.sessions);
  measure_active(out, ::getpid(), load, [&](std::size_t i) { Process::turn(*all[i]); });
  return out;
}

}  // namespace agentd::bench
