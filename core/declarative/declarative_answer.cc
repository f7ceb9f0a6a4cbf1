// SPDX-License-Identifier: Apache-2.0
#include "core/declarative/declarative_answer.h"

#include <algorithm>
#include <array>

#include "core/base/nearest.h"
#include "core/codec/json.h"
#include "core/dialects/dialect.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::int64_t kTokensMax = 1'000'000'000;
enum class Shape : std::uint8_t {
  kAction,
  kText,
  kCount,
  kMapping,
  kMessages,
  kReplacement,
  kTools,
  kCallback,
  kStrategy,
  kPermission,
  kThen,
};

struct AnswerKey {
  std::string_view name;
  Shape shape;
};
constexpr std::array<AnswerKey, 18> kKeys{{{"action", Shape::kAction},
                                           {"reason", Shape::kText},
                                           {"message", Shape::kText},
                                           {"input", Shape::kMapping},
                                           {"output", Shape::kText},
                                           {"messages", Shape::kMessages},
                                           {"replace_messages", Shape::kReplacement},
                                           {"summary", Shape::kText},
                                           {"custom_instructions", Shape::kText},
                                           {"strategy", Shape::kStrategy},
                                           {"keep_tokens", Shape::kCount},
                                           {"model", Shape::kText},
                                           {"additional_context", Shape::kText},
                                           {"system_message", Shape::kText},
                                           {"permission", Shape::kPermission},
                                           {"tools", Shape::kTools},
                                           {"callback", Shape::kCallback},
                                           {"then", Shape::kThen}}};

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string> names_of_actions() {
  std::vector<std::string> out;
  for (const ActionWord& each : action_words()) out.emplace_back(each.word);
  return out;
}

std::vector<std::string> key_names() {
  std::vector<std::string> out;
  for (const AnswerKey& each : kKeys) out.emplace_back(each.name);
  return out;
}

class AnswerReader {
 public:
  AnswerReader(const DeclarativeSource& source, const YamlNode& node, const EventTraits& event)
      : source_(source), node_(node), event_(event) {}

  Result<std::string> read() {
    if (node_.kind == YamlNode::Kind::kScalar)
      AGENTD_TRY_VOID(read_word());
    else
      AGENTD_TRY_VOID(read_mapping());
    return checked();
  }

 private:
  bool takes(std::uint32_t kind) const { return is_legal(event_.id, kind); }
  bool is_compaction() const { return event_.id == AGENTD_EVENT_BEFORE_COMPACTION; }
  bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  bool acts(std::uint32_t kind) const { return action_ != nullptr && action_->kind == kind; }

  // For messages: "agent_stop takes block, continue, ...".
  std::string what_it_takes() const {
    std::string out;
    for (const ActionWord& each : action_words())
      if (each.kind != 0 && takes(each.kind)) out += (out.empty() ? "" : ", ") + std::string(each.word);
    return out.empty() ? std::string(event_.name) + " takes none of the actions"
                       : std::string(event_.name) + " takes " + out;
  }

  Result<const ActionWord*> action_of(const YamlNode& node, std::string_view key) const {
    const bool decides =
        node.scalar == "allow" || node.scalar == "deny" || node.scalar == "ask" || node.scalar == "defer";
    if (node.kind == YamlNode::Kind::kScalar && decides)
      return source_.at_value(
          node, "'" + node.scalar + "' is a permission: write 'permission: " + node.scalar + "' below 'do'");
    AGENTD_TRY(const std::string word, source_.word_of(node, key, names_of_actions()));
    const auto actions = action_words();
    const auto found =
        std::find_if(actions.begin(), actions.end(), [&](const ActionWord& each) { return each.word == word; });
    if (found->kind != 0 && !takes(found->kind))
      return source_.at_value(node,
                              "'" + word + "' is not allowed at " + std::string(event_.name) + ": " + what_it_takes());
    return &*found;
  }

  Result<void> read_word() {
    AGENTD_TRY(const ActionWord* const action, action_of(node_, "do"));
    if (!action->needs.empty())
      return source_.at_value(node_, "'" + std::string(action->word) +
                                         "' alone is not enough: write 'action: " + std::string(action->word) +
                                         "' and '" + split_words(action->needs)[0] + "' below 'do'");
    out_.begin_object().member("action", action->word).end_object();
    return {};
  }

  Result<void> read_mapping() {
    AGENTD_TRY_VOID(source_.must_be_mapping(node_, "do"));
    if (node_.members.empty()) return source_.at_value(node_, "'do' is empty");
    AGENTD_TRY_VOID(read_action());
    out_.begin_object();
    for (const auto& [name, value] : node_.members) {
      const std::string& wanted = name;
      const auto key =
          std::find_if(kKeys.begin(), kKeys.end(), [&](const AnswerKey& each) { return each.name == wanted; });
      if (key == kKeys.end()) return source_.unknown_key(value, name, "do", key_names());
      AGENTD_TRY_VOID(check_use(value, name));
      out_.key(name);
      AGENTD_TRY_VOID(write(value, *key));
    }
    out_.end_object();
    return {};
  }

  // The reader of programs' answers decides: an answer that it would drop or refuse at one of the events is a mistake
  // of this file.
  Result<std::string> checked() const {
    std::string answer(out_.text());
    AGENTD_TRY(const JsonDocument document, JsonDocument::parse(answer));
    const Verdict verdict = interpret_canonical(event_.id, {}, document.root());
    if (verdict.failed) return source_.at_value(node_, "'do': " + verdict.failure.text);
    if (!verdict.warnings.empty()) return source_.at_value(node_, "'do': " + verdict.warnings.front());
    return answer;
  }

  Result<void> read_action() {
    const YamlNode* const named = node_.find("action");
    if (named == nullptr) return {};
    AGENTD_TRY(action_, action_of(*named, "do.action"));
    const std::vector<std::string> needs = split_words(action_->needs);
    if (needs.empty()) return {};
    if (std::any_of(needs.begin(), needs.end(), [&](const std::string& key) { return has(key); })) return {};
    return source_.at_value(*named, "'action: " + std::string(action_->word) + "' needs '" + needs[0] + "'");
  }

  // Why the key has no effect at this event with this action; empty = it has one.
  std::string useless(std::string_view key) const {
    const bool rewrites = takes(AGENTD_ACT_REPLACE_TEXT);
    if (key == "message") return useless_message();
    if (key == "input") return rewrites && event_.text_target == AGENTD_TEXT_TOOL_INPUT ? "" : not_taken();
    if (key == "output")
      return rewrites && (event_.text_target == AGENTD_TEXT_TOOL_OUTPUT || event_.text_target == AGENTD_TEXT_RESPONSE)
                 ? ""
                 : not_taken();
    if (key == "reason") return useless_reason();
    if (key == "messages") return takes(AGENTD_ACT_CONTINUE) ? "" : not_taken();
    if (key == "replace_messages") return needs_action(AGENTD_ACT_REPLACE_MESSAGES);
    if (key == "callback") return needs_action(AGENTD_ACT_CALLBACK);
    if (key == "summary") return is_compaction() ? "" : needs_action(AGENTD_ACT_SUMMARY);
    if (key == "custom_instructions" || key == "strategy" || key == "keep_tokens")
      return is_compaction() ? "" : needs_action(AGENTD_ACT_COMPACT);
    if (key == "model")
      return is_compaction() || event_.id == AGENTD_EVENT_BEFORE_MODEL_CALL ? "" : needs_action(AGENTD_ACT_COMPACT);
    if (key == "additional_context") return takes(AGENTD_ACT_INJECT_CONTEXT) ? "" : not_taken();
    if (key == "system_message") return takes(AGENTD_ACT_SYSTEM_MESSAGE) ? "" : not_taken();
    if (key == "permission") return takes(AGENTD_ACT_PERMISSION) ? "" : not_taken();
    if (key == "tools") return takes(AGENTD_ACT_TOOLS_ENABLE) ? "" : not_taken();
    if (key == "then") return event_.continues ? "" : not_taken();
    return "";
  }

  std::string not_taken() const { return "has no effect at " + std::string(event_.name); }

  std::string needs_action(std::uint32_t kind) const {
    if (acts(kind)) return "";
    if (!takes(kind)) return not_taken();
    for (const ActionWord& each : action_words())
      if (each.kind == kind) return "has no effect without 'action: " + std::string(each.word) + "'";
    return "";
  }

  std::string useless_message() const {
    if (takes(AGENTD_ACT_REPLACE_TEXT) && event_.text_target == AGENTD_TEXT_MESSAGE) return "";
    if (takes(AGENTD_ACT_CONTINUE) && has("messages")) return "has no effect next to 'messages'";
    return needs_action(AGENTD_ACT_CONTINUE);
  }

  std::string useless_reason() const {
    if (acts(AGENTD_ACT_BLOCK) || acts(AGENTD_ACT_STOP_RUN) || has("permission")) return "";
    return "has no effect without 'action: block', 'action: stop_run' or 'permission'";
  }

  Result<void> check_use(const YamlNode& value, const std::string& key) const {
    const std::string why = useless(key);
    if (why.empty()) return {};
    return source_.at_key(value, "'" + key + "' " + why);
  }

  Result<void> write(const YamlNode& value, const AnswerKey& key) {
    const std::string name = "do." + std::string(key.name);
    switch (key.shape) {
      case Shape::kAction:
        out_.string(action_->word);
        return {};
      case Shape::kText:
        return write_text(value, name);
      case Shape::kStrategy:
#define AGENTD_WORD(NUMBER, word) #word,
        return write_word(value, name, {AGENTD_STRATEGY_LIST(AGENTD_WORD)});
#undef AGENTD_WORD
      case Shape::kPermission:
        return write_word(value, name, {"allow", "deny", "ask", "defer"});
      case Shape::kThen:
        return write_word(value, name, {"stop", "continue"});
      case Shape::kMessages:
        return write_messages(value, name, true);
      case Shape::kReplacement:
        return write_messages(value, name, false);
      case Shape::kTools:
        return write_tools(value, name);
      case Shape::kCallback:
        return write_callback(value, name);
      case Shape::kCount: {
        AGENTD_TRY(const std::int64_t count, source_.whole_of(value, name, 0, kTokensMax));
        out_.number(count);
        return {};
      }
      case Shape::kMapping:
        AGENTD_TRY_VOID(source_.must_be_mapping(value, name));
        out_.raw(value.json());
        return {};
    }
    return {};
  }

  Result<void> write_text(const YamlNode& value, const std::string& name) {
    AGENTD_TRY(const std::string text, source_.text_of(value, name));
    out_.string(text);
    return {};
  }

  Result<void> write_word(const YamlNode& value, const std::string& name, const std::vector<std::string>& words) {
    AGENTD_TRY(const std::string word, source_.word_of(value, name, words));
    out_.string(word);
    return {};
  }

  Result<void> write_texts(const YamlNode& value, const std::string& name) {
    AGENTD_TRY(const std::vector<std::string> texts, source_.texts_of(value, name, true));
    out_.begin_array();
    for (const std::string& each : texts) out_.string(each);
    out_.end_array();
    return {};
  }

  // A text is a user message. Only a replacement may have other roles and blocks.
  Result<void> write_messages(const YamlNode& value, const std::string& name, bool user_only) {
    if (value.kind != YamlNode::Kind::kList || value.items.empty())
      return source_.at_value(value, "'" + name + "' must be a list of texts or of {role, content}");
    out_.begin_array();
    for (const YamlNode& item : value.items) {
      if (item.kind == YamlNode::Kind::kScalar)
        out_.begin_object().member("role", "user").member("content", item.scalar).end_object();
      else
        AGENTD_TRY_VOID(write_message(item, name, user_only));
    }
    out_.end_array();
    return {};
  }

  Result<void> write_message(const YamlNode& item, const std::string& name, bool user_only) {
    AGENTD_TRY_VOID(source_.must_be_mapping(item, "an element of " + name));
    out_.begin_object();
    for (const auto& [key, value] : item.members) {
      out_.key(key);
      if (user_only && key == "role")
        AGENTD_TRY_VOID(write_word(value, name + ".role", {"user"}));
      else if (key == "content" && (user_only || value.kind == YamlNode::Kind::kScalar))
        AGENTD_TRY_VOID(write_text(value, name + ".content"));
      else if (user_only)
        return source_.unknown_key(value, key, name, {"role", "content"});
      else
        out_.raw(value.json());
    }
    out_.end_object();
    return {};
  }

  Result<void> write_tools(const YamlNode& value, const std::string& name) {
    AGENTD_TRY_VOID(source_.must_be_mapping(value, name));
    if (value.members.empty()) return source_.at_value(value, "'" + name + "' is empty");
    out_.begin_object();
    for (const auto& [key, tools] : value.members) {
      if (key != "enable" && key != "disable") return source_.unknown_key(tools, key, name, {"enable", "disable"});
      out_.key(key);
      AGENTD_TRY_VOID(write_texts(tools, name + "." + key));
    }
    out_.end_object();
    return {};
  }

  Result<void> write_callback(const YamlNode& value, const std::string& name) {
    AGENTD_TRY_VOID(source_.must_be_mapping(value, name));
    if (value.find("recipe") == nullptr) return source_.at_value(value, "'" + name + "' needs 'recipe'");
    out_.begin_object();
    for (const auto& [key, each] : value.members) {
      out_.key(key);
      if (key == "recipe") {
        AGENTD_TRY_VOID(write_text(each, name + ".recipe"));
      } else if (key == "args") {
        AGENTD_TRY_VOID(source_.must_be_mapping(each, name + ".args"));
        out_.raw(each.json());
      } else {
        return source_.unknown_key(each, key, name, {"recipe", "args"});
      }
    }
    out_.end_object();
    return {};
  }

  const DeclarativeSource& source_;
  const YamlNode& node_;
  const EventTraits& event_;
  const ActionWord* action_ = nullptr;
  JsonWriter out_;
};

}  // namespace

Result<std::string> canonical_answer(const DeclarativeSource& source, const YamlNode& node, std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  AGENTD_ASSERT(traits != nullptr);
  return AnswerReader(source, node, *traits).read();
}

}  // namespace agentd
