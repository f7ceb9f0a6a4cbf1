// SPDX-License-Identifier: Apache-2.0
// docker.cc - docker-agent's hooks: their input and their answers.
#include "core/dialects/docker.h"

#include <algorithm>

#include "core/hooks/event.h"

namespace agentd {
namespace {

using V = ToolValue;

constexpr std::array<ToolKey, 2> kShellKeys{{{"command", "cmd"}, {"timeout_ms", "timeout", V::kSeconds}}};
constexpr std::array<ToolKey, 1> kSearchKeys{{{"pattern", "query"}}};
constexpr std::array<ToolRow, 7> kDockerTools{{{"bash", "shell", kShellKeys},
                                               {"read_file", "read_file", {}},
                                               {"write_file", "write_file", {}},
                                               {"edit_file", "edit_file", {}, true},
                                               {"grep", "search_files_content", kSearchKeys},
                                               {"glob", "search_files", {}},
                                               {"ls", "list_directory", {}}}};

// Tools of docker-agent that agentd has no counterpart of.
constexpr std::array<std::string_view, 20> kDockerOwnTools{"think",
                                                           "fetch",
                                                           "handoff",
                                                           "transfer_task",
                                                           "create_todo",
                                                           "create_todos",
                                                           "update_todo",
                                                           "update_todos",
                                                           "list_todos",
                                                           "add_memory",
                                                           "get_memories",
                                                           "delete_memory",
                                                           "search_memories",
                                                           "directory_tree",
                                                           "read_multiple_files",
                                                           "create_directory",
                                                           "run_shell_background",
                                                           "list_background_jobs",
                                                           "view_background_job",
                                                           "stop_background_job"};

std::string_view text(JsonView payload, std::string_view key) { return payload[key].string_or(""); }

// ---- out

void write_usage(JsonWriter& out, JsonView usage) {
  if (!usage.is_object()) return;
  out.key("usage").begin_object();
  out.member("input_tokens", usage["input_tokens"].uint_or(0));
  out.member("output_tokens", usage["output_tokens"].uint_or(0));
  out.member("cached_input_tokens", usage["cache_read_tokens"].uint_or(0));
  out.member("cached_write_tokens", usage["cache_write_tokens"].uint_or(0));
  out.member("reasoning_tokens", usage["reasoning_tokens"].uint_or(0)).end_object();
  // Absent = the price is unknown; 0 = it cost nothing.
  if (usage["cost_usd"].is_number()) out.key("cost").real(usage["cost_usd"].number_or(0));
}

void write_docker_tool(JsonWriter& out, const HookDefinition& hook, JsonView payload) {
  const std::string_view tool = tool_of(payload);
  out.member("tool_name", foreign_tool(Dialect::kDocker, tool));
  out.member("tool_use_id", text(payload["tool"], "call_id"));
  out.key("tool_input");
  if (tool_input_of(payload).is_object())
    out.raw(foreign_input(Dialect::kDocker, tool, tool_input_of(payload)));
  else
    out.value(tool_input_of(payload));
  if (hook.event != AGENTD_EVENT_AFTER_TOOL_CALL && hook.event != AGENTD_EVENT_TOOL_CALL_FAILED) return;
  const JsonView result = payload["output"];
  out.member("tool_response", text(result, "content"));
  if (!result["success"].bool_or(true)) out.member("tool_error", true);
}

std::string_view session_source(std::string_view source) { return source == "fork" ? "resume" : source; }

std::string_view session_reason(std::string_view reason) {
  if (reason == "clear") return reason;
  return reason == "exit" ? "prompt_input_exit" : "other";
}

std::string_view turn_reason(JsonView payload) {
  if (text(payload, "stop_reason") == "interrupted") return "canceled";
  return payload["final"].bool_or(false) ? "normal" : "continue";
}

// The text of the last user message, without tool results, summaries and text added by hooks.
std::string last_user_message(JsonView messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const JsonView message = messages.at(i);
    if (text(message, "role") != "user" || message["summary"].bool_or(false) || message["context"].bool_or(false))
      continue;
    bool result = false;
    for (std::size_t b = 0; b < message["blocks"].size(); ++b)
      result = result || text(message["blocks"].at(b), "type") == "tool_result";
    if (!result) return std::string(text(message, "content"));
  }
  return {};
}

void write_compaction(JsonWriter& out, std::string_view name, JsonView payload) {
  const std::string_view reason = text(payload, "reason");
  const bool manual = text(payload, "trigger") == "manual";
  if (name == "pre_compact") {
    out.member("source", manual ? "manual" : reason == "overflow" ? "overflow" : "auto");
    return;
  }
  const JsonView input = payload["input_tokens"];
  out.member("input_tokens", input.is_number() ? input.uint_or(0) : payload["tokens"].uint_or(0));
  out.member("output_tokens", payload["output_tokens"].uint_or(0));
  out.member("context_limit", payload["limit"].uint_or(0));
  out.member("compaction_reason", manual ? "manual" : reason == "overflow" ? "overflow" : "threshold");
  out.optional("summary", text(payload, "summary"));
}

void write_model_call(JsonWriter& out, std::string_view name, JsonView payload) {
  out.member("iteration", std::max<std::uint64_t>(payload["turn_number"].uint_or(0), 1));
  if (name == "turn_start") return;
  out.member("last_user_message", last_user_message(payload["messages"]));
  out.key("messages").raw(docker_messages(payload));
}

void write_docker_stop(JsonWriter& out, JsonView payload) {
  out.member("stop_response", text(payload, "response"));
  out.member("last_user_message", last_user_message(payload["messages"]));
  if (text(payload, "invoked_by") == "subagent") out.member("parent_session_id", text(payload, "session_id"));
}

void write_docker_event(JsonWriter& out, std::string_view name, const HookDefinition& hook, JsonView payload) {
  switch (hook.event) {
    case AGENTD_EVENT_SESSION_START:
      out.member("source", session_source(text(payload, "source")));
      break;
    case AGENTD_EVENT_SESSION_END:
      out.member("reason", session_reason(text(payload, "reason")));
      break;
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      out.member("prompt", text(payload, "message"));
      break;
    case AGENTD_EVENT_BEFORE_MODEL_CALL:
      write_model_call(out, name, payload);
      break;
    case AGENTD_EVENT_AFTER_MODEL_CALL:
      out.member("stop_response", text(payload, "response"));
      write_usage(out, payload["usage"]);
      break;
    case AGENTD_EVENT_TURN_END:
      out.member("reason", turn_reason(payload));
      break;
    case AGENTD_EVENT_BEFORE_COMPACTION:
    case AGENTD_EVENT_AFTER_COMPACTION:
      write_compaction(out, name, payload);
      break;
    case AGENTD_EVENT_AGENT_STOP:
    case AGENTD_EVENT_SUBAGENT_STOP:
      write_docker_stop(out, payload);
      break;
    case AGENTD_EVENT_AGENT_ERROR:
      out.member("notification_level", "error");
      out.member("notification_message", text(payload, "message"));
      break;
    case AGENTD_EVENT_NOTIFICATION:
      out.member("notification_level", text(payload, "level"));
      out.member("notification_message", text(payload, "text"));
      break;
  }
}

std::string_view name_of_event(const HookDefinition& hook) {
  const std::string_view name = docker_event_of(hook).name;
  const EventTraits* const traits = find_event(hook.event);
  return !name.empty() || traits == nullptr ? name : traits->name;
}

std::string docker_input(const HookDefinition& hook, JsonView payload, const DialectContext&) {
  const std::string_view name = name_of_event(hook);
  const std::string_view agent = text(payload["agent"], "type");
  const bool main = agent.empty() || text(payload, "invoked_by") == "main";
  JsonWriter out;
  out.begin_object().member("session_id", text(payload, "session_id"));
  out.member("cwd", text(payload, "cwd")).member("hook_event_name", name);
  out.member("agent_name", main ? std::string_view("root") : agent);
  const std::string_view model = text(payload, "model");
  if (!model.empty()) out.member("model_id", std::string(text(payload, "provider")) + "/" + std::string(model));
  if (is_tool_event(hook.event))
    write_docker_tool(out, hook, payload);
  else
    write_docker_event(out, name, hook, payload);
  out.end_object();
  return std::string(out.text());
}

std::string docker_subject(const HookDefinition& hook, JsonView payload) {
  return is_tool_event(hook.event) ? foreign_tool(Dialect::kDocker, tool_of(payload)) : std::string();
}

// ---- back

constexpr std::array<std::string_view, 7> kKeys{"continue", "stop_reason", "suppress_output",     "system_message",
                                                "decision", "reason",      "hook_specific_output"};
constexpr std::array<std::string_view, 10> kInnerKeys{
    "hook_event_name", "permission_decision", "permission_decision_reason",
    "updated_input",   "additional_context",  "instruction_context",
    "summary",         "updated_messages",    "updated_tool_response",
    "metadata"};

class DockerAnswer {
 public:
  DockerAnswer(const HookDefinition& hook, JsonView payload, JsonView answer)
      : hook_(hook),
        event_(docker_event_of(hook)),
        payload_(payload),
        verdict_(hook.event),
        keys_(answer, "", verdict_),
        own_(keys_.object("hook_specific_output")),
        inner_(own_, "hook_specific_output.", verdict_),
        answer_(answer) {}

  Verdict read() {
    if (hook_.strict_output) check_strict();
    verdict_.notice(keys_.text("system_message").value_or(""), "system_message");
    take_rewrites();
    take_contexts();
    take_summary();
    take_permission();
    take_block();
    keys_.ignore({"suppress_output"});
    inner_.ignore({"hook_event_name"});
    inner_.cannot({"metadata"});
    keys_.blame_unknown();
    inner_.blame_unknown();
    return verdict_.take();
  }

 private:
  // A key that the event cannot use is dropped with a warning, as in docker-agent.
  bool usable(bool there, bool supported, std::string_view key) {
    if (there && !supported)
      verdict_.warn(std::string(key) + " has no effect at " + std::string(event_.name) + " and was ignored");
    return there && supported;
  }

  void take_rewrites() {
    const JsonView changed = inner_.object("updated_input");
    if (usable(changed.exists(), event_.rewrite == DockerRewrite::kToolInput, "updated_input"))
      verdict_.rewrite_input(rewritten_input(Dialect::kDocker, payload_, changed, true), "updated_input");
    const auto response = inner_.text("updated_tool_response");
    if (usable(response.has_value(), event_.rewrite == DockerRewrite::kToolResponse, "updated_tool_response"))
      verdict_.rewrite(*response, "updated_tool_response");
    const JsonView messages = inner_.array("updated_messages");
    if (usable(messages.size() != 0, event_.rewrite == DockerRewrite::kMessages, "updated_messages"))
      take_docker_messages(messages, payload_, verdict_);
  }

  void take_contexts() {
    const std::string context = inner_.text("additional_context").value_or("");
    if (usable(!context.empty(), event_.context, "additional_context")) add_context(context, "additional_context");
    const JsonView instructions = inner_.array("instruction_context");
    if (!usable(instructions.size() != 0, event_.instructions, "instruction_context")) return;
    for (std::size_t i = 0; i < instructions.size(); ++i)
      if (!instructions.at(i)["removed"].bool_or(false))
        add_context(instructions.at(i)["content"].string_or(""), "instruction_context");
  }

  void add_context(std::string_view context, std::string_view what) {
    if (hook_.event == AGENTD_EVENT_BEFORE_COMPACTION)
      verdict_.set(AGENTD_KEY_CUSTOM_INSTRUCTIONS, 0, context, what);
    else
      verdict_.context(context, what);
  }

  void take_summary() {
    const std::string summary = inner_.text("summary").value_or("");
    if (!usable(!trimmed(summary).empty(), event_.summary, "summary")) return;
    Action action;
    action.kind = AGENTD_ACT_SUMMARY;
    action.text = summary;
    verdict_.add(std::move(action), "summary");
  }

  void take_permission() {
    const std::string word = inner_.text("permission_decision").value_or("");
    const std::string reason = inner_.text("permission_decision_reason").value_or("");
    if (word.empty()) return;
    if (word != "allow" && word != "ask" && word != "deny")
      return verdict_.fail("the permission_decision " + in_quotes(word) + " must be allow, ask or deny");
    if (!usable(true, event_.decision || event_.approval, "permission_decision")) return;
    if (word == "deny")
      verdict_.permission(AGENTD_PERMISSION_DENY, reason.empty() ? "a hook denied it and gave no reason" : reason,
                          false, "permission_decision");
    else if (word == "ask" && event_.decision)
      verdict_.permission(AGENTD_PERMISSION_ASK, reason, false, "permission_decision");
    // A guard's "allow" is only advice: it never replaces the user's answer.
    else if (word == "allow" && event_.name != "tool_guard")
      verdict_.permission(AGENTD_PERMISSION_ALLOW, reason, false, "permission_decision");
  }

  void take_block() {
    const std::string decision = keys_.text("decision").value_or("");
    // Scripts for older releases write "allow" when they have no objection; it skips no question.
    if (!decision.empty() && decision != "block" && decision != "allow")
      return verdict_.fail("the decision " + in_quotes(decision) + " must be block");
    const bool goes_on = keys_.boolean("continue").value_or(true);
    std::string why = keys_.text("stop_reason").value_or("");
    if (goes_on) why.clear();
    const std::string reason = keys_.text("reason").value_or("");
    if (decision == "block" && !reason.empty()) why += (why.empty() ? "" : "\n") + reason;
    if (goes_on && decision != "block") return;
    const std::string_view what = goes_on ? "decision: block" : "continue: false";
    if (!event_.can_block || !verdict_.can(AGENTD_ACT_BLOCK))
      return verdict_.warn(cannot_block(event_.name, what, why));
    verdict_.block(why.empty() ? "a hook blocked it and gave no reason" : why, what);
  }

 public:
  static std::string cannot_block(std::string_view event, std::string_view what, std::string_view why) {
    return std::string(what) + " was ignored, since " + std::string(event) + " cannot block" +
           (why.empty() ? std::string() : ": " + first_line(why));
  }

 private:
  // ---- strict_output: a key that the event cannot use is an error

  void check_strict() {
    for (std::size_t i = 0; i < answer_.size(); ++i) check_key(answer_.key_at(i), kKeys);
    for (std::size_t i = 0; i < own_.size(); ++i) check_key(own_.key_at(i), kInnerKeys);
    const std::string named(inner_.text("hook_event_name").value_or(""));
    if (!named.empty() && named != event_.name)
      verdict_.fail("hook_event_name " + in_quotes(named) + " is not " + std::string(event_.name));
    if (keys_.boolean("suppress_output").value_or(false))
      verdict_.fail("suppress_output is not supported; diagnostics go to standard error");
    const bool blocks = keys_.text("decision").value_or("") == "block" || !keys_.boolean("continue").value_or(true);
    check(blocks, event_.can_block, "a block");
    check_inner();
  }

  void check_inner() {
    const auto there = [&](std::string_view key) {
      const JsonView value = inner_.get(key);
      return value.exists() && !(value.is_string() && value.string_or("").empty());
    };
    const bool permission = event_.decision || event_.approval;
    check(there("permission_decision") || there("permission_decision_reason"), permission, "permission_decision");
    check(there("updated_input"), event_.rewrite == DockerRewrite::kToolInput, "updated_input");
    check(there("updated_messages"), event_.rewrite == DockerRewrite::kMessages, "updated_messages");
    check(inner_.has("updated_tool_response"), event_.rewrite == DockerRewrite::kToolResponse, "updated_tool_response");
    check(there("metadata"), event_.metadata, "metadata");
    check(there("additional_context"), event_.context, "additional_context");
    check(there("instruction_context"), event_.instructions, "instruction_context");
    check(there("summary"), event_.summary, "summary");
  }

  void check(bool there, bool supported, std::string_view what) {
    if (there && !supported) verdict_.fail(std::string(event_.name) + " does not support " + std::string(what));
  }

  template <typename Names>
  void check_key(std::string_view key, const Names& names) {
    if (std::find(names.begin(), names.end(), snake_case(key)) == names.end())
      verdict_.fail("unknown key " + in_quotes(key) + " in a strict output");
  }

  const HookDefinition& hook_;
  const DockerEvent& event_;
  JsonView payload_;
  VerdictMaker verdict_;
  AnswerKeys keys_;
  JsonView own_;
  AnswerKeys inner_;
  JsonView answer_;
};

// Plain text is context where the event takes context, and is otherwise ignored.
Verdict interpret_text(const HookDefinition& hook, const ParsedOutput& output) {
  const DockerEvent& event = docker_event_of(hook);
  VerdictMaker verdict(hook.event);
  if (hook.strict_output)
    verdict.fail("a strict output is one JSON object or nothing; this one begins with " +
                 in_quotes(first_line(output.text, 60)));
  else if (event.context && hook.event == AGENTD_EVENT_BEFORE_COMPACTION)
    verdict.set(AGENTD_KEY_CUSTOM_INSTRUCTIONS, 0, output.text, "its output");
  else if (event.context)
    verdict.context(output.text, "its output");
  else if (!output.problem.empty())
    verdict.fail(output.problem);
  else if (event.can_block)
    verdict.warn("its output is plain text, which has no effect at " + std::string(event.name) + ": " +
                 in_quotes(first_line(output.text, 60)));
  return verdict.take();
}

Verdict interpret_exit(const HookDefinition& hook, const RawAnswer& answer) {
  const DockerEvent& event = docker_event_of(hook);
  VerdictMaker verdict(hook.event);
  const std::string why = error_text(answer);
  if (answer.code != 2)
    verdict.fail(exit_sentence(answer));
  else if (!event.can_block || !verdict.can(AGENTD_ACT_BLOCK))
    verdict.warn(DockerAnswer::cannot_block(event.name, "exit code 2", why));
  else
    verdict.block(why.empty() ? "a hook blocked it and gave no reason" : why, "exit code 2");
  return verdict.take();
}

Verdict interpret_docker_run(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  VerdictMaker ended(hook.event);
  if (ended.fails_by_end(hook, answer)) return ended.take();
  if (answer.code != 0) return interpret_exit(hook, answer);
  const ParsedOutput output = parse_output(answer.out, answer.out_over_cap);
  switch (output.kind) {
    case ParsedOutput::Kind::kEmpty:
      return {};
    case ParsedOutput::Kind::kText:
      return interpret_text(hook, output);
    case ParsedOutput::Kind::kBroken:
      ended.fail(output.problem);
      return ended.take();
    case ParsedOutput::Kind::kObject:
      break;
  }
  return DockerAnswer(hook, payload, output.root()).read();
}

std::vector<EventName> docker_event_names() {
  std::vector<EventName> out;
  for (const DockerEvent& each : docker_events())
    for (const std::uint32_t event : each.events)
      if (event != 0) out.push_back({each.name, event});
  return out;
}

}  // namespace

const Translator& docker_translator() {
  static const std::vector<EventName> kNames = docker_event_names();
  static const Translator kTranslator{
      .traits = {.program = "docker-agent", .bash = true},
      .events = kNames,
      .tools = kDockerTools,
      .own_tools = kDockerOwnTools,
      .mcp = {"mcp:", ":"},
      .input = docker_input,
      .subject = docker_subject,
      .interpret = interpret_docker_run,
      .read_settings = read_docker_settings,
      .is_its_yaml = is_docker_file,
      .matcher = [](std::uint32_t) { return MatcherRules::kDocker; },
      .time = [](std::uint32_t) { return std::optional(kDockerTime); },
      .rewrites = [](const HookDefinition& hook) { return docker_event_of(hook).rewrite != DockerRewrite::kNone; },
  };
  return kTranslator;
}

}  // namespace agentd
