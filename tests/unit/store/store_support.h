// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_support.h - the common part of store tests: a temporary directory, records, a store in it.
//
// Threading: for tests, thread-compatible.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/store/lmdb/lmdb_store.h"
#include "core/store/store.h"

namespace agentd::test {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "agentd-store-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// The id with that number.
inline Ulid id_of(std::uint8_t number) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[0] = 1;
  bytes[15] = number;
  return Ulid(bytes);
}

inline Record genesis(const Ulid& id, std::string project = "p", std::string cwd = "/w") {
  GenesisRecord record;
  record.conversation_id = id.text();
  record.project_id = std::move(project);
  record.cwd = std::move(cwd);
  return write_genesis(record);
}

inline Record user_message(std::string text) {
  MessageRecord record;
  record.message = Message::of_text(Role::kUser, std::move(text));
  return write_message(record);
}

inline std::string text_of(const StoredRecord& record) {
  auto message = read_message(record.record);
  return message ? message->message.text() : std::string();
}

// genesis and one message with the title.
inline std::vector<Record> opening(const Ulid& id, std::string title = "hello", std::string project = "p") {
  return {genesis(id, std::move(project)), user_message(std::move(title))};
}

inline std::vector<StoredRecord> read_all(const Store& store, const Ulid& id, std::uint64_t first = 1,
                                          std::uint64_t last = 0) {
  std::vector<StoredRecord> out;
  auto read = store.read(id, first, last, [&](const StoredRecord& record) {
    out.push_back(record);
    return true;
  });
  EXPECT_TRUE(read) << read.error().message;
  return out;
}

inline std::unique_ptr<Store> open_store(const LmdbOptions& options, const Clock& clock) {
  auto store = open_lmdb_store(options, clock);
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

template <typename T>
testing::AssertionResult succeeded(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

// A failure as its code and a sentence.
template <typename T>
testing::AssertionResult failed_with(Code code, const Result<T>& result) {
  if (result) return testing::AssertionFailure() << "succeeded";
  if (result.error().code == code && !result.error().message.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name_of(result.error().code) << ": " << result.error().message;
}

}  // namespace agentd::test

#define EXPECT_CODE(expected, result) EXPECT_TRUE(::agentd::test::failed_with(expected, result))
#define EXPECT_OK(result) EXPECT_TRUE(::agentd::test::succeeded(result))
#define ASSERT_OK(result) ASSERT_TRUE(::agentd::test::succeeded(result))
