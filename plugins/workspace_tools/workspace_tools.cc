// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/workspace_tools.h"

#include <algorithm>
#include <map>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/closed.h"

namespace workspace_tools {
namespace {

constexpr std::uint32_t kSearchTimeMs = 60'000;  // a search gives what it has found two seconds earlier

constexpr agentd::tool_spec kReadFile{
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a file. Of a text it returns the lines, each with its number and a tab before it, as cat "
        "-n does; "
        "the numbers are not part of the file.\n"
        "- Without offset and limit it returns up to 2,000 lines from the start; the last line "
        "says how to "
        "go on when there are more. Lines are cut after 2,000 bytes.\n"
        "- Read a file before you change it with edit_file.\n"
        "- Pictures (PNG, JPEG, GIF, WebP) and PDF files are shown as such. Other binary files are "
        "refused. "
        "List folders with glob or bash.\n"
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
        "Replaces pieces of text in a file by others: one, or with edits several, of which all or none "
        "are made, each in the text that the last one left.\n"
        "- Read the file with read_file first. If it has changed since, the edit is refused: read "
        "again.\n"
        "- old_string must stand in the file exactly as given, with its indentation, and without "
        "the line "
        "numbers of read_file. It must be there once: take in lines around it until it is unique, "
        "or set "
        "replace_all to replace every one, as for renaming.\n"
        "- A [secret:...] that stays keeps what it stands for in the file.",
    .input_schema = R"({"type":"object","additionalProperties":false,)"
                    R"("required":["path"],"properties":{)"
                    R"("path":{"type":"string","format":"path","description":"The file, absolute or relative )"
                    R"(to the workspace directory"},)"
                    R"("old_string":{"type":"string","description":"The text to replace"},)"
                    R"("new_string":{"type":"string","description":"The text that takes its place"},)"
                    R"("replace_all":{"type":"boolean","default":false,"description":"Replace every )"
                    R"(old_string in the file"},)"
                    R"("edits":{"type":"array","description":"Several edits, in their order; then old_string, )"
                    R"(new_string and replace_all are not given outside of it","items":{"type":"object",)"
                    R"("additionalProperties":false,"required":["old_string","new_string"],"properties":{)"
                    R"("old_string":{"type":"string"},"new_string":{"type":"string"},)"
                    R"("replace_all":{"type":"boolean","default":false}}}}}})",
    .flags = AGENTD_TOOL_DESTRUCTIVE};

constexpr agentd::tool_spec kGlob{
    .name = "glob",
    .title = "Find files by name",
    .description =
        "Finds files by a pattern of their path, such as src/**/*.cc or **/*.{ts,tsx}, and returns the "
        "paths, last changed first, at most limit.\n"
        "- * and ? stay within one folder, ** is any number of folders, [a-z] a set, {a,b} alternatives. The "
        "pattern is matched against the path relative to the folder that is searched.\n"
        "- Files that .gitignore and .ignore name, .git, node_modules and the like, and build folders are "
        "left out, unless path names them or include_ignored is set.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["pattern"],"properties":{)"
                    R"("pattern":{"type":"string","description":"The pattern, relative to path"},)"
                    R"("path":{"type":"string","format":"path","default":".","description":"The folder to )"
                    R"(search"},)"
                    R"("include_ignored":{"type":"boolean","default":false,"description":"Search what is left )"
                    R"(out as well, except .git"},)"
                    R"("limit":{"type":"integer","minimum":1,"maximum":1000,"default":100,"description":"At )"
                    R"(most so many paths"}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT,
    .timeout_ms = kSearchTimeMs};

constexpr agentd::tool_spec kGrep{
    .name = "grep",
    .title = "Search in files",
    .description =
        "Searches the contents of files for a regular expression (RE2 syntax: no back-references, no "
        "look-around), line by line.\n"
        "- output_mode: files = the paths that have a match, last changed first (default); content = the "
        "lines with path and number, and context lines around them if asked for; count = matching lines per "
        "file.\n"
        "- Narrow the search with path (a folder or a file), glob (such as *.cc or src/**/*.h) and type.\n"
        "- Binary files, files over 16 MiB, files that .gitignore and .ignore name, .git, node_modules and "
        "the like, and build folders are left out, unless path names them or, for the ignored ones, "
        "include_ignored is set.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["pattern"],"properties":{)"
                    R"("pattern":{"type":"string","description":"The regular expression"},)"
                    R"("path":{"type":"string","format":"path","default":".","description":"The folder or )"
                    R"(file to search"},)"
                    R"("glob":{"type":"string","description":"Only files whose path matches; without a / it )"
                    R"(is matched against the name alone"},)"
                    R"("type":{"type":"string","enum":["c","cpp","cs","css","go","html","java","js","json",)"
                    R"("kotlin","lua","markdown","php","python","ruby","rust","shell","sql","swift","ts","xml",)"
                    R"("yaml"],"description":"Only files of that type"},)"
                    R"("ignore_case":{"type":"boolean","default":false},)"
                    R"("include_ignored":{"type":"boolean","default":false,"description":"Search ignored files )"
                    R"(as well, except .git"},)"
                    R"("output_mode":{"type":"string","enum":["files","content","count"],"default":"files"},)"
                    R"("context":{"type":"integer","minimum":0,"maximum":50,"default":0,"description":"Lines )"
                    R"(before and after each match, with output_mode content"},)"
                    R"("before":{"type":"integer","minimum":0,"maximum":50,"description":"Lines before, if )"
                    R"(not as many as context"},)"
                    R"("after":{"type":"integer","minimum":0,"maximum":50,"description":"Lines after"},)"
                    R"("limit":{"type":"integer","minimum":1,"maximum":5000,"default":200,"description":"At )"
                    R"(most so many files or matching lines"}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT,
    .timeout_ms = kSearchTimeMs};

constexpr agentd::tool_spec kTodoWrite{
    .name = "todo_write",
    .title = "Keep a list of tasks",
    .description =
        "Keeps the list of tasks of this conversation, which the user sees as your plan. Each call replaces "
        "the complete list.\n"
        "- Use it for work of three or more steps, or when the user gives several tasks; not for a single "
        "small one.\n"
        "- Set a task to in_progress before you begin it, at most one at a time, and to completed as soon as "
        "it is done. Remove tasks that are no longer needed.",
    .input_schema = R"({"type":"object","additionalProperties":false,"required":["todos"],"properties":{)"
                    R"("todos":{"type":"array","description":"All tasks, in their order","items":{)"
                    R"("type":"object","additionalProperties":false,"required":["content","status"],)"
                    R"("properties":{"content":{"type":"string","description":"What is to be done"},)"
                    R"("status":{"type":"string","enum":["pending","in_progress","completed"]},)"
                    R"("priority":{"type":"string","enum":["high","medium","low"],"default":"medium"}}}}}})",
    .flags = AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT};

constexpr std::uint64_t kMessagesLookedAt = 2'000;  // of a log, its last ones
constexpr std::uint32_t kPage = 500;

// The list as the log has it: that of the last call of todo_write that did not fail.
std::vector<Todo> logged_todos(agentd::call& c) {
  const std::string_view conversation = c.envelope().conversation_id();
  const std::uint64_t last = c.envelope().revision();
  std::uint64_t from = last > kMessagesLookedAt ? last - kMessagesLookedAt : 1;
  std::map<std::string, std::vector<Todo>, std::less<>> asked;
  std::vector<Todo> out;
  while (from <= last && !conversation.empty()) {
    const auto page = c.store().messages(conversation, AGENTD_SCOPE_LOG, last, from, kPage);
    if (!page) break;
    for (const agentd::message_view message : *page) {
      from = std::max(from, message.seq() + 1);
      for (const agentd::block_view block : message.blocks()) {
        if (block.is_tool_use() && block.name() == kTodoWrite.name)
          if (auto todos = todos_of(block.json())) asked[std::string(block.call_id())] = std::move(*todos);
        if (!block.is_tool_result() || block.is_error()) continue;
        if (const auto found = asked.find(block.call_id()); found != asked.end()) out = found->second;
      }
    }
    if (page->size() < kPage) break;
  }
  return out;
}

}  // namespace

WorkspaceTools::WorkspaceTools(agentd::init& from) : files_(from), commands_(from) {
  if (!files_ && !commands_) {
    from.refuse(AGENTD_E_DENIED,
                "workspace_tools needs agentd.workspace/1 or agentd.process/1, and neither is granted");
    return;
  }
  if (commands_) add_command_tools(from);
  if (files_) {
    add_file_tools(from);
    add_search_tools(from);
  }
  from.add_tool<&WorkspaceTools::todo_write>(kTodoWrite);
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

// At an event that decides nothing: a hook of messages would keep the task from session_start.
void WorkspaceTools::on_turn_start(agentd::call& c) { memory_.set_cwd(c.conversation(), c.envelope().cwd()); }
void WorkspaceTools::on_after_clear(agentd::call& c) { memory_.forget(c.conversation()); }
void WorkspaceTools::on_session_end(agentd::call& c) { memory_.forget(c.conversation()); }

// The model does not see any more what it has read, and what it has planned.
void WorkspaceTools::on_after_compaction(agentd::call& c, agentd::after_compaction_view ended) {
  memory_.forget_files(c.conversation());
  if (ended.result() != AGENTD_RESULT_APPLIED && ended.result() != AGENTD_RESULT_DEGRADED) return;
  if (const std::string reminder = reminder_of(todos_now(c)); !reminder.empty()) c.inject_context(reminder);
}

// A list that an earlier process has kept is in the log alone.
std::vector<Todo> WorkspaceTools::todos_now(agentd::call& c) {
  if (auto known = memory_.todos(c.conversation())) return std::move(*known);
  std::vector<Todo> found = logged_todos(c);
  memory_.set_todos(c.conversation(), found);
  return found;
}

agentd_status WorkspaceTools::todo_write(agentd::call& c, agentd::tool_view tool) {
  auto todos = todos_of(tool.input_json());
  if (!todos) return refuse(c, todos.error().message);
  const std::string text = "the list has " + counts_of(*todos), plan = plan_json(*todos);
  memory_.set_todos(c.conversation(), std::move(*todos));
  return answer(c, text, plan);
}

std::string WorkspaceTools::cwd_of(const agentd::call& c) const {
  const std::string_view told = c.envelope().cwd();
  return told.empty() ? memory_.cwd(c.conversation()) : std::string(told);
}

agentd_status WorkspaceTools::refuse_access(agentd::call& c, agentd_status status, std::string_view path, Access access,
                                            std::uint64_t bytes) const {
  if (status == AGENTD_E_NOT_FOUND || status == AGENTD_E_DENIED) {
    const std::string cwd = cwd_of(c);
    const bool gone = !cwd.empty() && files_.read(c, cwd, 0, 1).status() == AGENTD_E_NOT_FOUND;
    if (gone) return refuse_without_workspace(c, cwd);
  }
  if (status == AGENTD_E_DENIED) {
    const std::string cwd = cwd_of(c);
    std::string why = why_not_read(cwd, path);
    if (why.empty() && access == Access::kChange) why = why_not_changed(cwd, path);
    if (!why.empty()) return refuse(c, std::string(path) + " " + why);
  }
  if (status == AGENTD_E_IO && access == Access::kChange && is_disk_full(cwd_of(c), path, bytes))
    return refuse(
        c, std::string(path) + " was not changed: no space is left on its disk. Free some, or ask the user to do so");
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
  return refuse(
      c, std::string(path) +
             " must not be changed: it is outside of the workspace, belongs to agentd itself (its home "
             "directory, .agent of the project), decides which programs Git runs (.git/hooks, .git/config), or is "
             "closed to this user");
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
