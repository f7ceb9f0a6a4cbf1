// SPDX-License-Identifier: Apache-2.0
// transfer_test.cc - conversations that leave one home and go on in another one.
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kTurns =
    "- calls: [{name: bash, input: {command: \"printf 'a long line %070000d' 7\"}}]\n"
    "- text: \"an answer \\u2603\"\n"
    "- {for: summary, text: \"## Goal\\nThe user asked for a long text and got it.\"}\n";

class Transfer : public ::testing::Test {
 protected:
  // A conversation with an image, a tool call and a compaction.
  std::string converse() {
    const std::string script = from_.script(kTurns);
    const std::string image = from_.file("dot.png", "\x89PNG\r\n\x1a\n....");
    EXPECT_EQ(from_.run({"run", "go", "--image", image, "--allow", "bash", "--script", script}).code, 0);
    const std::string id = from_.newest();
    EXPECT_EQ(from_.run({"compact", "-c", id, "--script", script}).code, 0);
    return id;
  }
  std::string exported(Program& program, const std::string& id) {
    const Finished done = program.run({"conversation", "export", id});
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  }
  static std::string body(const std::string& file) { return file.substr(file.find('\n') + 1); }
  static std::string claude() {
    const auto line = [](const std::string& rest) {
      return R"({"sessionId":"s1","cwd":"/nowhere/at/all","version":"2.1.0","timestamp":"2026-01-31T09:05:07.250Z",)" +
             rest + "}\n";
    };
    return line(R"("uuid":"u1","parentUuid":null,"type":"user","message":{"role":"user","content":"mend the door"})") +
           line(R"("uuid":"a1","parentUuid":"u1","type":"assistant","message":{"role":"assistant","id":"m1","content":)"
                R"([{"type":"thinking","thinking":"x","signature":"SIGNED"},)"
                R"({"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]})") +
           line(R"("uuid":"u2","parentUuid":"a1","type":"user","message":{"role":"user","content":)"
                R"([{"type":"tool_result","tool_use_id":"t1","content":"a hinge"}]})") +
           line(R"("uuid":"a2","parentUuid":"u2","type":"assistant","message":{"role":"assistant","id":"m2","content":)"
                R"([{"type":"text","text":"It needs a hinge."}]})");
  }

  static std::string claude_says(const std::string& text) {
    return R"({"sessionId":"s2","cwd":"/nowhere","uuid":"u1","parentUuid":null,"type":"user",)"
           R"("message":{"role":"user","content":")" +
           text + "\"}}\n";
  }

  Program from_, to_;
};

TEST_F(Transfer, ConversationGoesOnInAnotherHome) {
  const std::string id = converse();
  const std::string path = to_.directory().file("talk.jsonl");
  ASSERT_EQ(from_.run({"conversation", "export", id, "-o", path}).code, 0);
  EXPECT_FALSE(exists(path + ".part"));
  const Finished imported = to_.run({"conversation", "import", path});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, "Imported " + id)) << imported.out;
  for (const char* const format : {"text", "markdown", "json"})
    EXPECT_EQ(to_.run({"conversation", "show", id, "--format", format}).out,
              from_.run({"conversation", "show", id, "--format", format}).out);
  EXPECT_EQ(to_.run({"conversation", "show", id, "--log"}).out, from_.run({"conversation", "show", id, "--log"}).out);
  EXPECT_EQ(to_.run({"conversation", "show", id, "--view"}).out, from_.run({"conversation", "show", id, "--view"}).out);
  // The same bytes again, but for the first line.
  EXPECT_EQ(body(exported(to_, id)), body(*read_file(path, 1u << 30)));
  // A compaction of elsewhere is undone here, and the conversation goes on.
  EXPECT_EQ(to_.run({"compact", "--undo", "-c", id}).code, 0);
  EXPECT_TRUE(has(to_.run({"conversation", "show", id, "--view"}).out, "a long line"));
  const Finished went_on = to_.run({"run", "--resume", id, "further", "--script", to_.script("- text: I go on.\n")});
  EXPECT_EQ(went_on.code, 0) << went_on.err;
  EXPECT_TRUE(has(went_on.out, "I go on."));
  EXPECT_EQ(to_.run({"store", "check"}).code, 0);
}

TEST_F(Transfer, SameFileTwiceIsToldAndAnotherContentGetsAnotherId) {
  const std::string id = converse();
  const std::string path = from_.file("talk.jsonl", exported(from_, id));
  ASSERT_EQ(to_.run({"conversation", "import", path}).code, 0);
  const Finished again = to_.run({"conversation", "import", path});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, id + " is here already\n");
  // Both go on, each in its own way.
  ASSERT_EQ(from_.run({"run", "--resume", id, "more", "--script", from_.script("- text: there\n")}).code, 0);
  ASSERT_EQ(to_.run({"run", "--resume", id, "more", "--script", to_.script("- text: here\n")}).code, 0);
  const std::string later = from_.file("later.jsonl", exported(from_, id));
  const Finished other = to_.run({"conversation", "import", later, "--json"});
  ASSERT_EQ(other.code, 0) << other.err;
  const auto told = json_lines(other.out);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].root()["outcome"].string_or(""), "new_id");
  EXPECT_NE(told[0].root()["id"].string_or(""), id);
  EXPECT_TRUE(has(to_.run({"conversation", "import", later}).out, "is here already"));
  EXPECT_TRUE(has(to_.run({"conversation", "import", path}).out, "newer record"));
  EXPECT_EQ(json_lines(to_.run({"conversation", "list", "--all", "--json"}).out).size(), 2u);
}

TEST_F(Transfer, FileComesThroughAPipe) {
  const std::string id = converse();
  const Finished imported = to_.run({"conversation", "import", "-"}, exported(from_, id));
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, id));
}

TEST_F(Transfer, ErasedTextDoesNotLeave) {
  const std::string script = from_.script("- text: hello\n");
  ASSERT_EQ(from_.run({"run", "the word is hunter2", "--script", script}).code, 0);
  const std::string id = from_.newest();
  EXPECT_TRUE(has(exported(from_, id), "hunter2"));
  const Finished erased = from_.on_terminal({"conversation", "erase", id, "--match", "hunter2"}, {{"] ", "y\n"}});
  ASSERT_EQ(erased.code, 0) << erased.out;
  const std::string file = exported(from_, id);
  EXPECT_FALSE(has(file, "hunter2"));
  EXPECT_EQ(to_.run({"conversation", "import", "-"}, file).code, 0);
  EXPECT_EQ(body(exported(to_, id)), body(file));
}

TEST_F(Transfer, SecretThatWasScrubbedDoesNotComeBack) {
  const std::string secret = "ghp_" + std::string(36, 'a'), script = from_.script("- text: hello\n");
  const std::string file = from_.file("session.jsonl", claude_says("my token is " + secret));
  ASSERT_EQ(from_.run({"conversation", "import", file}).code, 0);
  const std::string id = from_.newest();
  const std::string before = exported(from_, id);
  ASSERT_TRUE(has(before, secret));
  const Finished scrubbed = from_.on_terminal({"conversation", "erase", id, "--scrub"}, {{"] ", "y\n"}});
  ASSERT_EQ(scrubbed.code, 0) << scrubbed.out;
  const std::string after = exported(from_, id);
  EXPECT_FALSE(has(after, secret));
  ASSERT_EQ(to_.run({"conversation", "import", "-"}, after).code, 0);
  EXPECT_FALSE(has(exported(to_, id), secret));
  // The file of before is here already as another session, so that it brings nothing into the scrubbed one.
  const Finished again = from_.run({"conversation", "import", file});
  EXPECT_TRUE(has(again.out, "is here already")) << again.out;
  EXPECT_FALSE(has(exported(from_, id), secret));
}

TEST_F(Transfer, SessionOfAnotherAgentGoesOn) {
  const std::string path = to_.file("transcript.jsonl", claude());
  const Finished imported = to_.run({"conversation", "import", path});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, "Taken: 3 messages, 1 tool call")) << imported.out;
  EXPECT_TRUE(has(imported.out, "Left out: thinking block (1)")) << imported.out;
  const std::string id = to_.newest();
  // Its directory is gone: the project is the one in which it was imported.
  EXPECT_TRUE(has(to_.run({"conversation", "list"}).out, id));
  const std::string shown = to_.run({"conversation", "show", id, "--format", "json"}).out;
  EXPECT_TRUE(has(shown, "a hinge"));
  EXPECT_FALSE(has(shown, "SIGNED"));
  const Finished went_on =
      to_.run({"run", "--resume", id, "then get one", "--script", to_.script("- text: I got one.\n")});
  EXPECT_EQ(went_on.code, 0) << went_on.err;
  EXPECT_TRUE(has(to_.run({"conversation", "import", path}).out, id + " is here already"));
  // It leaves like any other.
  EXPECT_EQ(from_.run({"conversation", "import", "-"}, exported(to_, id)).code, 0);
}

TEST_F(Transfer, FormThatWasNamedIsRead) {
  const std::string path = to_.file("transcript.jsonl", claude());
  EXPECT_EQ(to_.run({"conversation", "import", path, "--from", "agentd"}).code, 2);
  EXPECT_EQ(to_.run({"conversation", "import", path, "--from", "codex"}).code, 2);
  EXPECT_FALSE(exists(to_.home() + "/store"));
  EXPECT_EQ(to_.run({"conversation", "import", path, "--from", "claude"}).code, 0);
}

TEST_F(Transfer, ConversationThatIsNotThereIsNamed) {
  EXPECT_EQ(from_.run({"conversation", "export", "01JZ8Q4T6YV5X0K2M3N4P5R6S7"}).code, 4);
  const std::string path = from_.directory().file("none.jsonl");
  EXPECT_EQ(from_.run({"conversation", "export", "01JZ8Q4T6YV5X0K2M3N4P5R6S7", "-o", path}).code, 4);
  EXPECT_FALSE(exists(path));
  EXPECT_EQ(from_.run({"conversation", "import", path}).code, 4);
}

}  // namespace
}  // namespace agentd::testing
