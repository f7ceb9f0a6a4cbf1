// SPDX-License-Identifier: Apache-2.0
// Sessions of other agents as conversations.
#include "core/transfer/transcript_file.h"

#include "core/base/bytes.h"
#include "core/conversation/view.h"
#include "core/transfer/transcript_builder.h"
#include "tests/unit/transfer/conversations.h"

namespace agentd::testing {
namespace {

std::string claude(const std::string& uuid, const std::string& parent, const std::string& rest) {
  return R"({"uuid":")" + uuid + R"(","parentUuid":)" + (parent.empty() ? "null" : "\"" + parent + "\"") +
         R"(,"sessionId":"s1","cwd":"/w","version":"2.1.0","timestamp":"2026-01-31T09:05:07.250Z",)" + rest + "}\n";
}
std::string claude_user(const std::string& uuid, const std::string& parent, const std::string& content,
                        const std::string& more = "") {
  return claude(uuid, parent, more + R"("type":"user","message":{"role":"user","content":)" + content + "}");
}
std::string claude_answer(const std::string& uuid, const std::string& parent, const std::string& id,
                          const std::string& content, const std::string& more = "") {
  return claude(
      uuid, parent,
      more + R"("type":"assistant","message":{"role":"assistant","id":")" + id + R"(","content":)" + content + "}");
}
std::string codex(const std::string& type, const std::string& payload) {
  return R"({"timestamp":"2026-01-31T09:05:07.250Z","type":")" + type + R"(","payload":)" + payload + "}\n";
}

class Transcripts : public ::testing::Test, protected Conversations {
 protected:
  // The records as a short text each: "user one", "call Bash", "result ok text", "answer text", "summary ...".
  static std::string shape(const ForeignTranscript& read) {
    std::string out;
    for (const auto& commit : read.commits)
      for (const Record& record : commit.records) out += (out.empty() ? "" : "; ") + shape_of(record);
    return out;
  }
  static std::string shape_of(const Record& record) {
    if (record.type == RecordType::kToolResult) {
      const auto result = read_tool_result(record);
      return "result " + result->call_id + " " + result->status + " " + result->text;
    }
    if (record.type == RecordType::kBoundary) return "boundary";
    const auto message = read_message(record);
    std::string out(record.type == RecordType::kSummary            ? "summary"
                    : record.type == RecordType::kAssistantMessage ? "answer"
                                                                   : "user");
    for (const Block& block : message->message.blocks) {
      out += block.kind == BlockKind::kToolUse ? " [" + block.call_id + " " + block.name + " " + block.json + "]"
             : block.kind == BlockKind::kImage ? " [image " + block.name + "]"
                                               : " " + block.text;
      if (block.kind != BlockKind::kImage) {
        EXPECT_EQ(block.opaque, "");
      }
    }
    return out;
  }
  static ForeignTranscript read(const std::string& bytes) {
    const FileForm form = form_of(bytes);
    EXPECT_NE(form, FileForm::kUnknown);
    auto out = read_transcript(form, bytes);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? std::move(*out) : ForeignTranscript();
  }
};

TEST_F(Transcripts, FormIsKnownByTheContent) {
  EXPECT_EQ(form_of(claude_user("u1", "", "\"hi\"")), FileForm::kClaude);
  EXPECT_EQ(form_of("{\"type\":\"summary\",\"summary\":\"x\"}\n" + claude_user("u1", "", "\"hi\"")), FileForm::kClaude);
  EXPECT_EQ(form_of(codex("session_meta", R"({"id":"c1","cwd":"/w"})")), FileForm::kCodex);
  EXPECT_EQ(form_of(R"({"id":"c1","timestamp":"2025-05-07T17:24:21Z","instructions":null})"), FileForm::kCodex);
  const auto from = store();
  EXPECT_EQ(form_of(exported(*from, begin(*from))), FileForm::kAgentd);
  for (const char* other : {"", "hello\n", "{}\n", "[]\n", "{\"type\":\"user\"}\n", "\x89PNG\n"})
    EXPECT_EQ(form_of(other), FileForm::kUnknown) << other;
}

TEST_F(Transcripts, CallsOfClaudeAreFollowedByTheirResults) {
  const std::string file =
      claude_user("u1", "", "\"go\"") +
      claude_answer("a1", "u1", "m1", R"([{"type":"thinking","thinking":"hm","signature":"SIG"}])") +
      claude_answer("a2", "a1", "m1", R"([{"type":"text","text":"I look"}])") +
      claude_answer("a3", "a2", "m1", R"([{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}])") +
      claude_user("r1", "a3", R"([{"type":"tool_result","tool_use_id":"t1","content":"one"}])") +
      // A sibling of r1: the second call of the same answer.
      claude_answer("a4", "a3", "m1", R"([{"type":"tool_use","id":"t2","name":"mcp.x/y","input":{}}])") +
      claude_user(
          "r2", "a4",
          R"([{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"no"}]}])") +
      claude_answer("a5", "r2", "m2", R"([{"type":"text","text":"done"}])");
  const ForeignTranscript out = read(file);
  EXPECT_EQ(shape(out),
            "user go; answer I look [t1 Bash {\"command\":\"ls\"}] [t2 mcp_x_y {}]; result t1 ok one; "
            "result t2 error no; answer done");
  EXPECT_EQ(out.session_id, "s1");
  EXPECT_EQ(out.cwd, "/w");
  EXPECT_EQ(taken_of(out), "3 messages, 2 tool calls");
  EXPECT_EQ(left_out_of(out), "thinking block (1)");
  EXPECT_EQ(out.commits[0].time_ms, 1'769'850'307'250);
}

TEST_F(Transcripts, WhatIsNotTheConversationIsLeftOutAndCounted) {
  const std::string file =
      claude_user("u1", "", "\"go\"") + claude_user("x1", "u1", "\"a caveat\"", R"("isMeta":true,)") +
      claude_user("x2", "u1", "\"<command-name>/clear</command-name>\"") +
      claude_answer("s1", "u1", "ms", R"([{"type":"text","text":"sub"}])", R"("isSidechain":true,)") +
      claude_answer("old", "u1", "mo", R"([{"type":"text","text":"abandoned"}])") +
      claude_user("u2", "u1", "\"again\"") +
      claude_answer("a2", "u2", "m2",
                    R"([{"type":"text","text":"yes"},{"type":"tool_use","id":"t9","name":"Read","input":{}}])") +
      R"({"type":"file-history-snapshot","messageId":"x"})" + "\n" + R"({"type":"attachment","attachment":{}})" + "\n" +
      R"({"type":"of-later","text":"?"})" + "\n" + R"({"no":"type"})" + "\n" + R"({"type":"user","message":7})" + "\n" +
      "{\"type\":\"assis";
  const ForeignTranscript out = read(file);
  EXPECT_EQ(shape(out),
            "user go; user again; answer yes [t9 Read {}]; "
            "result t9 unknown The transcript has no result of this call; its outcome is unknown.");
  EXPECT_EQ(
      left_out_of(out),
      "call without a result (1), line of an unknown kind (3), line that is cut off (1), message of a subagent (1), "
      "message of an abandoned branch (3), note of the client (1)");
}

TEST_F(Transcripts, SummaryIsACompactionThatCanBeUndone) {
  const std::string file =
      claude_user("u1", "", "\"go\"") + claude_answer("a1", "u1", "m1", R"([{"type":"text","text":"long"}])") +
      claude("c1", "", R"("type":"system","subtype":"compact_boundary","logicalParentUuid":"a1")") +
      claude_user("c2", "c1", "\"the state\"", R"("isCompactSummary":true,)") + claude_user("u2", "c2", "\"on\"") +
      claude_answer("a2", "u2", "m2", R"([{"type":"text","text":"ok"}])");
  ForeignTranscript out = read(file);
  EXPECT_EQ(shape(out), "user go; answer long; summary the state; boundary; user on; answer ok");
  EXPECT_EQ(taken_of(out), "4 messages, 1 compaction");
  const auto to = store();
  const auto done = bring_transcript(*to, ids(), clock(), out, {"p", "/w"}, sha256(file));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->info.compactions, 1u);
  EXPECT_EQ(done->info.title, "go");
  std::vector<StoredRecord> records;
  const Ulid id = *Ulid::parse(done->info.id);
  ASSERT_TRUE(to->read(id, 1, 0, [&](const StoredRecord& record) {
    records.push_back(record);
    return true;
  }));
  Conversation view(done->info.id, [](const agentd_message&) { return std::uint64_t{1}; });
  ASSERT_TRUE(view.load(records));
  EXPECT_EQ(view.rows().size(), 3u);
  EXPECT_TRUE(to->verify(id));
  // The same bytes again are here.
  const auto again = bring_transcript(*to, ids(), clock(), out, {"p", "/w"}, sha256(file));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->what, Brought::What::kHere);
  EXPECT_EQ(again->info.id, done->info.id);
  // It exports and comes back like any other.
  const auto third = store();
  EXPECT_TRUE(brought(*third, exported(*to, id)));
}

TEST_F(Transcripts, RolloutOfCodexIsRead) {
  const std::string png = base64("\x89PNG....");
  const std::string file =
      codex("session_meta", R"({"id":"c1","cwd":"/w","cli_version":"0.65.0"})") +
      codex("response_item", R"({"type":"message","role":"developer","content":[{"type":"input_text","text":"be"}]})") +
      codex("response_item",
            R"({"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]})") +
      codex("response_item", R"({"type":"message","role":"user","content":[{"type":"input_text","text":"look"},)"
                             R"({"type":"input_image","image_url":"data:image/png;base64,)" +
                                 png + R"("}]})") +
      codex("event_msg", R"({"type":"user_message","message":"look"})") + codex("turn_context", R"({"cwd":"/w"})") +
      codex("event_msg", R"({"type":"thread_rolled_back","num_turns":1})") + codex("of_later", R"({"x":1})") +
      R"({"record_type":"state"})" + "\n" +
      codex("response_item", R"({"type":"reasoning","summary":[],"encrypted_content":"SECRET"})") +
      codex("response_item",
            R"({"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"f1"})") +
      codex("response_item", R"({"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"f2"})") +
      codex("response_item", R"({"type":"function_call_output","call_id":"f1","output":"one"})") +
      codex("response_item",
            R"({"type":"custom_tool_call_output","call_id":"f2","output":{"content":"bad","success":false}})") +
      codex("response_item", R"({"type":"function_call_output","call_id":"nobody","output":"?"})") +
      codex("response_item",
            R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]})") +
      codex("compacted", R"({"message":"the state"})") +
      codex("response_item", R"({"type":"message","role":"user","content":[{"type":"input_text","text":"on"}]})");
  const ForeignTranscript out = read(file);
  EXPECT_EQ(shape(out),
            "user look [image image/png]; answer [f1 shell {\"command\":[\"ls\"]}] [f2 apply_patch {\"raw\":\"*** "
            "Begin\"}]; result f1 ok one; result f2 error bad; answer done; summary the state; boundary; user on");
  EXPECT_EQ(out.session_id, "c1");
  EXPECT_EQ(out.media, 1u);
  EXPECT_EQ(
      left_out_of(out),
      "line of an unknown kind (1), note of the client (2), result without its call (1), thinking block (1), undo that "
      "was not followed (1)");
}

// Work that grows with the square of the calls would take hours.
TEST_F(Transcripts, AnAnswerMayHaveAnyNumberOfCalls) {
  constexpr int kCalls = 200'000;
  TranscriptBuilder builder(FileForm::kClaude);
  std::vector<Block> calls;
  for (int i = 0; i < kCalls; ++i) calls.push_back(TranscriptBuilder::call("same", "bash", "{}"));
  for (int i = 0; i < kCalls; ++i) calls.push_back(TranscriptBuilder::call("c" + std::to_string(i), "bash", "{}"));
  builder.assistant("a", std::move(calls));
  for (int i = kCalls - 1; i >= 0; --i) {
    builder.user({Block::of_text("more")});
    builder.result("c" + std::to_string(i), "done", {}, false);
    builder.result("same", std::to_string(i), {}, false);
  }
  const ForeignTranscript read = builder.finish();
  EXPECT_EQ(read.calls, 2u * kCalls);
  EXPECT_TRUE(read.left_out.empty());
  const auto first = read_tool_result(read.commits.front().records.at(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->call_id, "same");
  EXPECT_EQ(first->text, std::to_string(kCalls - 1));  // the results go to the calls in their order
  const auto second = read_tool_result(read.commits.front().records.at(2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->call_id, "same_2");
}

TEST_F(Transcripts, ImagesOfClaudeAreTakenWhereTheyCanBeSent) {
  const auto image = [](const std::string& type, const std::string& data) {
    return R"({"type":"image","source":{"type":"base64","media_type":")" + type + R"(","data":")" + data + "\"}}";
  };
  const std::string good = image("image/png", base64("\x89PNG\r\n\x1a\n....")), bad = image("image/png", "%%%");
  const ForeignTranscript out =
      read(claude_user("u1", "", R"([{"type":"text","text":"look"},)" + good + "," + bad + "]") +
           claude_answer("a1", "u1", "m1", R"([{"type":"tool_use","id":"t1","name":"Shot","input":{}}])") +
           claude_user("r1", "a1", R"([{"type":"tool_result","tool_use_id":"t1","content":[)" + good + "]}]"));
  EXPECT_EQ(shape(out), "user look [image image/png]; answer [t1 Shot {}]; result t1 ok ");
  EXPECT_EQ(read_tool_result(out.commits[1].records[1])->parts.size(), 1u);
  EXPECT_EQ(taken_of(out), "2 messages, 1 tool call, 2 images or documents");
  EXPECT_EQ(left_out_of(out), "image that cannot be sent (1)");
}

TEST_F(Transcripts, LineThatIsNoJsonIsNamed) {
  const auto out =
      read_transcript(FileForm::kClaude, claude_user("u1", "", "\"go\"") + "what\n" + claude_user("u2", "u1", "\"x\""));
  ASSERT_FALSE(out);
  EXPECT_TRUE(out.error().message.starts_with("line 2: ")) << out.error().message;
  EXPECT_EQ(read_transcript(FileForm::kCodex, "\xff\n").error().code, Code::kInvalid);
  EXPECT_EQ(read_transcript(FileForm::kCodex, "{}\n").error().message, "the file has no message of a rollout of Codex");
}

TEST_F(Transcripts, CutAndMixedFilesNeverCrash) {
  const std::string file = claude_user("u1", "", "\"go\"") +
                           claude_answer("a1", "u1", "m1", R"([{"type":"tool_use","id":"t1","name":"B","input":{}}])") +
                           claude_user("r1", "a1", R"([{"type":"tool_result","tool_use_id":"t1","content":"x"}])") +
                           codex("compacted", R"({"message":"s"})");
  for (std::size_t i = 0; i < file.size(); ++i) {
    (void)read_transcript(FileForm::kClaude, file.substr(0, i));
    (void)read_transcript(FileForm::kCodex, file.substr(i));
  }
  // A circle of parents ends.
  EXPECT_TRUE(read_transcript(FileForm::kClaude, claude_user("u1", "u2", "\"a\"") + claude_user("u2", "u1", "\"b\"")));
}

TEST_F(Transcripts, TimesAreRead) {
  EXPECT_EQ(read_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(read_utc("2026-01-31T09:05:07.250Z"), 1'769'850'307'250);
  for (const char* bad : {"", "yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-31T09:05:07"})
    EXPECT_FALSE(read_utc(bad)) << bad;
}

}  // namespace
}  // namespace agentd::testing
