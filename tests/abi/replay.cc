// SPDX-License-Identifier: Apache-2.0
#include "tests/abi/replay.h"

#include <sys/stat.h>

#include <sstream>

#include "core/base/file.h"
#include "core/base/result.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

void install(const Program& program, const std::string& from, const std::string& as) {
  const std::string bytes = read_file(from, 64u << 20).value_or("");
  AGENTD_ASSERT(!bytes.empty());
  AGENTD_ASSERT(write_file_atomically(program.home() + "/hooks/" + as, bytes, 0600));
}

std::string long_text() {
  std::string out;
  for (int i = 0; i < 800; ++i) out += "line " + std::to_string(i) + " of a file that fills the context\n";
  return out;
}

std::string text_of(JsonView value) { return std::string(value.string_or("")); }

// What the module said of it, without the host's words around it: those may change.
std::string result_of(const std::string& tool, const std::string& content) {
  for (const std::string& before : {std::string("blocked by the hook sample: "), tool + ": "})
    if (content.starts_with(before)) return ", " + content.substr(before.size());
  return tool.starts_with("corpus_") ? ", " + content : "";
}

std::string line_of(JsonView event) {
  const std::string type = text_of(event["type"]), name = text_of(event["name"]);
  if (type == "hook_answer" && name == "sample")
    return "hook " + text_of(event["event"]) + ": " + text_of(event["answer"]) + ", " + text_of(event["effect"]);
  if (type == "tool_result")
    return "tool " + name + ": " + text_of(event["status"]) + result_of(name, text_of(event["content"]));
  if (type == "notice") return "notice of " + name + ": " + text_of(event["text"]);
  if (type == "compaction_outcome") return "compaction: " + text_of(event["outcome"]);
  if (type == "text_delta") return "model: " + text_of(event["text"]);
  if (type == "run_ended") return "end: " + text_of(event["outcome"]);
  const bool is_news = text_of(event["text"]).starts_with("new hook sample ");
  if ((type == "warning" || type == "error") && !is_news) return type + ": " + text_of(event["text"]);
  return "";
}

std::string trimmed(std::string line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace

std::string replay(const Replay& what) {
  Program program;
  program.config("context_window: 20000\nhooks:\n  sample:\n    isolation: " + what.isolation +
                 "\n    config: {begin: 1}\n");
  ::chmod(program.home().c_str(), 0700);
  AGENTD_ASSERT(make_directories(program.home() + "/hooks"));
  install(program, what.module, "sample.so");
  if (!what.sidecar.empty()) install(program, what.sidecar, "sample.hook.json");
  program.file("a.txt", "alpha\n");
  program.file("long.txt", long_text());
  const Finished ran = program.run(
      {"run", "--json", "--disable-auto-compact", "--allow", "*", "--script", what.script, "hello, corpus"});
  std::string out;
  for (const JsonDocument& event : json_lines(ran.out)) {
    const std::string line = trimmed(line_of(event.root()));
    if (!line.empty()) out += line + "\n";
  }
  return out + "exit: " + std::to_string(ran.code) + "\n" + ran.err;
}

}  // namespace agentd::testing
