// SPDX-License-Identifier: Apache-2.0
#pragma once
// summary.h - collects what Google Benchmark measured and sets it against the aims, as ratios
// within the one run.
//
// Threading: one thread.

#include <benchmark/benchmark.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ratios.h"

namespace agentd::bench {

// Keeps every repetition and prints none of them.
class Summary final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  // The table of aims, to standard output. What a filter left out is left out here.
  void print() const;
  // The ratios that the tree keeps. The value is 0 where a bench of it was not run.
  std::vector<Ratio> ratios() const;
  // The nanoseconds of each bench that was run and found right what it checks.
  std::vector<double> measured() const;

 private:
  // The best repetition of "Bench/size", or of its counter "Bench/size/counter"; ns, -1 = not
  // measured. The best, since everything that disturbs a bench makes it slower.
  double best(const std::string& name) const;
  // The middle one, for what noise can make smaller too.
  double middle(const std::string& name) const;
  // Of all repetitions, or of one half of them.
  enum class Pick { kBest, kMiddle };
  enum class Part { kAll, kEven, kOdd };
  double pick(const std::string& name, Pick pick, Part part) const;
  // Adds a ratio of two benches, or, with an empty `over`, a counter that is one already.
  void add_ratio(std::vector<Ratio>& out, std::string figure, const std::string& bench, const std::string& over,
                 Pick how) const;
  void add_subscribers(std::vector<Ratio>& out) const;
  void add_calls(std::vector<Ratio>& out) const;
  void add_compaction(std::vector<Ratio>& out) const;
  // A family of benches, or a counter of AgentStop, and its line in the table.
  struct Variant {
    std::string bench, label;
    bool aimed = false;
    bool reads = false;
  };
  // Whether a benchmark whose name begins so was run.
  bool ran(std::string_view family) const;
  void print_event() const;
  void print_subscribers(const Variant& variant) const;
  void print_payload(const Variant& variant) const;
  void print_first_call() const;
  void print_observers() const;
  void print_spawn(const std::string& bench, const std::string& label) const;
  void print_call(const std::string& bench, const char* kind, const char* label, double aim) const;
  void print_calls() const;
  void print_eight_lanes() const;
  void print_compaction(const std::string& bench, const std::string& label) const;
  void print_store() const;
  void print_tokens(const std::string& text) const;

  std::map<std::string, std::vector<double>> times_;
  std::map<std::string, double> ran_;
  std::set<std::string> failed_;
};

// How often what has a number of its own is done.
struct Effort {
  bool once = false;
  int times(int all) const { return once ? 1 : all; }
};

// Register the benches of their files; those that need neither a number nor a text register themselves.
void add_compaction_boundary(Effort effort);
void add_hook_benches(Effort effort);
void add_payload_benches(Effort effort);
void add_scrub_benches();
void add_spawn_benches(Effort effort);
void add_token_benches();
void add_worker_benches(Effort effort);

}  // namespace agentd::bench
