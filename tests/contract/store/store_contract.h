// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_contract.h - the fixture of the tests that every store passes.
//
// Threading: one test thread.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/store/store_support.h"

namespace agentd {

using test::genesis;
using test::id_of;
using test::opening;
using test::read_all;
using test::text_of;
using test::user_message;

enum class Kind { kMemory, kLmdb };
inline constexpr Kind kStores[] = {Kind::kMemory, Kind::kLmdb};

inline std::string name_of_store(const testing::TestParamInfo<Kind>& each) {
  return each.param == Kind::kMemory ? "Memory" : "Lmdb";
}

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { store_ = make(); }

  std::unique_ptr<Store> make() {
    if (GetParam() == Kind::kMemory) return make_memory_store(clock_);
    LmdbOptions options;
    options.directory = dir_ / "store";
    return test::open_store(options, clock_);
  }
  // The same store after everything in memory is gone; a store in memory stays.
  Store& reopened() {
    if (GetParam() == Kind::kLmdb) {
      store_.reset();
      store_ = make();
    }
    return *store_;
  }
  void start(const Ulid& id, const std::string& title = "hello", const std::string& project = "p") {
    ASSERT_OK(store_->append(id, 0, opening(id, title, project)));
  }
  std::vector<std::string> listed(const ConversationQuery& query) {
    std::vector<std::string> out;
    auto list = store_->list(query);
    EXPECT_OK(list);
    if (list)
      for (const ConversationInfo& info : *list) out.push_back(info.id);
    return out;
  }
  std::uint64_t put(const std::string& key, const std::string& value, const std::string& space = "plugin") {
    const std::vector<KeyOp> ops{{KeyOp::Kind::kPut, key, value, KeyOp::kAny}};
    auto version = store_->commit_keys(space, ops);
    EXPECT_OK(version);
    return version.value_or(0);
  }
  Result<std::uint64_t> commit(const std::vector<KeyOp>& ops) { return store_->commit_keys("plugin", ops); }

  test::TempDir dir_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  const Ulid a_ = id_of(1), b_ = id_of(2), c_ = id_of(3);
};

}  // namespace agentd
