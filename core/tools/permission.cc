// SPDX-License-Identifier: Apache-2.0
#include "core/tools/permission.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/paths.h"
#include "core/codec/json.h"
#include "core/codec/url.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 300, kRulesMax = 16, kKeptBytesMax = 2000;
// Targets of redirections that change no file.
constexpr std::string_view kNoFiles[] = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"};
constexpr std::string_view kModeNames[] = {"ask", "accept_edits", "plan", "allow", "deny"};
constexpr std::string_view kWriter = "write_file";

struct Path {
  std::string spelt, real;  // absolute; real: without links, empty = it leads to nothing
};

// A call, with what rules are compared with. Made as far as a rule needs it.
class Call {
 public:
  Call(const Tool& tool, const ToolInput& input, const PathPlace& place) : tool_(tool), input_(input), place_(place) {}

  const Tool& tool() const { return tool_; }
  const PathPlace& place() const { return place_; }
  bool is_command() const { return tool_.name == kCommandTool; }

  const ShellReading& reading() {
    if (!reading_) reading_ = split_command(member("command"));
    return *reading_;
  }
  const std::vector<Path>& paths() {
    if (!paths_) {
      paths_.emplace();
      for (const std::string& key : tool_.path_keys) {
        const std::string said = member(key);
        const std::string spelt = lexical_path(with_home(said.empty() ? "." : said, place_.home), place_.start);
        paths_->push_back({spelt, real_path(spelt)});
      }
    }
    return *paths_;
  }
  // Empty: there is none.
  std::string host() {
    const auto url = parse_http_url(member("url"));
    return url ? url->host : std::string();
  }

 private:
  std::string member(std::string_view key) const {
    const auto document = JsonDocument::parse(input_.text());
    return document ? std::string(document->root()[key].string_or({})) : std::string();
  }

  const Tool& tool_;
  const ToolInput& input_;
  const PathPlace& place_;
  std::optional<ShellReading> reading_;
  std::optional<std::vector<Path>> paths_;
};

using Fit = CommandPattern::Fit;

// How a rule that denies or asks fits: either spelling of a path counts.
Fit touches(const PermissionRule& rule, Call& call) {
  if (!rule.names(call.tool().name)) return Fit::kNo;
  if (rule.is_whole()) return Fit::kYes;
  Fit out = Fit::kNo;
  if (const auto* const command = std::get_if<CommandPattern>(&rule.argument)) {
    for (const ShellCommand& each : call.reading().commands) out = std::max(out, command->touches(each));
  } else if (const auto* const path = std::get_if<PathPattern>(&rule.argument)) {
    for (const Path& each : call.paths())
      if (path->matches(each.spelt, call.place(), false) || path->matches(each.real, call.place(), true))
        out = Fit::kYes;
  } else if (const auto* const domain = std::get_if<DomainPattern>(&rule.argument)) {
    if (domain->matches(call.host())) out = Fit::kYes;
  }
  return out;
}

std::string shown(const PermissionRule& rule, std::string_view list) {
  return std::string(list) + " '" + one_line(rule.text, kShownBytes) + "'" +
         (rule.place.empty() ? "" : " (" + rule.place + ")");
}

class Decision {
 public:
  Decision(const PermissionRules& rules, Call& call) : rules_(rules), call_(call) {
    allow_ = rules.allow;
    if (rules.kept != nullptr)
      for (PermissionRule& each : rules.kept->rules()) allow_.push_back(std::move(each));
  }

  PermissionVerdict make() {
    if (auto denied = first(rules_.deny, "permissions.deny", Permission::kDeny)) return *denied;
    if (rules_.mode == PermissionRules::Mode::kPlan && !call_.tool().read_only())
      return {Permission::kDeny,
              {},
              "the mode is plan, in which only tools that read may run: describe what " + call_.tool().name +
                  " would do instead",
              false,
              false,
              true};
    if (auto asked = first(rules_.ask, "permissions.ask", Permission::kAsk)) return *asked;
    if (auto doubted = doubt()) return *doubted;
    if (auto allowed = allow()) return *allowed;
    if (call_.tool().read_only()) return {Permission::kAllow, {}, "the tool only reads"};
    return by_mode();
  }

 private:
  std::optional<PermissionVerdict> first(const std::vector<PermissionRule>& rules, std::string_view list,
                                         Permission permission) {
    for (const PermissionRule& rule : rules) {
      const Fit fit = touches(rule, call_);
      if (fit == Fit::kYes)
        return PermissionVerdict{permission, shown(rule, list), shown(rule, list),
                                 permission == Permission::kDeny && rule.is_whole(), permission == Permission::kAsk};
      if (fit == Fit::kMaybe && maybe_.empty())
        maybe_ = "not sure: " + shown(rule, list) + " may be about it, which depends on a value or an option";
    }
    return std::nullopt;
  }

  // A reading that is not sure may hide what a rule forbids.
  std::optional<PermissionVerdict> doubt() {
    if (!maybe_.empty()) return PermissionVerdict{Permission::kAsk, {}, maybe_, false, true};
    if (!call_.is_command()) return std::nullopt;
    for (const auto* const list : {&rules_.deny, &rules_.ask})
      for (const PermissionRule& rule : *list)
        if (!rule.is_whole() && rule.names(call_.tool().name) && !call_.reading().sure)
          return PermissionVerdict{Permission::kAsk,
                                   {},
                                   "not sure: " + call_.reading().why_not_sure + ", and there are rules about commands",
                                   false,
                                   true};
    return std::nullopt;
  }

  PermissionVerdict allowed(const PermissionRule& rule) const {
    const std::string text = shown(rule, "permissions.allow");
    return {Permission::kAllow, text, text};
  }

  std::optional<PermissionVerdict> allow() {
    bool has_arguments = false;
    for (const PermissionRule& rule : allow_) {
      if (!rule.names(call_.tool().name)) continue;
      if (rule.is_whole()) return allowed(rule);
      has_arguments = true;
    }
    if (!has_arguments) return std::nullopt;
    if (call_.is_command()) return allow_command();
    for (const PermissionRule& rule : allow_) {
      if (!rule.names(call_.tool().name)) continue;
      const auto* const domain = std::get_if<DomainPattern>(&rule.argument);
      if (domain != nullptr && domain->matches(call_.host())) return allowed(rule);
    }
    if (call_.paths().empty()) return std::nullopt;
    const PermissionRule* by = nullptr;
    for (const Path& path : call_.paths()) {
      by = covering(path, call_.tool().name);
      if (by == nullptr) return std::nullopt;
    }
    return allowed(*by);
  }

  const PermissionRule* covering(const Path& path, const std::string& tool) const {
    for (const PermissionRule& rule : allow_) {
      const auto* const pattern = std::get_if<PathPattern>(&rule.argument);
      if (pattern == nullptr || !rule.names(tool) || path.real.empty()) continue;
      if (pattern->matches(path.real, call_.place(), true)) return &rule;
    }
    return nullptr;
  }

  std::optional<PermissionVerdict> allow_command() {
    const ShellReading& reading = call_.reading();
    if (!reading.sure) {
      why_ = "not sure: " + reading.why_not_sure;
      return std::nullopt;
    }
    std::vector<std::string> by;
    const bool moves = std::any_of(reading.commands.begin(), reading.commands.end(), changes_directory);
    for (const ShellCommand& command : reading.commands) {
      for (const ShellRedirection& redirection : command.redirections)
        if (redirection.writes && !may_write(redirection.target, moves)) {
          why_ = "it writes to " + file_text(redirection.target) + ", which no rule about " + std::string(kWriter) +
                 " allows";
          return std::nullopt;
        }
      if (command.words.empty() || command.wraps) continue;
      const PermissionRule* const rule = covering(command);
      if (rule == nullptr) {
        why_ = "no rule allows " + one_line(text_of(command), kShownBytes);
        return std::nullopt;
      }
      const std::string text = shown(*rule, "permissions.allow");
      if (std::find(by.begin(), by.end(), text) == by.end()) by.push_back(text);
    }
    if (by.empty()) return std::nullopt;
    return PermissionVerdict{Permission::kAllow, join(by, ", "), join(by, ", ")};
  }

  const PermissionRule* covering(const ShellCommand& command) const {
    for (const PermissionRule& rule : allow_) {
      const auto* const pattern = std::get_if<CommandPattern>(&rule.argument);
      if (pattern != nullptr && rule.names(call_.tool().name) && pattern->covers(command)) return &rule;
    }
    return nullptr;
  }

  // A file is written as by write_file. A command that changes its directory first writes who knows where.
  bool may_write(const ShellWord& target, bool moves) const {
    if (std::find(std::begin(kNoFiles), std::end(kNoFiles), target.text) != std::end(kNoFiles)) return true;
    if (!target.known() || target.text.empty() || (moves && target.text[0] != '/')) return false;
    const std::string spelt = lexical_path(target.text, call_.place().start);
    return covering(Path{spelt, real_path(spelt)}, std::string(kWriter)) != nullptr;
  }

  // A relative path is not below the start then.
  static bool changes_directory(const ShellCommand& command) {
    return std::any_of(command.words.begin(), command.words.end(), [&](const ShellWord& word) {
      const bool program = &word == &command.words.front();
      return program ? word.is("cd") || word.is("pushd") || word.is("popd") : word.is("-execdir") || word.is("-okdir");
    });
  }

  static std::string file_text(const ShellWord& target) {
    return target.known() ? "'" + one_line(target.text, kShownBytes) + "'" : "a file that depends on a value";
  }

  static std::string text_of(const ShellCommand& command) {
    std::string out;
    for (const ShellWord& word : command.words) {
      out += out.empty() ? "'" : " ";
      for (const char c : word.text) out += c == kUnknownPart ? std::string("...") : std::string(1, c);
    }
    return out + "'";
  }

  PermissionVerdict by_mode() {
    const std::string mode = "the mode is " + std::string(name_of(rules_.mode));
    const std::string none = why_.empty() ? "no rule is about it, and " + mode : why_;
    switch (rules_.mode) {
      case PermissionRules::Mode::kAllow:
        return {Permission::kAllow, {}, mode};
      case PermissionRules::Mode::kDeny:
      case PermissionRules::Mode::kPlan:
        return {Permission::kDeny, {}, none, true};
      case PermissionRules::Mode::kAcceptEdits:
        if (edits_in_roots()) return {Permission::kAllow, {}, mode + ", and it edits files of the workspace"};
        break;
      case PermissionRules::Mode::kAsk:
        break;
    }
    return {Permission::kAsk, {}, none, why_.empty()};
  }

  bool edits_in_roots() {
    const std::vector<Path>& paths = call_.paths();
    return !call_.is_command() && !paths.empty() && std::all_of(paths.begin(), paths.end(), [&](const Path& path) {
      return !path.real.empty() && is_in_roots(path.real, call_.place());
    });
  }

  const PermissionRules& rules_;
  Call& call_;
  std::vector<PermissionRule> allow_;
  std::string maybe_;  // why a rule may be about it
  std::string why_;    // why no rule allows it
};

}  // namespace

std::string_view name_of(PermissionRules::Mode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

std::optional<PermissionRules::Mode> find_permission_mode(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kModeNames); ++i)
    if (kModeNames[i] == name) return static_cast<PermissionRules::Mode>(i);
  return std::nullopt;
}

PermissionVerdict PermissionRules::decide(const Tool& tool, const ToolInput& input, const PathPlace& place) const {
  Call call(tool, input, place);
  return Decision(*this, call).make();
}

std::vector<std::string> exact_rules(const Tool& tool, const ToolInput& input, const PathPlace& place) {
  Call call(tool, input, place);
  std::vector<std::string> out;
  const auto add = [&](const std::string& argument) {
    std::string rule = tool.name + "(" + argument + ")";
    if (std::find(out.begin(), out.end(), rule) == out.end()) out.push_back(std::move(rule));
  };
  if (call.is_command()) {
    if (!call.reading().sure) return {};
    for (const ShellCommand& command : call.reading().commands) {
      for (const ShellRedirection& redirection : command.redirections)
        if (redirection.writes &&
            std::find(std::begin(kNoFiles), std::end(kNoFiles), redirection.target.text) == std::end(kNoFiles))
          return {};
      if (command.words.empty() || command.wraps) continue;
      const std::string pattern = exact_pattern(command);
      const auto read = CommandPattern::parse(pattern);
      if (pattern.empty() || !read || !read->covers(command)) return {};
      add(pattern);
    }
  } else if (!tool.path_keys.empty()) {
    for (const Path& path : call.paths()) {
      if (path.real.empty()) return {};
      const std::string pattern = exact_path(path.real, place);
      const auto read = PathPattern::parse(pattern);
      if (!read || !read->matches(path.real, place, true)) return {};
      add(pattern);
    }
  }
  const bool few = out.size() <= kRulesMax && join(out, ", ").size() <= kKeptBytesMax;  // a person reads them
  return few ? out : std::vector<std::string>();
}

}  // namespace agentd
