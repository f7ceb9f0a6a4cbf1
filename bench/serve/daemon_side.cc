// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/serve/http_line.h"
#include "bench/serve/sides.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/codec/json.h"

namespace agentd::bench {
namespace {

class Daemon {
 public:
  Daemon(const std::string& agentd, const Setting& setting)
      : setting_(setting),
        child_(expect(Child::start(
            {{agentd, "serve", "--no-hooks"},
             {"HOME=" + setting.home(), "AGENTD_HOME=" + setting.home(), "PATH=/usr/local/bin:/usr/bin:/bin"},
             setting.project()},
            setting.home() + "/errors"))) {
    for (int i = 0; i < 600; ++i) {
      token_ = read_file(setting.home() + "/serve.token", 1'000).value_or("");
      while (!token_.empty() && token_.back() == '\n') token_.pop_back();
      if (!token_.empty() && line().request("GET", "/readyz").status == 200) return;
      clock_.pause(Milliseconds(50));
    }
    stop("the daemon does not answer: " + read_file(setting.home() + "/errors", 10'000).value_or(""));
  }

  int pid() const { return child_.pid(); }
  HttpLine line() const { return {setting_.home() + "/agentd.sock", token_}; }
  const Clock& clock() const { return clock_; }

  // So many conversations, each after its first turn.
  std::vector<std::string> open(std::size_t count) {
    std::vector<std::string> ids(count);
    call_together(kAtOnce, kAtOnce - 1, [&](std::size_t worker) {
      HttpLine requests = line();
      for (std::size_t i = worker; i < count; i += kAtOnce) {
        const std::string made =
            requests.must(201, "POST", "/api/v1/conversations", R"({"cwd":")" + setting_.project() + "\"}");
        ids[i] = std::string(expect(JsonDocument::parse(made)).root()["id"].string_or(""));
        HttpLine events = line();
        events.stream(path(ids[i], "events"));
        (void)requests.must(202, "POST", path(ids[i], "messages"), R"({"text":"hello"})");
        events.wait_for("run_ended");
      }
    });
    return ids;
  }
  static std::string path(const std::string& id, const char* what) {
    return "/api/v1/conversations/" + id + "/" + what;
  }
  double metric(const std::string& name) const {
    HttpLine requests = line();
    const std::string all = requests.must(200, "GET", "/metrics"), wanted = "\n" + name + " ";
    const std::size_t at = all.find(wanted);
    return at == std::string::npos ? -1 : std::atof(all.c_str() + at + wanted.size());
  }
  void wait_until_idle() const {
    while (metric("agentd_session_threads") > 0) clock_.pause(Milliseconds(50));
  }

 private:
  const Setting& setting_;
  const SystemClock clock_;
  Child child_;
  std::string token_;
};

}  // namespace

Figures with_daemon(const std::string& agentd, const std::string& parent, Load load) {
  Figures out;
  const Setting setting(parent, true);
  Daemon daemon(agentd, setting);
  (void)daemon.open(1);  // what is made once
  const double before = pss_kib(daemon.pid());
  const std::uint64_t begin = daemon.clock().monotonic_ns();
  const std::vector<std::string> ids = daemon.open(load.sessions);
  out.opened_each =
      static_cast<double>(load.sessions) * 1e9 / static_cast<double>(daemon.clock().monotonic_ns() - begin);
  daemon.wait_until_idle();
  out.kib_each = (pss_kib(daemon.pid()) - before) / static_cast<double>(load.sessions);
  std::vector<std::unique_ptr<HttpLine>> requests, events;
  for (std::size_t i = 0; i < load.active; ++i) {
    requests.push_back(std::make_unique<HttpLine>(daemon.line()));
    events.push_back(std::make_unique<HttpLine>(daemon.line()));
    events.back()->stream(Daemon::path(ids[i], "events"));
  }
  measure_active(out, daemon.pid(), load, [&](std::size_t i) {
    (void)requests[i]->must(202, "POST", Daemon::path(ids[i], "messages"), R"({"text":"hello"})");
    events[i]->wait_for("run_ended");
  });
  return out;
}

Parked print_parked(const std::string& agentd, const std::string& parent, std::size_t sessions, Milliseconds rest) {
  const Setting setting(parent, false, 1);
  Daemon daemon(agentd, setting);
  (void)daemon.open(1);
  const double first = pss_kib(daemon.pid());
  (void)daemon.open(sessions);
  daemon.wait_until_idle();
  const double idle = pss_kib(daemon.pid());
  const std::string parked = R"(agentd_sessions{state="parked"})";
  while (daemon.metric(parked) < static_cast<double>(sessions)) daemon.clock().pause(Milliseconds(1'000));
  daemon.wait_until_idle();
  daemon.clock().pause(rest);
  const double left = pss_kib(daemon.pid());
  std::printf("\n%zu sessions: %.0f MiB before, %.0f MiB with them idle, %.0f MiB once they are parked\n", sessions,
              first / 1'024, idle / 1'024, left / 1'024);
  return {first, idle, left};
}

}  // namespace agentd::bench
