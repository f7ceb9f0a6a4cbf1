// SPDX-License-Identifier: Apache-2.0
// erase_test.cc - a secret that got in is taken out of everything below AGENTD_HOME.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/conversation/receipt.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kSecret = "hunter2-is-the-word-of-the-day";
constexpr const char* kQuestion = "Erase it permanently?";

class Erase : public ::testing::Test {
 protected:
  Erase() { program_.set("TERM=dumb"); }

  // The files below the home that have the text.
  std::vector<std::string> files(const std::string& text = kSecret) const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(program_.home())) {
      if (!entry.is_regular_file()) continue;
      const auto bytes = read_file(entry.path().string(), 1u << 30);
      if (bytes && has(*bytes, text)) out.push_back(entry.path().string());
    }
    return out;
  }
  static std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += name + "\n";
    return out;
  }
  // A conversation with it in a message, a call, a result, an answer and a subagent; compacted.
  std::string talk() {
    program_.config("agents: {enabled: true}\nhooks: {trace: true}\n");
    const std::string word(kSecret);
    // In order: the two calls, the subagent's answer, the answer, the summary.
    const std::string script = program_.script("- calls: [{name: bash, input: {command: 'echo " + word + "'}}]\n" +
                                               "- calls: [{name: task, input: {prompt: 'use " + word + "'}}]\n" +
                                               "- text: 'I used " + word + "'\n" + "- text: 'it is " + word + "'\n" +
                                               "- {for: summary, text: 'The word is " + word + "'}\n");
    const Finished ran =
        program_.run({"run", "my word is " + word, "--allow", "bash", "--allow", "task", "--script", script});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string id = newest_of_the_user();
    EXPECT_EQ(program_.run({"compact", "-c", id, "--script", script}).code, 0);
    return id;
  }
  std::string newest_of_the_user() {
    for (const JsonDocument& line : json_lines(program_.run({"conversation", "list", "--all", "--json"}).out))
      if (!line.root()["agent_type"].exists()) return std::string(line.root()["id"].string_or(""));
    return {};
  }
  Finished erase(std::vector<std::string> words, const std::string& answer = "y\n") {
    words.insert(words.begin(), {"conversation", "erase"});
    return program_.on_terminal(words, {{kQuestion, answer}});
  }
  void expect_whole() {
    const Finished check = program_.run({"store", "check"});
    EXPECT_EQ(check.code, 0) << check.out << check.err;
  }

  Program program_;
};

TEST_F(Erase, NothingBelowTheHomeHasItAfterwards) {
  const std::string id = talk();
  ASSERT_EQ(program_.run({"conversation", "fork", id}).code, 0);
  ASSERT_TRUE(
      write_file_atomically(program_.home() + "/chat_history", std::string("one\nmy ") + kSecret + "\ntwo\n", 0600));
  ASSERT_TRUE(make_directories(program_.home() + "/transcripts"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/transcripts/" + id + ".jsonl", kSecret, 0600));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/agentd.log", std::string("a ") + kSecret + " b\n", 0600));
  // The control: it is in the store and in the files.
  ASSERT_GE(files().size(), 4u) << listed(files());

  const Finished listed_only = program_.run({"conversation", "erase", id, "--match", kSecret, "--dry-run", "--json"});
  EXPECT_EQ(listed_only.code, 0) << listed_only.err;
  std::string kinds;
  for (const JsonDocument& line : json_lines(listed_only.out))
    kinds += std::string(line.root()["kind"].string_or("?")) + " " +
             std::string(line.root()["relation"].string_or("own")) + "\n";
  for (const char* each : {"user_message own", "assistant_message own", "tool_result own", "summary own",
                           "user_message fork", "user_message subagent", "assistant_message subagent"})
    EXPECT_TRUE(has(kinds, each)) << each << " is not in\n" << kinds;
  EXPECT_GE(files().size(), 4u);

  const Finished erased = erase({id, "--match", kSecret});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files()) << erased.out;
  EXPECT_FALSE(has(erased.out, "still there")) << erased.out;
  EXPECT_TRUE(has(erased.out, "confirm a guess")) << erased.out;
  EXPECT_EQ(read_file(program_.home() + "/chat_history", 1000).value_or(""), "one\ntwo\n");
  EXPECT_EQ(read_file(program_.home() + "/agentd.log", 1000).value_or("").substr(0, 3), "a *");
  expect_whole();

  const Finished shown = program_.run({"conversation", "show", id});
  EXPECT_TRUE(has(shown.out, "my word is [erased]")) << shown.out;
  EXPECT_TRUE(has(shown.out, "user (erased)")) << shown.out;
  // It continues, and sends what is left.
  const Finished next = program_.run(
      {"run", "--resume", id, "go on", "--script", program_.directory().write("next.yaml", "- text: gone\n")});
  EXPECT_EQ(next.code, 0) << next.err;
  const Finished again = program_.on_terminal({"conversation", "erase", id, "--match", kSecret}, {});
  EXPECT_EQ(again.code, 4) << again.out;
}

TEST_F(Erase, WithoutAYesNothingChanges) {
  const std::string id = talk();
  const std::string before = program_.run({"conversation", "show", id, "--log"}).out;
  const Finished no = erase({id, "--match", kSecret}, "n\n");
  EXPECT_EQ(no.code, 1) << no.out;
  EXPECT_TRUE(has(no.out, "nothing was erased")) << no.out;
  EXPECT_EQ(program_.run({"conversation", "show", id, "--log"}).out, before);
}

TEST_F(Erase, AProgramCannotErase) {
  const std::string id = talk();
  const std::string before = program_.run({"conversation", "show", id, "--log"}).out;
  const Finished alone = program_.run({"conversation", "erase", id, "--match", kSecret}, "y\n");
  EXPECT_EQ(alone.code, 2) << alone.err;
  EXPECT_TRUE(has(alone.err, "a person confirms on a terminal")) << alone.err;
  // Not even a command of a tool, in a run that has a terminal; and without a sandbox, in which there is no agentd.
  program_.set("AGENTD_SANDBOX_LAYER=off");
  const std::string command = "AGENTD_HOME=" + program_.home() + " " + AGENTD_BINARY + " conversation erase " + id +
                              " --match hunter2 > said.txt 2>&1; true";
  const Finished ran = program_.on_terminal(
      {"run", "x", "--allow", "bash", "--script",
       program_.script("- calls: [{name: bash, input: {command: '" + command + "'}}]\n- text: tried\n")},
      {{"tried", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(has(read_file(program_.project() + "/said.txt", 10'000).value_or(""), "this process has none"));
  EXPECT_EQ(program_.run({"conversation", "show", id, "--log"}).out, before);
}

TEST_F(Erase, ASequenceLosesAllOfItsText) {
  const Finished ran = program_.run({"run", "the first question", "--script", program_.script("- text: an answer\n")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string id = program_.newest();
  std::string seq;
  for (const JsonDocument& line : json_lines(program_.run({"conversation", "show", id, "--log"}).out))
    if (line.root()["type"].string_or("") == "user_message") seq = std::to_string(line.root()["seq"].uint_or(0));
  ASSERT_FALSE(files("the first question").empty());
  const Finished erased = erase({id, seq});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_EQ(files("the first question"), std::vector<std::string>{}) << erased.out;
  EXPECT_TRUE(has(program_.run({"conversation", "list"}).out, "[erased]"));
  EXPECT_TRUE(has(program_.run({"conversation", "show", id}).out, "an answer"));
  expect_whole();
}

TEST_F(Erase, TheSearchIndexForgetsIt) {
  const Finished ran =
      program_.run({"run", "--no-hooks", "the xylophone plays", "--script", program_.script("- text: an answer\n")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string id = program_.newest();
  ASSERT_TRUE(has(program_.run({"conversation", "search", "xylophone"}).out, id));
  const auto index = [&] { return has(listed(files("xylophone")), "search.db"); };
  ASSERT_TRUE(index());
  const Finished erased = erase({id, "--match", "xylophone"});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_TRUE(has(erased.out, "the next search builds it again")) << erased.out;
  EXPECT_FALSE(has(erased.out, "still there")) << erased.out;
  EXPECT_EQ(files("xylophone"), std::vector<std::string>{}) << erased.out;
  EXPECT_FALSE(has(program_.run({"conversation", "search", "xylophone"}).out, id));
  EXPECT_TRUE(has(program_.run({"conversation", "search", "plays"}).out, id));
  EXPECT_EQ(files("xylophone"), std::vector<std::string>{});
}

// The index has another form of a text in Chinese, which looking for the text does not find.
TEST_F(Erase, TheSearchIndexGoesWhateverItsFormIs) {
  const Finished ran =
      program_.run({"run", "--no-hooks", "密碼是秘密的", "--script", program_.script("- text: an answer\n")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string id = program_.newest();
  ASSERT_TRUE(has(program_.run({"conversation", "search", "秘密"}).out, id));
  ASSERT_TRUE(std::filesystem::exists(program_.home() + "/search.db"));
  const Finished erased = erase({id, "--match", "秘密的"});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_FALSE(std::filesystem::exists(program_.home() + "/search.db"));
}

TEST_F(Erase, ASequenceThatWasErasedIsNoMistake) {
  const Finished ran = program_.run({"run", "the first question", "--script", program_.script("- text: an answer\n")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string id = program_.newest();
  std::string seq;
  for (const JsonDocument& line : json_lines(program_.run({"conversation", "show", id, "--log"}).out))
    if (line.root()["type"].string_or("") == "user_message") seq = std::to_string(line.root()["seq"].uint_or(0));
  ASSERT_EQ(erase({id, seq}).code, 0);
  // As after a command that was killed before its last steps: those are done, and nothing is asked.
  ASSERT_TRUE(make_directories(program_.home() + "/transcripts"));
  const std::string transcript = program_.home() + "/transcripts/" + id + ".jsonl";
  ASSERT_TRUE(write_file_atomically(transcript, "the first question", 0600));
  const Finished again = program_.on_terminal({"conversation", "erase", id, seq}, {});
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_FALSE(std::filesystem::exists(transcript));
}

TEST_F(Erase, SecretsAreFoundByTheRules) {
  const std::string key = std::string("AKIA") + "Q3EGRIXM4T7ZPLWK";
  const Finished ran = program_.run({"run", "use " + key + " for it", "--script", program_.script("- text: ok\n")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string id = program_.newest();
  ASSERT_FALSE(files(key).empty());
  const Finished erased = erase({id, "--scrub"});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_EQ(files(key), std::vector<std::string>{}) << erased.out;
  EXPECT_TRUE(has(program_.run({"conversation", "show", id}).out, "[secret:")) << erased.out;
}

TEST_F(Erase, WhatDoesNotFitIsSaidBeforeAnything) {
  const std::string id = talk();
  for (const auto& [words, said] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{id}, "say what goes"},
                                                                     {{id, "3", "--scrub"}, "exclude each other"},
                                                                     {{id, "x"}, "'x' is no sequence"},
                                                                     {{id, "--match", "abc"}, "at least 4 bytes"},
                                                                     {{id, "9999"}, "has no sequences 9999"}}) {
    std::vector<std::string> all{"conversation", "erase", "--dry-run"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished refused = program_.run(all);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_TRUE(has(refused.err, said)) << refused.err;
  }
}

// ---- what earlier versions have kept

// A conversation whose first message a hook blocked, with a receipt that has it, as earlier versions left one.
class EraseRemoved : public Erase {
 protected:
  std::string kept(const std::string& also = {}) {
    EXPECT_TRUE(make_directories(program_.home() + "/hooks"));
    std::filesystem::remove(program_.home() + "/hooks/no.yaml");
    EXPECT_TRUE(write_file_atomically(program_.home() + (also.empty() ? "/hooks/no.yaml" : "/hooks/never.yaml"),
                                      "on: user_message_send\ndo: {action: block, reason: not that" + also + "}\n",
                                      0600));
    EXPECT_EQ(program_.run({"run", message(), "--script", program_.script("- text: never\n")}).code, 3);
    if (also.empty()) {
      EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files());
    }
    const std::string id = newest_of_the_user();
    LmdbOptions options;
    options.directory = program_.home() + "/store";
    const SystemClock clock;
    const auto store = open_lmdb_store(options, clock);
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    if (!store) return id;
    HookReceipt receipt;
    receipt.event_id = id;
    receipt.event = "session_start";
    receipt.hook = "session_memory";
    receipt.answer = R"([{"action":"inject_context","text":"noted"}])";
    receipt.effect = AnswerEffect::kApplied;
    const std::string payload = R"({"v":1,"event":"session_start","source":"startup","task":")" + message() + "\"}";
    receipt.payload_digest = sha256(payload);
    receipt.payload = std::make_shared<const std::string>(payload);
    receipt.time_ms = clock.wall_ms();
    const auto added = (*store)->append_receipts(*Ulid::parse(id), std::vector{receipt});
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return id;
  }
  static std::string message() { return std::string("the password is ") + kSecret + ", do not tell"; }
};

TEST_F(EraseRemoved, DoctorFindsItAndEraseRemovesIt) {
  const std::string id = kept();
  ASSERT_EQ(files().size(), 1u) << "the control: the store has it";
  const Finished sick = program_.run({"doctor"});
  EXPECT_TRUE(
      has(sick.out, "1 receipt of 1 conversation keeps a message as it was before a hook blocked or rewrote it"))
      << sick.out;
  ASSERT_TRUE(has(sick.out, "agentd conversation erase --removed")) << sick.out;
  EXPECT_FALSE(has(sick.out, kSecret));
  const Finished shown = program_.run({"conversation", "erase", "--removed", "--dry-run", "--json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "\"kind\":\"receipts\",\"count\":1")) << shown.out;
  EXPECT_FALSE(files().empty());

  const Finished erased = erase({"--removed"});
  EXPECT_EQ(erased.code, 0) << erased.out;
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files()) << erased.out;
  EXPECT_FALSE(has(program_.run({"doctor"}).out, "keeps a message"));
  expect_whole();
  const Finished again = program_.on_terminal({"conversation", "erase", "--removed"}, {});
  EXPECT_EQ(again.code, 0) << again.out;
}

TEST_F(EraseRemoved, ItIsErasedByItsTextAndOfOneConversation) {
  const std::string id = kept();
  const Finished by_text = erase({id, "--match", kSecret});
  EXPECT_EQ(by_text.code, 0) << by_text.out;
  EXPECT_EQ(files(), std::vector<std::string>{}) << by_text.out;
  const std::string other = kept();
  ASSERT_FALSE(files().empty());
  const Finished nothing = program_.on_terminal({"conversation", "erase", id, "--removed"}, {});
  EXPECT_EQ(nothing.code, 0) << nothing.out;
  EXPECT_FALSE(files().empty());
  const Finished of_one = erase({other, "--removed"});
  EXPECT_EQ(of_one.code, 0) << of_one.out;
  EXPECT_EQ(files(), std::vector<std::string>{}) << of_one.out;
}

TEST_F(EraseRemoved, ADamagedConversationIsNamedAndTheOthersAreLookedThrough) {
  const std::string good = kept(), damaged = kept(" anybody");
  const std::string path = program_.home() + "/store/data.mdb";
  std::string bytes = *read_file(path, 1u << 30);
  const std::string place = "not that anybody";
  ASSERT_TRUE(has(bytes, place));
  for (std::size_t at = 0; (at = bytes.find(place, at)) != std::string::npos; ++at) bytes[at] = 'x';
  ASSERT_TRUE(write_file_atomically(path, bytes, 0600));
  const Finished sick = program_.run({"doctor"});
  EXPECT_TRUE(has(sick.out, "1 conversation could not be read, the first is " + damaged)) << sick.out;
  EXPECT_TRUE(has(sick.out, "1 receipt of 1 conversation keeps a message")) << sick.out;
  const Finished erased = erase({"--removed"});
  EXPECT_EQ(erased.code, 1) << erased.out;
  EXPECT_TRUE(has(erased.out, "conversation " + damaged + " is damaged and was not looked through")) << erased.out;
  EXPECT_TRUE(has(erased.out, "erased from " + good)) << erased.out;
}

TEST_F(EraseRemoved, ADeletedConversationLeavesNoBytes) {
  const std::string id = kept();
  ASSERT_FALSE(files().empty());
  ASSERT_TRUE(make_directories(program_.home() + "/transcripts"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/transcripts/" + id + ".jsonl", kSecret, 0600));
  const Finished deleted = program_.run({"conversation", "delete", id, "--yes"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files());
  expect_whole();
}

TEST_F(Erase, ADeletedConversationOfManyTurnsLeavesNoBytes) {
  const std::string id = talk();
  ASSERT_FALSE(files().empty());
  EXPECT_EQ(program_.run({"conversation", "delete", id, "--yes"}).code, 0);
  for (const JsonDocument& line : json_lines(program_.run({"conversation", "list", "--all", "--json"}).out)) {
    const std::string child(line.root()["id"].string_or(""));
    EXPECT_EQ(program_.run({"conversation", "delete", child, "--yes"}).code, 0);
  }
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files());
}

// The pages that a daemon has written are still in its memory.
TEST_F(Erase, ADaemonThatGoesOnDoesNotWriteTheBytesAgain) {
  program_.config("serve: {port: 0}\n");
  Running daemon = program_.start({"serve", "--script",
                                   program_.script("- text: noted\n- text: noted\n- text: noted\n"
                                                   "- text: noted\n- text: noted\n- text: noted\n")});
  ASSERT_TRUE(daemon.wait_for_out("agentd serves ")) << daemon.err();
  ASSERT_TRUE(daemon.wait_for_out("\n"));
  const std::string out = daemon.out();
  std::string token = *read_file(program_.home() + "/serve.token", 1'000);
  while (token.ends_with('\n')) token.pop_back();
  const HttpClient client(static_cast<std::uint16_t>(std::stoi(out.substr(out.rfind(':') + 1))), token);
  const auto say = [&](const std::string& text, int times) {
    const HttpAnswer made = client.post("/api/v1/conversations", R"({"cwd":")" + program_.project() + "\"}");
    const std::string id(made.json().root()["id"].string_or(""));
    const std::string path = "/api/v1/conversations/" + id;
    for (int i = 0; i < times; ++i) {
      EventReader events = client.events(path + "/events");
      EXPECT_EQ(client.post(path + "/messages", R"({"text":")" + text + "\"}").status, 202);
      EXPECT_TRUE(events.until("run_ended"));
    }
    return id;
  };
  const std::string id = say("my word is " + std::string(kSecret), 3);
  ASSERT_FALSE(files().empty()) << "the control: the store has it";
  Finished deleted;
  for (int tries = 0; tries < 100; ++tries) {  // the daemon lets go of it a little later
    deleted = program_.run({"conversation", "delete", id, "--yes"});
    if (deleted.code == 0) break;
  }
  ASSERT_EQ(deleted.code, 0) << deleted.err;
  say("another thing", 3);
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files());
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().code, 0);
  EXPECT_EQ(files(), std::vector<std::string>{}) << listed(files());
}

TEST_F(Erase, WithoutAConversationOnlyWhatHooksRemovedIsErased) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--match", "hunter2"}, {"--scrub"}, {}}) {
    std::vector<std::string> all{"conversation", "erase", "--dry-run"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished refused = program_.run(all);
    EXPECT_EQ(refused.code, 2) << refused.err;
  }
}

TEST_F(Erase, TheTextCanComeFromStandardInput) {
  const std::string id = talk();
  const Finished found =
      program_.run({"conversation", "erase", id, "--match", "-", "--dry-run"}, std::string(kSecret) + "\n");
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_TRUE(has(found.out, "user_message")) << found.out;
}

}  // namespace
}  // namespace agentd::testing
