// SPDX-License-Identifier: Apache-2.0
#include "core/declarative/declarative.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/url.h"
#include "core/declarative/declarative_answer.h"
#include "core/declarative/declarative_source.h"
#include "core/dialects/dialect.h"
#include "core/dialects/expression_parser.h"
#include "core/dialects/known_names.h"
#include "core/dialects/translator.h"
#include "core/dialects/webhook_rules.h"
#include "core/hooks/contract.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::size_t kFileBytesMax = 256u << 10;
constexpr std::size_t kHooksMax = 256;
constexpr std::size_t kNameBytesMax = 64;
constexpr double kTimeoutMaxMs = 24.0 * 3600 * 1000;

// A hook's action: one of these keys, and the other keys that may accompany it.
constexpr unsigned kDo = 1, kCommand = 2, kUrl = 4, kExtension = 8;
constexpr unsigned kProgram = kCommand | kExtension, kRuns = kProgram | kUrl, kAny = kDo | kRuns;

std::string quoted_name(std::string_view name) { return "'" + std::string(name) + "'"; }

bool is_hook_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
  };
  return !name.empty() && name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), plain);
}

bool is_variable_name(std::string_view name) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), inner);
}

// Milliseconds of "500ms", "5s", "2m" or a number in the dialect's own unit; negative if malformed.
double milliseconds_in(std::string_view text, Dialect dialect) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return -1;
  const std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  if (unit.empty()) return value * traits_of(dialect).time_unit_ms;
  if (unit == "ms") return value;
  if (unit == "s") return value * 1000;
  return unit == "m" ? value * 60'000 : -1;
}

struct NamedEvent {
  std::uint32_t id = 0;
  std::string foreign;  // empty = agentd's name
};

// One hook of the file: a mapping that becomes one definition per event.
class HookReader {
 public:
  HookReader(const DeclarativeSource& source, const YamlNode& node, Precedence precedence)
      : source_(source), node_(node) {
    hook_.path = std::string(source.path);
    hook_.precedence = precedence;
  }

  struct Read {
    std::vector<HookDefinition> hooks;  // their names are the parts after the file's name
    bool enabled = true;
  };

  Result<Read> read() {
    AGENTD_TRY_VOID(read_runs());
    AGENTD_TRY_VOID(check_keys());
    if (const YamlNode* const dialect = node_.find("dialect")) AGENTD_TRY_VOID(read_dialect(*dialect));
    AGENTD_TRY_VOID(read_events());
    for (const auto& [name, value] : node_.members) {
      const Key* const key = find_key(name);
      if (key->read != nullptr) AGENTD_TRY_VOID((this->*key->read)(value));
    }
    AGENTD_TRY_VOID(check_headers());
    AGENTD_TRY_VOID(check_sense());
    return finish();
  }

 private:
  struct Key {
    std::string_view name;
    unsigned beside;  // which of do, command, url and extension it may accompany
    Result<void> (HookReader::*read)(const YamlNode& value);  // null = read elsewhere
  };
  static const std::array<Key, 25> kKeys;

  static const Key* find_key(std::string_view name) {
    const auto found = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
    return found == kKeys.end() ? nullptr : &*found;
  }

  static std::vector<std::string> key_names() {
    std::vector<std::string> names;
    for (const Key& key : kKeys) names.emplace_back(key.name);
    return names;
  }

  // Finds which of the four it has. A file without any often has a slip in that very key.
  Result<void> read_runs() {
    for (const auto& [name, value] : node_.members) {
      const unsigned bit = name == "do"          ? kDo
                           : name == "command"   ? kCommand
                           : name == "url"       ? kUrl
                           : name == "extension" ? kExtension
                                                 : 0;
      if (bit == 0) continue;
      if (runs_ != 0)
        return source_.at_key(value, quoted_name(runs_key_) + " and " + quoted_name(name) +
                                         " exclude each other: a hook has one of them");
      runs_ = bit;
      runs_key_ = name;
    }
    return {};
  }

  Result<void> check_keys() const {
    for (const auto& [name, value] : node_.members) {
      const Key* const key = find_key(name);
      if (key == nullptr) return source_.unknown_key(value, name, "", key_names());
      if (runs_ != 0 && (key->beside & runs_) == 0)
        return source_.at_key(value, quoted_name(name) + " has no effect next to " + quoted_name(runs_key_));
    }
    if (runs_ == 0) return source_.at_value(node_, "a hook needs one of 'do', 'command', 'url' and 'extension'");
    if (node_.find("on") == nullptr)
      return source_.at_value(node_, "a hook needs 'on': the event, or a list of events");
    return {};
  }

  Result<void> read_dialect(const YamlNode& value) {
    std::vector<std::string> names;
    for (const Dialect each : all_dialects()) names.emplace_back(name_of(each));
    AGENTD_TRY(const std::string name, source_.word_of(value, "dialect", names));
    hook_.dialect = find_dialect(name).value_or(Dialect::kAgentd);
    if (runs_ == kExtension && hook_.dialect != Dialect::kKodelet)
      return source_.at_value(value, "an extension must have the dialect kodelet, not " + name);
    return {};
  }

  // ---- events

  Result<void> read_events() {
    if (runs_ == kExtension) hook_.dialect = Dialect::kKodelet;
    const YamlNode& on = *node_.find("on");
    if (on.kind != YamlNode::Kind::kList) return add_event(on);
    if (on.items.empty()) return source_.at_value(on, "'on' is an empty list");
    for (const YamlNode& item : on.items) AGENTD_TRY_VOID(add_event(item));
    return {};
  }

  Result<void> add_event(const YamlNode& node) {
    AGENTD_TRY(const std::string name, source_.text_of(node, "on"));
    const std::size_t before = events_.size();
    bool known = false;
    if (hook_.dialect == Dialect::kAgentd) {
      if (const EventTraits* const event = find_event(name)) events_.push_back({event->id, {}});
    } else {
      // One name of another tool may mean two events of agentd.
      for (const EventName& each : translator_of(hook_.dialect).events) {
        known = known || each.foreign == name;
        if (each.foreign == name && each.event != 0) events_.push_back({each.event, name});
      }
    }
    if (events_.size() == before) return unknown_event(node, name, known);
    for (std::size_t i = 0; i < before; ++i)
      for (std::size_t j = before; j < events_.size(); ++j)
        if (events_[i].id == events_[j].id) return source_.at_value(node, quoted_name(name) + " is repeated in 'on'");
    return {};
  }

  Error unknown_event(const YamlNode& node, const std::string& name, bool known) const {
    const std::string dialect(name_of(hook_.dialect));
    const std::string shown = "'" + one_line(name, 60) + "'";
    if (known) return source_.at_value(node, dialect + "'s event " + shown + " has no counterpart in agentd");
    if (const EventTraits* const event = find_event(name)) {
      const std::string_view foreign = foreign_event(hook_.dialect, event->id);
      return source_.at_value(node, foreign.empty()
                                        ? dialect + " has no event like agentd's " + shown
                                        : dialect + " calls the event " + shown + " '" + std::string(foreign) + "'");
    }
    std::vector<std::string> names;
    for (const EventTraits& event : all_events()) names.emplace_back(foreign_event(hook_.dialect, event.id));
    const bool own = hook_.dialect == Dialect::kAgentd;
    return source_.at_value(node, "unknown event " + shown + (own ? "" : " of " + dialect) + did_you_mean(name, names));
  }

  // ---- its action

  // finish() makes the answer once per event, since events allow different actions.
  Result<void> read_do(const YamlNode&) {
    hook_.runs = HookRuns::kAction;
    return {};
  }

  Result<void> read_command(const YamlNode& value) {
    if (value.kind == YamlNode::Kind::kList) return read_argv(value, "command", HookRuns::kArgv);
    AGENTD_TRY(hook_.command, source_.text_of(value, "command"));
    hook_.runs = HookRuns::kShell;
    return not_blank(value, hook_.command, "command");
  }

  Result<void> read_extension(const YamlNode& value) { return read_argv(value, "extension", HookRuns::kExtension); }

  Result<void> read_argv(const YamlNode& value, const std::string& key, HookRuns runs) {
    AGENTD_TRY(hook_.argv, source_.texts_of(value, key, false));
    hook_.runs = runs;
    for (std::size_t i = 0; i < hook_.argv.size(); ++i)
      if (hook_.argv[i].find('\0') != std::string::npos)
        return source_.at_value(value.items[i], "'" + key + "' has a zero byte");
    return not_blank(value.items[0], hook_.argv[0], key);
  }

  Result<void> not_blank(const YamlNode& value, std::string_view text, const std::string& key) const {
    if (text.find('\0') != std::string_view::npos) return source_.at_value(value, "'" + key + "' has a zero byte");
    if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) return {};
    return source_.at_value(value, "'" + key + "' is empty");
  }

  Result<void> read_url(const YamlNode& value) {
    AGENTD_TRY(hook_.url, source_.text_of(value, "url"));
    hook_.runs = HookRuns::kWebhook;
    if (hook_.url.find("${") != std::string::npos)
      return source_.at_value(value, "'url' takes no ${NAME}: put secrets into 'headers'");
    if (const auto url = parse_http_url(hook_.url); !url) return source_.at_value(value, url.error().message);
    return {};
  }

  Result<void> read_headers(const YamlNode& value) {
    AGENTD_TRY(hook_.headers, source_.pairs_of(value, "headers"));
    return {};
  }

  Result<void> read_allowed_environment(const YamlNode& value) {
    AGENTD_TRY(hook_.allowed_environment, source_.texts_of(value, "allowed_environment", true));
    for (const std::string& name : hook_.allowed_environment)
      if (!is_variable_name(name))
        return source_.at_value(
            value, "'allowed_environment' lists names of variables, '" + one_line(name, 60) + "' is not one");
    return {};
  }

  // Variables in headers must be in allowed_environment, wherever that key is.
  Result<void> check_headers() const {
    const auto& allowed = hook_.allowed_environment;
    for (const auto& [name, value] : hook_.headers) {
      const YamlNode& node = *node_.find("headers")->find(name);
      if (const auto usable = check_webhook_header(name, value); !usable)
        return source_.at_key(node, usable.error().message);
      const auto wanted = variables_in(value);
      if (!wanted) return source_.at_value(node, "the header '" + name + "': " + wanted.error().message);
      for (const std::string& variable : *wanted)
        if (std::find(allowed.begin(), allowed.end(), variable) == allowed.end())
          return source_.at_value(
              node, "the header '" + name + "' uses " + variable + ", which is not in allowed_environment");
    }
    return {};
  }

  Result<void> read_environment(const YamlNode& value) {
    AGENTD_TRY(hook_.environment, source_.pairs_of(value, "environment"));
    for (const auto& [name, text] : hook_.environment) {
      const YamlNode& node = *value.find(name);
      if (!is_variable_name(name)) return source_.at_key(node, "'" + one_line(name, 60) + "' is not a variable name");
      if (text.find('\0') != std::string::npos)
        return source_.at_value(node, "'environment." + name + "' has a zero byte");
    }
    return {};
  }

  Result<void> read_working_directory(const YamlNode& value) {
    AGENTD_TRY(hook_.working_directory, source_.text_of(value, "working_directory"));
    return not_blank(value, hook_.working_directory, "working_directory");
  }

  // ---- conditions

  Result<void> read_matcher(const YamlNode& value) {
    AGENTD_TRY(const std::string text, source_.text_of(value, "matcher"));
    matcher_ = &value;
    return {};
  }

  Result<void> read_if(const YamlNode& value) {
    AGENTD_TRY(hook_.if_rule, source_.text_of(value, "if"));
    if (hook_.dialect != Dialect::kClaude)
      return source_.at_key(value, "'if' is only for the dialect claude; use 'when'");
    AGENTD_TRY_VOID(not_blank(value, hook_.if_rule, "if"));
    if (const auto rule = if_rule_holds(hook_, {}); !rule) return source_.at_value(value, rule.error().message);
    return {};
  }

  Result<void> read_when(const YamlNode& value) {
    AGENTD_TRY(const std::string text, source_.text_of(value, "when"));
    auto parsed = Expression::parse(text, source_.path, value.value_line, value.value_column);
    // The text may differ from the file by quotes, escapes and folded lines.
    const auto tree = parse_expression(text);
    if (!tree) return mistake_in(value, tree.error());
    if (!parsed) return parsed.error();
    std::vector<std::uint32_t> events;
    for (const NamedEvent& event : events_) events.push_back(event.id);
    if (const auto wrong = wrong_path(*tree, events)) return mistake_in(value, *wrong);
    hook_.when = std::move(*parsed);
    return {};
  }

  Error mistake_in(const YamlNode& value, const ExpressionMistake& mistake) const {
    Error error = source_.at_byte(value, mistake.offset, mistake.error.message);
    error.code = mistake.error.code;
    return error;
  }

  Result<void> read_once(const YamlNode& value) {
    AGENTD_TRY(const std::string word, source_.word_of(value, "once", {"true", "false", "run", "conversation"}));
    hook_.once = word == "false"          ? HookOnce::kAlways
                 : word == "conversation" ? HookOnce::kConversation
                                          : HookOnce::kRun;
    return {};
  }

  // ---- priority and failures

  Result<void> read_timeout(const YamlNode& value) {
    AGENTD_TRY(const std::string text, source_.text_of(value, "timeout"));
    const double time = milliseconds_in(text, hook_.dialect);
    if (time < 1 || time > kTimeoutMaxMs)
      return source_.at_value(value, "'timeout' must be a time like 500ms, 5s or 2m, from 1ms to 24 hours, not '" +
                                         one_line(text, 60) + "'");
    hook_.timeout = Milliseconds(static_cast<std::int64_t>(time));
    return {};
  }

  Result<void> read_on_failure(const YamlNode& value) {
    AGENTD_TRY(const std::string word, source_.word_of(value, "on_failure", {"open", "closed"}));
    hook_.on_failure = word == "open" ? FailurePolicy::kOpen : FailurePolicy::kClosed;
    return {};
  }

  Result<void> read_priority(const YamlNode& value) {
    AGENTD_TRY(const std::int64_t priority,
               source_.whole_of(value, "priority", std::numeric_limits<std::int16_t>::min(),
                                std::numeric_limits<std::int16_t>::max()));
    hook_.priority = static_cast<int>(priority);
    return {};
  }

  Result<void> read_name(const YamlNode& value) {
    AGENTD_TRY(hook_.name, source_.text_of(value, "name"));
    if (is_hook_name(hook_.name)) return {};
    return source_.at_value(value, "'name' takes letters, digits, '_', '-', '.' and ':', at most " +
                                       std::to_string(kNameBytesMax) + " of them");
  }

  Result<void> read_flag(const YamlNode& value, std::string_view key, bool& into) const {
    AGENTD_TRY(into, source_.boolean_of(value, key));
    return {};
  }
  Result<void> read_guard(const YamlNode& value) { return read_flag(value, "guard", hook_.guard); }
  Result<void> read_async(const YamlNode& value) { return read_flag(value, "async", hook_.async); }
  Result<void> read_observe(const YamlNode& value) { return read_flag(value, "observe", hook_.observes); }
  Result<void> read_shadow(const YamlNode& value) { return read_flag(value, "shadow", hook_.shadow); }
  Result<void> read_strict(const YamlNode& value) { return read_flag(value, "strict_output", hook_.strict_output); }
  Result<void> read_sandbox(const YamlNode& value) { return read_flag(value, "sandbox", hook_.sandbox); }
  Result<void> read_enabled(const YamlNode& value) { return read_flag(value, "enabled", enabled_); }

  // Refuses guards that cannot guard: their answer is ignored, or nothing can be blocked at their events.
  Result<void> check_sense() const {
    if (hook_.guard && hook_.on_failure == FailurePolicy::kOpen)
      return source_.at_key(*node_.find("on_failure"),
                            "a guard blocks when it fails, but 'on_failure: open' lets it pass: remove one of the two");
    const bool closed = hook_.guard || hook_.on_failure == FailurePolicy::kClosed;
    if (!closed) return {};
    if (hook_.guard && hook_.once != HookOnce::kAlways && std::any_of(events_.begin(), events_.end(), guards))
      return source_.at_key(*node_.find("once"),
                            "a guard that is called only once does not guard the second time: remove 'once'");
    if (const YamlNode* const answer = node_.find("do"); answer != nullptr && answer->scalar == "none")
      return source_.at_value(*answer, "a guard with 'do: none' guards nothing: use 'do: block' or a command");
    if (!hook_.async && !hook_.observes) {
      if (std::none_of(events_.begin(), events_.end(), guards)) return guards_nothing();
      return {};
    }
    const std::string_view unheard = hook_.async ? "async" : "observe";
    return source_.at_key(*node_.find(unheard), "the answer of an '" + std::string(unheard) +
                                                    "' hook is ignored: it cannot be a guard or fail closed");
  }

  static bool guards(const NamedEvent& event) { return fails_closed(*find_event(event.id)); }

  Error guards_nothing() const {
    std::vector<std::string> names;
    for (const EventTraits& event : all_events())
      if (fails_closed(event)) names.emplace_back(event.name);
    const std::string at(find_event(events_[0].id)->name);
    return source_.at_key(*node_.find(hook_.guard ? "guard" : "on_failure"),
                          "nothing can be blocked or withheld at " + at +
                              ", so a guard has no effect there; events that can be guarded: " + join(names, ", "));
  }

  Result<Read> finish() {
    Read out;
    out.enabled = enabled_;
    for (const NamedEvent& event : events_) {
      HookDefinition hook = hook_;
      hook.event = event.id;
      hook.foreign_event = event.foreign;
      if (!guards(event)) {  // next to one that can be guarded
        hook.guard = false;
        if (hook.on_failure == FailurePolicy::kClosed) hook.on_failure.reset();
      }
      if (events_.size() > 1) {
        if (!hook.name.empty()) hook.name += '.';
        hook.name += find_event(event.id)->name;
      }
      AGENTD_TRY_VOID(make_matcher(hook));
      if (const YamlNode* const answer = node_.find("do")) {
        AGENTD_TRY(hook.action_json, canonical_answer(source_, *answer, event.id));
      }
      out.hooks.push_back(std::move(hook));
    }
    return out;
  }

  Result<void> make_matcher(HookDefinition& hook) const {
    if (matcher_ == nullptr) return {};
    auto matcher = Matcher::parse(matcher_->scalar, matcher_rules(hook.dialect, hook.event));
    if (!matcher && matcher.error().code != Code::kInvalid) return matcher.error();
    if (!matcher) return source_.at_value(*matcher_, matcher.error().message);
    hook.matcher = std::move(*matcher);
    return {};
  }

  const DeclarativeSource& source_;
  const YamlNode& node_;
  HookDefinition hook_;  // the parts that its events share
  std::vector<NamedEvent> events_;
  unsigned runs_ = 0;
  std::string runs_key_;
  const YamlNode* matcher_ = nullptr;
  bool enabled_ = true;
};

const std::array<HookReader::Key, 25> HookReader::kKeys{{
    {"name", kAny, &HookReader::read_name},
    {"on", kAny, nullptr},
    {"matcher", kAny, &HookReader::read_matcher},
    {"if", kAny, &HookReader::read_if},
    {"when", kAny, &HookReader::read_when},
    {"do", kDo, &HookReader::read_do},
    {"command", kCommand, &HookReader::read_command},
    {"url", kUrl, &HookReader::read_url},
    {"extension", kExtension, &HookReader::read_extension},
    {"headers", kUrl, &HookReader::read_headers},
    {"allowed_environment", kUrl, &HookReader::read_allowed_environment},
    {"dialect", kAny, nullptr},
    {"timeout", kRuns, &HookReader::read_timeout},
    {"on_failure", kAny, &HookReader::read_on_failure},
    {"guard", kAny, &HookReader::read_guard},
    {"priority", kAny, &HookReader::read_priority},
    {"once", kAny, &HookReader::read_once},
    {"async", kCommand | kUrl, &HookReader::read_async},
    {"observe", kRuns, &HookReader::read_observe},
    {"shadow", kAny, &HookReader::read_shadow},
    {"strict_output", kCommand | kUrl, &HookReader::read_strict},
    {"environment", kProgram, &HookReader::read_environment},
    {"working_directory", kProgram, &HookReader::read_working_directory},
    {"sandbox", kProgram, &HookReader::read_sandbox},
    {"enabled", kAny, &HookReader::read_enabled},
}};

class FileReader {
 public:
  FileReader(const DeclarativeSource& source, std::string_view name, Precedence precedence)
      : source_(source), name_(name), precedence_(precedence) {}

  Result<std::vector<HookDefinition>> read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::kNull)
      return source_.at_value(root, "the file has no hook: it needs 'on' and 'do', 'command' or 'url'");
    if (root.kind != YamlNode::Kind::kMap)
      return source_.at_value(root, "the file must be a mapping: one hook, or 'hooks:' with a list of hooks");
    const YamlNode* const list = root.find("hooks");
    if (list == nullptr) {
      AGENTD_TRY_VOID(add(root, 0));
      return std::move(hooks_);
    }
    for (const auto& [name, value] : root.members)
      if (name != "hooks")
        return source_.at_key(value,
                              quoted_name(one_line(name, 60)) + " must be in one of the hooks, not next to 'hooks'");
    AGENTD_TRY_VOID(read_list(*list));
    return std::move(hooks_);
  }

 private:
  Result<void> read_list(const YamlNode& list) {
    if (list.kind != YamlNode::Kind::kList)
      return source_.at_value(list,
                              "'hooks' must be a list of hooks; import another tool's with 'agentd hooks import'");
    if (list.items.empty()) return source_.at_value(list, "'hooks' is an empty list");
    if (list.items.size() > kHooksMax)
      return source_.at_value(list, "'hooks' has more than " + std::to_string(kHooksMax) + " hooks");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const YamlNode& item = list.items[i];
      if (item.kind != YamlNode::Kind::kMap)
        return source_.at_value(item, "a hook must be a mapping with 'on' and 'do', 'command' or 'url'");
      AGENTD_TRY_VOID(add(item, i + 1));
    }
    return {};
  }

  // `number` 0 = the document itself is the hook.
  Result<void> add(const YamlNode& node, std::size_t number) {
    AGENTD_TRY(HookReader::Read read, HookReader(source_, node, precedence_).read());
    const bool named = node.find("name") != nullptr;
    for (HookDefinition& hook : read.hooks) {
      std::string own = name_;
      if (number != 0 && !named) own += "." + std::to_string(number);
      if (!hook.name.empty()) own += "." + hook.name;
      hook.name = std::move(own);
      hook.line = number == 0 ? 0 : node.value_line;
      if (!names_.insert(hook.name).second)
        return source_.at_value(node, "two hooks of this file have the name '" + hook.name + "'");
      if (read.enabled) hooks_.push_back(std::move(hook));
    }
    return {};
  }

  const DeclarativeSource& source_;
  const std::string name_;
  const Precedence precedence_;
  std::set<std::string> names_;
  std::vector<HookDefinition> hooks_;
};

}  // namespace

Result<std::vector<HookDefinition>> read_declarative(std::string_view text, std::string_view path,
                                                     std::string_view name, Precedence precedence) {
  const std::string place(path);
  if (text.size() > kFileBytesMax)
    return Error{Code::kInvalid, place + ":1:1: the file has more than " + with_commas(kFileBytesMax) + " bytes"};
  AGENTD_TRY(const YamlNode root, parse_yaml(text, path));
  return FileReader({text, path}, name, precedence).read(root);
}

}  // namespace agentd
