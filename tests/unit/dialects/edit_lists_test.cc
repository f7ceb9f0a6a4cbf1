// SPDX-License-Identifier: Apache-2.0
// edit_lists_test.cc - a call with several edits, as hooks of tools see it that know one edit a call: none of its texts
// passes unread, and what they rewrite is the list or nothing.
#include "core/dialects/edit_lists.h"

#include "tests/unit/dialects/dialect_support.h"

namespace agentd {
namespace {

constexpr const char* kTwo = R"({"path":"a.c","edits":[{"old_string":"x","new_string":"y"},)"
                             R"({"old_string":"p","new_string":"q","replace_all":true}]})";
constexpr const char* kOne = R"({"path":"a.c","edits":[{"old_string":"x","new_string":"y"}]})";

JsonDocument call(std::string_view input) { return tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "edit_file", input); }

HookDefinition hook_of(Dialect dialect, const std::string& matcher) {
  HookDefinition out;
  out.name = "h";
  out.dialect = dialect;
  out.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  auto parsed = Matcher::parse(matcher, matcher_rules(dialect, out.event));
  EXPECT_TRUE(parsed);
  if (parsed) out.matcher = std::move(*parsed);
  return out;
}

JsonDocument sent_to(const HookDefinition& hook, std::string_view input) {
  return parsed(dialect_input(hook, call(input).root(), {}));
}

// The verdict on a rewritten input.
Verdict rewritten(Dialect dialect, std::string_view original, const std::string& input) {
  RawAnswer answer;
  const std::string key = dialect == Dialect::kClaude ? "updatedInput" : "tool_input";
  answer.out = "{\"hookSpecificOutput\":{\"" + key + "\":" + input + "}}";
  return interpret(hook_of(dialect, ""), call(original).root(), answer);
}

std::string text_of(const Verdict& verdict, std::uint32_t kind) {
  for (const Action& each : verdict.actions)
    if (each.kind == kind) return each.text;
  return "(no such action)";
}

bool is_called(const std::string& matcher, std::string_view input) {
  const HookDefinition hook = hook_of(Dialect::kClaude, matcher);
  for (const std::string& each : matcher_subjects(hook, call(input).root()))
    if (hook.matcher.matches(each)) return true;
  return false;
}

TEST(EditLists, AHookThatNamesMultiEditGetsOne) {
  for (const char* const matcher : {"MultiEdit", "Edit|MultiEdit|Write", "^Multi.*"}) {
    const JsonDocument sent = sent_to(hook_of(Dialect::kClaude, matcher), kTwo);
    EXPECT_EQ(sent.root()["tool_name"].string_or(""), "MultiEdit") << matcher;
    EXPECT_EQ(sent.root()["tool_input"]["file_path"].string_or(""), "/work/app/a.c");
    EXPECT_EQ(sent.root()["tool_input"]["edits"].at(1)["new_string"].string_or(""), "q");
    EXPECT_TRUE(sent.root()["tool_input"]["edits"].at(1)["replace_all"].bool_or(false));
  }
}

TEST(EditLists, AHookThatKnowsEditSeesEveryText) {
  for (const char* const matcher : {"Edit", "Edit|Write", "*", "", ".*Edit"}) {
    const JsonDocument sent = sent_to(hook_of(Dialect::kClaude, matcher), kTwo);
    EXPECT_EQ(sent.root()["tool_name"].string_or(""), "Edit") << matcher;
    EXPECT_EQ(sent.root()["tool_input"]["old_string"].string_or(""), "x\np");
    EXPECT_EQ(sent.root()["tool_input"]["new_string"].string_or(""), "y\nq");
    EXPECT_TRUE(sent.root()["tool_input"]["replace_all"].bool_or(false));
    EXPECT_EQ(sent.root()["tool_input"]["edits"].size(), 2u);
  }
  const JsonDocument gemini = sent_to(hook_of(Dialect::kGemini, "replace"), kTwo);
  EXPECT_EQ(gemini.root()["tool_name"].string_or(""), "replace");
  EXPECT_EQ(gemini.root()["tool_input"]["new_string"].string_or(""), "y\nq");
  EXPECT_TRUE(gemini.root()["tool_input"]["allow_multiple"].bool_or(false));
  const JsonDocument kodelet = sent_to(hook_of(Dialect::kKodelet, ""), kTwo);
  EXPECT_EQ(kodelet.root()["tool_input"]["new_text"].string_or(""), "y\nq");
}

TEST(EditLists, OneEditIsAnEditAsBefore) {
  const std::string plain = R"({"path":"a.c","old_string":"x","new_string":"y"})";
  const JsonDocument sent = sent_to(hook_of(Dialect::kClaude, "Edit|MultiEdit"), plain);
  EXPECT_EQ(sent.root()["tool_name"].string_or(""), "Edit");
  EXPECT_FALSE(sent.root()["tool_input"]["edits"].exists());
  EXPECT_FALSE(is_called("MultiEdit", plain));
  // The tool refuses both, and no view is laid over what is there.
  const std::string both = R"({"path":"a.c","old_string":"x","edits":[]})";
  EXPECT_EQ(sent_to(hook_of(Dialect::kClaude, "Edit"), both).root()["tool_input"]["old_string"].string_or(""), "x");
}

TEST(EditLists, MatchersOfBothNamesMatch) {
  for (const char* const matcher : {"Edit", "MultiEdit", "Edit|Write", "Edit|MultiEdit|Write", "*", "^Multi"})
    EXPECT_TRUE(is_called(matcher, kTwo)) << matcher;
  EXPECT_FALSE(is_called("Write", kTwo));
  HookDefinition hook = hook_of(Dialect::kClaude, "");
  for (const char* const rule : {"Edit(*.c)", "MultiEdit(*.c)", "MultiEdit"}) {
    hook.if_rule = rule;
    EXPECT_TRUE(*if_rule_holds(hook, call(kTwo).root())) << rule;
  }
  hook.if_rule = "MultiEdit(*.py)";
  EXPECT_FALSE(*if_rule_holds(hook, call(kTwo).root()));
}

TEST(EditLists, ARewriteOfTheListIsTheList) {
  // As a script writes it that changes one member of what it got.
  const std::string changed = R"({"file_path":"/work/app/a.c","edits":[{"old_string":"x","new_string":"Z"}],)"
                              R"("old_string":"x\np","new_string":"y\nq","replace_all":true})";
  EXPECT_EQ(text_of(rewritten(Dialect::kClaude, kTwo, changed), AGENTD_ACT_REPLACE_TEXT),
            R"({"path":"/work/app/a.c","edits":[{"old_string":"x","new_string":"Z"}]})");
  const std::string bare = R"({"file_path":"a.c","edits":[{"old_string":"x","new_string":"Z"}]})";
  EXPECT_EQ(text_of(rewritten(Dialect::kClaude, kTwo, bare), AGENTD_ACT_REPLACE_TEXT),
            R"({"path":"a.c","edits":[{"old_string":"x","new_string":"Z"}]})");
  const std::string patch = R"({"file_path":"b.c"})";
  EXPECT_EQ(text_of(rewritten(Dialect::kGemini, kOne, patch), AGENTD_ACT_REPLACE_TEXT),
            R"({"edits":[{"old_string":"x","new_string":"y"}],"path":"b.c"})");
}

TEST(EditLists, ARewriteOfTheViewAloneBlocks) {
  for (const std::string changed :
       {R"({"file_path":"a.c","old_string":"x\np","new_string":"safe"})",
        R"({"file_path":"a.c","edits":[{"old_string":"x","new_string":"y"}],"new_string":"safe"})"}) {
    const Verdict verdict = rewritten(Dialect::kClaude, kTwo, changed);
    EXPECT_TRUE(text_of(verdict, AGENTD_ACT_BLOCK).find("must change them in 'edits'") != std::string::npos) << changed;
    EXPECT_EQ(text_of(verdict, AGENTD_ACT_REPLACE_TEXT), "(no such action)");
  }
  const Verdict gemini = rewritten(Dialect::kGemini, kTwo, R"({"new_string":"safe"})");
  EXPECT_NE(text_of(gemini, AGENTD_ACT_BLOCK), "(no such action)");
}

TEST(EditLists, OneWholeEditInPlaceOfTheListIsUsed) {
  const std::string one = R"({"file_path":"a.c","old_string":"only","new_string":"this"})";
  EXPECT_EQ(text_of(rewritten(Dialect::kClaude, kTwo, one), AGENTD_ACT_REPLACE_TEXT),
            R"({"path":"a.c","old_string":"only","new_string":"this"})");
  const std::string same = R"({"file_path":"a.c","old_string":"x","new_string":"Z"})";
  EXPECT_EQ(text_of(rewritten(Dialect::kClaude, kOne, same), AGENTD_ACT_REPLACE_TEXT),
            R"({"path":"a.c","old_string":"x","new_string":"Z"})");
}

}  // namespace
}  // namespace agentd
