// SPDX-License-Identifier: Apache-2.0
// canonical.cc - reads agentd's own answer object, and speaks the protocol of hooks that name no dialect.
#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/dialects/dialect.h"
#include "core/dialects/replacement.h"
#include "core/dialects/translator.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::array<ActionWord, 8> kActions{{
    {"none", 0, ""},
    {"block", AGENTD_ACT_BLOCK, ""},
    {"stop_run", AGENTD_ACT_STOP_RUN, ""},
    {"continue", AGENTD_ACT_CONTINUE, "message|messages"},
    {"compact", AGENTD_ACT_COMPACT, ""},
    {"summary", AGENTD_ACT_SUMMARY, ""},
    {"replace", AGENTD_ACT_REPLACE_MESSAGES, "replace_messages"},
    {"callback", AGENTD_ACT_CALLBACK, "callback"},
}};

// Reads one answer. It asks for every key once, whatever the action, so that the remaining keys are unknown; a key that
// this action or event cannot use is a warning.
class Canonical {
 public:
  Canonical(std::uint32_t event, JsonView payload, JsonView answer)
      : made_(event), keys_(answer, "", made_), payload_(payload) {}

  Verdict read() {
    if (!read_action()) return made_.take();
    read_texts();
    read_compaction();
    read_block();
    read_permission();
    read_rewrites();
    read_exclusive();
    read_messages();
    read_tools();
    made_.context(keys_.text("additional_context").value_or(""), "additional_context");
    made_.notice(keys_.text("system_message").value_or(""), "system_message");
    keys_.blame_unknown();
    return made_.take();
  }

 private:
  bool read_action() {
    action_ = keys_.text("action").value_or("none");
    std::vector<std::string> words;
    for (const ActionWord& each : kActions) words.emplace_back(each.word);
    if (std::find(words.begin(), words.end(), action_) != words.end()) return true;
    const std::string near = nearest_of(action_, words);
    made_.fail("the action " + in_quotes(action_) +
               (near.empty() ? " must be " + one_of(words) : " is not known: did you mean '" + near + "'?"));
    return false;
  }

  void read_texts() {
    reason_ = keys_.text("reason").value_or("");
    summary_ = keys_.text("summary");
    message_ = keys_.text("message");
    then_ = keys_.text("then");
    if (then_ && *then_ != "stop" && *then_ != "continue")
      made_.fail("the key 'then' must be stop or continue, not " + in_quotes(*then_));
  }

  void read_compaction() {
    instructions_ = keys_.text("custom_instructions");
    model_ = keys_.text("model");
    keep_tokens_ = keys_.count("keep_tokens");
    const auto name = keys_.text("strategy");
    if (!name) return;
    strategy_ = strategy_of(*name);
    if (!strategy_) made_.fail("the key 'strategy' must be default, full, tail or users, not " + in_quotes(*name));
  }

  void read_block() {
    const bool blocked = keys_.boolean("blocked").value_or(false);
    if (action_ == "stop_run")
      made_.stop_run(reason_.empty() ? "a hook ended the run and gave no reason" : reason_, "action: stop_run");
    if (!blocked && action_ != "block") return;
    made_.block(reason_.empty() ? "a hook blocked it and gave no reason" : reason_,
                blocked ? "blocked" : "action: block");
  }

  void read_permission() {
    const JsonView permission = keys_.get("permission");
    if (!permission.exists()) return;
    std::string word(permission.string_or(""));
    std::string reason = reason_;
    bool remember = false;
    if (permission.is_object()) {
      AnswerKeys inner(permission, "permission.", made_);
      word = inner.text("decision").value_or("");
      reason = inner.text("reason").value_or(reason_);
      remember = inner.boolean("remember").value_or(false);
      inner.blame_unknown();
    }
    const std::uint32_t decision = permission_of(word);
    if (decision == 0)
      made_.fail("the key 'permission' must be allow, deny, ask or defer, or an object with decision");
    else
      made_.permission(decision, reason, remember, "permission");
  }

  // ---- rewrites

  void read_rewrites() {
    if (message_ && made_.event() == AGENTD_EVENT_USER_MESSAGE_SEND) made_.rewrite(*message_, "message");
    read_input();
    read_output();
  }

  void read_input() {
    const JsonView input = keys_.get("input");
    if (!input.exists()) return;
    if (made_.event() != AGENTD_EVENT_BEFORE_TOOL_CALL) return no_effect("input");
    if (input.is_object()) {
      made_.rewrite(input.text(), "input");
      return;
    }
    const auto held = JsonDocument::parse(input.string_or(""));
    if (input.is_string() && held && held->root().is_object())
      made_.rewrite(held->root().text(), "input");
    else
      made_.fail("the key 'input' must be an object, or a text that holds one, not " + std::string(type_name(input)));
  }

  // The payload's `output` is an object; its `content` is the part that can be rewritten.
  void read_output() {
    JsonView output = keys_.get("output");
    if (!output.exists()) return;
    const std::uint32_t event = made_.event();
    if (event != AGENTD_EVENT_AFTER_TOOL_CALL && event != AGENTD_EVENT_TOOL_CALL_FAILED &&
        event != AGENTD_EVENT_AFTER_MODEL_CALL)
      return no_effect("output");
    if (output.is_object()) output = output["content"];
    if (output.is_string())
      made_.rewrite(output.string_or(""), "output");
    else
      made_.fail("the key 'output' must be a text, or an object with the text 'content'");
  }

  void no_effect(std::string_view key) {
    made_.warn(std::string(key) + " has no effect at " + std::string(made_.event_name()) + " and was ignored");
  }

  // ---- the view

  void read_exclusive() {
    const JsonView replacement = keys_.array("replace_messages");
    const JsonView callback = keys_.object("callback");
    if (action_ == "compact") add_compact();
    if (action_ == "replace") add_replacement(replacement);
    if (action_ == "callback") add_callback(callback);
    if (action_ != "replace" && replacement.exists())
      made_.warn("replace_messages was ignored: it needs action 'replace'");
    if (action_ != "callback" && callback.exists()) made_.warn("callback was ignored: it needs action 'callback'");
    add_summary();
    if (action_ != "compact") set_compaction();
  }

  void add_compact() {
    Action action;
    action.kind = AGENTD_ACT_COMPACT;
    action.code = strategy_.value_or(AGENTD_STRATEGY_DEFAULT);
    action.number = keep_tokens_.value_or(0);
    action.model = model_.value_or("");
    action.text = instructions_.value_or("");
    made_.add(std::move(action), "action: compact");
  }

  void add_replacement(JsonView messages) {
    if (!messages.exists()) return made_.fail("the action 'replace' needs the key 'replace_messages'");
    auto parts = replacement_parts(messages);
    if (!parts) return made_.fail(parts.error().message);
    Action action;
    action.kind = AGENTD_ACT_REPLACE_MESSAGES;
    action.base_revision = payload_["revision"].uint_or(0);
    action.parts = std::move(*parts);
    made_.add(std::move(action), "action: replace");
  }

  void add_callback(JsonView callback) {
    AnswerKeys inner(callback, "callback.", made_);
    Action action;
    action.kind = AGENTD_ACT_CALLBACK;
    action.text = inner.text("recipe").value_or("");
    const JsonView arguments = inner.object("args");
    action.json = arguments.exists() ? arguments.text() : "{}";
    inner.blame_unknown();
    if (action.text.empty())
      made_.fail("the action 'callback' needs the key 'callback' with a recipe");
    else
      made_.add(std::move(action), "action: callback");
  }

  // At before_compaction the key alone is enough: there a summary has only one meaning.
  void add_summary() {
    const bool before = made_.event() == AGENTD_EVENT_BEFORE_COMPACTION;
    if (action_ != "summary" && !(before && summary_ && action_ == "none")) {
      if (summary_) made_.warn("summary was ignored: it needs action 'summary'");
      return;
    }
    // At before_compaction the summary is applied unchanged, so it must not be empty.
    if (before && trimmed(summary_.value_or("")).empty()) return made_.fail("its summary is empty");
    Action action;
    action.kind = AGENTD_ACT_SUMMARY;
    action.text = summary_.value_or("");
    made_.add(std::move(action), "summary");
  }

  void set_compaction() {
    if (model_) made_.set(AGENTD_KEY_MODEL, 0, *model_, "model");
    if (instructions_) made_.set(AGENTD_KEY_CUSTOM_INSTRUCTIONS, 0, *instructions_, "custom_instructions");
    if (strategy_) made_.set(AGENTD_KEY_STRATEGY, *strategy_, "", "strategy");
    if (keep_tokens_) made_.set(AGENTD_KEY_KEEP_TOKENS, *keep_tokens_, "", "keep_tokens");
  }

  // ---- continuing the run

  void read_messages() {
    const JsonView messages = keys_.array("messages");
    const JsonView legacy = keys_.array("follow_up_messages");
    const JsonView list = messages.exists() ? messages : legacy;
    const std::string_view name = messages.exists() ? "messages" : "follow_up_messages";
    bool going_on = add_messages(list, name);
    if (message_ && made_.event() != AGENTD_EVENT_USER_MESSAGE_SEND) {
      if (is_stop_event(made_.event()) && action_ == "continue" && !going_on && !message_->empty())
        going_on = made_.go_on(*message_, "message");
      else
        no_effect("message");
    }
    if (action_ == "continue" && !is_stop_event(made_.event())) no_effect("action: continue");
    const bool stays = then_ && *then_ == "stop";
    if (then_)
      made_.set(AGENTD_KEY_THEN, stays ? 0 : 1, "", "then");
    else if (action_ == "continue" && !going_on && is_stop_event(made_.event()))
      made_.set(AGENTD_KEY_THEN, 1, "", "action: continue");
  }

  bool add_messages(JsonView list, std::string_view name) {
    bool any = false;
    for (std::size_t i = 0; i < list.size() && !made_.failed(); ++i) {
      const JsonView each = list.at(i);
      const JsonView content = each.is_object() ? each["content"] : each;
      const std::string_view role = each.is_object() ? each["role"].string_or("user") : "user";
      if (!content.is_string() || role != "user") {
        made_.fail("the key '" + std::string(name) + "' must list texts, or user messages with one");
      } else if (!content.string_or("").empty()) {
        any = true;
        if (!made_.go_on(content.string_or(""), name)) return any;
      }
    }
    return any;
  }

  void read_tools() {
    const JsonView tools = keys_.object("tools");
    if (!tools.exists()) return;
    AnswerKeys inner(tools, "tools.", made_);
    add_tools(AGENTD_ACT_TOOLS_ENABLE, inner.array("enable"), "tools.enable");
    add_tools(AGENTD_ACT_TOOLS_DISABLE, inner.array("disable"), "tools.disable");
    inner.blame_unknown();
  }

  void add_tools(std::uint32_t kind, JsonView names, std::string_view what) {
    if (!names.exists()) return;
    Action action;
    action.kind = kind;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names.at(i).is_string()) return made_.fail("the key '" + std::string(what) + "' must list names of tools");
      if (i != 0) action.text += ',';
      action.text += names.at(i).string_or("");
    }
    made_.add(std::move(action), what);
  }

  VerdictMaker made_;
  AnswerKeys keys_;
  JsonView payload_;
  std::string action_, reason_;
  std::optional<std::string> summary_, message_, then_, instructions_, model_;
  std::optional<std::uint32_t> strategy_;
  std::optional<std::uint64_t> keep_tokens_;
};

// ---- the protocol without a dialect: Kodelet's, with the canonical objects

std::string canonical_object(const HookDefinition&, JsonView payload, const DialectContext&) { return payload.text(); }

std::string canonical_subject(const HookDefinition& hook, JsonView payload) {
  const auto text = [](JsonView value) { return std::string(value.string_or("")); };
  if (is_tool_event(hook.event)) return text(payload["tool"]["name"]);
  switch (hook.event) {
    case AGENTD_EVENT_SESSION_START:
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      return text(payload["source"]);
    case AGENTD_EVENT_SESSION_END:
    case AGENTD_EVENT_BEFORE_CLEAR:
    case AGENTD_EVENT_AFTER_CLEAR:
      return text(payload["reason"]);
    case AGENTD_EVENT_BEFORE_COMPACTION:
    case AGENTD_EVENT_AFTER_COMPACTION:
      return text(payload["trigger"]);
    case AGENTD_EVENT_SUBAGENT_START:
    case AGENTD_EVENT_SUBAGENT_STOP:
      return text(payload["agent"]["type"]);
    case AGENTD_EVENT_AGENT_ERROR:
      return text(payload["code"]);
    case AGENTD_EVENT_NOTIFICATION:
      return text(payload["level"]);
  }
  return "";
}

FailureText no_object(const ParsedOutput& output) {
  return output.problem.empty() ? not_one_object(output) : FailureText(output.problem);
}

Verdict strict(const HookDefinition& hook, Verdict verdict) {
  if (!hook.strict_output || verdict.failed || verdict.warnings.empty()) return verdict;
  verdict.failed = true;
  verdict.failure = quoting("its output is not strict", verdict.warnings.front());
  verdict.actions.clear();
  return verdict;
}

// Kodelet's rule: every exit code but 0 is a failure, 2 included.
Verdict interpret_agentd(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  VerdictMaker made(hook.event);
  if (made.fails_by_end(hook, answer)) return made.take();
  if (hook.runs != HookRuns::kWebhook && answer.code != 0) {
    made.fail(exit_sentence(answer));
    return made.take();
  }
  const ParsedOutput output = parse_output(answer.out, answer.out_over_cap);
  switch (output.kind) {
    case ParsedOutput::Kind::kEmpty:
      break;
    case ParsedOutput::Kind::kText:
    case ParsedOutput::Kind::kBroken:
      made.fail(no_object(output));
      break;
    case ParsedOutput::Kind::kObject:
      return strict(hook, interpret_canonical(hook.event, payload, output.root()));
  }
  return made.take();
}

constexpr Translator kAgentd{.input = canonical_object, .subject = canonical_subject, .interpret = interpret_agentd};

}  // namespace

std::span<const ActionWord> action_words() { return kActions; }

const Translator& agentd_translator() { return kAgentd; }

Verdict interpret_canonical(std::uint32_t event, JsonView payload, JsonView answer) {
  if (!answer.is_object()) {
    VerdictMaker made(event);
    made.fail("the answer must be an object, not " + std::string(type_name(answer)));
    return made.take();
  }
  return Canonical(event, payload, answer).read();
}

}  // namespace agentd
