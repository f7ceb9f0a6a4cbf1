// SPDX-License-Identifier: Apache-2.0
// bench_search - searches among 100,000 messages: the first build of the index, its size next to the texts, the
// catching up after one more message, and the time of searches for words as frequent as the ones of a text are.
//
// bench_search [--once] [DIRECTORY]: where the store is made and removed; the system's directory for temporary files
// unless it is given.
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/cpu_time.h"
#include "bench/place.h"
#include "bench/tally.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/search/search.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kMessagesEach = 50;
constexpr std::size_t kWordsEach = 70, kVocabulary = 30'000;
constexpr double kNsPerMs = 1e6, kMiB = 1 << 20;

// Words as frequent as in a language: the n-th has a share of 1/n.
class Words {
 public:
  std::string word() { return name(rank()); }
  static std::string name(std::size_t rank) { return "w" + std::to_string(rank); }
  std::string text() {
    std::string out;
    for (std::size_t i = 0; i < kWordsEach; ++i) out += (i == 0 ? "" : " ") + word();
    return out;
  }

 private:
  std::size_t rank() {
    const double part = std::uniform_real_distribution<double>(0, std::log(double{kVocabulary}))(random_);
    return std::min(kVocabulary - 1, static_cast<std::size_t>(std::exp(part)));
  }
  std::mt19937_64 random_{1};
};

struct Effort {
  std::size_t conversations = 2'000, searches = 400;  // of a kind
};

class Stage {
 public:
  explicit Stage(const std::string& parent)
      : place_(parent), store_(expect(open_lmdb_store({place_.path() + "/store"}, clock_))) {}

  // Returns the bytes of the texts.
  std::uint64_t fill(std::size_t conversations) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < conversations; ++i) {
      const Ulid id = ids_.next();
      GenesisRecord genesis;
      genesis.conversation_id = id.text();
      genesis.project_id = "p" + std::to_string(i % 10);
      expect(store_->append(id, 0, {{write_genesis(genesis)}}));
      newest_ = id;
      // One commit for each message, as runs make them, would only bench the disk.
      std::vector<Record> some;
      for (std::size_t m = 0; m < kMessagesEach; ++m) {
        const std::string text = words_.text();
        bytes += text.size();
        some.push_back(message(text));
      }
      expect(store_->append(id, 1, some));
    }
    return bytes;
  }
  // Returns a word that only this message has.
  std::string add_one() {
    const std::string word = "newest";
    const Record one = message(words_.text() + " " + word);
    expect(store_->append(newest_, expect(store_->info(newest_)).revision, {&one, 1}));
    return word;
  }
  std::string query() {
    std::string out = words_.word();
    for (std::size_t more = queries_++ % 3; more > 0; --more) out += " " + words_.word();
    return out;
  }
  // Milliseconds of a search, with its catching up.
  double search(const std::string& text, const std::string& project = "") {
    SearchQuery query;
    query.text = text;
    query.project_id = project;
    const std::uint64_t begin = clock_.monotonic_ns();
    found_ = expect(SearchIndex(place_.path(), *store_, clock_, log_).search(query)).found.size();
    return static_cast<double>(clock_.monotonic_ns() - begin) / kNsPerMs;
  }
  // By the last search.
  std::size_t found() const { return found_; }
  double index_mib() const {
    return static_cast<double>(std::filesystem::file_size(place_.path() + "/search.db")) / kMiB;
  }

 private:
  static Record message(const std::string& text) {
    return write_message({Message::of_text(Role::kUser, text), StopReason::kEndTurn, "user", {}});
  }

  const SystemClock clock_;
  IdSource ids_{clock_};
  NullLog log_;
  const Place place_;
  const std::unique_ptr<Store> store_;
  Words words_;
  Ulid newest_;
  std::size_t queries_ = 0, found_ = 0;
};

// Prints a row of one search, which must find something.
void print_search(Tally& tally, Stage& stage, const char* what, const std::string& text) {
  const double ms = stage.search(text);
  if (stage.found() == 0) stop("nothing was found for " + text);
  std::printf("%-46s %.1f ms\n", what, ms);
  tally.measured("searches", {ms});
}

void print_searches(Tally& tally, Stage& stage, const Effort& effort, const char* what, const std::string& project) {
  std::vector<double> times;
  std::size_t found = 0;
  for (std::size_t i = 0; i < effort.searches; ++i) {
    times.push_back(stage.search(stage.query(), project));
    found += stage.found();
  }
  if (found == 0) stop("none of the searches found anything");
  std::sort(times.begin(), times.end());
  const double p50 = times[times.size() / 2], p99 = times[times.size() * 99 / 100];
  std::printf("%-46s p50 %8.1f ms   p99 %8.1f ms   worst %8.1f ms\n", what, p50, p99, times.back());
  tally.measured("searches", {p50, p99});
}

int run(const std::string& parent, const Effort& effort) {
  Tally tally;
  tally.expect("index", 2);
  tally.expect("searches", 5);
  Stage stage(parent);
  const double text_mib = static_cast<double>(stage.fill(effort.conversations)) / kMiB;
  const double cpu = cpu_ms();
  const double built = stage.search("w20000");
  std::printf("%zu messages, %.1f MiB of text\n", effort.conversations * kMessagesEach, text_mib);
  std::printf("%-46s %.1f s, of CPU %.1f s\n", "the first search, which builds the index", built / 1e3,
              (cpu_ms() - cpu) / 1e3);
  tally.measured("index", {built});
  std::printf("%-46s %.1f MiB, %.2f of the text\n", "the index", stage.index_mib(), stage.index_mib() / text_mib);
  tally.measured("index", {stage.index_mib(), text_mib});
  print_search(tally, stage, "a search after one more message", stage.add_one());
  print_searches(tally, stage, effort, "one to three words", "");
  print_searches(tally, stage, effort, "the same in one project of ten", "p3");
  print_search(tally, stage, "the most frequent word", Words::name(1));
  print_search(tally, stage, "a phrase of the two most frequent words",
               "\"" + Words::name(1) + " " + Words::name(2) + "\"");
  return tally.finish();
}

}  // namespace
}  // namespace agentd::bench

int main(int count, char** arguments) {
  using namespace agentd::bench;
  Effort effort;
  if (take_word(count, arguments, kOnce)) effort = {20, 6};
  return run(count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string(), effort);
}
