// SPDX-License-Identifier: Apache-2.0
// bench_net - many event streams in one process, next to a loop that only receives the same bytes, and the parser
// of events next to a copy of them.
//
// bench_net [--once] [STREAMS]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "bench/cpu_time.h"
#include "bench/net/stream_server.h"
#include "bench/place.h"
#include "bench/tally.h"
#include "core/codec/sse.h"
#include "core/net/curl_client.h"

namespace agentd::bench {
namespace {

constexpr double kMegabyte = 1e6;

struct Effort {
  std::size_t streams = 1'000, rounds = 100;  // of the streams that get a word at a time; the others have more
  int repeats = 3, parses = 7;
  useconds_t silent_us = 1'000'000;
  std::size_t parsed_bytes = 16'000'000;
};

struct Cost {
  double silent_ms = 0;  // of CPU, in a second (with --once a part of it) in which nothing comes
  double cpu_ms = 0, wall_ms = 0, kib_per_stream = 0;
  std::size_t bytes = 0;
};

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6));
  return 0;
}

// What lies between the first byte of the bodies and the end of all streams.
Cost measure(const Streams& streams, const StreamServer& server, double kib_before, const Effort& effort,
             const std::function<std::size_t()>& end) {
  server.wait_until_open();
  ::usleep(200'000);  // what was sent is read
  Cost out;
  out.kib_per_stream = (resident_kib() - kib_before) / static_cast<double>(streams.count);
  const double silent = cpu_ms();
  ::usleep(effort.silent_us);
  const double cpu = cpu_ms(), wall = wall_ms();
  out.silent_ms = cpu - silent;
  server.begin();
  out.bytes = end();
  out.cpu_ms = cpu_ms() - cpu;
  out.wall_ms = wall_ms() - wall;
  if (out.bytes < streams.bytes()) stop("only " + std::to_string(out.bytes) + " bytes of the streams have come");
  return out;
}

// Sockets, epoll and recv: what no client can do without.
Cost floor_of(const Streams& streams, const Effort& effort) {
  const StreamServer server(streams);
  const double before = resident_kib();
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<UniqueFd> sockets;
  for (std::size_t i = 0; i < streams.count; ++i) {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = sockets.back().get();
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) stop("no connection to the server");
    constexpr std::string_view kRequest = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    if (::send(fd, kRequest.data(), kRequest.size(), 0) <= 0) stop("no request can be sent");
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = fd;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &wanted);
  }
  return measure(streams, server, before, effort, [&] {
    std::vector<char> buffer(16'384);
    std::size_t open = streams.count, bytes = 0;
    while (open != 0) {
      epoll_event events[64];
      const int count = ::epoll_wait(epoll.get(), events, 64, -1);
      for (int i = 0; i < count; ++i) {
        const ssize_t got = ::recv(events[i].data.fd, buffer.data(), buffer.size(), 0);
        if (got > 0) bytes += static_cast<std::size_t>(got);
        if (got > 0) continue;
        ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, events[i].data.fd, nullptr);
        --open;
      }
    }
    return bytes;
  });
}

// One client; a thread for each stream, as its callers are, which parses what comes.
Cost client_of(const Streams& streams, const Effort& effort) {
  const StreamServer server(streams);
  const SystemClock clock;
  const auto client = make_http_client(clock);
  std::atomic<bool> asks{false};
  std::atomic<std::size_t> bytes{0}, failed{0};
  std::vector<std::thread> threads;
  threads.reserve(streams.count);
  for (std::size_t i = 0; i < streams.count; ++i)
    threads.emplace_back([&] {
      asks.wait(false);
      HttpRequest request;
      request.url = "http://127.0.0.1:" + std::to_string(server.port());
      SseParser parser;
      const auto sent =
          client->send(request,
                       [&](const HttpResponse&, std::string_view piece) {
                         bytes += piece.size();
                         return parser.feed(piece, [](const SseEvent&) { return Result<void>(); }).has_value();
                       },
                       {}, {});
      if (!sent) ++failed;
    });
  ::usleep(200'000);  // the threads' own memory is there
  const double before = resident_kib();
  asks = true;
  asks.notify_all();
  const Cost out = measure(streams, server, before, effort, [&] {
    for (std::thread& thread : threads) thread.join();
    return bytes.load();
  });
  if (failed != 0) stop(std::to_string(failed) + " streams failed");
  return out;
}

void compare(Tally& tally, const char* name, const Streams& streams, const Effort& effort) {
  std::vector<Cost> floors, clients;
  for (int i = 0; i < effort.repeats; ++i) {
    floors.push_back(floor_of(streams, effort));
    clients.push_back(client_of(streams, effort));
  }
  const auto least = [](std::vector<Cost>& costs) {
    return *std::min_element(costs.begin(), costs.end(),
                             [](const Cost& a, const Cost& b) { return a.cpu_ms < b.cpu_ms; });
  };
  const Cost floor = least(floors), client = least(clients);
  const double megabytes = static_cast<double>(streams.bytes()) / kMegabyte;
  std::printf("%s: %zu streams, %.1f MB\n", name, streams.count, megabytes);
  for (const auto& [label, cost] : {std::pair{"receiving alone", floor}, std::pair{"agentd's client", client}})
    std::printf("  %-16s %8.2f ms of CPU a MB %9.0f ms in all %7.1f KiB a stream %7.1f ms of CPU a silent second\n",
                label, cost.cpu_ms / megabytes, cost.wall_ms, cost.kib_per_stream, cost.silent_ms);
  std::printf("  %-16s %8.2f x\n", "ratio", client.cpu_ms / floor.cpu_ms);
  for (const Cost& each : {floor, client}) tally.measured("streams", {each.cpu_ms, each.wall_ms});
}

// Of the processor: others may use the machine.
double best_ms(int repeats, const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_ms();
    work();
    best = std::min(best, cpu_ms() - start);
  }
  return best;
}

void compare_parser(Tally& tally, const Effort& effort) {
  std::string stream;
  std::size_t count = 0;
  for (; stream.size() < effort.parsed_bytes; ++count) stream += event();
  std::string target(stream.size(), '\0');
  const double megabytes = static_cast<double>(stream.size()) / kMegabyte;
  const double copied = best_ms(effort.parses, [&] {
    std::memcpy(target.data(), stream.data(), stream.size());
    asm volatile("" : : "r"(target.data()) : "memory");
  });
  std::printf("server-sent events of %zu bytes\n  memcpy %33.0f MB/s\n", event().size(), megabytes / copied * 1e3);
  for (const std::size_t cut : {std::size_t{16'384}, std::size_t{200}}) {
    std::size_t events = 0;
    const double parsed = best_ms(effort.parses, [&] {
      SseParser parser;
      events = 0;
      for (std::size_t at = 0; at < stream.size(); at += cut)
        (void)parser.feed(std::string_view(stream).substr(at, cut), [&](const SseEvent& one) {
          events += one.data.size() != 0;
          return Result<void>();
        });
    });
    std::printf("  parsed in pieces of %6zu bytes %8.0f MB/s %8.1f x memcpy's time\n", cut, megabytes / parsed * 1e3,
                parsed / copied);
    if (events != count) stop(std::to_string(events) + " events of " + std::to_string(count) + " were parsed");
    tally.measured("parser", {copied, parsed});
  }
}

int run(const Effort& effort) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const std::size_t count = effort.streams, rounds = effort.rounds;
  Tally tally;
  tally.expect("streams", 6);
  tally.expect("parser", 2);
  compare(tally, "a word at a time", {.count = count, .rounds = rounds, .events = 1, .pause_us = 20'000}, effort);
  compare(tally, "as fast as it goes", {.count = count, .rounds = rounds / 5, .events = 100, .pause_us = 0}, effort);
  compare(tally, "one stream", {.count = 1, .rounds = 20 * rounds, .events = 100, .pause_us = 0}, effort);
  compare_parser(tally, effort);
  return tally.finish();
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  using namespace agentd::bench;
  Effort effort;
  if (take_word(argc, argv, kOnce)) effort = {20, 5, 1, 1, 50'000, 500'000};
  if (argc > 1) effort.streams = static_cast<std::size_t>(std::max(std::atoi(argv[1]), 0));
  if (argc < 3 && effort.streams > 0) return run(effort);
  std::fprintf(stderr, "usage: bench_net [--once] [STREAMS]\n");
  return 2;
}
