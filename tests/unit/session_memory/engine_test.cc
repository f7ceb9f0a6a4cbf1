// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/engine.h"

#include <gtest/gtest.h>

#include "plugins/session_memory/document.h"
#include "tests/unit/session_memory/support.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using testing::FakeKeys;
using testing::FakeTalk;
using testing::kConversation;
using testing::Killed;
using testing::kNow;
using testing::lesson;
using testing::LogWriter;
using testing::World;

constexpr const char* kRefinement =
    R"({"memories":[{"title":"The parser needs a table","content":"Recursion was slow.","subject":"parser",)"
    R"("replaces":[0]}]})";

SessionLog working_log() {
  return LogWriter()
      .user("make the parser tests pass")
      .bash("make test", "error: bad index", true)
      .edit("parser.cc")
      .model("The index was off by one.")
      .bash("make test", "ok", false)
      .log();
}

EndedSession ended(std::uint64_t revision = 8) {
  EndedSession out;
  out.conversation = kConversation;
  out.project = "p";
  out.revision = revision;
  return out;
}

EndedSession typed_session(Outcome outcome = Outcome::kSuccess) {
  EndedSession out = ended();
  out.outcome = outcome;
  out.task = "Speed up the parser";
  out.approach = "A table instead of recursion";
  out.tags = {"parser"};
  return out;
}

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { world_.logs.logs[kConversation] = working_log(); }
  Engine::Learned end(EndedSession session) {
    const auto made = engine_.end_session(world_.keys, &world_.logs, std::move(session), "scripted", "big");
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Engine::Learned{};
  }
  JobsRun run(bool retry = false) {
    const auto made = engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, retry);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : JobsRun{};
  }
  std::vector<FoundMemory> search(std::string_view query, const std::string& project = "p") {
    const auto found = engine_.search(world_.keys, project, query, 5);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<FoundMemory>();
  }
  std::string add(Memory memory, const std::string& project = "p", const std::string& supersedes = {}) {
    memory.project = project;
    const auto id = engine_.add(world_.keys, std::move(memory), supersedes);
    EXPECT_TRUE(id) << id.error().message;
    return id ? *id : std::string();
  }

  World world_;
  Engine engine_{world_.surroundings()};
};

// ---- step one

TEST_F(EngineTest, ASessionsEndIsOneCommit) {
  EXPECT_EQ(end(ended()).memories, 2u);
  EXPECT_EQ(world_.keys.commits, 1);
  EXPECT_EQ(world_.keys.rows("memory/").size(), 2u);
  EXPECT_EQ(world_.keys.rows("remediation/").size(), 1u);
  EXPECT_EQ(world_.keys.rows("job/").size(), 1u);
  EXPECT_FALSE(search("parser tests make").empty());
}

TEST_F(EngineTest, NothingToLearnWritesNothing) {
  world_.logs.logs[kConversation] = LogWriter().user("hello").model("hi").log();
  EXPECT_EQ(end(ended(2)).memories, 0u);
  EXPECT_EQ(world_.keys.commits, 0);
}

TEST_F(EngineTest, WhatWasDistilledIsNotDistilledAgain) {
  end(ended());
  EXPECT_EQ(end(ended()).memories, 0u);
  EXPECT_EQ(world_.keys.commits, 1);
  LogWriter longer;
  longer.user("make the parser tests pass").bash("make test", "error: bad index", true).edit("parser.cc");
  longer.model("The index was off by one.").bash("make test", "ok", false);
  longer.user("No, never use global variables.");
  world_.logs.logs[kConversation] = longer.log();
  EXPECT_EQ(end(ended(longer.seq())).memories, 1u);
}

TEST_F(EngineTest, TheTypedFieldsOfTheToolAndOfTheHookAreOneLesson) {
  EXPECT_EQ(end(typed_session()).memories, 1u);
  const auto rows = world_.keys.rows("memory/");
  EndedSession again = typed_session();
  again.revision = 11;
  end(again);
  EXPECT_EQ(world_.keys.rows("memory/"), rows);
}

TEST_F(EngineTest, AWriterThatLostDecidesAgain) {
  world_.keys.conflicts = 2;
  EXPECT_EQ(end(typed_session()).memories, 1u);
  EXPECT_EQ(world_.keys.commits, 3);
  world_.keys.conflicts = 100;
  EndedSession other = typed_session();
  other.conversation = "01JZ8QF3V0000000000000000B";
  const auto lost = engine_.end_session(world_.keys, nullptr, other, "scripted", "big");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kConflict);
}

TEST_F(EngineTest, SecretsDoNotBecomeMemories) {
  EndedSession session = typed_session();
  session.notes = "The key is SECRET";
  end(session);
  for (const auto& [key, value] : world_.keys.rows("memory/")) {
    EXPECT_EQ(value.find("SECRET"), std::string::npos) << value;
    EXPECT_NE(value.find("[redacted]"), std::string::npos) << value;
  }
}

// Half a secret is not known as one: texts are cut for titles, quotes and chunks only after they were looked through.
TEST_F(EngineTest, NoPartOfASecretAtACutBecomesAMemory) {
  const auto holds_a_part = [this] {
    for (const auto& [key, value] : world_.keys.values)
      for (const char* const part : {"SECRE", "ECRET"})
        if (value.text.find(part) != std::string::npos) return true;
    return false;
  };
  std::size_t learned = 0;
  for (std::size_t before = 60; before < 130; ++before) {
    LogWriter writer;
    writer.user("Make the parser faster.").edit("src/parser.cc");
    writer.user("No, that is wrong: use " + std::string(before, 'x') + " SECRET instead, always.").edit("src/a.cc");
    EndedSession session;
    session.conversation = "01JZ8QF3V00000000000000" + std::to_string(100 + before);
    session.project = "p";
    session.revision = writer.seq();
    world_.logs.logs[session.conversation] = writer.log();
    learned += end(session).memories;
    ASSERT_FALSE(holds_a_part()) << before;
  }
  EXPECT_GT(learned, 0u) << "the control: something is learned of it";
  EndedSession session = typed_session();
  for (std::size_t before = 90; before < 130; ++before) {
    session.task = std::string(before, 'y') + "SECRET and more of it";
    session.revision += 1;
    end(session);
    ASSERT_FALSE(holds_a_part()) << before;
  }
}

TEST_F(EngineTest, NoPartOfASecretOfADocumentIsInAChunk) {
  for (std::size_t before = kChunkBytesMax / 2 - 8; before < kChunkBytesMax / 2 + 2; ++before) {
    ASSERT_TRUE(
        engine_.add_document(world_.keys, "p", "guide.md", "# A\n" + std::string(before, 'x') + "SECRET is it\n"));
    for (const auto& [key, value] : world_.keys.rows("memory/"))
      for (const char* const part : {"SECRE", "ECRET"}) EXPECT_EQ(value.find(part), std::string::npos) << before;
  }
}

TEST_F(EngineTest, ATextThatCannotBeCheckedIsNotKept) {
  Surroundings blind = world_.surroundings();
  blind.scrub = [](std::string_view) -> agentd::Result<std::string> { return Error{Code::kUnavailable, "no rules"}; };
  Engine engine(blind);
  const auto made = engine.end_session(world_.keys, nullptr, typed_session(), "scripted", "big");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->memories, 0u);
  EXPECT_TRUE(world_.keys.rows("memory/").empty());
  EXPECT_FALSE(engine.add(world_.keys, lesson("a", "b"), ""));
}

TEST_F(EngineTest, UsesAreKeptWithTheSessionsEnd) {
  const std::string id = add(lesson("Build with ninja", "make is slow"));
  world_.now += 1000;
  ASSERT_EQ(engine_.prime(world_.keys, "p", "build it with ninja", 3)->size(), 1u);
  EXPECT_EQ(engine_.show(world_.keys, "p", id)->uses, 0u);
  end(typed_session());
  const auto shown = engine_.show(world_.keys, "p", id);
  EXPECT_EQ(shown->uses, 1u);
  EXPECT_EQ(shown->used_ms, kNow + 1000);
}

// ---- step two

TEST_F(EngineTest, AJobRefinesAndReplacesItsDrafts) {
  end(typed_session());
  world_.talk.answers.emplace_back(std::string(kRefinement));
  EXPECT_EQ(run().done, 1u);
  ASSERT_EQ(world_.talk.models.size(), 1u);
  EXPECT_EQ(world_.talk.models[0], "scripted/big");
  const auto jobs = engine_.jobs(world_.keys);
  EXPECT_EQ(jobs->front().state, Job::State::kDone);
  const auto found = search("parser");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].memory.title, "The parser needs a table");
  std::size_t hidden = 0;
  const auto all = engine_.list(world_.keys, "p");
  for (const Memory& each : *all) hidden += each.is_superseded() ? 1u : 0u;
  EXPECT_EQ(hidden, 1u);
  // Done is done.
  EXPECT_EQ(run().done, 0u);
  EXPECT_EQ(world_.talk.models.size(), 1u);
}

TEST_F(EngineTest, TheModelIsOneOfTheConversationsVendor) {
  end(typed_session());
  world_.talk.cheap = "other/small";
  run();
  EXPECT_EQ(world_.talk.models.back(), "scripted/big") << "another vendor's model is not asked";
  world_.talk.cheap = "scripted/small";
  run();
  EXPECT_EQ(world_.talk.models.back(), "scripted/small");
  Surroundings chosen = world_.surroundings();
  chosen.model = "other/mine";
  Engine engine(chosen);
  ASSERT_TRUE(engine.run_jobs(world_.keys, world_.logs, world_.talk, 5, false));
  EXPECT_EQ(world_.talk.models.back(), "other/mine") << "the user's word counts";
}

TEST_F(EngineTest, AJobOfAProviderThatCannotBeAskedStaysAsItIs) {
  end(typed_session());
  const auto left = engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false, true, {"scripted"});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->skipped, 1u);
  EXPECT_EQ(left->failed, 0u);
  EXPECT_TRUE(world_.talk.models.empty());
  EXPECT_EQ(engine_.jobs(world_.keys)->front().attempts, 0u);
  const auto other = engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false, true, {"another"});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->skipped, 0u);
  EXPECT_FALSE(world_.talk.models.empty());
}

TEST_F(EngineTest, AJobThatFailsThreeTimesRestsAndSaysWhy) {
  end(typed_session());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run().failed, 1u);
    EXPECT_EQ(engine_.jobs(world_.keys)->front().state, Job::State::kWaiting);
  }
  run();
  const Job rests = engine_.jobs(world_.keys)->front();
  EXPECT_EQ(rests.state, Job::State::kResting);
  EXPECT_EQ(rests.error, "the model does not answer");
  EXPECT_EQ(run().failed, 0u);
  EXPECT_EQ(world_.talk.models.size(), 3u);
  world_.talk.answers.emplace_back(std::string(kRefinement));
  EXPECT_EQ(run(true).done, 1u) << "asked to, it tries again";
}

TEST_F(EngineTest, ACancelledJobWaitsAndHasLostNoAttempt) {
  end(typed_session());
  world_.talk.answers.emplace_back(Error{Code::kCancelled, "the host ends"});
  const JobsRun made = run();
  EXPECT_EQ(made.failed, 0u);
  EXPECT_EQ(made.left, 1u);
  EXPECT_EQ(engine_.jobs(world_.keys)->front().attempts, 0u);
  EXPECT_EQ(engine_.jobs(world_.keys)->front().state, Job::State::kWaiting);
}

// ---- a session that was killed

TEST_F(EngineTest, ADeferredSessionIsDistilledByRunJobsWithoutAModel) {
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(), "scripted", "big"));
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(), "scripted", "big")) << "twice is once";
  EXPECT_EQ(world_.keys.commits, 1);
  EXPECT_TRUE(engine_.list(world_.keys, "p")->empty()) << "the control: nothing yet";
  ASSERT_TRUE(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false, false));
  EXPECT_TRUE(world_.talk.models.empty());
  const std::size_t made = engine_.list(world_.keys, "p")->size();
  EXPECT_GT(made, 0u);
  const Job job = engine_.jobs(world_.keys)->front();
  EXPECT_FALSE(job.waits_for_step_one());
  EXPECT_EQ(job.revision, 8u);
  EXPECT_EQ(job.state, Job::State::kWaiting);
  // Step two follows as for every other.
  world_.talk.answers.emplace_back(std::string(kRefinement));
  EXPECT_EQ(run().done, 1u);
  EXPECT_EQ(end(ended()).memories, 0u) << "it was distilled";
}

TEST_F(EngineTest, ADeferredSessionHasTheMemoriesOfOneThatEnded) {
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(), "scripted", "big"));
  ASSERT_TRUE(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false, false));
  World other;
  other.logs.logs[kConversation] = working_log();
  Engine ending(other.surroundings());
  ASSERT_TRUE(ending.end_session(other.keys, &other.logs, ended(), "scripted", "big"));
  EXPECT_EQ(world_.keys.rows("memory/"), other.keys.rows("memory/"));
}

TEST_F(EngineTest, ADeferredSessionWithNothingToLearnIsDone) {
  world_.logs.logs[kConversation] = LogWriter().user("hello").model("hi").log();
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(2), "scripted", "big"));
  ASSERT_TRUE(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false, false));
  EXPECT_EQ(engine_.jobs(world_.keys)->front().state, Job::State::kDone);
}

TEST_F(EngineTest, ADeferredSessionWhoseLogIsGoneRestsInTheEnd) {
  world_.logs.logs.clear();
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(), "scripted", "big"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run().failed, 1u) << i;
  EXPECT_EQ(engine_.jobs(world_.keys)->front().state, Job::State::kResting);
  EXPECT_EQ(run().failed, 0u);
}

TEST_F(EngineTest, ALeaseKeepsOthersOut) {
  end(typed_session());
  world_.talk.kill = true;
  EXPECT_THROW(static_cast<void>(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false)), Killed);
  Engine other(world_.surroundings("two"));
  EXPECT_EQ(other.run_jobs(world_.keys, world_.logs, world_.talk, 5, false)->done, 0u);
  EXPECT_EQ(world_.talk.models.size(), 1u);
  world_.now += Job::kLeaseMs + 1;
  world_.talk.answers.emplace_back(std::string(kRefinement));
  EXPECT_EQ(other.run_jobs(world_.keys, world_.logs, world_.talk, 5, false)->done, 1u);
}

TEST_F(EngineTest, ALeaseOfAClockThatWasSetBackKeepsNobodyOut) {
  end(ended());
  world_.now = kNow + 365LL * 24 * 60 * 60 * 1000;
  world_.talk.kill = true;
  EXPECT_THROW(static_cast<void>(run()), Killed);
  world_.now = kNow;
  world_.talk.answers.emplace_back(std::string(kRefinement));
  EXPECT_EQ(run().done, 1u);
}

TEST_F(EngineTest, JobsThatNobodyRefinesAreNotKeptForEver) {
  for (std::uint64_t i = 0; i < Library::kJobsMax + 5; ++i) {
    Job each;
    each.conversation = derived_id("many", 0, i);
    each.project = "p";
    each.revision = 4;
    each.state = i == 1 ? Job::State::kResting : Job::State::kWaiting;
    each.behind = i == 0 ? 9 : 0;  // has lessons to come, whose log is gone here
    each.changed_ms = kNow - 100'000 + static_cast<std::int64_t>(i);
    world_.keys.values["job/" + each.conversation] = {json_of(each), 1};
  }
  ASSERT_TRUE(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 1, false, false));
  EXPECT_EQ(world_.keys.rows("job/").size(), Library::kJobsMax);
  EXPECT_TRUE(world_.keys.values.contains("job/" + derived_id("many", 0, 0)));
  EXPECT_FALSE(world_.keys.values.contains("job/" + derived_id("many", 0, 1)));
}

TEST_F(EngineTest, AKilledSessionIsDeferredAlthoughAnotherProcessWritesItsJob) {
  world_.keys.conflicts = 2;
  ASSERT_TRUE(engine_.defer_session(world_.keys, ended(), "scripted", "big"));
  EXPECT_EQ(world_.keys.rows("job/").size(), 1u);
}

TEST_F(EngineTest, AJobThatKillsItsProcessRestsInTheEnd) {
  end(typed_session());
  for (int i = 0; i < 3; ++i) {
    world_.talk.kill = true;
    EXPECT_THROW(static_cast<void>(engine_.run_jobs(world_.keys, world_.logs, world_.talk, 5, false)), Killed);
    world_.now += Job::kLeaseMs + 1;
  }
  run();
  EXPECT_EQ(engine_.jobs(world_.keys)->front().state, Job::State::kResting);
  EXPECT_EQ(world_.talk.models.size(), 3u);
}

// One distillation from its start, killed at a commit, and begun again by another process.
std::map<std::string, std::string> distilled(std::optional<int> before, std::optional<int> after, bool kill_in_talk) {
  World world;
  world.logs.logs[kConversation] = working_log();
  world.keys.kill_before = before;
  world.keys.kill_after = after;
  world.talk.kill = kill_in_talk;
  for (int process = 0; process < 3; ++process) {
    Engine engine(world.surroundings("process " + std::to_string(process)));
    world.talk.answers.assign(1, std::string(kRefinement));
    try {
      EXPECT_TRUE(engine.end_session(world.keys, &world.logs, typed_session(Outcome::kPartial), "scripted", "big"));
      EXPECT_TRUE(engine.run_jobs(world.keys, world.logs, world.talk, 5, false));
    } catch (const Killed&) {
      world.keys.kill_before.reset();
      world.keys.kill_after.reset();
    }
    world.now += Job::kLeaseMs + 1;
  }
  Engine last(world.surroundings("last"));
  EXPECT_EQ(last.jobs(world.keys)->front().state, Job::State::kDone);
  return world.keys.rows("memory/");
}

TEST(Distillation, GivesTheSameRowsAfterAKillAtEveryStep) {
  const auto wanted = distilled({}, {}, false);
  ASSERT_EQ(wanted.size(), 3u);
  for (int commit = 1; commit <= 3; ++commit) {
    EXPECT_EQ(distilled(commit, {}, false), wanted) << "before commit " << commit;
    EXPECT_EQ(distilled({}, commit, false), wanted) << "after commit " << commit;
  }
  EXPECT_EQ(distilled({}, {}, true), wanted) << "while the model answers";
}

TEST_F(EngineTest, ASessionThatContinuesTakesTheJobBack) {
  end(ended());
  LogWriter longer;
  longer.user("make the parser tests pass").bash("make test", "error: bad index", true).edit("parser.cc");
  longer.model("The index was off by one.").bash("make test", "ok", false).user("No, never use global variables.");
  world_.logs.logs[kConversation] = longer.log();
  end(ended(longer.seq()));
  const Job job = engine_.jobs(world_.keys)->front();
  EXPECT_EQ(job.refined, 0u);
  EXPECT_EQ(job.revision, longer.seq());
  EXPECT_EQ(job.drafts.size(), 3u);
}

// ---- asking

TEST_F(EngineTest, ProjectsDoNotSeeEachOthersMemories) {
  add(lesson("Build with ninja", "make is slow"), "p");
  add(lesson("Write commit messages in English", "The user said so", "style"), "");
  EXPECT_EQ(search("ninja build").size(), 1u);
  EXPECT_TRUE(search("ninja build", "q").empty());
  EXPECT_EQ(search("commit messages English", "q").size(), 1u) << "those of all projects are everywhere";
  EXPECT_TRUE(engine_.list(world_.keys, "q")->empty());
}

TEST_F(EngineTest, PrimingIsForTheTask) {
  add(lesson("Build with ninja", "make is slow"));
  add(lesson("Deploy on Mondays only", "The user said so", "deploy"));
  EXPECT_EQ(engine_.prime(world_.keys, "p", "deploy the server", 3)->front().memory.title, "Deploy on Mondays only");
  EXPECT_TRUE(engine_.prime(world_.keys, "p", "", 3)->empty());
  EXPECT_TRUE(engine_.prime(world_.keys, "p", "translate the novel", 3)->empty());
}

TEST_F(EngineTest, AnotherProcessSeesWhatChanged) {
  Engine other(world_.surroundings("two"));
  EXPECT_TRUE(other.search(world_.keys, "p", "ninja build", 3)->empty());
  add(lesson("Build with ninja", "make is slow"));
  EXPECT_EQ(other.search(world_.keys, "p", "ninja build", 3)->size(), 1u);
}

TEST_F(EngineTest, ShowTakesAUniquePrefixInAnyProject) {
  const std::string id = add(lesson("Build with ninja", "make is slow"), "elsewhere");
  EXPECT_EQ(engine_.show(world_.keys, "p", id)->title, "Build with ninja");
  EXPECT_EQ(engine_.show(world_.keys, "p", id.substr(0, 8))->id, id);
  const auto none = engine_.show(world_.keys, "p", "ZZZ");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
}

// ---- changing

TEST_F(EngineTest, ASupersededMemoryIsHidden) {
  const std::string old = add(lesson("Build with make", "It is there", "build"));
  const std::string id = add(lesson("Build with ninja now", "make is gone for good", "ninja"), "p", old);
  EXPECT_EQ(engine_.show(world_.keys, "p", old)->superseded_by, id);
  for (const FoundMemory& each : search("build with make")) EXPECT_NE(each.memory.id, old);
  EXPECT_FALSE(engine_.add(world_.keys, lesson("x", "y"), "01JZ8QF3V0000000000000000Z"));
}

TEST_F(EngineTest, FeedbackMovesTheConfidence) {
  const std::string id = add(lesson("Build with ninja", "make is slow"));
  const double before = engine_.show(world_.keys, "p", id)->confidence;
  EXPECT_GT(engine_.feedback(world_.keys, "p", id, true)->confidence, before);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(engine_.feedback(world_.keys, "p", id, false));
  const auto after = engine_.show(world_.keys, "p", id);
  EXPECT_LT(after->confidence, before);
  EXPECT_GT(after->confidence, 0);
  EXPECT_EQ(after->helpful, 1u);
  EXPECT_EQ(after->unhelpful, 20u);
}

TEST_F(EngineTest, EditAndEraseChangeOneMemory) {
  const std::string id = add(lesson("Build with ninja", "make is slow"));
  const auto fields = agentd::JsonDocument::parse(R"({"content":"because of SECRET"})");
  EXPECT_EQ(engine_.edit(world_.keys, "p", id, fields->root())->content, "because of [redacted]");
  const auto empty = agentd::JsonDocument::parse(R"({"title":""})");
  EXPECT_FALSE(engine_.edit(world_.keys, "p", id, empty->root()));
  ASSERT_TRUE(engine_.erase(world_.keys, "p", id));
  EXPECT_FALSE(engine_.show(world_.keys, "p", id));
  EXPECT_TRUE(world_.keys.rows("memory/").empty());
}

TEST_F(EngineTest, AMemoryIsReplacedByAnotherThatIsThere) {
  const std::string id = add(lesson("Build with ninja", "make is slow"));
  const std::string other = add(lesson("Deploy on Fridays", "never"));
  const auto by = [&](const std::string& whom) {
    const auto fields = agentd::JsonDocument::parse("{\"superseded_by\":\"" + whom + "\"}");
    return engine_.edit(world_.keys, "p", id, fields->root());
  };
  EXPECT_EQ(by("zzz").error().code, Code::kNotFound);
  EXPECT_EQ(by(id).error().message, "superseded_by must be the id of another memory: a memory cannot replace itself");
  EXPECT_FALSE(engine_.show(world_.keys, "p", id)->is_superseded());
  ASSERT_TRUE(by(other));
  EXPECT_EQ(engine_.show(world_.keys, "p", id)->superseded_by, other);
  ASSERT_TRUE(by(""));
  EXPECT_FALSE(engine_.show(world_.keys, "p", id)->is_superseded());
}

TEST_F(EngineTest, ADocumentIsReplacedAsAWhole) {
  EXPECT_EQ(
      *engine_.add_document(world_.keys, "p", "guide.md", "# Install\nUse the tarball.\n# Usage\nStart the daemon.\n"),
      2u);
  ASSERT_FALSE(search("tarball").empty());
  EXPECT_EQ(search("tarball")[0].memory.title, "guide.md › Install");
  EXPECT_EQ(*engine_.add_document(world_.keys, "p", "guide.md", "# Install\nUse the package.\n"), 1u);
  EXPECT_TRUE(search("tarball").empty());
  EXPECT_TRUE(search("daemon").empty());
  EXPECT_EQ(world_.keys.rows("memory/").size(), 1u);
  EXPECT_FALSE(engine_.add_document(world_.keys, "p", "empty.md", "\n"));
}

TEST_F(EngineTest, ADocumentOfTooManySectionsIsRefusedAndLeavesTheOldOne) {
  ASSERT_TRUE(engine_.add_document(world_.keys, "p", "guide.md", "# Install\nUse the tarball.\n"));
  std::string text;
  for (std::size_t i = 0; i <= kChunksMax; ++i) text += "# H" + std::to_string(i) + "\ntext\n";
  const auto refused = engine_.add_document(world_.keys, "p", "guide.md", text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the document guide.md has more than 400 sections: add it in several files");
  EXPECT_EQ(world_.keys.rows("memory/").size(), 1u);
  EXPECT_FALSE(search("tarball").empty());
}

TEST_F(EngineTest, ExportedFilesAreImportedAsTheSame) {
  add(lesson("Build with ninja", "make is slow"));
  end(typed_session());
  const auto before = *engine_.list(world_.keys, "p");
  std::vector<std::pair<std::string, std::string>> files;
  for (const Memory& each : before) files.emplace_back(file_name_of(each), markdown_of(each));
  EXPECT_EQ(engine_.import(world_.keys, "p", files)->changed, 0u);
  const auto made = engine_.import(world_.keys, "q", files);
  EXPECT_EQ(made->added, before.size());
  auto after = *engine_.list(world_.keys, "q");
  for (Memory& each : after) each.project = "p";
  EXPECT_EQ(after, before);
}

TEST_F(EngineTest, AnEditedFileChangesItsMemory) {
  const std::string id = add(lesson("Build with ninja", "make is slow"));
  Memory edited = *engine_.show(world_.keys, "p", id);
  edited.content = "make is gone";
  const auto made = engine_.import(
      world_.keys, "p", {{"a.md", markdown_of(edited)}, {"new.md", "A new one"}, {"bad.md", "---\nid: 7\n---\nx"}});
  EXPECT_EQ(made->changed, 1u);
  EXPECT_EQ(made->added, 1u);
  ASSERT_EQ(made->problems.size(), 1u);
  EXPECT_NE(made->problems[0].find("bad.md"), std::string::npos);
  EXPECT_EQ(engine_.show(world_.keys, "p", id)->content, "make is gone");
}

TEST_F(EngineTest, ForgetErasesWhatCameFromThoseMessages) {
  end(ended());
  add(lesson("Build with ninja", "make is slow"));
  const std::size_t all = world_.keys.values.size();
  EXPECT_EQ(*engine_.forget(world_.keys, "01JZ8QF3V0000000000000000Z", {}), 0u);
  EXPECT_EQ(world_.keys.values.size(), all);
  // The failing call is message 2: the repair and the fix are made from it, and the files from the whole.
  EXPECT_GE(*engine_.forget(world_.keys, kConversation, {2}), 3u);
  for (const auto& [key, value] : world_.keys.values)
    EXPECT_EQ(value.text.find("make test"), std::string::npos) << key << value.text;
  EXPECT_EQ(engine_.list(world_.keys, "p")->size(), 1u) << "what came from elsewhere stays";
  EXPECT_EQ(*engine_.forget(world_.keys, kConversation, {}), 1u);
  EXPECT_TRUE(world_.keys.rows("job/").empty());
}

TEST_F(EngineTest, TooManyMemoriesPushTheLeastTrustedOut) {
  for (std::size_t i = 0; i < Library::kMemoriesMax; ++i) {
    Memory each = lesson("Lesson " + std::to_string(i), "text", "s" + std::to_string(i));
    each.id = derived_id("many", 0, i);
    each.project = "p";
    each.confidence = i == 77 ? 0.1 : 0.6;
    world_.keys.values["memory/" + project_key("p") + "/" + each.id] = {json_of(each), 1};
  }
  add(lesson("One more", "than there is room for", "room"));
  EXPECT_EQ(world_.keys.rows("memory/").size(), Library::kMemoriesMax);
  EXPECT_FALSE(world_.keys.values.contains("memory/" + project_key("p") + "/" + derived_id("many", 0, 77)));
}

// ---- remediation

TEST_F(EngineTest, AFixIsFoundForTheNextErrorAndCounted) {
  end(ended());
  const auto found = engine_.remediations(world_.keys, "p", "error: bad index", 3);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().seen, 1u);
  EXPECT_EQ(found->front().provenance.front().conversation, kConversation);
  Remediation again = found->front();
  again.id.clear();
  ASSERT_TRUE(engine_.record(world_.keys, again, ""));
  EXPECT_EQ(engine_.remediations(world_.keys, "p", "error: bad index", 3)->front().seen, 2u);
  EXPECT_TRUE(engine_.remediations(world_.keys, "p", "error: no space left", 3)->empty());
  EXPECT_FALSE(engine_.record(world_.keys, Remediation(), "error: x")) << "without a fix";
}

}  // namespace
}  // namespace session_memory
