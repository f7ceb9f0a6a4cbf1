// SPDX-License-Identifier: Apache-2.0
#include "core/tools/permission.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/tools/permission_call.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 300, kRulesMax = 16, kKeptBytesMax = 2000;
constexpr std::string_view kModeNames[] = {"ask", "accept_edits", "plan", "allow", "deny"};
constexpr std::string_view kGit = ".git";

using Call = PermissionCall;
using Fit = CommandPattern::Fit;

// A rule about the tools that change files is about redirections, too.
bool is_about_writes(const PermissionRule& rule, const Call& call) {
  return call.is_command() && (rule.names(std::string(kWriteTool)) || rule.names(std::string(kEditTool)));
}

// Either spelling of a path counts. What a link to nothing would make may be anywhere.
Fit touches(const PathPattern& pattern, const CallPath& path, const PathPlace& place) {
  if (pattern.matches(path.spelt, place, false)) return Fit::kYes;
  if (path.real.empty()) return Fit::kMaybe;
  return pattern.matches(path.real, place, true) || pattern.leads_to(path.real, place) ? Fit::kYes : Fit::kNo;
}

Fit touches_writes(const PermissionRule& rule, Call& call) {
  const auto* const pattern = std::get_if<PathPattern>(&rule.argument);
  if (pattern == nullptr && !rule.is_whole()) return Fit::kNo;
  Fit out = Fit::kNo;
  for (const WrittenFile& each : call.writes()) {
    if (pattern == nullptr) return Fit::kYes;
    if (!each.path.spelt.empty()) out = std::max(out, touches(*pattern, each.path, call.place()));
    if (!each.certain) out = std::max(out, Fit::kMaybe);
  }
  return out;
}

// How a rule that denies or asks fits.
Fit touches(const PermissionRule& rule, Call& call) {
  if (!rule.names(call.tool().name)) return is_about_writes(rule, call) ? touches_writes(rule, call) : Fit::kNo;
  if (rule.is_whole()) return Fit::kYes;
  Fit out = Fit::kNo;
  if (const auto* const command = std::get_if<CommandPattern>(&rule.argument)) {
    for (const ShellCommand& each : call.reading().commands) out = std::max(out, command->touches(each));
  } else if (const auto* const path = std::get_if<PathPattern>(&rule.argument)) {
    for (const CallPath& each : call.paths()) {
      out = std::max(out, touches(*path, each, call.place()));
      if (!each.named && !call.tool().read_only()) out = std::max(out, Fit::kMaybe);
    }
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
  Decision(const PermissionRules& rules, Call& call)
      : rules_(rules), mode_(rules.mode_now()), call_(call), allow_(rules.allow) {
    if (rules.kept != nullptr)
      for (PermissionRule& each : rules.kept->rules()) allow_.push_back(std::move(each));
  }

  PermissionVerdict make() {
    if (auto denied = first(rules_.deny, "permissions.deny", Permission::kDeny)) return *denied;
    if (mode_ == PermissionRules::Mode::kPlan && !call_.tool().read_only())
      return {Permission::kDeny,
              {},
              "the mode is plan, in which only tools that read may run: describe what " + call_.tool().name +
                  " would do instead",
              false,
              false,
              true};
    if (auto asked = first(rules_.ask, "permissions.ask", Permission::kAsk)) return *asked;
    if (auto doubted = doubt()) return *doubted;
    if (auto asked = guarded()) return *asked;
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
                                 permission == Permission::kDeny && rule.is_whole() && rule.names(call_.tool().name),
                                 permission == Permission::kAsk};
      if (fit == Fit::kMaybe && maybe_.empty())
        maybe_ = "not sure: " + shown(rule, list) + " may be about it, which depends on a value, an option or a link";
    }
    return std::nullopt;
  }

  // A reading that is not sure may hide what a rule forbids.
  std::optional<PermissionVerdict> doubt() {
    if (!maybe_.empty()) return PermissionVerdict{Permission::kAsk, {}, maybe_, false, true};
    if (!call_.is_command()) return std::nullopt;
    for (const auto* const list : {&rules_.deny, &rules_.ask})
      for (const PermissionRule& rule : *list)
        if (!rule.is_whole() && (rule.names(call_.tool().name) || is_about_writes(rule, call_)) &&
            !call_.reading().sure)
          return PermissionVerdict{
              Permission::kAsk,
              {},
              "not sure: " + call_.reading().why_not_sure + ", and there are rules about commands or files",
              false,
              true};
    return std::nullopt;
  }

  // Neither a mode nor a rule about a whole tool means files that run code later; a rule that names them does.
  std::optional<PermissionVerdict> guarded() {
    const std::string& name = call_.tool().name;
    if (name != kWriteTool && name != kEditTool) return std::nullopt;
    PermissionVerdict out;
    out.permission = mode_ == PermissionRules::Mode::kDeny ? Permission::kDeny : Permission::kAsk;
    for (const CallPath& path : call_.paths()) {
      if (call_.is_in(path, rules_.own_places) || !is_guarded(path) || covering(path, name) != nullptr) continue;
      const std::string& at = path.real.empty() ? path.spelt : path.real;
      out.missing.push_back(name + "(" + exact_path(at) + ")");
      out.reason = one_line(at, kShownBytes) +
                   " can start programs later, outside of the sandbox, so that only a rule with its path allows it";
    }
    return out.missing.empty() ? std::nullopt : std::optional(std::move(out));
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
    for (const CallPath& path : call_.paths()) {
      if (!path.named && !call_.tool().read_only()) return std::nullopt;
      by = covering(path, call_.tool().name);
      if (by == nullptr) return std::nullopt;
    }
    return allowed(*by);
  }

  const PermissionRule* covering(const CallPath& path, const std::string& tool) const {
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
    for (const WrittenFile& file : call_.writes()) {
      const bool own = call_.is_in(file.path, rules_.own_places);
      if (!own && file.certain && covering(file.path, std::string(kWriteTool)) != nullptr) continue;
      lacks("it writes to " + file_text(*file.target) +
                (own ? ", which is agentd's own" : ", which no rule about " + std::string(kWriteTool) + " allows"),
            own || !file.certain || file.path.real.empty()
                ? std::string()
                : std::string(kWriteTool) + "(" + exact_path(file.path.real) + ")");
    }
    for (const ShellCommand& command : reading.commands) {
      if (command.words.empty() || command.wraps) continue;
      const PermissionRule* const rule = covering(command);
      if (rule == nullptr) {
        lacks("no rule allows " + one_line(text_of(command), kShownBytes), exact_rule(command));
        continue;
      }
      const std::string text = shown(*rule, "permissions.allow");
      if (std::find(by.begin(), by.end(), text) == by.end()) by.push_back(text);
    }
    if (by.empty() || !why_.empty()) return std::nullopt;
    return PermissionVerdict{Permission::kAllow, join(by, ", "), join(by, ", ")};
  }

  // The first reason counts. `rule`: what would allow that part; empty = none does, so that no rules are enough.
  void lacks(std::string why, std::string rule) {
    if (why_.empty()) why_ = std::move(why);
    closed_ = closed_ || rule.empty();
    if (closed_)
      missing_.clear();
    else if (std::find(missing_.begin(), missing_.end(), rule) == missing_.end())
      missing_.push_back(std::move(rule));
  }

  // Empty: there is none that covers it here.
  std::string exact_rule(const ShellCommand& command) const {
    if (call_.moves() || call_.reading().sets_environment) return {};
    const std::string pattern = exact_pattern(command);
    const auto read = CommandPattern::parse(pattern);
    if (pattern.empty() || !read || !read->covers(command)) return {};
    return std::string(kCommandTool) + "(" + pattern + ")";
  }

  const PermissionRule* covering(const ShellCommand& command) const {
    const std::string& program = command.words.front().text;
    const bool moves = call_.moves();
    // Which program it is depends on the directory.
    if (moves && program[0] != '/' && program.find('/') != std::string::npos) return nullptr;
    for (const PermissionRule& rule : allow_) {
      const auto* const pattern = std::get_if<CommandPattern>(&rule.argument);
      if (pattern == nullptr || !rule.names(call_.tool().name) || !pattern->covers(command)) continue;
      if (pattern->is_exact() && call_.reading().sets_environment) continue;
      if (rule.kept && (moves || rule.directory != call_.place().start)) continue;
      return &rule;
    }
    return nullptr;
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
    const std::string mode = "the mode is " + std::string(name_of(mode_));
    const std::string none = why_.empty() ? "no rule is about it, and " + mode : why_;
    switch (mode_) {
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
    return {Permission::kAsk, {}, none, why_.empty(), false, false, std::move(missing_)};
  }

  bool edits_in_roots() {
    const std::string& name = call_.tool().name;
    const std::vector<CallPath>& paths = call_.paths();
    return (name == kWriteTool || name == kEditTool) && !paths.empty() &&
           std::all_of(paths.begin(), paths.end(), [&](const CallPath& path) {
             return path.named && !path.real.empty() && is_in_roots(path.real, call_.place()) &&
                    !call_.is_in(path, rules_.own_places) && !has_part(path.real, kGit);
           });
  }

  bool is_guarded(const CallPath& path) const {
    if (rules_.guarded == nullptr) return false;
    const PathPlace& place = call_.place();
    return std::any_of(place.roots.begin(), place.roots.end(), [&](const std::string& root) {
      return call_.is_in(path, rules_.guarded(root, std::string(place.home)));
    });
  }

  // git runs programs that its own files name.
  static bool has_part(const std::string& path, std::string_view part) {
    return (path + "/").find("/" + std::string(part) + "/") != std::string::npos;
  }

  const PermissionRules& rules_;
  const PermissionRules::Mode mode_;  // one for the whole decision
  Call& call_;
  std::vector<PermissionRule> allow_;
  std::string maybe_;                 // why a rule may be about it
  std::string why_;                   // why no rule allows it
  std::vector<std::string> missing_;  // PermissionVerdict::missing
  bool closed_ = false;               // no rules about parts of it are enough
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
    if (!call.reading().sure || call.reading().sets_environment || call.moves() || !call.writes().empty()) return {};
    for (const ShellCommand& command : call.reading().commands) {
      if (command.words.empty() || command.wraps) continue;
      const std::string pattern = exact_pattern(command);
      const auto read = CommandPattern::parse(pattern);
      if (pattern.empty() || !read || !read->covers(command)) return {};
      add(pattern);
    }
  } else if (!tool.path_keys.empty()) {
    for (const CallPath& path : call.paths()) {
      if (path.real.empty() || !path.named) return {};
      const std::string pattern = exact_path(path.real);
      const auto read = PathPattern::parse(pattern);
      if (!read || !read->matches(path.real, place, true)) return {};
      add(pattern);
    }
  }
  const bool few = out.size() <= kRulesMax && join(out, ", ").size() <= kKeptBytesMax;  // a person reads them
  return few ? out : std::vector<std::string>();
}

}  // namespace agentd
