// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace agentd::bench {
namespace {

constexpr double kEmptyAimNs = 1.0;
constexpr double kSubscriberRatio = 3.0, kSubscriberExtraNs = 3.0;
// Flat: the payload of 100,000 messages costs at most half more than that of 10, or 20 ns more.
constexpr double kFlatRatio = 1.5, kFlatExtraNs = 20.0;
// Two medians of calls that miss the caches a hundred times differ by a few per cent of themselves.
constexpr double kFlatNoise = 0.05;

constexpr double kSpawnRatio = 1.15;

// A call to a worker, next to a word that goes to and fro.
constexpr double kCallRatio = 2.0;
// Flat: a megabyte adds no more than this; copying it would take 50 us and more.
constexpr double kFlatCallNs = 2'000;

constexpr double kMegabyte = 1'048'576;

const char* verdict(bool met) { return met ? "met" : "MISSED"; }

}  // namespace

void Summary::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.error_occurred) {
      std::printf("%s failed: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
      failed_.insert(run.run_name.str());
    }
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    ran_[run.run_name.str()] += run.GetAdjustedRealTime();
    std::string name = run.run_name.function_name;
    if (!run.run_name.args.empty()) name.append("/").append(run.run_name.args);
    times_[name].push_back(run.GetAdjustedCPUTime());
    for (const auto& [counter, value] : run.counters) {
      std::string key = name;
      times_[key.append("/").append(counter)].push_back(value.value);
    }
  }
}

std::vector<double> Summary::measured() const {
  std::vector<double> out;
  for (const auto& [name, ns] : ran_)
    if (!failed_.contains(name)) out.push_back(ns);
  return out;
}

double Summary::pick(const std::string& name, Pick pick, Part part) const {
  const auto found = times_.find(name);
  if (found == times_.end()) return -1;
  std::vector<double> values;
  for (std::size_t i = 0; i < found->second.size(); ++i)
    if (part == Part::kAll || (part == Part::kOdd) == (i % 2 == 1)) values.push_back(found->second[i]);
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  return pick == Pick::kBest ? values.front() : values[values.size() / 2];
}

double Summary::best(const std::string& name) const { return pick(name, Pick::kBest, Part::kAll); }

double Summary::middle(const std::string& name) const { return pick(name, Pick::kMiddle, Part::kAll); }

bool Summary::ran(std::string_view family) const {
  const auto found = times_.lower_bound(std::string(family));
  return found != times_.end() && found->first.starts_with(family);
}

void Summary::print_event() const {
  const double loop = best("EmptyLoop"), test = best("EmptyEvent");
  if (loop < 0 || test < 0) return;
  const double own = std::max(0.0, test - loop);
  std::printf("%-42s %9.2f ns %7.2f x   <= %6.2f ns  %s\n", "event without a subscriber", own, own / best("BareCall/1"),
              kEmptyAimNs, verdict(own <= kEmptyAimNs));
}

void Summary::print_subscribers(const Variant& variant) const {
  for (const int count : {1, 10, 100}) {
    const std::string size = std::to_string(count);
    const double bare = best("BareCall/" + size) / count;
    const double each = best(variant.bench + size) / count;
    if (bare < 0 || each < 0) continue;
    const std::string label = size + " " + variant.label + ", each";
    std::printf("%-42s %9.2f ns %7.2f x   ", label.c_str(), each, each / bare);
    const double limit = kSubscriberRatio * bare + kSubscriberExtraNs;
    if (variant.aimed)
      std::printf("<= %6.2f ns  %s\n", limit, verdict(each <= limit));
    else
      std::printf("for information\n");
  }
}

void Summary::print_payload(const Variant& variant) const {
  double least = -1;
  for (const char* const size : {"10", "1000", "100000"}) {
    const std::string bench = std::string("AgentStop/") + size + "/";
    const double all = best(bench + variant.bench);
    if (all < 0) continue;
    // The clock is read twice around each call; what the reads alone cost is the hook's own.
    const double own = std::max(0.0, all - best(bench + (variant.reads ? "bare_ns" : "clock_ns")));
    if (least < 0) least = own;
    const double limit = std::max(least * kFlatRatio, least + kFlatExtraNs + kFlatNoise * (all - own));
    const std::string label = variant.label + (", " + std::string(size)) + " messages";
    std::printf("%-42s %9.0f ns, own %6.0f ns <= %6.0f ns  %s\n", label.c_str(), all, own, limit,
                verdict(own <= limit));
  }
}

void Summary::print_first_call() const {
  for (const char* const size : {"10", "1000", "100000"}) {
    const std::string bench = std::string("FirstCallAfterLoad/") + size + "/";
    if (best(bench + "first_ns") < 0) continue;
    const std::string label = "first call after a load, " + std::string(size) + " messages";
    std::printf("%-42s %9.0f ns, the load %.0f us\n", label.c_str(), best(bench + "first_ns"),
                best(bench + "load_ns") / 1000);
  }
}

void Summary::print_spawn(const std::string& bench, const std::string& label) const {
  const double ratio = middle(bench + "/ratio");
  if (ratio < 0) return;
  std::printf("%-42s %9.1f us %7.2f x   <= %6.2f x   %s; medians %.2f x, %.2f x with a session\n", label.c_str(),
              best(bench + "/filter_ns") / 1000, ratio, kSpawnRatio, verdict(ratio <= kSpawnRatio),
              middle(bench + "/median_ratio"), middle(bench + "/session_ratio"));
}

void Summary::print_observers() const {
  const double ratio = middle("TenObservers/ratio");
  if (ratio < 0) return;
  std::printf("%-42s %9.1f us %7.2f x   of one that takes 50 ms\n", "ten observers at the same time",
              middle("TenObservers/many_ns") / 1000, ratio);
}

// One kind of asking another process, next to the limit: a word that both wait for.
void Summary::print_call(const std::string& bench, const char* kind, const char* label, double aim) const {
  const std::string name = bench + "/" + kind;
  const std::string limit = bench + "/asleep";
  const double half = middle(name + "_p50"), most = middle(name + "_p99");
  if (half < 0) return;
  const double ratio = half / middle(limit + "_p50");
  std::printf("%-42s %9.2f us %7.2f x   p99 %9.2f us %7.2f x", label, half / 1000, ratio, most / 1000,
              most / middle(limit + "_p99"));
  if (aim > 0 && std::string(kind) == "worker") std::printf("   <= %.2f x  %s", aim, verdict(ratio <= aim));
  std::printf("\n");
}

void Summary::print_calls() const {
  for (const char* const size : {"1024", "65536", "1048576"}) {
    const std::string bench = std::string("WorkerCalls/") + size;
    if (middle(bench + "/spinning_p50") < 0) continue;
    std::printf("a history of %s bytes\n", size);
    print_call(bench, "spinning", "  a word, both sides spin", kCallRatio);
    print_call(bench, "asleep", "  a word, both sides sleep", kCallRatio);
    print_call(bench, "lane", "  a lane, an empty message", kCallRatio);
    print_call(bench, "call", "  a lane, the records placed", kCallRatio);
    print_call(bench, "worker", "  a hook in a worker, by the dispatcher", kCallRatio);
    print_call(bench, "json", "  JSON over a pipe, parsed", kCallRatio);
    print_call(bench, "in_process", "  the dispatcher, in the process", kCallRatio);
  }
  // Beyond an empty message: how long the worker had slept before differs with what else is
  // measured.
  const auto own = [this](const std::string& bench) {
    return middle(bench + "/worker_p50") - middle(bench + "/lane_p50");
  };
  if (ran("WorkerCalls/1024/worker") && ran("WorkerCalls/1048576/worker")) {
    const double small = own("WorkerCalls/1024"), large = own("WorkerCalls/1048576");
    const double limit = small + kFlatCallNs;
    std::printf("%-42s %9.2f us after %.2f us   <= %.2f us  %s\n", "beyond an empty message, 1 MiB after 1 KiB",
                large / 1000, small / 1000, limit / 1000, verdict(large <= limit));
  }
  if (middle("WorkerColdCalls/asleep_p50") < 0) return;
  std::printf("a history of 1048576 bytes, 50 ms after the last call; x = of a word, both sides sleep\n");
  print_call("WorkerColdCalls", "asleep", "  a word, both sides sleep", 0);
  print_call("WorkerColdCalls", "call", "  a lane, the records placed", 0);
  print_call("WorkerColdCalls", "worker", "  a hook in a worker, by the dispatcher", 0);
  print_call("WorkerColdCalls", "json", "  JSON over a pipe, parsed", 0);
  print_eight_lanes();
}

void Summary::print_eight_lanes() const {
  const std::string bench = "WorkerEightLanes";
  if (middle(bench + "/alone_p50") < 0) return;
  const auto print = [&](const char* kind, const char* label) {
    std::printf("%-42s %9.2f us             p99 %9.2f us\n", label, middle(bench + "/" + kind + "_p50") / 1000,
                middle(bench + "/" + kind + "_p99") / 1000);
  };
  print("alone", "  one thread asks a concurrent worker");
  print("eight", "  eight threads do, each in its lane");
}

// Its time at each size, next to a copy of the history's bytes.
void Summary::print_compaction(const std::string& bench, const std::string& label) const {
  if (best(bench + "/1000") < 0) return;
  std::printf("%-42s", label.c_str());
  for (const char* const size : {"1000", "10000", "100000"}) {
    const double own = best(bench + "/" + size), copy = best(std::string("HistoryCopy/") + size);
    std::printf(" %11.1f us %6.2f x", own / 1000, own / copy);
  }
  std::printf("\n");
}

void Summary::print_store() const {
  const double append = middle("StoreAppend"), one = middle("StoreBarePut"), five = middle("StoreBarePuts");
  if (append < 0 || one < 0 || five < 0) return;
  std::printf("\nan append of 1 KiB to the store, processor time, next to bare LMDB; each made durable\n\n");
  std::printf("%-42s %9.1f us\n", "bare LMDB, one put", one / 1000);
  std::printf("%-42s %9.1f us %7.2f x\n", "bare LMDB, the rows of an append", five / 1000, five / one);
  std::printf("%-42s %9.1f us %7.2f x   of one put, %.2f x of its rows\n", "an append", append / 1000, append / one,
              append / five);
}

void Summary::print_tokens(const std::string& text) const {
  const double copy = best("Tokens/memcpy/" + text), simple = best("Tokens/simple/" + text);
  if (copy < 0) return;
  for (const char* const encoding : {"cl100k", "o200k"}) {
    const std::string bench = "Tokens/" + std::string(encoding) + "/" + text;
    const std::string prose = "Tokens/" + std::string(encoding) + "/prose";
    if (best(bench) < 0) continue;
    std::printf(
        "%-42s %9.1f MB/s %6.0f x   of memcpy's time; %.2f x of prose's; simple %.0f ns; "
        "%.1f allocations\n",
        (std::string(encoding) + ", " + text).c_str(), kMegabyte / best(bench) * 1000, best(bench) / copy,
        best(bench) / best(prose), simple, middle(bench + "/allocations"));
  }
}

void Summary::add_ratio(std::vector<Ratio>& out, std::string figure, const std::string& bench, const std::string& over,
                        Pick how) const {
  const auto ratio = [&](Part part) {
    const double value = pick(bench, how, part), unit = over.empty() ? 1 : pick(over, how, part);
    return value < 0 || unit <= 0 ? 0 : value / unit;
  };
  const double all = ratio(Part::kAll), even = ratio(Part::kEven), odd = ratio(Part::kOdd);
  out.push_back({std::move(figure), all, odd <= 0 ? kNoiseOfOne : std::abs(even - odd) / all});
}

void Summary::add_subscribers(std::vector<Ratio>& out) const {
  const std::pair<const char*, const char*> kinds[] = {{"Subscribers/", "subscribers"},
                                                       {"SerialSubscribers/", "serial subscribers"},
                                                       {"TracedSubscribers/", "traced subscribers"}};
  for (const auto& [bench, label] : kinds)
    for (const char* const count : {"1", "10", "100"})
      add_ratio(out, std::string(count) + " " + label + " / bare calls", bench + std::string(count),
                std::string("BareCall/") + count, Pick::kBest);
}

void Summary::add_calls(std::vector<Ratio>& out) const {
  const std::pair<const char*, const char*> kinds[] = {
      {"lane", "an empty message in a lane"}, {"worker", "a hook in a worker"}, {"json", "JSON over a pipe"}};
  for (const char* const size : {"1024", "65536", "1048576"})
    for (const auto& [kind, label] : kinds) {
      const std::string bench = std::string("WorkerCalls/") + size + "/";
      add_ratio(out, std::string(label) + ", " + size + " bytes / a word", bench + kind + "_p50", bench + "asleep_p50",
                Pick::kMiddle);
    }
  for (const auto& [kind, label] : {kinds[1], kinds[2]})
    add_ratio(out, std::string(label) + ", cold / a cold word", std::string("WorkerColdCalls/") + kind + "_p50",
              "WorkerColdCalls/asleep_p50", Pick::kMiddle);
}

void Summary::add_compaction(std::vector<Ratio>& out) const {
  const std::pair<const char*, const char*> kinds[] = {{"CompactionPrunes", "old tool results looked for"},
                                                       {"CompactionBody", "a compaction's request"},
                                                       {"CompactionPieces", "a compaction's text in parts"},
                                                       {"CompactionBoundary", "the view after a compaction"}};
  for (const auto& [bench, label] : kinds)
    add_ratio(out, std::string(label) + ", 100,000 messages / memcpy", std::string(bench) + "/100000",
              "HistoryCopy/100000", Pick::kBest);
}

std::vector<Ratio> Summary::ratios() const {
  std::vector<Ratio> out;
  add_subscribers(out);
  add_ratio(out, "a silent hook, 100,000 messages / 10", "AgentStop/100000/nothing_ns", "AgentStop/10/nothing_ns",
            Pick::kBest);
  add_ratio(out, "a hook that emits, 100,000 messages / 10", "AgentStop/100000/emit_ns", "AgentStop/10/emit_ns",
            Pick::kBest);
  add_calls(out);
  add_compaction(out);
  add_ratio(out, "an append / a bare put", "StoreAppend", "StoreBarePut", Pick::kMiddle);
  add_ratio(out, "/bin/true as a filter / posix_spawn", "FilterTrue/ratio", "", Pick::kMiddle);
  add_ratio(out, "sh as a filter / posix_spawn", "FilterShell/ratio", "", Pick::kMiddle);
  add_ratio(out, "a hook in sh / posix_spawn", "HookExecutable/ratio", "", Pick::kMiddle);
  for (const char* const text : {"prose", "code", "CJK"})
    for (const char* const encoding : {"cl100k", "o200k"})
      add_ratio(out, std::string("tokens of ") + text + ", " + encoding + " / memcpy",
                std::string("Tokens/") + encoding + "/" + text, std::string("Tokens/memcpy/") + text, Pick::kBest);
  return out;
}

void Summary::print() const {
  if (ran("BareCall"))
    std::printf(
        "bare indirect call %.2f ns; best of the repetitions, processor time; x = ratio to the "
        "same "
        "number of bare calls\n\n",
        best("BareCall/1"));
  print_event();
  print_subscribers({"Subscribers/", "subscribers", true, false});
  print_subscribers({"SerialSubscribers/", "serial subscribers", false, false});
  print_subscribers({"TracedSubscribers/", "traced subscribers", false, false});
  if (ran("AgentStop"))
    std::printf(
        "\nagent_stop after one append; own = without what the hook's reads cost by a bare "
        "call\n\n");
  print_payload({"nothing_ns", "hook reads nothing", true, false});
  print_payload({"emit_ns", "hook emits", true, false});
  print_payload({"read_ns", "hook reads 102", true, true});
  print_payload({"read_emit_ns", "hook reads 102, emits", true, true});
  print_first_call();
  if (ran("Compaction"))
    std::printf(
        "\na compaction of 1,000, 10,000 and 100,000 messages, next to a memcpy of their "
        "bytes\n\n");
  print_compaction("CompactionSplit", "split, the newest messages stay");
  print_compaction("CompactionPrunes", "old tool results looked for");
  print_compaction("CompactionBody", "the recipe's prompt and the whole request");
  print_compaction("CompactionPieces", "the same as text in parts");
  print_compaction("CompactionBoundary", "the new view after the boundary");
  print_store();
  if (ran("Filter") || ran("HookExecutable"))
    std::printf("\na filter, next to a bare posix_spawn, pipes and waitpid of the same program\n\n");
  print_spawn("FilterTrue", "/bin/true");
  print_spawn("FilterShell", "sh -c 'cat; echo {}', 1 KiB");
  print_spawn("HookExecutable", "a hook in sh, through the dispatcher");
  print_observers();
  if (ran("Worker"))
    std::printf(
        "\na call to another process; x = of a word that two processes pass to and fro by a futex. "
        "Where both "
        "spin, each has a processor for itself\n\n");
  print_calls();
  if (ran("Tokens")) std::printf("\ntokens of a megabyte, exactly, next to copying it and to the estimate by size\n\n");
  for (const char* const text :
       {"prose", "code", "JSON", "CJK", "CJK without stops", "one letter", "spaces", "random letters", "base64"})
    print_tokens(text);
}

}  // namespace agentd::bench
