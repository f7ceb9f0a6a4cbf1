// SPDX-License-Identifier: Apache-2.0
// shell.cc - the tools bash, bash_output and kill_shell.

#include <csignal>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/text.h"
#include "plugins/workspace_tools/workspace_tools.h"

namespace workspace_tools {
namespace {

constexpr std::int64_t kTimeoutMs = 120'000;
constexpr std::int64_t kTimeoutMsMax = 600'000;
constexpr std::int64_t kWaitMsMax = 60'000;
constexpr std::uint32_t kFirstWaitMs = 1'000;  // for the first output of a background command, or its early end
constexpr std::int32_t kCommandNotFound = 127;

constexpr agentd::tool_spec kBash{
    .name = "bash",
    .title = "Run a command",
    .description =
        "Runs a command line in bash and returns its standard output and standard error, in the order in which they "
        "came, and its exit code when that is not 0.\n"
        "- Every call starts in the workspace directory with a new shell: cd and variables do not last. Join steps "
        "with && or use absolute paths.\n"
        "- There is no terminal and no input: programs that ask questions or page their output do not work here; pass "
        "flags such as -y or --no-pager.\n"
        "- The command is ended after timeout_ms. All that it started ends with it, also when it ends by itself.\n"
        "- For a server, a watcher or anything long set background: the call returns an id at once, bash_output reads "
        "what the command writes, kill_shell ends it. It ends with the session.\n"
        "- Output beyond 30,000 bytes loses its middle; the complete output is then in a file that read_file reads.\n"
        "- To read, search and change files prefer read_file, grep, glob, edit_file and write_file over cat, rg, find "
        "and sed.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["command"],"properties":{)"
                    R"("command":{"type":"string","description":"The command line"},)"
                    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
                    R"("description":"Milliseconds after which the command is ended: 120000 unless set; with )"
                    R"(background none unless set"},)"
                    R"("description":{"type":"string","description":"What the command does, in five to ten )"
                    R"(words, for the user who is asked to allow it"},)"
                    R"("background":{"type":"boolean","default":false,"description":"Return at once and let the )"
                    R"(command run"}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE | AGENTD_TOOL_OPEN_WORLD,
    .timeout_ms = 630'000};

constexpr agentd::tool_spec kBashOutput{
    .name = "bash_output",
    .title = "Read a background command",
    .description =
        "Returns what a background command of bash has written since the last call, and whether it runs or how it "
        "ended.\n"
        "- wait_ms waits for new output, or the end, instead of returning nothing.\n"
        "- Without id it lists the background commands of the session.",
    .input_schema = R"({"type":"object","additionalProperties":false,"properties":{)"
                    R"("id":{"type":"integer","minimum":1,"description":"The id that bash returned"},)"
                    R"("wait_ms":{"type":"integer","minimum":0,"maximum":60000,"default":0,)"
                    R"("description":"Milliseconds to wait for output"},)"
                    R"("from_start":{"type":"boolean","default":false,"description":"Read from the first byte )"
                    R"(again"}}})",
    .flags = AGENTD_TOOL_READ_ONLY,
    .timeout_ms = 90'000};

constexpr agentd::tool_spec kKillShell{
    .name = "kill_shell",
    .title = "End a background command",
    .description =
        "Ends a background command of bash with all that it started, and returns the output that was not read yet.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["id"],"properties":{)"
                    R"("id":{"type":"integer","minimum":1,"description":"The id that bash returned"}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE | AGENTD_TOOL_IDEMPOTENT,
    .timeout_ms = 60'000};

constexpr Key kBashKeys[] = {{"command", Key::Type::kFilledText, true},
                             {"timeout_ms", Key::Type::kInteger, false, 1, kTimeoutMsMax},
                             {"description"},
                             {"background", Key::Type::kBoolean}};
constexpr std::int64_t kIdMax = 1'000'000'000;
constexpr Key kOutputKeys[] = {{"id", Key::Type::kInteger, false, 1, kIdMax},
                               {"wait_ms", Key::Type::kInteger, false, 0, kWaitMsMax},
                               {"from_start", Key::Type::kBoolean}};
constexpr Key kKillKeys[] = {{"id", Key::Type::kInteger, true, 1, kIdMax}};

struct NamedSignal {
  std::int32_t number;
  const char* name;
};
constexpr NamedSignal kSignals[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
    {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
    {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
    {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};

// Empty: it has no usual name.
std::string signal_name(std::int32_t number) {
  for (const NamedSignal& each : kSignals)
    if (each.number == number) return each.name;
  return "";
}

std::string signal_text(std::int32_t number) {
  const std::string name = signal_name(number);
  return "signal " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")");
}

// A shell says 128 and the signal's number of a program that a signal has ended.
std::string exit_text(std::int32_t exit_code) {
  constexpr std::int32_t kBySignal = 128;
  const std::string out = "exit code " + std::to_string(exit_code);
  if (exit_code == kCommandNotFound) return out + ": a command was not found";
  const std::string name = signal_name(exit_code - kBySignal);
  return out + (name.empty() ? "" : ": as of a program that " + name + " has ended");
}

std::string how_it_ended(agentd::process_result_view result, std::int64_t timeout_ms) {
  if (result.timed_out())
    return "[ended after " + std::to_string(timeout_ms) +
           " ms, with all that it started: give a longer timeout_ms or run it in the background]";
  if (result.signal() != 0) return "[ended by " + signal_text(result.signal()) + "]";
  if (result.exit_code() == 0) return "";
  return "[" + exit_text(result.exit_code()) + "]";
}

// Where the rest is; empty: nothing was left out, or nothing has it.
std::string where_all_is(std::string_view path, std::uint64_t there, std::uint64_t bytes) {
  if (path.empty()) return "";
  const std::string all = std::to_string(bytes) + " bytes in all; ";
  const std::string file = std::string(path) + ", which read_file reads by offset and limit]";
  if (there < bytes) return "[" + all + "the first " + std::to_string(there) + " of them are in " + file;
  return "[" + all + "the complete output is in " + file;
}

void add_line(std::string& text, std::string_view line) {
  if (line.empty()) return;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += line;
}

std::string structured(agentd::process_result_view result) {
  agentd::JsonWriter out;
  out.begin_object().member("exit_code", static_cast<std::int64_t>(result.exit_code()));
  out.member("signal", static_cast<std::int64_t>(result.signal()));
  out.member("timed_out", result.timed_out()).member("output_bytes", result.output_bytes());
  out.member("duration_ms", result.duration_ns() / 1'000'000);
  out.optional("output_file", result.spill_path()).end_object();
  return std::string(out.text());
}

// ---- background commands

std::string name_of(std::uint64_t id) { return "command " + std::to_string(id); }

// "exit code 0", "ended by signal 15", "ended by kill_shell", ...
std::string end_of(agentd::process_state_view state) {
  switch (state.reason()) {
    case AGENTD_PROCESS_REASON_TIMED_OUT:
      return "its timeout_ms was over";
    case AGENTD_PROCESS_REASON_CANCELLED:
      return "it was cancelled";
    case AGENTD_PROCESS_REASON_ENDED:
      return "it was ended by request";
    case AGENTD_PROCESS_REASON_SESSION_ENDED:
      return "the session ended";
    case AGENTD_PROCESS_REASON_OUTPUT_LIMIT:
      return "it wrote too much";
    default:
      break;
  }
  if (state.signal() != 0) return signal_text(state.signal());
  return exit_text(state.exit_code());
}

std::string state_text(agentd::process_state_view state) {
  if (!state.ended()) return name_of(state.handle()) + " runs";
  return name_of(state.handle()) + " has ended: " + end_of(state);
}

std::string structured(agentd::process_state_view state) {
  agentd::JsonWriter out;
  out.begin_object().member("id", state.handle()).member("running", !state.ended());
  if (state.ended()) {
    out.member("exit_code", static_cast<std::int64_t>(state.exit_code()));
    out.member("signal", static_cast<std::int64_t>(state.signal()));
  }
  out.member("output_bytes", state.output_bytes()).optional("output_file", state.spill_path()).end_object();
  return std::string(out.text());
}

// The output and how the command is; `asked`: the position that was asked for, if one was.
std::string piece_text(agentd::process_piece_view piece, bool from_start) {
  const agentd::process_state_view state = piece.state();
  std::string text;
  if (from_start && piece.first() > 0)
    text = "[" + std::to_string(piece.first()) + " bytes before this are no longer kept]\n";
  text += agentd::to_utf8(piece.bytes());
  if (piece.next() < state.output_bytes()) {
    add_line(text, "[" + std::to_string(state.output_bytes() - piece.next()) + " more bytes: call bash_output again]");
    add_line(text, where_all_is(state.spill_path(), state.spill_bytes(), state.output_bytes()));
  }
  add_line(text, "[" + state_text(state) + (piece.bytes().empty() ? ", no new output]" : "]"));
  return text;
}

std::string list_text(agentd::process_state_list all) {
  std::string out;
  for (const agentd::process_state_view state : all)
    out += state_text(state) + ", " + std::to_string(state.output_bytes()) +
           " bytes written: " + std::string(state.command()) + "\n";
  return out.empty() ? "the session has no background commands" : agentd::to_utf8(out);
}

}  // namespace

void WorkspaceTools::add_command_tools(agentd::init& from) {
  from.add_tool<&WorkspaceTools::bash>(kBash);
  from.add_tool<&WorkspaceTools::bash_output>(kBashOutput);
  from.add_tool<&WorkspaceTools::kill_shell>(kKillShell);
}

// The command could not be started.
agentd_status WorkspaceTools::refuse_command(agentd::call& c, agentd_status status,
                                             const agentd::process_options& options) {
  // Either the command or its directory; a short command tells which.
  if (status == AGENTD_E_ARG)
    return commands_.shell(c, ":", options).status() == AGENTD_E_ARG
               ? refuse_without_workspace(c, cwd_of(c))
               : refuse(c, "the command is too long: write it to a file and run that");
  if (status == AGENTD_E_IO)
    return refuse(c,
                  "the command could not be run: the system is out of processes, memory or open files for agentd. Wait "
                  "until others have ended, or ask for higher limits ('ulimit -a' shows them)");
  if (status == AGENTD_E_BUSY)
    return refuse(c, "too many background commands of the session run: end one with kill_shell");
  return refuse(c, status, "the command");
}

agentd_status WorkspaceTools::bash(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kBashKeys);
  if (!input) return refuse(c, input.error().message);
  const bool background = input->boolean("background");
  const std::int64_t timeout_ms = input->integer("timeout_ms", background ? 0 : kTimeoutMs);
  const std::string_view command = input->text("command");
  if (command.find('\0') != std::string_view::npos) return refuse(c, "\"command\" must not contain a NUL");
  const agentd::process_options options{.timeout_ms = static_cast<std::uint32_t>(timeout_ms),
                                        .output_bytes_max = kOutputBytes,
                                        .description = input->text("description")};
  if (background) return start_background(c, command, options);
  const std::string_view argv[] = {"bash", "-c", command};
  auto ran = commands_.run(c, argv, options);
  if (ran.status() == AGENTD_E_NOT_FOUND) ran = commands_.shell(c, command, options);  // bash is not installed
  if (!ran) return refuse_command(c, ran.status(), options);
  if (ran->cancelled()) return c.fail(AGENTD_E_CANCELLED, "cancelled");
  std::string text = agentd::to_utf8(ran->output());
  if (ran->truncated()) add_line(text, where_all_is(ran->spill_path(), ran->spill_bytes(), ran->output_bytes()));
  const std::string end = how_it_ended(*ran, timeout_ms);
  add_line(text, end);
  if (text.empty()) text = "(no output)";
  if (const agentd_status status = c.output(text); status != AGENTD_OK) return status;
  return c.tool_result(!end.empty(), structured(*ran));
}

agentd_status WorkspaceTools::start_background(agentd::call& c, std::string_view command,
                                               const agentd::process_options& options) {
  const std::string_view bash[] = {"bash", "-c", command}, sh[] = {"sh", "-c", command};
  auto started = commands_.start(c, bash, options);
  if (started.status() == AGENTD_E_NOT_FOUND) started = commands_.start(c, sh, options);
  if (!started) return refuse_command(c, started.status(), options);
  const std::uint64_t id = *started;
  // A command that ends at once is a mistake that the model should see now.
  (void)commands_.wait(c, id, kFirstWaitMs);
  const auto piece = commands_.read(c, id, AGENTD_PROCESS_UNREAD, 0, kOutputBytes);
  if (!piece) return refuse(c, piece.status(), name_of(id));
  const std::string text = piece_text(*piece, false) +
                           (piece->state().ended() ? std::string()
                                                   : "\n[its id is " + std::to_string(id) +
                                                         ": bash_output reads what it writes, kill_shell ends it]");
  if (const agentd_status status = c.output(text); status != AGENTD_OK) return status;
  const agentd::process_state_view state = piece->state();
  return c.tool_result(state.ended() && (state.exit_code() != 0 || state.signal() != 0), structured(state));
}

agentd_status WorkspaceTools::bash_output(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kOutputKeys);
  if (!input) return refuse(c, input.error().message);
  if (!input->has("id")) {
    const auto all = commands_.list(c);
    return all ? answer(c, list_text(*all)) : refuse(c, all.status(), "the list of commands");
  }
  const auto id = static_cast<std::uint64_t>(input->integer("id", 0));
  const bool from_start = input->boolean("from_start");
  const auto piece = commands_.read(c, id, from_start ? 0 : AGENTD_PROCESS_UNREAD,
                                    static_cast<std::uint32_t>(input->integer("wait_ms", 0)), kOutputBytes);
  if (!piece) return refuse(c, piece.status(), name_of(id));
  return answer(c, piece_text(*piece, from_start), structured(piece->state()));
}

agentd_status WorkspaceTools::kill_shell(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kKillKeys);
  if (!input) return refuse(c, input.error().message);
  const auto id = static_cast<std::uint64_t>(input->integer("id", 0));
  if (const auto ended = commands_.end(c, id); !ended) return refuse(c, ended.status(), name_of(id));
  const auto piece = commands_.read(c, id, AGENTD_PROCESS_UNREAD, 0, kOutputBytes);
  if (!piece) return refuse(c, piece.status(), name_of(id));
  return answer(c, piece_text(*piece, false), structured(piece->state()));
}

}  // namespace workspace_tools
