// SPDX-License-Identifier: Apache-2.0
// Logs that come out of a store and into another one, with the rules that a file's log must keep.
#include "core/store/whole_log.h"

#include "tests/unit/store/lmdb_fixture.h"

namespace agentd {
namespace {

class WholeLogTest : public LmdbStoreTest {
 protected:
  // A genesis with a message, a batch with a text and a payload that is a blob, and an erasure.
  Ulid fill(Store& store) const {
    const Ulid id = id_of(1);
    EXPECT_OK(store.append(id, 0, opening(id)));
    EXPECT_OK(store.append(id, 2, {{user_message(std::string(100'000, 'l')), user_message("secret")}}, {{kText}}));
    EraseRequest request;
    request.records = {{4, user_message("[erased]").payload}};
    EXPECT_OK(store.erase(id, 4, request));
    return id;
  }
  static WholeLog taken(const Store& store, const Ulid& id) {
    WholeLog out;
    const std::uint64_t last = store.info(id)->revision;
    for (std::uint64_t seq = 1; seq <= last;) {
      auto batch = whole_logs(store)->batch(id, seq);
      EXPECT_OK(batch);
      if (!batch) break;
      seq = batch->records.back().seq + 1;
      for (const Digest& digest : batch->attached) out.texts[digest] = *store.blob(digest);
      out.batches.push_back(std::move(*batch));
    }
    return out;
  }
  static Result<ConversationInfo> bring(Store& store, const Ulid& id, const WholeLog& log,
                                        const std::vector<KeyPut>& keys = {}) {
    const std::unique_ptr<Lease> lease = *store.lease(id);
    return whole_logs(store)->bring(id, log, keys);
  }
  static std::unique_ptr<Store> memory() {
    static const SystemClock clock;
    return make_memory_store(clock);
  }

  static constexpr const char* kText = "a system prompt";
};

TEST_F(WholeLogTest, LogIsTheSameInEachStore) {
  const auto disk = open(), first = memory();
  const Ulid id = fill(*first);
  ASSERT_OK(bring(*disk, id, taken(*first, id), {{"space", "key", "value"}}));
  const auto second = memory();
  ASSERT_OK(bring(*second, id, taken(*disk, id)));
  for (const Store* const store : {static_cast<const Store*>(disk.get()), static_cast<const Store*>(second.get())}) {
    EXPECT_EQ(*store->chain(id, 0), *first->chain(id, 0));
    EXPECT_EQ(write_info(*store->info(id)), write_info(*first->info(id)));
    EXPECT_OK(store->verify(id));
    EXPECT_EQ(*store->blob(sha256(kText)), kText);
    const auto records = read_all(*store, id);
    ASSERT_EQ(records.size(), 5u);
    EXPECT_EQ(records[3].erased_by, 5u);
    EXPECT_EQ(test::text_of(records[3]), "[erased]");
  }
  EXPECT_EQ(disk->get_key("space", "key")->value, "value");
  // It goes on like any other, and its texts go with it.
  ASSERT_OK(disk->append(id, 5, {{user_message("more")}}));
  ASSERT_OK(disk->remove(id));
  EXPECT_CODE(Code::kNotFound, disk->blob(sha256(kText)));
}

TEST_F(WholeLogTest, BatchThatIsNotThereIsNamed) {
  for (const bool on_disk : {true, false}) {
    const auto store = on_disk ? open() : memory();
    const Ulid id = fill(*store);
    EXPECT_EQ(whole_logs(*store)->batch(id, 4)->records.front().seq, 3u);
    EXPECT_CODE(Code::kNotFound, whole_logs(*store)->batch(id, 0));
    EXPECT_CODE(Code::kNotFound, whole_logs(*store)->batch(id, 6));
    EXPECT_CODE(Code::kNotFound, whole_logs(*store)->batch(id_of(9), 1));
  }
}

TEST_F(WholeLogTest, LogThatBreaksARuleChangesNothing) {
  struct Row {
    const char* what;
    std::function<void(WholeLog&)> change;
  };
  const std::vector<Row> rows{
      {"no records", [](WholeLog& log) { log.batches.clear(); }},
      {"an empty batch", [](WholeLog& log) { log.batches.emplace_back(); }},
      {"no genesis", [](WholeLog& log) { log.batches.erase(log.batches.begin()); }},
      {"a gap", [](WholeLog& log) { log.batches.erase(log.batches.begin() + 1); }},
      {"a batch twice", [](WholeLog& log) { log.batches.push_back(log.batches.back()); }},
      {"another payload", [](WholeLog& log) { log.batches[0].records[1].record.payload += " "; }},
      {"another length", [](WholeLog& log) { log.batches[0].records[1].bytes += 1; }},
      {"a missing text", [](WholeLog& log) { log.texts.clear(); }},
      {"no erase record", [](WholeLog& log) { log.batches.pop_back(); }},
      {"a second genesis",
       [](WholeLog& log) {
         StoredRecord again = log.batches[0].records[0];
         again.seq = 6;
         log.batches.emplace_back().records.push_back(again);
       }},
      {"another erased text",
       [](WholeLog& log) { log.batches[1].records[1].record.payload = user_message("x").payload; }},
  };
  const auto from = memory();
  const Ulid id = fill(*from);
  for (const bool on_disk : {true, false}) {
    const auto to = on_disk ? open() : memory();
    for (const Row& row : rows) {
      SCOPED_TRACE(row.what);
      WholeLog log = taken(*from, id);
      row.change(log);
      EXPECT_CODE(Code::kInvalid, bring(*to, id, log, {{"space", "key", "value"}}));
      EXPECT_CODE(Code::kNotFound, to->info(id));
      EXPECT_CODE(Code::kNotFound, to->get_key("space", "key"));
    }
    EXPECT_CODE(Code::kInvalid, bring(*to, id_of(7), taken(*from, id)));
    // As it was it is taken, and once.
    ASSERT_OK(bring(*to, id, taken(*from, id)));
    EXPECT_CODE(Code::kConflict, bring(*to, id, taken(*from, id), {{"space", "key", "value"}}));
    EXPECT_CODE(Code::kNotFound, to->get_key("space", "key"));
  }
}

}  // namespace
}  // namespace agentd
