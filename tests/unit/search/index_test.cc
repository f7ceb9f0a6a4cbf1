// SPDX-License-Identifier: Apache-2.0
// The index as a file: how it follows the store, what makes it be built again, and several processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/search/catch_up.h"
#include "core/search/database.h"
#include "tests/unit/search/search_fixture.h"

namespace agentd {
namespace {

using test::Found;
using test::id_of;
using test::user_message;

constexpr const char* kBuilt = "is built again";

class SearchIndexTest : public test::SearchTest {
 protected:
  Result<Database> raw() const {
    AGENTD_TRY(const SqliteLibrary library, SqliteLibrary::load());
    return Database::open(library, index(), Database::Mode::kWrite);
  }
  void change(const char* sql) const {
    const auto database = raw();
    ASSERT_OK(database);
    ASSERT_OK(database->run(sql));
  }
};

// ---- following

TEST_F(SearchIndexTest, IsMadeByTheFirstSearchForItsOwnerAlone) {
  add(1, {"needle"});
  EXPECT_FALSE(std::filesystem::exists(index()));
  EXPECT_EQ(found("needle"), Found{"1:2"});
  struct stat info {};
  ASSERT_EQ(::stat(index().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(index() + ".new"));
  EXPECT_FALSE(std::filesystem::exists(index() + "-journal"));
}

TEST_F(SearchIndexTest, OfAnEmptyStoreFindsNothing) { EXPECT_EQ(found("needle"), Found{}); }

TEST_F(SearchIndexTest, FollowsNewMessagesWithoutBeingBuiltAgain) {
  const Ulid id = add(1, {"one"});
  EXPECT_EQ(found("needle"), Found{});
  EXPECT_EQ(logged(kBuilt), 1u);
  append(id, user_message("a needle"));
  EXPECT_EQ(found("needle"), Found{"1:3"});
  add(2, {"needle"});
  open();
  append(id, user_message("no more"));
  EXPECT_EQ(found("needle").size(), 2u);
  EXPECT_EQ(found("more"), Found{"1:4"});
  EXPECT_EQ(logged(kBuilt), 0u);
}

TEST_F(SearchIndexTest, ASearchWithoutChangesDoesNotWrite) {
  add(1, {"needle"});
  found("needle");
  const std::string before = bytes_of(index());
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_TRUE(before == bytes_of(index()));
}

TEST_F(SearchIndexTest, TakesMorePagesOfChangesThanOne) {
  for (std::uint8_t i = 1; i <= 250; ++i) add(i, {"message"});
  add(251, {"needle"});
  EXPECT_EQ(found("needle"), Found{"251:2"});
}

TEST_F(SearchIndexTest, FindsTheCopiesInForks) {
  const Ulid id = add(1, {"needle"});
  found("needle");
  GenesisRecord genesis;
  genesis.conversation_id = id_of(2).text();
  ASSERT_OK(store_->fork(id, 0, genesis, "copy"));
  EXPECT_EQ(found("needle").size(), 2u);
}

TEST_F(SearchIndexTest, WorksForAStoreInMemory) {
  const auto memory = make_memory_store(clock_);
  ASSERT_OK(memory->append(id_of(1), 0, test::opening(id_of(1), "needle")));
  SearchQuery query;
  query.text = "needle";
  const auto answer = SearchIndex(dir_.path(), *memory, clock_, log_).search(query);
  ASSERT_OK(answer);
  EXPECT_EQ(answer->found.size(), 1u);
}

// ---- removals

TEST_F(SearchIndexTest, ARemovedTextLeavesTheFile) {
  add(1, {"xylophone", "全文检索"});
  add(2, {"other"});
  EXPECT_EQ(found("xylophone"), Found{"1:2"});
  EXPECT_TRUE(in_files("xylophone"));  // the control
  EXPECT_TRUE(in_files("文检"));
  ASSERT_OK(store_->remove(id_of(1)));
  EXPECT_EQ(found("other"), Found{"2:2"});
  EXPECT_FALSE(in_files("xylophone"));
  EXPECT_FALSE(in_files("文检"));
  EXPECT_EQ(found("xylophone"), Found{});
}

TEST_F(SearchIndexTest, ForgettingRemovesTheFilesAtOnce) {
  add(1, {"xylophone"});
  found("xylophone");
  write_bytes(index() + ".new", "xylophone");
  write_bytes(index() + "-journal", "xylophone");
  ASSERT_TRUE(in_files("xylophone"));
  ASSERT_OK(forget_search_index(dir_.path(), clock_));
  EXPECT_FALSE(in_files("xylophone"));
  EXPECT_EQ(found("xylophone"), Found{"1:2"});  // the conversation is still there
}

TEST_F(SearchIndexTest, ForgettingWithoutAnIndexMakesNoFile) {
  ASSERT_OK(forget_search_index(dir_.path(), clock_));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "search.lock"));
}

TEST_F(SearchIndexTest, ARemovedConversationThatWasMadeAgainIsFoundAsItIs) {
  add(1, {"xylophone"});
  found("xylophone");
  ASSERT_OK(store_->remove(id_of(1)));
  add(1, {"needle"});
  EXPECT_EQ(found("xylophone"), Found{});
  EXPECT_EQ(found("needle"), Found{"1:2"});
}

TEST_F(SearchIndexTest, ARemovalOfWhatItNeverHadChangesNothing) {
  add(1, {"needle"});
  found("needle");
  logged("");
  add(2, {"short"});
  ASSERT_OK(store_->remove(id_of(2)));
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_EQ(logged(kBuilt), 0u);
  // The newest change is a removal now; it follows from there as well.
  append(id_of(1), user_message("another needle"));
  EXPECT_EQ(found("another"), Found{"1:3"});
  EXPECT_EQ(logged(kBuilt), 0u);
}

TEST_F(SearchIndexTest, AnErasureBuildsItAgain) {
  const Ulid id = add(1, {"xylophone"});
  found("xylophone");
  logged("");
  Record erase;
  erase.type = RecordType::kErase;
  erase.payload = "{}";
  append(id, erase);
  found("xylophone");
  EXPECT_EQ(logged("a text was erased"), 1u);
  found("xylophone");
  EXPECT_EQ(logged(kBuilt), 0u);  // once
}

// As after an erasure that it was not notified of.
TEST_F(SearchIndexTest, ATextThatTheStoreDoesNotHaveIsNotShown) {
  add(1, {"needle"});
  found("needle");
  logged("");
  change("UPDATE texts SET body = 'planted' WHERE body = 'needle'");
  EXPECT_EQ(found("planted"), Found{});
  EXPECT_EQ(logged("warning: the search index"), 1u);
  EXPECT_EQ(found("needle"), Found{"1:2"});
}

// ---- other files

TEST_F(SearchIndexTest, ADamagedFileIsBuiltAgainSilentlyAndLogged) {
  for (int i = 1; i <= 50; ++i) add(static_cast<std::uint8_t>(i), {"needle " + std::string(3000, 'x')});
  SearchQuery query;
  query.text = "needle";
  query.limit = 100;
  ASSERT_EQ(found(query).size(), 50u);
  const std::string whole = bytes_of(index());
  ASSERT_GT(whole.size(), 100'000u);
  std::string noise = whole, head = whole, tables = whole;
  for (std::size_t at = 4096; at < noise.size(); at += 7) noise[at] = static_cast<char>(at * 31);
  head.replace(0, 16, "not a database..");
  tables.replace(100, 900, std::string(900, '\xa5'));
  const std::vector<std::string> damaged{"",
                                         "x",
                                         "text that is not a database\n",
                                         whole.substr(0, 4096),
                                         whole.substr(0, whole.size() / 2),
                                         whole.substr(0, 5000),
                                         noise,
                                         head,
                                         tables,
                                         std::string(8192, '\0')};
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    SCOPED_TRACE(i);
    logged("");
    write_bytes(index(), damaged[i]);
    const auto answer = ask(query);
    ASSERT_OK(answer);
    EXPECT_EQ(answer->found.size(), 50u);
    EXPECT_TRUE(answer->notes.empty());
    EXPECT_EQ(logged(kBuilt), 1u);
  }
}

TEST_F(SearchIndexTest, AFileOfAnotherFormatIsBuiltAgain) {
  add(1, {"needle"});
  found("needle");
  logged("");
  change("PRAGMA user_version=999");
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_EQ(logged("it has another format"), 1u);
  change("DROP TABLE records");
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_EQ(logged("it is damaged"), 1u);
}

TEST_F(SearchIndexTest, ALinkIsReplacedAndItsTargetIsNotTouched) {
  add(1, {"needle"});
  write_bytes(dir_ / "precious", "precious");
  ASSERT_EQ(::symlink((dir_ / "precious").c_str(), index().c_str()), 0);
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_EQ(bytes_of(dir_ / "precious"), "precious");
  struct stat info {};
  ASSERT_EQ(::lstat(index().c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
}

TEST_F(SearchIndexTest, ADirectoryInItsPlaceIsAnErrorThatSaysWhatToDo) {
  add(1, {"needle"});
  std::filesystem::create_directory(index());
  const auto answer = ask("needle");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("move it away"), std::string::npos) << answer.error().message;
}

TEST_F(SearchIndexTest, RemainsOfAKilledBuildDoNoHarm) {
  add(1, {"needle"});
  write_bytes(index() + ".new", "half an index");
  write_bytes(index() + ".new-journal", "half a journal");
  EXPECT_EQ(found("needle"), Found{"1:2"});
  EXPECT_FALSE(std::filesystem::exists(index() + ".new"));
  EXPECT_FALSE(std::filesystem::exists(index() + ".new-journal"));
}

// ---- other stores

TEST_F(SearchIndexTest, ARestoredBackupIsFollowedFromItsOwnChanges) {
  const Ulid id = add(1, {"one"});
  store_.reset();
  std::filesystem::copy(dir_ / "store", dir_ / "backup", std::filesystem::copy_options::recursive);
  open();
  append(id, user_message("xylophone"));
  EXPECT_EQ(found("xylophone"), Found{"1:3"});
  store_.reset();
  std::filesystem::remove_all(dir_ / "store");
  std::filesystem::rename(dir_ / "backup", dir_ / "store");
  open();
  append(id, user_message("needle"));
  EXPECT_EQ(found("xylophone"), Found{});
  EXPECT_EQ(found("needle"), Found{"1:3"});
}

// The same file again, as a snapshot of the file system restores it: the change that the index ends with differs.
TEST_F(SearchIndexTest, AStoreWithAnotherNewestChangeIsIndexedAgain) {
  const Ulid id = add(1, {"one"});
  store_.reset();
  const std::string before = bytes_of(dir_ / "store/data.mdb");
  open();
  append(id, user_message("xylophone"));
  EXPECT_EQ(found("xylophone"), Found{"1:3"});
  for (const bool longer : {false, true}) {
    store_.reset();
    write_bytes(dir_ / "store/data.mdb", before);
    std::filesystem::remove(dir_ / "store/lock.mdb");
    open();
    append(id, user_message("needle"));
    if (longer) add(2, {"third"});
    logged("");
    EXPECT_EQ(found("needle"), Found{"1:3"});
    EXPECT_EQ(logged("the store no longer has its newest change"), 1u);
    EXPECT_EQ(found("xylophone"), Found{});
  }
}

TEST_F(SearchIndexTest, AnOlderStoreIsIndexedAgain) {
  const Ulid id = add(1, {"needle"});
  store_.reset();
  const std::string before = bytes_of(dir_ / "store/data.mdb");
  open();
  append(id, user_message("xylophone"));
  found("xylophone");
  store_.reset();
  write_bytes(dir_ / "store/data.mdb", before);
  std::filesystem::remove(dir_ / "store/lock.mdb");
  open();
  logged("");
  EXPECT_EQ(found("xylophone"), Found{});
  EXPECT_EQ(logged("it is newer than the store"), 1u);
  EXPECT_EQ(found("needle"), Found{"1:2"});
}

// ---- processes

TEST_F(SearchIndexTest, WhileAnotherBringsItUpToDateTheOldOneIsSearchedWithANote) {
  const Ulid id = add(1, {"needle"});
  found("needle");
  append(id, user_message("xylophone"));
  const IndexFiles files(dir_.path());
  const auto other = IndexLock::open(files);
  ASSERT_OK(other);
  ASSERT_TRUE(other->take(IndexLock::Part::kUpdate, IndexLock::Way::kAlone, {}, clock_).value_or(false));
  SearchQuery query;
  query.text = "needle";
  const auto old = ask(query, Milliseconds(0));
  ASSERT_OK(old);
  EXPECT_EQ(old->found.size(), 1u);
  ASSERT_EQ(old->notes.size(), 1u);
  EXPECT_NE(old->notes[0].find("newest messages may be missing"), std::string::npos) << old->notes[0];
  query.text = "xylophone";
  EXPECT_TRUE(ask(query, Milliseconds(0))->found.empty());
  other->release(IndexLock::Part::kUpdate);
  const auto now = ask(query, Milliseconds(0));
  ASSERT_OK(now);
  EXPECT_EQ(now->found.size(), 1u);
  EXPECT_TRUE(now->notes.empty());
}

TEST_F(SearchIndexTest, WhileAnotherBuildsTheFirstOneTheAnswerIsBusy) {
  add(1, {"needle"});
  const IndexFiles files(dir_.path());
  const auto other = IndexLock::open(files);
  ASSERT_OK(other);
  ASSERT_TRUE(other->take(IndexLock::Part::kUpdate, IndexLock::Way::kAlone, {}, clock_).value_or(false));
  SearchQuery query;
  query.text = "needle";
  EXPECT_CODE(Code::kBusy, ask(query, Milliseconds(0)));
}

TEST_F(SearchIndexTest, IsNotReplacedWhileAnotherHasItOpen) {
  add(1, {"needle"});
  found("needle");
  const IndexFiles files(dir_.path());
  const auto other = IndexLock::open(files);
  ASSERT_OK(other);
  ASSERT_TRUE(other->take(IndexLock::Part::kFile, IndexLock::Way::kShared, {}, clock_).value_or(false));
  write_bytes(index(), "damaged");
  ASSERT_OK(store_->remove(id_of(1)));
  SearchQuery query;
  query.text = "needle";
  EXPECT_FALSE(ask(query, Milliseconds(0)));
  EXPECT_EQ(bytes_of(index()), "damaged");
  other->release(IndexLock::Part::kFile);
  EXPECT_EQ(found("needle"), Found{});
}

// Each process opens the store for itself; all of them want the index that none has built yet.
TEST_F(SearchIndexTest, ProcessesThatSearchAtOnceAllFind) {
  for (std::uint8_t i = 1; i <= 40; ++i) add(i, {"needle " + std::string(2000, 'x'), "more"});
  store_.reset();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      open();
      SearchQuery query;
      query.text = "needle";
      query.limit = 100;
      const auto answer = ask(query, Milliseconds(60'000));
      ::_exit(answer && answer->found.size() == 40 && answer->notes.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  open();
  EXPECT_EQ(found("more").size(), 10u);
}

TEST_F(SearchIndexTest, AProcessThatIsKilledWhileItHoldsTheIndexLeavesItUsable) {
  const Ulid id = add(1, {"needle"});
  found("needle");
  append(id, user_message("xylophone"));
  store_.reset();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    open();
    const IndexFiles files(dir_.path());
    const auto lock = IndexLock::open(files);
    if (!lock || !lock->take(IndexLock::Part::kUpdate, IndexLock::Way::kAlone, {}, clock_).value_or(false) ||
        !lock->take(IndexLock::Part::kFile, IndexLock::Way::kAlone, {}, clock_).value_or(false))
      ::_exit(1);
    const auto database = raw();
    std::vector<std::string> notes;
    // Its transaction is open, and has been written to the file in part.
    if (!database || !database->run("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE")) ::_exit(2);
    for (int i = 0; i < 2'000; ++i)
      if (!database->run("INSERT INTO texts(body) VALUES('planted text of some length, so that pages are written')"))
        ::_exit(3);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  open();
  EXPECT_EQ(found("needle xylophone"), Found{});
  EXPECT_EQ(found("xylophone"), Found{"1:3"});
  EXPECT_EQ(found("planted"), Found{});
}

TEST_F(SearchIndexTest, WhereNothingCanBeWrittenTheOldOneIsSearched) {
  add(1, {"needle"});
  found("needle");
  // As on a file system that is read-only, also for root: the lock cannot be opened for writing.
  std::filesystem::remove(dir_ / "search.lock");
  std::filesystem::create_directory(dir_ / "search.lock");
  const auto answer = ask("needle");
  ASSERT_OK(answer);
  EXPECT_EQ(answer->found.size(), 1u);
  ASSERT_EQ(answer->notes.size(), 1u);
}

}  // namespace
}  // namespace agentd
