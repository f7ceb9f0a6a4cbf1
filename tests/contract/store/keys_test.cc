// SPDX-License-Identifier: Apache-2.0
// Key spaces of plugins.
#include <atomic>
#include <thread>

#include "core/base/bytes.h"
#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

// ---- keys

TEST_P(StoreContract, KeysAreReadBackWithTheirVersion) {
  const std::string value("zero \0 byte", 11);
  const std::uint64_t version = put("k", value);
  EXPECT_GT(version, 0u);
  const auto key = reopened().get_key("plugin", "k");
  ASSERT_OK(key);
  EXPECT_EQ(key->key, "k");
  EXPECT_EQ(key->value, value);
  EXPECT_EQ(key->version, version);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "other"));
}

TEST_P(StoreContract, SpacesDoNotSeeEachOther) {
  put("k", "1", "plug");
  put("k", "2", "plugin");
  put("in", "3", "plug");
  EXPECT_EQ(store_->get_key("plug", "k")->value, "1");
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
  EXPECT_EQ(store_->scan_keys("plugin", "", "", 10)->size(), 1u);
  EXPECT_EQ(store_->scan_keys("plug", "", "", 10)->size(), 2u);
  EXPECT_TRUE(store_->scan_keys("plu", "", "", 10)->empty());
}

TEST_P(StoreContract, VersionsGrowAndNeverComeBack) {
  const std::uint64_t first = put("k", "1");
  const std::uint64_t second = put("k", "2");
  EXPECT_GT(second, first);
  ASSERT_OK(commit({{KeyOp::Kind::kErase, "k", "", KeyOp::kAny}}));
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "k"));
  reopened();
  EXPECT_GT(put("k", "3"), second);
}

TEST_P(StoreContract, PutWithExpectationComparesAndSwaps) {
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "1", KeyOp::kAbsent}}));
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kPut, "k", "x", KeyOp::kAbsent}}));
  const std::uint64_t version = store_->get_key("plugin", "k")->version;
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kPut, "k", "x", version + 1}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "1");
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "2", version}}));
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kErase, "k", "", version}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
}

TEST_P(StoreContract, ConflictNamesKeyAndVersions) {
  put("k", "1");
  const auto conflict = commit({{KeyOp::Kind::kPut, "k", "x", KeyOp::kAbsent}});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().message, "key k of plugin is at version 1, not absent");
}

TEST_P(StoreContract, CommitOfKeysIsAllOrNone) {
  put("old", "1");
  const auto failed = commit({{KeyOp::Kind::kPut, "new", "x", KeyOp::kAny},
                              {KeyOp::Kind::kErase, "old", "", KeyOp::kAny},
                              {KeyOp::Kind::kCheck, "guard", "", 7}});
  EXPECT_CODE(Code::kConflict, failed);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "new"));
  EXPECT_OK(store_->get_key("plugin", "old"));
}

TEST_P(StoreContract, ChecksGuardACommitWithoutChangingTheirKey) {
  const std::uint64_t version = put("guard", "g");
  const auto done = commit({{KeyOp::Kind::kCheck, "guard", "", version},
                            {KeyOp::Kind::kCheck, "missing", "", KeyOp::kAbsent},
                            {KeyOp::Kind::kPut, "k", "v", KeyOp::kAny}});
  ASSERT_OK(done);
  EXPECT_EQ(store_->get_key("plugin", "guard")->version, version);
  EXPECT_EQ(store_->get_key("plugin", "k")->version, *done);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "missing"));
}

TEST_P(StoreContract, ExpectationsAreAgainstTheStateBeforeAndTheLastChangeCounts) {
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "1", KeyOp::kAbsent}, {KeyOp::Kind::kPut, "k", "2", KeyOp::kAbsent}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
}

TEST_P(StoreContract, ErasingWhatIsAbsentIsNoChange) {
  const std::uint64_t version = put("k", "1");
  const auto done = commit({{KeyOp::Kind::kErase, "other", "", KeyOp::kAny}});
  ASSERT_OK(done);
  EXPECT_EQ(*done, version);
}

TEST_P(StoreContract, RefusesACommitThatIsTooLarge) {
  const std::string half(40u << 20, 'x');
  const auto done = commit({{KeyOp::Kind::kPut, "a", half, KeyOp::kAny}, {KeyOp::Kind::kPut, "b", half, KeyOp::kAny}});
  EXPECT_CODE(Code::kDenied, done);
  EXPECT_EQ(done.error().message, "a commit of plugin has 80 MiB of keys and values; the limit is 65 MiB: split it");
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "a"));
}

TEST_P(StoreContract, KeepsASpaceFromFillingTheStore) {
  const std::string piece(60u << 20, 'x');
  for (const char* const key : {"a", "b", "c", "d"}) put(key, piece);
  const auto fifth = [&] { return commit({{KeyOp::Kind::kPut, "e", piece, KeyOp::kAny}}); };
  EXPECT_CODE(Code::kDenied, fifth());
  EXPECT_EQ(fifth().error().message,
            "the keys of plugin would take 300 MiB; the limit is 256 MiB: erase some of them first");
  put("e", piece, "another");
  put("a", piece);  // in the place of what was there
  EXPECT_OK(commit({{KeyOp::Kind::kErase, "b", "", KeyOp::kAny}}));
  EXPECT_OK(fifth());
  EXPECT_CODE(Code::kDenied, commit({{KeyOp::Kind::kPut, "b", piece, KeyOp::kAny}}));
}

TEST_P(StoreContract, ScansAPrefixInByteOrder) {
  for (const char* key : {"b/2", "a/9", "b/10", "c", "b", "b/1", "b\xff"}) put(key, key);
  const auto keys = [&](std::string_view after, std::uint32_t limit) {
    std::vector<std::string> out;
    const auto found = store_->scan_keys("plugin", "b/", after, limit);
    EXPECT_OK(found);
    for (const StoredKey& key : *found) out.push_back(key.key);
    return out;
  };
  EXPECT_EQ(keys("", 10), (std::vector<std::string>{"b/1", "b/10", "b/2"}));
  EXPECT_EQ(keys("", 2), (std::vector<std::string>{"b/1", "b/10"}));
  EXPECT_EQ(keys("b/10", 10), std::vector<std::string>{"b/2"});
  EXPECT_EQ(keys("b/11", 10), std::vector<std::string>{"b/2"});
  EXPECT_EQ(keys("a", 10).size(), 3u);
  EXPECT_TRUE(keys("b/2", 10).empty());
  EXPECT_TRUE(keys("z", 10).empty());
}

TEST_P(StoreContract, AScanIsOneSnapshotWhileOthersCommit) {
  const auto both = [](const std::string& value) {
    return std::vector<KeyOp>{{KeyOp::Kind::kPut, "x", value, KeyOp::kAny},
                              {KeyOp::Kind::kPut, "y", value, KeyOp::kAny}};
  };
  ASSERT_OK(commit(both("0")));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; i <= 100; ++i) EXPECT_OK(commit(both(std::to_string(i))));
    done = true;
  });
  while (!done) {
    const auto keys = store_->scan_keys("plugin", "", "", 10);
    ASSERT_OK(keys);
    ASSERT_EQ(keys->size(), 2u);
    EXPECT_EQ((*keys)[0].value, (*keys)[1].value);
  }
  writer.join();
}

TEST_P(StoreContract, RefusesNamesThatNoKeyCanHave) {
  EXPECT_CODE(Code::kInvalid, store_->get_key("", "k"));
  EXPECT_CODE(Code::kInvalid, store_->get_key(std::string_view("a\0b", 3), "k"));
  EXPECT_CODE(Code::kInvalid, commit({{KeyOp::Kind::kPut, "", "v", KeyOp::kAny}}));
  EXPECT_CODE(Code::kInvalid, commit({{KeyOp::Kind::kPut, std::string(505, 'k'), "v", KeyOp::kAny}}));
  EXPECT_OK(commit({{KeyOp::Kind::kPut, std::string(504, 'k'), "v", KeyOp::kAny}}));
  EXPECT_EQ(store_->scan_keys("plugin", std::string(504, 'k'), "", 10)->size(), 1u);
  EXPECT_TRUE(store_->scan_keys("plugin", std::string(600, 'k'), "", 10)->empty());
}

}  // namespace
}  // namespace agentd
