// SPDX-License-Identifier: Apache-2.0
// memory.cc - agentd memory: searches, adds, lists, shows, edits and deletes memories, and exports and imports them.
#include "core/app/commands/memory.h"

#include <algorithm>
#include <filesystem>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/terminal.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::uint64_t kMemoryDocumentBytesMax = 900'000;  // with its escapes, an operation's input
constexpr std::size_t kBatchBytesMax = 400'000;             // of files in one import
constexpr std::size_t kMemoryLineBytes = 2000;

int memory_exit(const Error& error) { return error_exit(error, kExitUsage, kExitFailure); }

// One command's run.
class Run {
 public:
  Run(App& app, const Arguments& arguments, const OpenMemory& memory)
      : app_(app), arguments_(arguments), memory_(memory) {}

  int search();
  int add();
  int list();
  int show();
  int edit();
  int erase();
  int jobs();
  int export_files();
  int import_files();

 private:
  bool json() const { return arguments_.has("json"); }
  const std::string& word() const { return arguments_.words()[0]; }
  int fail(const Error& error) { return app_.fail(memory_exit(error), error.message); }
  void begin(JsonWriter& input) const {
    input.begin_object().member("project_id", arguments_.has("global") ? std::string() : memory_.project_id);
  }
  Result<JsonDocument> call(std::string_view operation, const JsonWriter& input) const {
    AGENTD_TRY(const std::string answer, memory_.call(operation, input.text()));
    return JsonDocument::parse(answer);
  }
  Result<JsonDocument> call_id(std::string_view operation) const {
    JsonWriter input;
    begin(input);
    input.member("id", word()).end_object();
    return call(operation, input);
  }
  // Calls for each element of all pages.
  Result<void> all(std::string_view operation, std::string_view name,
                   const std::function<Result<void>(JsonView)>& each) const;
  void print_memory(JsonView answer);
  Result<void> run_jobs(std::uint64_t& failed);

  App& app_;
  const Arguments& arguments_;
  const OpenMemory& memory_;
};

std::string percent_text(JsonView memory) {
  constexpr double kPercent = 100;
  return std::to_string(static_cast<int>(memory["confidence"].number_or(0) * kPercent + 0.5)) + " %";
}

std::string cell(JsonView text) { return neutral_line(std::string(text.string_or("")), kMemoryLineBytes); }

std::string indented(std::string_view text) {
  std::string out = "    ";
  for (const char each : neutral(text)) {
    out += each;
    if (each == '\n') out += "    ";
  }
  while (out.ends_with(' ') || out.ends_with('\n')) out.pop_back();
  return out + "\n";
}

Result<void> Run::all(std::string_view operation, std::string_view name,
                      const std::function<Result<void>(JsonView)>& each) const {
  std::string after;
  do {
    JsonWriter input;
    begin(input);
    input.optional("after", after).end_object();
    AGENTD_TRY(const JsonDocument page, call(operation, input));
    const JsonView items = page.root()[name];
    for (std::size_t i = 0; i < items.size(); ++i) AGENTD_TRY_VOID(each(items.at(i)));
    after = std::string(page.root()["next"].string_or(""));
  } while (!after.empty());
  return {};
}

int Run::search() {
  JsonWriter input;
  begin(input);
  input.member("query", join(arguments_.words(), " "));
  if (arguments_.has("limit")) {
    const auto limit = parse_count("limit", arguments_.value("limit"));
    if (!limit) return app_.fail(kExitUsage, limit.error().message);
    input.member("limit", *limit);
  }
  input.end_object();
  const auto answer = call("search", input);
  if (!answer) return fail(answer.error());
  const JsonView found = answer->root()["memories"];
  for (std::size_t i = 0; i < found.size(); ++i) {
    const JsonView each = found.at(i);
    if (json()) {
      app_.out().line(each.text());
      continue;
    }
    app_.out().print(std::string(i == 0 ? "" : "\n") + cell(each["title"]) + "\n    " + cell(each["id"]) + " · " +
                     percent_text(each) + " · " + cell(each["source"]) + "\n" + indented(each["text"].string_or("")));
  }
  if (found.size() == 0 && !json()) app_.out().print("no memory fits that\n");
  app_.out().flush();
  return found.size() == 0 ? kExitNotFound : kExitOk;
}

// The part of a sentence behind the document's name; empty: it can be added.
std::string why_no_document(std::string_view text) {
  if (is_blank(text)) return "has no text: nothing was added";
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return "has a NUL byte at offset " + std::to_string(nul) + ", so it is not a text document: nothing was added";
  if (!is_utf8(text)) return "is not valid UTF-8: convert it (iconv -t UTF-8) and add it again";
  return {};
}

int Run::add() {
  const auto text = word() == "-" ? read_all(app_.surroundings().input, kMemoryDocumentBytesMax)
                                  : read_file(word(), kMemoryDocumentBytesMax);
  if (!text) return app_.fail(kExitUsage, text.error().message);
  const std::string name = word() == "-" ? "standard input" : std::filesystem::path(word()).filename().string();
  if (const std::string why = why_no_document(*text); !why.empty())
    return app_.fail(kExitUsage, neutral_line(word() == "-" ? name : word(), kMemoryLineBytes) + " " + why);
  JsonWriter input;
  begin(input);
  input.member("name", name).member("text", *text).end_object();
  const auto answer = call("add_document", input);
  if (!answer) return fail(answer.error());
  const std::uint64_t sections = answer->root()["sections"].uint_or(0);
  if (json())
    app_.out().line(answer->root().text());
  else
    app_.out().confirm("Added " + neutral_line(name, kMemoryLineBytes) + " as " + counted(sections, "section") + ".\n");
  return kExitOk;
}

int Run::list() {
  std::vector<std::vector<std::string>> rows;
  const auto read = all("list", "memories", [&](JsonView each) -> Result<void> {
    if (json()) {
      app_.out().line(each.text());
      return {};
    }
    const bool hidden = !each["superseded_by"].string_or("").empty();
    rows.push_back({cell(each["id"]), hidden ? "superseded" : cell(each["polarity"]), percent_text(each),
                    std::to_string(each["uses"].uint_or(0)), cell(each["title"])});
    return {};
  });
  if (!read) return fail(read.error());
  if (!json() && rows.empty()) app_.out().print("no memories; --global lists those of all projects\n");
  if (!json() && !rows.empty())
    app_.out().print(
        table_text({{"ID"}, {"KIND"}, {"CONFIDENCE", true}, {"USES", true}, {"TITLE"}}, rows, app_.out().columns()));
  app_.out().flush();
  return kExitOk;
}

void Run::print_memory(JsonView answer) {
  const JsonView memory = answer["memory"];
  if (json()) return app_.out().line(memory.text());
  const auto line = [&](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    std::string head(name);
    head.resize(14, ' ');
    app_.out().print(head + text + "\n");
  };
  line("id", cell(memory["id"]));
  line("title", cell(memory["title"]));
  line("subject", cell(memory["subject"]));
  line("kind", cell(memory["polarity"]) + ", " + cell(memory["outcome"]) + ", " + cell(memory["origin"]));
  std::vector<std::string> tags;
  for (std::size_t i = 0; i < memory["tags"].size(); ++i) tags.push_back(cell(memory["tags"].at(i)));
  line("tags", join(tags, ", "));
  line("confidence", percent_text(memory) + ", used " + counted(memory["uses"].uint_or(0), "time") + ", helpful " +
                         std::to_string(memory["helpful"].uint_or(0)) + ", not helpful " +
                         std::to_string(memory["unhelpful"].uint_or(0)));
  line("created", time_text(memory["created_ms"].int_or(0)));
  line("superseded by", cell(memory["superseded_by"]));
  const std::string project = cell(memory["project_id"]);
  line("project", project.empty() ? "all" : project);
  line("source", cell(answer["source"]));
  app_.out().print("\n" + neutral(memory["content"].string_or("")) + "\n");
}

int Run::show() {
  const auto answer = call_id("show");
  if (!answer) return fail(answer.error());
  print_memory(answer->root());
  app_.out().flush();
  return kExitOk;
}

int Run::edit() {
  JsonWriter input;
  begin(input);
  input.member("id", word()).key("fields").begin_object();
  bool any = false;
  for (const char* name : {"title", "content", "subject", "polarity", "outcome"})
    if (arguments_.has(name)) {
      input.member(name, arguments_.value(name));
      any = true;
    }
  if (arguments_.has("superseded-by")) {
    input.member("superseded_by", arguments_.value("superseded-by"));
    any = true;
  }
  if (arguments_.has("tag")) {
    input.key("tags").begin_array();
    for (const std::string& tag : arguments_.values("tag")) input.string(tag);
    input.end_array();
    any = true;
  }
  if (arguments_.has("confidence")) {
    const std::string text = arguments_.value("confidence");
    const auto number = JsonDocument::parse(text);
    if (!number || !number->root().is_number())
      return app_.fail(kExitUsage, "--confidence must be a number from 0 to 1, not " + one_line(text, 40));
    input.key("confidence").value(number->root());
    any = true;
  }
  if (!any)
    return app_.fail(kExitUsage,
                     "nothing to change: give --title, --content or another field ('agentd memory edit --help'), or "
                     "edit the file of 'agentd memory export' and import it");
  input.end_object().end_object();
  const auto answer = call("edit", input);
  if (!answer) return fail(answer.error());
  print_memory(answer->root());
  app_.out().flush();
  return kExitOk;
}

int Run::erase() {
  const auto found = call_id("show");
  if (!found) return fail(found.error());
  const JsonView memory = found->root()["memory"];
  const std::string id(memory["id"].string_or(""));
  if (!arguments_.has("yes")) {
    if (!app_.surroundings().input_tty)
      return app_.fail(kExitUsage, "not deleted: there is no terminal to confirm on; pass --yes to delete " + id);
    if (!says_yes(app_, cell(memory["title"]) + "\n", "delete this memory? [y/N] ")) {
      app_.out().print("nothing was deleted\n");
      return kExitFailure;
    }
  }
  JsonWriter input;
  begin(input);
  input.member("id", id).end_object();
  const auto gone = call("delete", input);
  if (!gone) return fail(gone.error());
  app_.out().confirm("deleted " + id + "\n");
  return kExitOk;
}

// Fills `failed` with the number of jobs that failed.
Result<void> Run::run_jobs(std::uint64_t& failed) {
  constexpr std::string_view kScripted = "scripted";
  AGENTD_TRY(const Config config, app_.config(arguments_));
  JsonWriter input;
  begin(input);
  input.member("retry", arguments_.has("retry")).key("absent").begin_array();
  if (config.text("scripted.file").empty()) input.string(kScripted);
  input.end_array().end_object();
  AGENTD_TRY(const JsonDocument ran, call("run_jobs", input));
  failed = ran.root()["failed"].uint_or(0);
  const std::uint64_t skipped = ran.root()["skipped"].uint_or(0);
  if (json()) return {};
  app_.out().print("done " + std::to_string(ran.root()["done"].uint_or(0)) + ", failed " + std::to_string(failed) +
                   ", left " + std::to_string(ran.root()["left"].uint_or(0)) + "\n");
  if (skipped != 0)
    app_.out().print(counted(skipped, "session") + " answered by a script not tried: give --script FILE\n");
  return {};
}

int Run::jobs() {
  std::uint64_t failed = 0;
  if (arguments_.has("run") || arguments_.has("retry"))
    if (const auto ran = run_jobs(failed); !ran) return fail(ran.error());
  JsonWriter input;
  begin(input);
  input.member("done", arguments_.has("all")).end_object();
  const auto answer = call("jobs", input);
  if (!answer) return fail(answer.error());
  const JsonView found = answer->root()["jobs"];
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const JsonView each = found.at(i);
    if (json())
      app_.out().line(each.text());
    else
      rows.push_back({cell(each["conversation_id"]), cell(each["state"]), std::to_string(each["attempts"].uint_or(0)),
                      time_text(each["changed_ms"].int_or(0)), cell(each["error"])});
  }
  if (!json() && rows.empty()) app_.out().print("no sessions wait to be refined\n");
  if (!rows.empty())
    app_.out().print(table_text({{"CONVERSATION"}, {"STATE"}, {"ATTEMPTS", true}, {"CHANGED"}, {"ERROR"}}, rows,
                                app_.out().columns()));
  app_.out().flush();
  return failed == 0 ? kExitOk : kExitProvider;
}

int Run::export_files() {
  if (const auto made = make_directories(word()); !made) return app_.fail(kExitFailure, made.error().message);
  std::uint64_t count = 0;
  const auto read = all("export", "files", [&](JsonView each) -> Result<void> {
    const std::string name(each["name"].string_or(""));
    // The name comes from the plugin that offers the memories; it must stay in the directory.
    if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos || has_control_character(name))
      return Error{Code::kInvalid, "the memory service gave a file the name " + one_line(name, 100)};
    AGENTD_TRY_VOID(write_file_atomically(word() + "/" + name, each["text"].string_or(""), 0600));
    ++count;
    return {};
  });
  if (!read) return fail(read.error());
  if (json()) {
    JsonWriter out;
    out.begin_object().member("files", count).end_object();
    app_.out().line(out.text());
  } else {
    app_.out().confirm("Exported " + std::to_string(count) + (count == 1 ? " memory" : " memories") + " to " + word() +
                       ".\n");
  }
  return kExitOk;
}

int Run::import_files() {
  std::error_code failed;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(word(), failed))
    if (entry.path().extension() == ".md" && entry.symlink_status(failed).type() == std::filesystem::file_type::regular)
      paths.push_back(entry.path().string());
  if (failed) return app_.fail(kExitUsage, "reading " + one_line(word(), 200) + ": " + failed.message());
  if (paths.empty()) return app_.fail(kExitUsage, one_line(word(), 200) + " has no .md files");
  std::sort(paths.begin(), paths.end());
  std::uint64_t added = 0, changed = 0;
  std::vector<std::string> problems;
  for (std::size_t at = 0; at < paths.size();) {
    JsonWriter input;
    begin(input);
    input.key("files").begin_array();
    const std::size_t begun = at;
    for (; at < paths.size() && (at == begun || input.text().size() < kBatchBytesMax); ++at) {
      const auto text = read_file(paths[at], kMemoryDocumentBytesMax / 2);
      if (!text) {
        problems.push_back(text.error().message);
        continue;
      }
      input.begin_object().member("name", std::filesystem::path(paths[at]).filename().string());
      input.member("text", *text).end_object();
    }
    input.end_array().end_object();
    const auto answer = call("import", input);
    if (!answer) return fail(answer.error());
    added += answer->root()["added"].uint_or(0);
    changed += answer->root()["changed"].uint_or(0);
    const JsonView told = answer->root()["problems"];
    for (std::size_t i = 0; i < told.size(); ++i) problems.emplace_back(told.at(i).string_or(""));
  }
  if (json()) {
    JsonWriter out;
    out.begin_object().member("added", added).member("changed", changed).key("problems").begin_array();
    for (const std::string& each : problems) out.string(each);
    out.end_array().end_object();
    app_.out().line(out.text());
  } else {
    app_.out().confirm("Imported from " + word() + ": " + std::to_string(added) + " new, " + std::to_string(changed) +
                       " changed.\n");
  }
  if (problems.empty()) return kExitOk;
  for (std::size_t i = 0; i + 1 < problems.size(); ++i) app_.fail(kExitUsage, problems[i]);
  return app_.fail(kExitUsage, problems.back());
}

}  // namespace

int run_memory(App& app, const Arguments& arguments, const OpenMemory& memory) {
  struct Row {
    std::string_view name;
    int (Run::*run)();
  };
  constexpr Row kRows[] = {{"memory search", &Run::search},      {"memory add", &Run::add},
                           {"memory list", &Run::list},          {"memory show", &Run::show},
                           {"memory edit", &Run::edit},          {"memory delete", &Run::erase},
                           {"memory jobs", &Run::jobs},          {"memory export", &Run::export_files},
                           {"memory import", &Run::import_files}};
  Run run(app, arguments, memory);
  for (const Row& row : kRows)
    if (row.name == arguments.command().name) return (run.*row.run)();
  return app.fail(kExitUsage, "unknown command: " + std::string(arguments.command().name));
}

int memory_command(App& app, const Arguments& arguments) {
  const auto memory = open_memory(app, arguments);
  if (!memory) return app.fail(memory.error().code, memory.error().message);
  return run_memory(app, arguments, *memory);
}

}  // namespace agentd::app
