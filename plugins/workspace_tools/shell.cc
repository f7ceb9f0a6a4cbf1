// SPDX-License-Identifier: Apache-2.0
// shell.cc - the tool bash.

#include "core/base/bytes.h"
#include "plugins/workspace_tools/text.h"
#include "plugins/workspace_tools/workspace_tools.h"

namespace workspace_tools {
namespace {

constexpr std::int64_t kTimeoutMs = 120'000;
constexpr std::int64_t kTimeoutMsMax = 600'000;
constexpr std::int32_t kCommandNotFound = 127;

constexpr Key kKeys[] = {{"command", Key::Type::kFilledText, true},
                         {"timeout_ms", Key::Type::kInteger, false, 1, kTimeoutMsMax},
                         {"description"}};

std::string how_it_ended(agentd::process_result_view result, std::int64_t timeout_ms) {
  if (result.timed_out())
    return "[ended after " + std::to_string(timeout_ms) +
           " ms, with all that it started: give a longer timeout_ms or run it in the background]";
  if (result.signal() != 0) return "[ended by signal " + std::to_string(result.signal()) + "]";
  if (result.exit_code() == 0) return "";
  return "[exit code " + std::to_string(result.exit_code()) +
         (result.exit_code() == kCommandNotFound ? ": a command was not found]" : "]");
}

std::string structured(agentd::process_result_view result) {
  agentd::JsonWriter out;
  out.begin_object().member("exit_code", static_cast<std::int64_t>(result.exit_code()));
  out.member("signal", static_cast<std::int64_t>(result.signal()));
  out.member("timed_out", result.timed_out()).member("output_bytes", result.output_bytes());
  out.member("duration_ms", result.duration_ns() / 1'000'000).end_object();
  return std::string(out.text());
}

}  // namespace

agentd_status WorkspaceTools::bash(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kKeys);
  if (!input) return refuse(c, input.error().message);
  const std::int64_t timeout_ms = input->integer("timeout_ms", kTimeoutMs);
  const std::string_view command = input->text("command");
  if (command.find('\0') != std::string_view::npos) return refuse(c, "\"command\" must not contain a NUL");
  const std::string_view argv[] = {"bash", "-c", command};
  const agentd::process_options options{.timeout_ms = static_cast<std::uint32_t>(timeout_ms),
                                        .output_bytes_max = kOutputBytes};
  auto ran = commands_.run(c, argv, options);
  if (ran.status() == AGENTD_E_NOT_FOUND) ran = commands_.shell(c, command, options);  // bash is not installed
  // Either the command or its directory; a short command tells which.
  if (!ran && ran.status() == AGENTD_E_ARG)
    return commands_.shell(c, ":", options).status() == AGENTD_E_ARG
               ? refuse_without_workspace(c, cwd_of(c))
               : refuse(c, "the command is too long: write it to a file and run that");
  if (!ran && ran.status() == AGENTD_E_IO)
    return refuse(c,
                  "the command could not be run: the system is out of processes, memory or open files for agentd. Wait "
                  "until others have ended, or ask for higher limits ('ulimit -a' shows them)");
  if (!ran) return refuse(c, ran.status(), "the command");
  if (ran->cancelled()) return c.fail(AGENTD_E_CANCELLED, "cancelled");
  std::string text = agentd::to_utf8(ran->output());
  const std::string end = how_it_ended(*ran, timeout_ms);
  if (!text.empty() && !text.ends_with('\n') && !end.empty()) text += '\n';
  text += end;
  if (text.empty()) text = "(no output)";
  if (const agentd_status status = c.output(text); status != AGENTD_OK) return status;
  return c.tool_result(!end.empty(), structured(*ran));
}

}  // namespace workspace_tools
