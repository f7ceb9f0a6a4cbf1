// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/workspace_tools.h"

#include "core/base/bytes.h"

namespace workspace_tools {
namespace {

constexpr agentd::tool_spec kBash{
    .name = "bash",
    .title = "Run a command",
    .description =
        "Runs a command line in bash and returns its standard output and standard error, in the "
        "order in "
        "which they came, and its exit code when that is not 0.\n"
        "- Every call starts in the workspace directory with a new shell: cd and variables do not "
        "last. "
        "Join steps with && or use absolute paths.\n"
        "- There is no terminal and no input: programs that ask questions or page their output do "
        "not work "
        "here; pass flags such as -y or --no-pager.\n"
        "- The command and all that it started are ended after timeout_ms. To leave a server "
        "running, "
        "start it with: setsid COMMAND >log 2>&1 &\n"
        "- Output beyond 30,000 bytes loses its middle; redirect long output to a file and read "
        "that.\n"
        "- To read, search and change files prefer read_file, grep, glob, edit_file and write_file "
        "over "
        "cat, rg, find and sed.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["command"],"properties":{)"
                    R"("command":{"type":"string","description":"The command line"},)"
                    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"default":120000,)"
                    R"("description":"Milliseconds after which the command is ended"},)"
                    R"("description":{"type":"string","description":"What the command does, in five to ten )"
                    R"(words, for the user who is asked to allow it"}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE | AGENTD_TOOL_OPEN_WORLD,
    .timeout_ms = 630'000};

constexpr agentd::tool_spec kReadFile{
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a text file and returns its lines, each with its number and a tab before it, as cat "
        "-n does; "
        "the numbers are not part of the file.\n"
        "- Without offset and limit it returns up to 2,000 lines from the start; the last line "
        "says how to "
        "go on when there are more. Lines are cut after 2,000 bytes.\n"
        "- Read a file before you change it with edit_file.\n"
        "- It reads files only: list folders with glob or bash. Binary files are refused.\n"
        "- [secret:...] stands in place of a key or password, which you cannot see.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{)"
                    R"("path":{"type":"string","format":"path","description":"The file, absolute or relative )"
                    R"(to the workspace directory"},)"
                    R"("offset":{"type":"integer","minimum":1,"default":1,"description":"The first line, )"
                    R"(counted from 1"},)"
                    R"("limit":{"type":"integer","minimum":1,"maximum":2000,"default":2000,"description":)"
                    R"("How many lines"}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT};

constexpr agentd::tool_spec kWriteFile{
    .name = "write_file",
    .title = "Write a file",
    .description =
        "Writes a whole file: makes it, with the folders that it needs, or replaces all that is in "
        "it. The "
        "file keeps its mode.\n"
        "- To change a part of a file use edit_file, which sends less and cannot lose the rest.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["path","content"],)"
                    R"("properties":{"path":{"type":"string","format":"path","description":"The file, )"
                    R"(absolute or relative to the workspace directory"},)"
                    R"("content":{"type":"string","description":"All that the file shall hold"}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE | AGENTD_TOOL_IDEMPOTENT};

constexpr agentd::tool_spec kEditFile{
    .name = "edit_file",
    .title = "Edit a file",
    .description =
        "Replaces one piece of text in a file by another.\n"
        "- Read the file with read_file first. If it has changed since, the edit is refused: read "
        "again.\n"
        "- old_string must stand in the file exactly as given, with its indentation, and without "
        "the line "
        "numbers of read_file. It must be there once: take in lines around it until it is unique, "
        "or set "
        "replace_all to replace every one, as for renaming.\n"
        "- A [secret:...] that stays keeps what it stands for in the file.",
    .input_schema = R"({"type":"object","additionalProperties":false,)"
                    R"("required":["path","old_string","new_string"],"properties":{)"
                    R"("path":{"type":"string","format":"path","description":"The file, absolute or relative )"
                    R"(to the workspace directory"},)"
                    R"("old_string":{"type":"string","description":"The text to replace"},)"
                    R"("new_string":{"type":"string","description":"The text that takes its place"},)"
                    R"("replace_all":{"type":"boolean","default":false,"description":"Replace every )"
                    R"(old_string in the file"}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE};

constexpr agentd::tool_spec kGlob{
    .name = "glob",
    .title = "Find files by name",
    .description =
        "Finds files by a pattern of their path, such as src/**/*.cc or **/*.{ts,tsx}, and returns "
        "the "
        "paths, last changed first, at most 100.\n"
        "- * and ? stay within one folder, ** is any number of folders, [a-z] a set, {a,b} "
        "alternatives. "
        "The pattern is matched against the path relative to the folder that is searched.\n"
        "- Files that .gitignore names, .git, node_modules and the like, and build folders are "
        "left out, "
        "unless path names them.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["pattern"],"properties":{)"
                    R"("pattern":{"type":"string","description":"The pattern, relative to path"},)"
                    R"("path":{"type":"string","format":"path","default":".","description":"The folder to )"
                    R"(search"}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT};

constexpr agentd::tool_spec kGrep{
    .name = "grep",
    .title = "Search in files",
    .description =
        "Searches the contents of files for a regular expression (RE2 syntax: no back-references, "
        "no "
        "look-around), line by line.\n"
        "- output_mode: files = the paths that have a match, last changed first (default); content "
        "= the "
        "lines with path and number, and context lines around them if asked for; count = matching "
        "lines per "
        "file.\n"
        "- Narrow the search with path (a folder or a file) and glob (such as *.cc or "
        "src/**/*.h).\n"
        "- Binary files, files over 16 MiB, files that .gitignore names, .git, node_modules and "
        "the like, "
        "and build folders are left out, unless path names them.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["pattern"],"properties":{)"
                    R"("pattern":{"type":"string","description":"The regular expression"},)"
                    R"("path":{"type":"string","format":"path","default":".","description":"The folder or )"
                    R"(file to search"},)"
                    R"("glob":{"type":"string","description":"Only files whose path matches; without a / it )"
                    R"(is matched against the name alone"},)"
                    R"("ignore_case":{"type":"boolean","default":false},)"
                    R"("output_mode":{"type":"string","enum":["files","content","count"],"default":"files"},)"
                    R"("context":{"type":"integer","minimum":0,"maximum":50,"default":0,"description":"Lines )"
                    R"(before and after each match, with output_mode content"},)"
                    R"("limit":{"type":"integer","minimum":1,"maximum":5000,"default":200,"description":"At )"
                    R"(most so many files or matching lines"}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT};

}  // namespace

WorkspaceTools::WorkspaceTools(agentd::init& from) : files_(from), commands_(from) {
  if (!files_ && !commands_) {
    from.refuse(AGENTD_E_DENIED,
                "workspace_tools needs agentd.workspace/1 or agentd.process/1, and neither is granted");
    return;
  }
  if (commands_) from.add_tool<&WorkspaceTools::bash>(kBash);
  if (!files_) return;
  add_file_tools(from);
  add_search_tools(from);
}

void WorkspaceTools::add_file_tools(agentd::init& from) {
  from.add_tool<&WorkspaceTools::read_file>(kReadFile);
  from.add_tool<&WorkspaceTools::write_file>(kWriteFile);
  from.add_tool<&WorkspaceTools::edit_file>(kEditFile);
}

void WorkspaceTools::add_search_tools(agentd::init& from) {
  from.add_tool<&WorkspaceTools::glob>(kGlob);
  from.add_tool<&WorkspaceTools::grep>(kGrep);
}

void WorkspaceTools::on_user_message_send(agentd::call& c) { memory_.set_cwd(c.conversation(), c.envelope().cwd()); }
void WorkspaceTools::on_after_compaction(agentd::call& c) { memory_.forget_files(c.conversation()); }
void WorkspaceTools::on_after_clear(agentd::call& c) { memory_.forget(c.conversation()); }
void WorkspaceTools::on_session_end(agentd::call& c) { memory_.forget(c.conversation()); }

std::string WorkspaceTools::cwd_of(const agentd::call& c) const {
  const std::string_view told = c.envelope().cwd();
  return told.empty() ? memory_.cwd(c.conversation()) : std::string(told);
}

agentd_status WorkspaceTools::refuse_access(agentd::call& c, agentd_status status, std::string_view path,
                                            Access access) const {
  if (status == AGENTD_E_NOT_FOUND || status == AGENTD_E_DENIED) {
    const std::string cwd = cwd_of(c);
    const bool gone = !cwd.empty() && files_.read(c, cwd, 0, 1).status() == AGENTD_E_NOT_FOUND;
    if (gone) return refuse_without_workspace(c, cwd);
  }
  return access == Access::kChange ? refuse_change(c, status, path) : refuse(c, status, path);
}

agentd_status answer(agentd::call& c, std::string_view text, std::string_view structured_json) {
  const agentd_status status = c.output(agentd::to_utf8(text));
  return status == AGENTD_OK ? c.tool_result(false, structured_json) : status;
}

agentd_status refuse(agentd::call& c, std::string_view text) { return c.tool_error(agentd::to_utf8(text)); }

agentd_status refuse_without_workspace(agentd::call& c, std::string_view cwd) {
  return refuse(c, "the workspace directory " + (cwd.empty() ? std::string() : std::string(cwd) + " ") +
                       "no longer exists: ask the user to restore it and to start agentd again there");
}

agentd_status refuse_change(agentd::call& c, agentd_status status, std::string_view path) {
  if (status != AGENTD_E_DENIED) return refuse(c, status, path);
  return refuse(c, std::string(path) +
                       " must not be changed: it is outside of the workspace, belongs to agentd itself (its home "
                       "directory, .agent of the project), or is closed to this user");
}

agentd_status refuse(agentd::call& c, agentd_status status, std::string_view path) {
  const std::string shown(path);
  switch (status) {
    case AGENTD_E_CANCELLED:
      return c.fail(status, "cancelled");
    case AGENTD_E_DEADLINE:
      return c.fail(status, "the call's deadline has passed");
    case AGENTD_E_DENIED:
      return refuse(c, shown + " is outside of the workspace, or may not be accessed");
    case AGENTD_E_NOT_FOUND:
      return refuse(c, shown + " does not exist");
    case AGENTD_E_ARG:
      return refuse(c, shown + " is not a file that this tool can use");
    case AGENTD_E_CONFLICT:
      return refuse(c, shown + " has changed in the meantime: read it again");
    case AGENTD_E_TOO_BIG:
      return refuse(c, shown + " is too big");
    case AGENTD_E_BUSY:
      return refuse(c, shown + " is busy: try again");
    case AGENTD_E_UNSUPPORTED:
      return refuse(c,
                    shown +
                        " is not shown, since agentd cannot look for secrets in it: ask the user to see whether RE2 "
                        "(libre2) is installed, secrets.key of agentd's home can be read and every plugin that looks "
                        "for secrets answers, or to set secrets.scrub to false");
    default:
      break;
  }
  return refuse(c, shown + " could not be accessed: " + std::string(agentd::status_text(status)));
}

}  // namespace workspace_tools

using workspace_tools::WorkspaceTools;
AGENTD_HOOK_MANIFEST(WorkspaceTools, "agentd.workspace_tools", "1.0.0", R"("license":"Apache-2.0")")
