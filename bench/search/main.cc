// SPDX-License-Identifier: Apache-2.0
// bench_search - searches among 100,000 messages: the first build of the index, its size next to the texts, the
// catching up after one more message, and the time of searches for words as frequent as the ones of a text are.
//
// bench_search [DIRECTORY]: where the store is made and removed; the system's directory for temporary files unless it
// is given.
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
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/search/search.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kConversations = 2'000, kMessagesEach = 50;
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

class Stage {
 public:
  explicit Stage(const std::string& parent)
      : place_(parent), store_(expect(open_lmdb_store({place_.path() + "/store"}, clock_))) {}

  // Returns the bytes of the texts.
  std::uint64_t fill() {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kConversations; ++i) {
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
  void add_one() {
    const Record one = message(words_.text());
    expect(store_->append(newest_, expect(store_->info(newest_)).revision, {&one, 1}));
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
    expect(SearchIndex(place_.path(), *store_, clock_, log_).search(query));
    return static_cast<double>(clock_.monotonic_ns() - begin) / kNsPerMs;
  }
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
  std::size_t queries_ = 0;
};

void print_searches(Stage& stage, const char* what, const std::string& project) {
  constexpr std::size_t kTimes = 400;
  std::vector<double> times;
  for (std::size_t i = 0; i < kTimes; ++i) times.push_back(stage.search(stage.query(), project));
  std::sort(times.begin(), times.end());
  std::printf("%-46s p50 %8.1f ms   p99 %8.1f ms   worst %8.1f ms\n", what, times[kTimes / 2], times[kTimes * 99 / 100],
              times.back());
}

void run(const std::string& parent) {
  Stage stage(parent);
  const double text_mib = static_cast<double>(stage.fill()) / kMiB;
  const double cpu = cpu_ms();
  const double built = stage.search("w20000");
  std::printf("%zu messages, %.1f MiB of text\n", kConversations * kMessagesEach, text_mib);
  std::printf("%-46s %.1f s, of CPU %.1f s\n", "the first search, which builds the index", built / 1e3,
              (cpu_ms() - cpu) / 1e3);
  std::printf("%-46s %.1f MiB, %.2f of the text\n", "the index", stage.index_mib(), stage.index_mib() / text_mib);
  stage.add_one();
  std::printf("%-46s %.1f ms\n", "a search after one more message", stage.search("w20000"));
  print_searches(stage, "one to three words", "");
  print_searches(stage, "the same in one project of ten", "p3");
  std::printf("%-46s %.1f ms\n", "the most frequent word", stage.search(Words::name(1)));
  std::printf("%-46s %.1f ms\n", "a phrase of the two most frequent words",
              stage.search("\"" + Words::name(1) + " " + Words::name(2) + "\""));
}

}  // namespace
}  // namespace agentd::bench

int main(int count, char** arguments) {
  agentd::bench::run(count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string());
  return 0;
}
