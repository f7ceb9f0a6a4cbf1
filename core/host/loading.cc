// SPDX-License-Identifier: Apache-2.0
#include "core/host/loading.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/nearest.h"
#include "core/codec/json.h"
#include "core/codec/yaml.h"
#include "core/declarative/declarative.h"
#include "core/dialects/dialect.h"
#include "core/dialects/json_places.h"
#include "core/dialects/translator.h"
#include "core/external/hook_sandbox.h"
#include "core/hooks/event.h"
#include "core/process/filter.h"
#include "core/process/process.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kProbeBytesMax = 4096;
constexpr std::uint64_t kSettingsBytesMax = 4u << 20;
constexpr std::size_t kEventsMax = 64;
constexpr std::size_t kLabelBytesMax = 24, kLabelDigits = 6;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  constexpr std::string_view kSpace = " \t\r\n,";
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

std::string directory_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// For another tool's settings hooks/ next to them, since keys may be there, too; for a plugin its whole folder.
std::string directory_beside(const std::string& path) {
  const std::filesystem::path file(path), folder = file.parent_path();
  if (folder.filename() != "hooks") return (folder / "hooks").string();
  return (file.filename() == "hooks.json" ? folder.parent_path() : folder).string();
}

Error no_hook(const HookFile& file, const std::string& why) {
  return {Code::kInvalid, file.path + " is not a hook: '" + file.path + " hook' " + why +
                              "; it must print the name of an event and exit with 0"};
}

std::string exited(const FilterResult& result) {
  const std::string line = telling_line(result.error);
  return "exited with code " + std::to_string(result.exit_code) + (line.empty() ? "" : " (" + line + ")");
}

// ": did you mean 'before_tool_call'?", from similar names and other tools' names; empty = none.
std::string meant_event(const std::string& name) {
  for (const Dialect each : all_dialects())
    if (const EventTraits* const event = find_event(canonical_event(each, name)); event != nullptr)
      return ": did you mean '" + std::string(event->name) + "'?";
  std::vector<std::string> names;
  for (const EventTraits& each : all_events()) names.emplace_back(each.name);
  // Finds a complete name in output such as "{events:[before_tool_call]}" or "BEFORE_TOOL_CALL".
  const std::string low = ascii_lower(name);
  for (const std::string& each : names)
    if (low.find(each) != std::string::npos) return ": did you mean '" + each + "'? Print only the names, one per line";
  return did_you_mean(name, names);
}

// Runs `FILE hook`, which prints the events that the file subscribes to.
Result<std::vector<std::string>> probe(const HookFile& file, const HookBytes& bytes, const ProbeOptions& options,
                                       const Clock& clock) {
  FilterRequest request;
  request.program_fd = bytes.program->fd.get();
  request.program = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(request.program_fd);
  std::optional<ScriptCopy> copy;  // exists during the run
  if (bytes.script) {
    AGENTD_TRY(ScriptCopy placed, bytes.script->place());
    request.program = copy.emplace(std::move(placed)).path;
    request.program_fd = -1;
  }
  request.argv = {file.path, "hook"};
  request.cwd = options.cwd;
  request.environment = clean_environment();
  request.environment.push_back("AGENTD_HOOK_PATH=" + file.path);
  request.output_bytes_max = kProbeBytesMax;
  if (options.sandbox) {
    HookDefinition hook;
    hook.precedence = file.precedence;
    hook.directory = directory_of(file.path);
    if (!options.cages)
      return Error{Code::kUnavailable, file.path + " cannot be run: it asks for the sandbox, and there is none here"};
    request.cage = options.cages(hook_readable(hook, bytes, {}));
  }
  auto result = run_filter(request, clock, CancelToken(), Deadline::after(clock, options.time));
  if (!result) return Error{result.error().code, file.path + " cannot be run: " + result.error().message};
  if (result->after.undone)
    return no_hook(file, "changed what its sandbox guards: " + join(result->after.remarks, "; "));
  if (result->timed_out) {
    Error error = no_hook(file, "did not answer within " + std::to_string(options.time.count() / 1000) + " s");
    error.code = Code::kBusy;
    return error;
  }
  if (result->output_over_cap) return no_hook(file, "printed more than an event's name");
  if (result->signal != 0) return no_hook(file, "was killed by signal " + std::to_string(result->signal));
  if (result->exit_code != 0) return no_hook(file, exited(*result));
  std::vector<std::string> events = words_of(result->output);
  if (events.empty()) return no_hook(file, "printed nothing");
  if (events.size() > kEventsMax) return no_hook(file, "printed more than an event's name");
  for (const std::string& event : events)
    if (canonical_event(Dialect::kAgentd, event) == 0) {
      std::string mean = meant_event(event);
      if (mean.empty()) mean = meant_event(result->output);
      Error error = no_hook(file, "printed '" + one_line(event, 80) + "', which is not an event" + mean);
      // A misspelling: its author relies on the hook.
      if (!mean.empty()) error.code = Code::kCorrupt;
      return error;
    }
  return events;
}

// The prefix of a settings file's hook names, such as "claude/app-3fa9c1" for /home/u/app/.claude/settings.json: unique
// per file, and independent of other adapted files.
std::string names_of(Dialect dialect, const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path, failed);
  const std::filesystem::path file = failed ? std::filesystem::path(path) : real;
  std::filesystem::path place = file.parent_path();
  if (place.filename().string().starts_with('.')) place = place.parent_path();
  std::string label;
  for (const char c : place.filename().string())
    if (label.size() < kLabelBytesMax)
      label += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ? c : '_';
  return std::string(name_of(dialect)) + "/" + label + (label.empty() ? "" : "-") +
         hex(sha256(file.string())).substr(0, kLabelDigits);
}

}  // namespace

std::string canonical_path(const std::string& path) {
  std::error_code failed;
  const auto out = std::filesystem::canonical(path, failed);
  return failed ? path : out.string();
}

Result<void> check_interpreter(const std::string& path, std::string_view bytes) {
  if (!bytes.starts_with("#!")) return {};
  constexpr std::string_view kBlanks = " \t";
  std::string_view line = bytes.substr(2, bytes.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string interpreter(line.substr(0, std::min(line.find_first_of(kBlanks), line.size())));
  // A relative name would select a file of the session's directory.
  if (!interpreter.starts_with('/'))
    return Error{
        Code::kInvalid,
        path + " does not run: its first line must name an interpreter by an absolute path, not " + one_line(line, 80)};
  if (::access(interpreter.c_str(), X_OK) == 0) return {};
  if (interpreter.ends_with('\r'))
    return Error{Code::kInvalid, path +
                                     " does not run: its first line ends in a carriage return, which the kernel takes "
                                     "as part of the interpreter's name: convert the file to Unix line ends"};
  return Error{Code::kInvalid,
               path + " does not run: its first line names the interpreter " + one_line(interpreter, 200) + ", which " +
                   (errno == ENOENT ? "does not exist" : "may not be executed") + ": install it, or change the line"};
}

Result<LoadedHooks> load_executable(const HookFile& file, const std::string& bytes,
                                    const std::vector<std::string>& events, const ProbeOptions& options,
                                    const Clock& clock, Log& log) {
  AGENTD_TRY_VOID(check_interpreter(file.path, bytes));
  LoadedHooks out;
  AGENTD_TRY(SealedFile sealed, seal(bytes, file.path, options.private_copy_directory, log));
  out.bytes.digest = sealed.digest;
  out.bytes.program = std::make_shared<const SealedFile>(std::move(sealed));
  if (wants_real_file(bytes)) {
    if (options.private_copy_directory.empty())
      return Error{Code::kUnavailable, file.path + " needs a private directory to run from"};
    out.bytes.script = std::make_shared<const PrivateScript>(bytes, file.path, options.private_copy_directory);
  }
  std::vector<std::string> wanted = events;
  if (wanted.empty()) {
    AGENTD_TRY(wanted, probe(file, out.bytes, options, clock));
  }
  for (const std::string& event : wanted) {
    HookDefinition hook;
    hook.name = file.name;
    hook.path = file.path;
    hook.precedence = file.precedence;
    hook.event = canonical_event(Dialect::kAgentd, event);
    hook.runs = HookRuns::kFile;
    hook.directory = directory_of(file.path);
    out.hooks.push_back(std::move(hook));
  }
  return out;
}

Result<LoadedHooks> load_declarative(const HookFile& file, const std::string& bytes) {
  LoadedHooks out;
  out.bytes.digest = hex(sha256(bytes));
  AGENTD_TRY(out.hooks, read_declarative(bytes, file.path, file.name, file.precedence));
  for (HookDefinition& hook : out.hooks) hook.directory = directory_of(file.path);
  return out;
}

AdaptedSource parse_adapted(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {std::string(text), std::nullopt, Precedence::kUser};
  const auto dialect = find_dialect(text.substr(0, colon));
  if (!dialect) return {std::string(text), std::nullopt, Precedence::kUser};
  return {std::string(text.substr(colon + 1)), dialect, Precedence::kUser};
}

bool is_adapted(const HookProblem& problem, std::span<const AdaptedSource> adapted) {
  return problem.no_hook && std::any_of(adapted.begin(), adapted.end(), [&](const AdaptedSource& source) {
           std::error_code failed;
           return std::filesystem::equivalent(source.path, problem.path, failed);
         });
}

namespace {

// True if the settings also deny tools.
bool denies_tools(const std::string& bytes) {
  const auto any = [](const auto& list) { return list.size() != 0; };
  if (const auto json = JsonDocument::parse(without_comments(bytes))) {
    const JsonView root = json->root(), permissions = root["permissions"];
    return any(permissions["deny"]) || any(permissions["ask"]) || any(root["tools"]["exclude"]) ||
           any(root["excludeTools"]);
  }
  const auto yaml = parse_yaml(bytes, {});
  const YamlNode* const permissions = yaml && yaml->kind == YamlNode::Kind::kMap ? yaml->find("permissions") : nullptr;
  if (permissions == nullptr || permissions->kind != YamlNode::Kind::kMap) return false;
  return permissions->find("deny") != nullptr || permissions->find("ask") != nullptr;
}

// The beginning of a message about the setting.
std::string place_of(const AdaptedSource& source) { return source.origin.empty() ? "" : source.origin + ": "; }

// A file that may not be read is as wrong as an unreadable one: the user has named it.
Result<SafeFile> open_settings(const AdaptedSource& source, uid_t user) {
  const std::string& path = source.path;
  const std::size_t slash = path.rfind('/');
  const auto open = [&]() -> Result<SafeFile> {
    AGENTD_TRY(const UniqueFd directory, open_safe_directory(slash == 0 ? "/" : path.substr(0, slash), user));
    return open_safe_file(directory.get(), path.substr(slash + 1), path, user);
  };
  auto file = open();
  if (file) return file;
  const bool denied = file.error().code == Code::kDenied;  // its sentence says what to change
  return Error{denied ? Code::kInvalid : file.error().code,
               place_of(source) + "hooks.adapt names " + one_line(path, 1000) + ", which cannot be read: " +
                   file.error().message + (denied ? "" : "; correct or remove the path there")};
}

}  // namespace

Result<LoadedHooks> load_adapted(const AdaptedSource& source, uid_t user) {
  if (!source.path.starts_with('/'))
    return Error{Code::kInvalid,
                 place_of(source) + "hooks.adapt: " + one_line(source.path, 200) +
                     " must be an absolute path or begin with ~/, optionally with one of the dialects " +
                     dialect_names() + " and a colon before it"};
  AGENTD_TRY(const SafeFile file, open_settings(source, user));
  AGENTD_TRY(const std::string bytes, read_fd(file.fd.get(), kSettingsBytesMax, source.path));
  const auto dialect = source.dialect ? source.dialect : guess_dialect(source.path, bytes);
  if (!dialect)
    return Error{Code::kInvalid, source.path + ": the dialect of these settings is unknown; write DIALECT:" +
                                     source.path + " in hooks.adapt (" + dialect_names() + ")"};
  AGENTD_TRY(DefinitionSet set, read_settings(*dialect, bytes, source.path, names_of(*dialect, source.path)));
  LoadedHooks out;
  out.hooks = std::move(set.hooks);
  out.problems = std::move(set.problems);
  out.mistakes = std::move(set.mistakes);
  out.unknown_keys = std::move(set.unknown_keys);
  for (HookDefinition& hook : out.hooks) {
    hook.precedence = source.precedence;
    hook.directory = directory_beside(source.path);
  }
  if (denies_tools(bytes))
    out.problems.push_back(source.path + ": its rules about tools (permissions, tools.exclude) are not imported: " +
                           "'agentd hooks import' shows what to write in config.yaml for each");
  if (out.hooks.empty() && out.problems.empty())
    out.problems.push_back(source.path + " has no hooks: check its key for hooks, or remove it from hooks.adapt");
  out.bytes.digest = hex(sha256(write_declarative({out.hooks, {}, {}, {}}, source.path)));
  return out;
}

}  // namespace agentd
