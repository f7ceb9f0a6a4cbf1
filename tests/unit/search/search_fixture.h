// SPDX-License-Identifier: Apache-2.0
#pragma once
// search_fixture.h - a store on disk, the index next to it, and what a search finds.
//
// Threading: for tests, thread-compatible.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/search/search.h"
#include "tests/unit/store/store_support.h"

namespace agentd::test {

class LogLines final : public Log {
 public:
  void write(LogLevel level, std::string_view, std::string_view text) override {
    const MutexLock lock(mutex_);
    lines_.push_back((level == LogLevel::kWarning ? "warning: " : "") + std::string(text));
  }
  // Those since the last call.
  std::vector<std::string> take() {
    const MutexLock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
};

class SearchTest : public testing::Test {
 protected:
  void SetUp() override { open(); }

  void open() {
    store_.reset();
    LmdbOptions options;
    options.directory = dir_ / "store";
    store_ = open_store(options, clock_);
  }

  // A conversation with these messages of its user.
  Ulid add(std::uint8_t number, const std::vector<std::string>& messages, const std::string& project = "p") {
    const Ulid id = id_of(number);
    std::vector<Record> records{genesis(id, project)};
    for (const std::string& message : messages) records.push_back(user_message(message));
    EXPECT_OK(store_->append(id, 0, records));
    return id;
  }
  void append(const Ulid& id, const Record& record) {
    EXPECT_OK(store_->append(id, store_->info(id)->revision, {&record, 1}));
  }

  Result<SearchAnswer> ask(const SearchQuery& query, Milliseconds wait = Milliseconds(5'000)) {
    return SearchIndex(dir_.path(), *store_, clock_, log_, wait).search(query);
  }
  Result<SearchAnswer> ask(const std::string& text) {
    SearchQuery query;
    query.text = text;
    return ask(query);
  }
  // "NUMBER:SEQ" of each hit, best first.
  std::vector<std::string> found(const SearchQuery& query) {
    const auto answer = ask(query);
    EXPECT_OK(answer);
    std::vector<std::string> out;
    if (!answer) return {"error"};
    for (const SearchedConversation& one : answer->found)
      for (const SearchHit& hit : one.hits)
        out.push_back(std::to_string(Ulid::parse(one.info.id)->bytes()[15]) + ":" + std::to_string(hit.seq));
    return out;
  }
  std::vector<std::string> found(const std::string& text) {
    SearchQuery query;
    query.text = text;
    return found(query);
  }

  std::string index() const { return dir_ / "search.db"; }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // True if any file of the index has these bytes.
  bool in_files(const std::string& bytes) const {
    for (const auto& file : std::filesystem::directory_iterator(dir_.path()))
      if (file.is_regular_file() && bytes_of(file.path()).find(bytes) != std::string::npos) return true;
    return false;
  }
  // The number of log lines with that text since the last call.
  std::size_t logged(const std::string& text) {
    std::size_t out = 0;
    for (const std::string& line : log_.take()) out += line.find(text) != std::string::npos ? 1u : 0u;
    return out;
  }

  TempDir dir_;
  SystemClock clock_;
  LogLines log_;
  std::unique_ptr<Store> store_;
};

using Found = std::vector<std::string>;

}  // namespace agentd::test
