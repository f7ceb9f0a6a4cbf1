// SPDX-License-Identifier: Apache-2.0
// floor.cc - what one durable turn costs at least with the libraries that agentd uses: the store
// opened, one commit before the request (genesis, run, settings, user message), the request over
// libcurl, and after it the commits that agentd makes: one (answer, usage, end of the run), or two where
// a hook at agent_stop sees the answer before the run ends. No hooks, no tools, no configuration, no
// parsing of the stream.
//
// bench_floor URL STORE BODY_FILE COMMITS        COMMITS in all: 2 or 3
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/ids.h"
#include "core/net/curl_client.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

std::vector<Record> before_request(const std::string& id, const std::string& body) {
  GenesisRecord genesis;
  genesis.conversation_id = id;
  genesis.project_id = genesis.cwd = "/floor";
  genesis.provider = "anthropic";
  genesis.model = "floor";
  RunBeginRecord run;
  run.run_id = run.session_id = id;
  run.provider = "anthropic";
  run.model = "floor";
  return {write_genesis(genesis), write_run_begin(run),
          write_settings({hex(sha256(body)), hex(sha256("tools")), "anthropic", "floor"}),
          write_message({Message::of_text(Role::kUser, "hello"), StopReason::kEndTurn, "user", {}})};
}

std::vector<Record> after_request(const std::string& id, const std::string& answer, std::uint64_t seq) {
  UsageRecord usage;
  usage.usage.input = 25;
  usage.for_seq = seq;
  usage.purpose = "turn";
  return {write_message({Message::of_text(Role::kAssistant, answer), StopReason::kEndTurn, {}, {}}), write_usage(usage),
          write_run_end({id, "stop", {}, 1})};
}

Result<void> turn(const std::string& url, const std::string& directory, const std::string& body_file, bool end_apart) {
  const SystemClock clock;
  const auto http = make_http_client(clock);
  http->warm_up();
  LmdbOptions options;
  options.directory = directory;
  AGENTD_TRY(const auto store, open_lmdb_store(options, clock));
  AGENTD_TRY(const std::string body, read_file(body_file, 8u << 20));
  IdSource ids(clock);
  const Ulid id = ids.next();
  AGENTD_TRY(const auto lease, store->lease(id));
  AGENTD_TRY(const auto first, store->append(id, 0, before_request(id.text(), body)));
  HttpRequest request;
  request.url = url + "/v1/messages";
  request.headers = {{"content-type", "application/json"},
                     {"accept", "text/event-stream"},
                     {"anthropic-version", "2023-06-01"},
                     {"x-api-key", "floor"}};
  request.body = body;
  std::string answer;
  const auto take = [&](const HttpResponse&, std::string_view bytes) {
    answer.append(bytes);
    return true;
  };
  AGENTD_TRY(const HttpResponse response, http->send(request, take, CancelToken(), Deadline()));
  if (response.status != 200) return Error{Code::kUnavailable, "the server did not answer with 200"};
  const std::uint64_t seq = first.back().seq;
  std::vector<Record> after = after_request(id.text(), answer, seq + 1);
  if (!end_apart) {
    AGENTD_TRY_VOID(store->append(id, seq, after));
    return {};
  }
  const std::vector<Record> end{std::move(after.back())};
  after.pop_back();
  AGENTD_TRY(const auto second, store->append(id, seq, after));
  AGENTD_TRY_VOID(store->append(id, second.back().seq, end));
  return {};
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  const std::string commits = argc == 5 ? argv[4] : "";
  if (commits != "2" && commits != "3") {
    std::fprintf(stderr, "usage: bench_floor URL STORE BODY_FILE COMMITS (2 or 3)\n");
    return 2;
  }
  const auto done = agentd::bench::turn(argv[1], argv[2], argv[3], commits == "3");
  if (done) return 0;
  std::fprintf(stderr, "bench_floor: %s\n", done.error().message.c_str());
  return 1;
}
