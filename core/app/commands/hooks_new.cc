// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/scaffold.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandardEvent = "before_tool_call";

Result<const EventTraits*> event_of(const std::string& name) {
  if (const EventTraits* const event = find_event(name.empty() ? kStandardEvent : name)) return event;
  std::vector<std::string> names;
  for (const EventTraits& event : all_events()) names.emplace_back(event.name);
  const std::string mean = did_you_mean(name, names);
  return Error{Code::kInvalid, "unknown event '" + one_line(name, 80) + "'" +
                                   (mean.empty() ? "; 'agentd hooks contract' lists them" : mean)};
}

// Nothing is written unless all files are new: no existing file is replaced.
Result<void> write(const fs::path& directory, const Scaffold& scaffold) {
  for (const ScaffoldFile& file : scaffold.files) {
    struct stat info {};
    const std::string path = (directory / file.path).string();
    if (::lstat(path.c_str(), &info) == 0)
      return Error{Code::kInvalid, path + " already exists: choose another name, or use --dir"};
  }
  for (const ScaffoldFile& file : scaffold.files) {
    const fs::path path = directory / file.path;
    AGENTD_TRY_VOID(make_directories(path.parent_path().string()));
    AGENTD_TRY_VOID(write_file_atomically(path.string(), file.text, file.executable ? 0755 : 0644));
  }
  return {};
}

void print_steps(App& app, const std::string& home, const fs::path& directory, const Scaffold& scaffold,
                 const EventTraits& event) {
  Output& out = app.out();
  const std::string built = (directory / scaffold.built).string();
  out.print("wrote " + neutral_line((directory / scaffold.files[0].path).string(), 2000) + "\n\nNext:\n");
  if (!scaffold.steps.empty() && directory != fs::path(app.surroundings().cwd))
    out.print("  cd " + shell_word(directory.string()) + "\n");
  for (const std::string& step : scaffold.steps) out.print("  " + step + "\n");
  out.print("  agentd hooks test " + shell_word(built) + " --event " + std::string(event.name) +
            "    # calls it and ignores its answer\n");
  // Whatever the umask is, nobody else may write the hook and its directories; otherwise it would be ignored.
  const std::string_view mode = built.ends_with(".yaml") ? "600" : "700";
  out.print("  mkdir -p -m 700 " + shell_word(home) + " " + shell_word(home + "/hooks") + " && install -m " +
            std::string(mode) + " " + shell_word(built) + " " + shell_word(home + "/hooks/") + "    # enables it\n");
  out.print("  agentd hooks list\n");
}

std::string json_of(const fs::path& directory, const Scaffold& scaffold) {
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  for (const ScaffoldFile& file : scaffold.files) json.string((directory / file.path).string());
  json.end_array().member("hook", (directory / scaffold.built).string()).key("steps").begin_array();
  for (const std::string& step : scaffold.steps) json.string(step);
  json.end_array().end_object();
  return std::string(json.text());
}

}  // namespace

int hooks_new_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto event = event_of(arguments.value("event"));
  if (!event) return app.fail(kExitUsage, event.error().message);
  if (!arguments.has("lang")) return app.fail(kExitUsage, "pass --lang c++, c, bash, python or yaml");
  const auto scaffold = make_scaffold(arguments.words()[0], arguments.value("lang"), **event);
  if (!scaffold) return app.fail(kExitUsage, scaffold.error().message);
  fs::path directory(app.surroundings().cwd);
  if (arguments.has("dir")) directory /= arguments.value("dir");
  if (const auto cwd = app.directory(); !cwd && !directory.is_absolute())
    return app.fail(kExitFailure, cwd.error().message + ", or give --dir an absolute path");
  directory = directory.lexically_normal();
  if (const auto wrote = write(directory, *scaffold); !wrote)
    return app.fail(wrote.error().code == Code::kInvalid ? kExitUsage : kExitFailure, wrote.error().message);
  if (arguments.has("json"))
    app.out().print(json_of(directory, *scaffold) + "\n");
  else
    print_steps(app, *home, directory, *scaffold, **event);
  return kExitOk;
}

}  // namespace agentd::app
