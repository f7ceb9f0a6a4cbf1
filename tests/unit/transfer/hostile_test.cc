// SPDX-License-Identifier: Apache-2.0
// A file of a stranger: whatever was changed is refused in one sentence, and nothing is written.
#include <sys/mman.h>

#include <map>

#include "core/base/bytes.h"
#include "tests/unit/transfer/conversations.h"

namespace agentd::testing {
namespace {

class Hostile : public ::testing::Test, protected Conversations {
 protected:
  // Small, with a text, an erasure and a batch of several records.
  std::string small() {
    const auto from = store();
    const Ulid id = begin(*from);
    append(*from, id, {user("one"), answer("two")}, {"a prompt"});
    append(*from, id, {user("three")});
    erase(*from, id, 4, user("[erased]"));
    return exported(*from, id);
  }
  static std::vector<std::string> lines_of(const std::string& file) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < file.size();) {
      const std::size_t end = file.find('\n', at);
      out.push_back(file.substr(at, end - at + 1));
      at = end + 1;
    }
    return out;
  }
  void expect_refused(const std::string& file, const std::string& what) {
    const auto to = store();
    const auto done = brought(*to, file);
    ASSERT_FALSE(done) << what;
    EXPECT_EQ(done.error().code, Code::kInvalid) << what << ": " << done.error().message;
    EXPECT_EQ(done.error().message.find('\n'), std::string::npos) << what;
    EXPECT_TRUE(to->list({})->empty()) << what;
    EXPECT_TRUE(to->key_spaces()->empty()) << what;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  // The file with its sums made right again, as somebody who means harm writes it.
  static std::string sealed_again(LogFile& file) {
    WholeLog& log = file.log;
    Digest chain{};
    std::uint64_t seq = 0;
    std::string body;
    std::set<Digest> told;
    Sha256 lines;
    for (VerifiedBatch& batch : log.batches) {
      for (StoredRecord& record : batch.records) {
        if (record.erased_by == 0) {
          record.digest = sha256(record.record.payload);
          record.bytes = record.record.payload.size();
        }
      }
      batch.chain = chain = chain_of(batch_of(batch, seq + 1, chain));
      seq += batch.records.size();
      for (StoredRecord& record : batch.records)
        body += write_log_record(record, &record == &batch.records.back() ? &batch : nullptr) + "\n";
      for (const Digest& digest : batch.attached)
        if (told.insert(digest).second) body += write_log_text(digest, log.texts[digest]) + "\n";
    }
    lines.add(body);
    file.head.revision = seq;
    file.head.chain = chain;
    return write_log_head(file.head) + "\n" + body + write_log_end({seq, told.size(), chain, lines.finish()}) + "\n";
  }
};

TEST_F(Hostile, FileThatNobodyChangedIsTaken) {
  const auto to = store();
  const auto done = brought(*to, small());
  ASSERT_TRUE(done) << done.error().message;
  LogFile again = *read_log_file(small());
  ASSERT_TRUE(read_log_file(sealed_again(again)));
}

TEST_F(Hostile, EachFlippedBitIsRefused) {
  const std::string file = small();
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const unsigned bit : {0u, 5u, 7u}) {
      std::string changed = file;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1u << bit));
      const auto read = read_log_file(changed);
      ASSERT_FALSE(read) << "byte " << i << ", bit " << bit << ": " << changed.substr(i > 20 ? i - 20 : 0, 40);
      ASSERT_EQ(read.error().code, Code::kInvalid) << read.error().message;
    }
}

TEST_F(Hostile, EachCutIsRefused) {
  const std::string file = small();
  for (std::size_t i = 0; i < file.size(); ++i) ASSERT_FALSE(read_log_file(file.substr(0, i))) << i;
}

TEST_F(Hostile, EachLineThatIsRemovedRepeatedOrExchangedIsRefused) {
  const std::vector<std::string> lines = lines_of(small());
  ASSERT_GT(lines.size(), 6u);
  const auto whole = [](const std::vector<std::string>& from) { return join(from, ""); };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    expect_refused(whole(changed), "removed " + std::to_string(i));
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    expect_refused(whole(changed), "repeated " + std::to_string(i));
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      changed = lines;
      std::swap(changed[i], changed[j]);
      expect_refused(whole(changed), "exchanged " + std::to_string(i) + " and " + std::to_string(j));
    }
  }
}

// Whoever writes the sums as well can write a log of his own, but none that agentd cannot read.
TEST_F(Hostile, LogThatCannotBeReadIsRefusedWhenItsSumsAreRight) {
  struct Row {
    const char* what;
    std::function<void(LogFile&)> change;
    const char* says;
  };
  const auto first = [](LogFile& file) -> StoredRecord& { return file.log.batches[1].records[0]; };
  const auto payload = [&](std::string text) {
    return [first, text](LogFile& file) { first(file).record.payload = text; };
  };
  const auto of_genesis = [](const std::string& part, const std::string& value) {
    return [part, value](LogFile& file) {
      Record& record = file.log.batches[0].records[0].record;
      auto read = read_genesis(record);
      ASSERT_TRUE(read);
      (part == "cwd" ? read->cwd : read->project_id) = value;
      record = write_genesis(*read);
    };
  };
  const std::vector<Row> rows{
      {"no JSON", payload("{"), "not JSON"},
      {"no object", payload("[1]"), "not a JSON object"},
      {"a deep one", payload("{\"a\":" + std::string(5'000, '[') + std::string(5'000, ']') + "}"), "line 3"},
      {"no blocks", payload(R"({"blocks":7})"), ""},
      {"a critical kind of later",
       [&](LogFile& file) {
         first(file).record.type = static_cast<RecordType>(999);
         first(file).record.flags = Record::kCritical;
       },
       "newer agentd"},
      {"a version of later", [&](LogFile& file) { first(file).record.version = 2; }, "newer agentd"},
      {"flags of the store", [&](LogFile& file) { first(file).record.flags |= Record::kBlob; }, "flags"},
      {"an impossible run", [&](LogFile& file) { first(file).record.run = UINT32_MAX; }, "impossible run"},
      {"a second genesis", [&](LogFile& file) { first(file).record = file.log.batches[0].records[0].record; },
       "genesis"},
      {"no genesis", [&](LogFile& file) { file.log.batches[0].records[0].record = user("x"); }, "genesis"},
      {"a relative directory", of_genesis("cwd", "."), "no absolute path"},
      {"a directory with control characters", of_genesis("cwd", "/w\x1b[2J"), "no absolute path"},
      {"a project with a line end", of_genesis("project", "p\n../q"), "no name"},
      {"the genesis of another",
       [&](LogFile& file) {
         GenesisRecord genesis;
         genesis.conversation_id = ids().next().text();
         file.log.batches[0].records[0].record = write_genesis(genesis);
       },
       "another conversation"},
      {"a negative time",
       [&](LogFile& file) {
         file.log.batches[1].time_ms = -1;
         for (StoredRecord& record : file.log.batches[1].records) record.time_ms = -1;
       },
       "time_ms"},
      {"two times in a batch", [&](LogFile& file) { file.log.batches[1].records[1].time_ms += 1; }, "another time"},
      {"a boundary of what follows", [&](LogFile& file) { first(file).record = boundary(ids().next(), 90, 0, {}); },
       "do not come before"},
      {"a kept range backwards",
       [&](LogFile& file) {
         first(file).record = boundary(ids().next(), 1, 0, {{1, 0}});
       },
       "invalid range"},
      {"a revert of no boundary",
       [&](LogFile& file) {
         RevertRecord revert;
         revert.to_seq = 1;
         first(file).record = write_revert(revert);
       },
       "revert"},
      {"an erasure that nobody explains",
       [&](LogFile& file) { file.log.batches[2].records[0].record.payload = user("mine").payload; },
       "no later record says so"},
      {"an erasure by a message", [&](LogFile& file) { first(file).erased_by = 3; }, "no later record says so"},
      {"an erasure by the past",
       [&](LogFile& file) {
         StoredRecord& record = file.log.batches[2].records[0];
         record.erased_by = 1;
       },
       ""},
      {"a text that is missing", [&](LogFile& file) { file.log.batches[2].attached.push_back(sha256("nowhere")); },
       "text"},
      {"a checkpoint without sense",
       [&](LogFile& file) {
         first(file).record.type = RecordType::kCheckpoint;
         first(file).record.flags = 0;
         first(file).record.payload = R"({"id":[]})";
       },
       ""},
  };
  int refused = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    LogFile file = *read_log_file(small());
    row.change(file);
    const std::string bytes = sealed_again(file);
    const auto to = store();
    const auto done = brought(*to, bytes);
    if (std::string_view(row.says).empty() && done) continue;  // readable after all
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kInvalid);
    EXPECT_TRUE(done.error().message.starts_with("line ")) << done.error().message;
    EXPECT_NE(done.error().message.find(row.says), std::string::npos) << done.error().message;
    EXPECT_TRUE(to->list({})->empty());
    ++refused;
  }
  EXPECT_GE(refused, 17);
}

TEST_F(Hostile, UnknownKindThatIsNotCriticalIsKept) {
  LogFile file = *read_log_file(small());
  StoredRecord& record = file.log.batches[1].records[0];
  record.record.type = static_cast<RecordType>(999);
  record.record.flags = 0;
  record.record.payload = R"({"of":"later"})";
  const auto to = store();
  const auto done = brought(*to, sealed_again(file));
  ASSERT_TRUE(done) << done.error().message;
}

TEST_F(Hostile, LinesAreBounded) {
  // Pages that nobody touches: the length alone decides.
  const std::size_t bytes = kLogFileLineMax + 1;
  void* const pages = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto refused = LogReader().add({static_cast<const char*>(pages), bytes});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "line 1: the line is too long");
  ::munmap(pages, bytes);
}

TEST_F(Hostile, BytesThatAreNoTextAreRefused) {
  const std::string file = small();
  const std::size_t at = file.find("\"one");
  for (const std::string& bytes :
       {std::string(1, '\0'), std::string("\x01"), std::string("\xff"), std::string("\xc3"),
        std::string("\xed\xa0\x80"), std::string("\xf5\x80\x80\x80"), std::string("\\ud800")}) {
    std::string changed = file;
    expect_refused(changed.insert(at + 1, bytes), "bytes in a payload");
    expect_refused(file + bytes, "bytes behind the end");
    expect_refused(bytes + file, "bytes before the header");
  }
}

TEST_F(Hostile, ErrorsNameTheLine) {
  const std::string file = small();
  const auto says = [&](const std::string& changed) { return read_log_file(changed).error().message; };
  EXPECT_TRUE(says("").starts_with("line 1: ")) << says("");
  EXPECT_TRUE(says("hello\n").starts_with("line 1: "));
  EXPECT_TRUE(says(replaced(file, "\"one", "\"One")).starts_with("line 3: ")) << says(replaced(file, "one", "One"));
  EXPECT_TRUE(says(replaced(file, "\"version\":1", "\"version\":2")).find("newer agentd") != std::string::npos);
  EXPECT_TRUE(says(file + "{}\n").find("follows the end") != std::string::npos);
}

}  // namespace
}  // namespace agentd::testing
