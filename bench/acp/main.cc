// SPDX-License-Identifier: Apache-2.0
// bench_acp - a prompt over the Agent Client Protocol, from its line to the line of its answer, next to the same
// message by `agentd run --json`; and the opening of a session.
//
// bench_acp [--once] [--agentd FILE]
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/place.h"
#include "bench/tally.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/codec/json_rpc.h"
#include "core/codec/rpc_frames.h"

namespace agentd::bench {
namespace {

struct Options {
  std::string agentd = BENCH_AGENTD;
  int prompts = 301, runs = 41, sessions = 41;
};

double middle(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// An editor that asks and reads until its request is answered.
class Editor {
 public:
  Editor(const std::string& program, const std::string& script, const std::vector<std::string>& environment) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) end("no pipe");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<std::string> words{program, "acp", "--script", script};
    std::vector<char*> argv, variables;
    for (std::string& each : words) argv.push_back(each.data());
    std::vector<std::string> all = environment;
    for (std::string& each : all) variables.push_back(each.data());
    argv.push_back(nullptr);
    variables.push_back(nullptr);
    if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), variables.data()) != 0) end("no start");
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = UniqueFd(in[1]);
    from_ = UniqueFd(out[0]);
  }
  ~Editor() {
    to_.reset();
    int status = 0;
    ::waitpid(pid_, &status, 0);
  }

  // Milliseconds until the answer.
  double call(const std::string& method, const std::string& params) {
    const std::uint64_t begin = clock_.monotonic_ns();
    const std::int64_t id = ++last_id_;
    const std::string line = rpc_frame(RpcFraming::kLines, rpc_request(RpcId(id), method, params));
    if (::write(to_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) end("no reader");
    for (;;) {
      auto text = frames_.next();
      if (!text) end(text.error().message);
      if (!*text) {
        std::string bytes(65'536, '\0');
        const ssize_t got = ::read(from_.get(), bytes.data(), bytes.size());
        if (got <= 0) end("it ended");
        frames_.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)));
        continue;
      }
      auto read = read_rpc(**text);
      auto* const message = std::get_if<RpcMessage>(&read);
      if (message == nullptr || message->kind == RpcMessage::Kind::kNotification) continue;
      if (message->kind == RpcMessage::Kind::kFault) end(message->fault.message);
      if (method == "session/prompt" && message->id == RpcId(id) &&
          message->result()["stopReason"].string_or("") != "end_turn")
        end("a prompt did not end its turn");
      if (message->id == RpcId(id)) session_ = std::string(message->result()["sessionId"].string_or(session_));
      if (message->id == RpcId(id)) return static_cast<double>(clock_.monotonic_ns() - begin) / 1e6;
    }
  }
  const std::string& session() const { return session_; }

 private:
  [[noreturn]] static void end(const std::string& why) {
    std::fprintf(stderr, "bench_acp: %s\n", why.c_str());
    std::exit(1);
  }

  const SystemClock clock_;
  pid_t pid_ = -1;
  UniqueFd to_, from_;
  RpcFrames frames_{RpcFraming::kLines, 32u << 20};
  std::int64_t last_id_ = 0;
  std::string session_;
};

int run(const Options& options) {
  const Place place("/var/tmp");
  const std::string home = place.path() + "/home", project = place.path() + "/project";
  if (!make_directories(home) || !make_directories(project)) return 1;
  std::string turns;
  for (int i = 0; i < options.prompts; ++i) turns += "- text: done\n";
  const std::string script = place.path() + "/script.yaml";
  if (!write_file_atomically(script, turns, 0600)) return 1;
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin", "HOME=" + home, "AGENTD_HOME=" + home,
                                             "AGENTD_MEMORY_REFINE=false"};
  const auto prompt_to = [](const std::string& session) {
    return R"({"sessionId":")" + session + R"(","prompt":[{"type":"text","text":"go on"}]})";
  };
  std::vector<double> prompts, opened, runs;
  {
    Editor editor(options.agentd, script, environment);
    editor.call("initialize", R"({"protocolVersion":1})");
    for (int i = 0; i < options.sessions; ++i)
      opened.push_back(editor.call("session/new", R"({"cwd":")" + project + R"(","mcpServers":[]})"));
    for (int i = 0; i < options.prompts; ++i)
      prompts.push_back(editor.call("session/prompt", prompt_to(editor.session())));
  }
  for (int i = 0; i < options.runs; ++i) {
    const auto took =
        time_program(Program{{options.agentd, "run", "go on", "--json", "--script", script}, environment, project},
                     place.path() + "/errors");
    if (!took) {
      std::fprintf(stderr, "bench_acp: %s\n", took.error().message.c_str());
      return 1;
    }
    runs.push_back(took->wall_ms);
  }
  const double prompt = middle(prompts), process = middle(runs);
  std::printf("prompt over ACP      %7.2f ms\n", prompt);
  std::printf("agentd run --json    %7.2f ms, %.1f times\n", process, process / prompt);
  std::printf("session/new          %7.2f ms\n", middle(opened));
  Tally tally;
  tally.expect("rows", 3);
  for (const double each : {prompt, process, middle(opened)}) tally.measured("rows", {each});
  return tally.finish();
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  using namespace agentd::bench;
  Options options;
  if (take_word(argc, argv, kOnce)) options.prompts = options.runs = options.sessions = 2;
  if (argc == 3 && std::string_view(argv[1]) == "--agentd")
    options.agentd = argv[2];
  else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_acp [--once] [--agentd FILE]\n");
    return 2;
  }
  return run(options);
}
