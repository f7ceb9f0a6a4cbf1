// SPDX-License-Identifier: Apache-2.0
#include "core/app/scaffold.h"

#include <cctype>

#include "core/base/bytes.h"
#include "embedded_plugin_api.h"

namespace agentd::app {
namespace {

constexpr std::size_t kHookNameBytesMax = 64;

// The action of the sample hook, if its event allows a useful one.
enum class Sample { kGuard, kCompact, kNothing };
Sample sample_of(const EventTraits& event) {
  if (event.id == AGENTD_EVENT_BEFORE_TOOL_CALL) return Sample::kGuard;
  return event.id == AGENTD_EVENT_AGENT_STOP ? Sample::kCompact : Sample::kNothing;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

bool is_name(std::string_view name) {
  constexpr std::string_view kMay = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.size() <= kHookNameBytesMax && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         name.find_first_not_of(kMay) == std::string_view::npos;
}

// "my-guard" is MyGuard.
std::string type_name(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_' || c == '-') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string answers(const EventTraits& event) {
  std::string out;
  for (std::uint32_t kind = 1; kind < 32; ++kind)
    if (is_legal(event.id, kind)) out += (out.empty() ? "" : ", ") + std::string(action_name(kind));
  return out.empty() ? "nothing: its answer is ignored" : out;
}

// A line of comment of at most 96 columns, or several.
std::string comment(std::string_view mark, std::string text) {
  std::string out;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > 92) end = text.rfind(' ', 92);
    if (end == std::string::npos || end == 0) end = text.size();
    out += std::string(mark) + " " + text.substr(0, end) + "\n";
    text.erase(0, std::min(end + 1, text.size()));
  }
  return out;
}

std::string about(std::string_view mark, std::string_view name, const EventTraits& event) {
  return comment(mark,
                 std::string(name) + " - called at " + std::string(event.name) + ": " + std::string(event.fires)) +
         comment(mark, "It may answer " + answers(event) + "; 'agentd hooks contract " + std::string(event.name) +
                           "' shows details.");
}

// ---- native

std::string cpp_handler(const EventTraits& event) {
  const std::string on = "  void on_" + std::string(event.name) + "(agentd::call& c";
  switch (sample_of(event)) {
    case Sample::kGuard:
      return on +
             ", agentd::tool_view tool) {\n"
             "    const bool deletes = tool.input().text(\"command\").find(\"rm -rf /\") != "
             "std::string::npos;\n"
             "    if (tool.name() == \"bash\" && deletes) c.block(\"not the root directory\");\n"
             "  }\n";
    case Sample::kCompact:
      return on +
             ", agentd::stop_view stop) {\n"
             "    if (stop.context_fill() > 0.9) c.compact();\n"
             "  }\n";
    case Sample::kNothing:
      return on + ") { (void)c; }\n";
  }
  return {};
}

std::string cpp_source(const std::string& name, const EventTraits& event) {
  return about("//", name, event) + "#include <agentd/hook.hpp>\n\nstruct " + type_name(name) + " {\n" +
         cpp_handler(event) + "};\nAGENTD_HOOK(" + type_name(name) + ", \"org.example." + name + "\", \"1.0.0\")\n";
}

std::string c_body(const EventTraits& event) {
  switch (sample_of(event)) {
    case Sample::kGuard:
      return "  const agentd_tool_call* tool = (const agentd_tool_call*)call->payload;\n"
             "  agentd_act_text block = {{sizeof block, AGENTD_ACT_BLOCK, 0}, 0, 0,\n"
             "                           TEXT(\"not the root directory\")};\n"
             "  (void)self;\n"
             "  if (!has(tool->input_json, \"rm -rf /\")) return AGENTD_OK;\n"
             "  return call->core->emit(call->core, call->token, &block.h);\n";
    case Sample::kCompact:
      return "  const agentd_gauge* gauge = ((const agentd_agent_stop*)call->payload)->context;\n"
             "  agentd_act_compact compact = {{sizeof compact, AGENTD_ACT_COMPACT, 0}, 0, 0, 0, "
             "{0, 0}, {0, 0}};\n"
             "  (void)self;\n"
             "  if (gauge == NULL || gauge->limit == 0 || gauge->used * 10 <= gauge->limit * 9)\n"
             "    return AGENTD_OK;\n"
             "  return call->core->emit(call->core, call->token, &compact.h);\n";
    case Sample::kNothing:
      return "  (void)self;\n  (void)call;\n  return AGENTD_OK;\n";
  }
  return {};
}

constexpr std::string_view kCHas =
    "static int has(agentd_str text, const char* part) {\n"
    "  const size_t length = strlen(part);\n"
    "  size_t i;\n"
    "  for (i = 0; i + length <= text.len; ++i)\n"
    "    if (memcmp(text.ptr + i, part, length) == 0) return 1;\n"
    "  return 0;\n"
    "}\n\n";

std::string upper(std::string_view name) {
  std::string out;
  for (const char c : name) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// The template's own frame around one row.
std::string c_source(const std::string& name, const EventTraits& event) {
  const std::string id = "org.example." + name, on(event.name);
  std::string out = about("//", name, event);
  out += "#include <agentd/hook_abi.h>\n#include <string.h>\n\n";
  out += "#define TEXT(literal) {literal, sizeof(literal) - 1}\n\n";
  out += "AGENTD_MANIFEST(\"{\\\"id\\\":\\\"" + id +
         "\\\",\"\n"
         "                \"\\\"version\\\":\\\"1.0.0\\\",\\\"abi\\\":\\\"1.0\\\",\"\n"
         "                \"\\\"events\\\":[\\\"" +
         on + "\\\"],\\\"concurrency\\\":\\\"concurrent\\\"}\");\n\n";
  if (sample_of(event) == Sample::kGuard) out += kCHas;
  out += "static agentd_status AGENTD_CALL on_" + on + "(void* self, const agentd_call* call) {\n" + c_body(event) +
         "}\n\n";
  const std::string_view whole(kPluginApi_template_hello_c);
  std::string rest(whole.substr(whole.find("static agentd_status AGENTD_CALL create(")));
  const std::size_t rows = rest.find("    {AGENTD_EVENT_"), end = rest.find("};", rows);
  rest.replace(rows, end - rows, "    {AGENTD_EVENT_" + upper(on) + ", 0, 0, on_" + on + ", 0},\n");
  return out + replaced(rest, "org.example.hello", id);
}

std::string cmake_lists(const std::string& name, const std::string& source, bool cpp) {
  return "# Builds " + name +
         ".so: cmake -S . -B build && cmake --build build\n"
         "cmake_minimum_required(VERSION 3.18)\n"
         "project(" +
         name + " LANGUAGES C" + (cpp ? " CXX" : "") +
         ")\n"
         "include(plugin-api/cmake/AgentdHook.cmake)\n"
         "agentd_add_hook(" +
         name + " " + source + ")\n";
}

Scaffold native(const std::string& name, const EventTraits& event, bool cpp) {
  Scaffold out;
  const std::string source = name + (cpp ? ".cpp" : ".c");
  out.files.push_back({name + "/" + source, cpp ? cpp_source(name, event) : c_source(name, event), false});
  out.files.push_back({name + "/CMakeLists.txt", cmake_lists(name, source, cpp), false});
  for (const EmbeddedFile& file : kPluginApi) {
    const bool needed = file.path.substr(0, 8) == "include/" || file.path == "template/hook.map" ||
                        file.path == "cmake/AgentdHook.cmake" || (cpp && file.path.substr(0, 4) == "cpp/");
    if (needed) out.files.push_back({name + "/plugin-api/" + std::string(file.path), std::string(file.text), false});
  }
  out.built = name + "/build/" + name + ".so";
  out.steps = {"cmake -S " + name + " -B " + name + "/build && cmake --build " + name + "/build"};
  return out;
}

// ---- scripts

constexpr std::string_view kProtocol =
    "With 'hook' it prints the event; with 'run' it gets the event as JSON on standard input, and may print one JSON "
    "object as its answer. Printing nothing changes nothing.";

std::string bash_body(const EventTraits& event) {
  switch (sample_of(event)) {
    case Sample::kGuard:
      return "    case $payload in\n"
             "      *'\"command\":\"rm -rf /'*)\n"
             "        echo '{\"action\":\"block\",\"reason\":\"not the root directory\"}' ;;\n"
             "    esac\n";
    case Sample::kCompact:
      return "    : \"$payload\"\n"
             "    if [ \"${AGENTD_CONTEXT_PERCENT:-0}\" -gt 90 ]; then\n"
             "      echo '{\"action\":\"compact\"}'\n"
             "    fi\n";
    case Sample::kNothing:
      return "    : \"$payload\"  # inspect it, and answer: echo '{\"action\":\"none\"}'\n";
  }
  return {};
}

std::string bash_source(const std::string& name, const EventTraits& event) {
  return "#!/usr/bin/env bash\n" + about("#", name, event) + comment("#", std::string(kProtocol)) +
         "set -eu\n\ncase ${1-} in\n  hook) echo " + std::string(event.name) + " ;;\n  run)\n    payload=$(cat)\n" +
         bash_body(event) + "    ;;\n  *)\n    echo \"usage: $0 hook|run\" >&2\n    exit 1\n    ;;\nesac\n";
}

std::string python_body(const EventTraits& event) {
  switch (sample_of(event)) {
    case Sample::kGuard:
      return "    command = payload.get(\"tool\", {}).get(\"input\", {}).get(\"command\", \"\")\n"
             "    if \"rm -rf /\" in command:\n"
             "        return {\"action\": \"block\", \"reason\": \"not the root directory\"}\n"
             "    return None\n";
    case Sample::kCompact:
      return "    if payload.get(\"context\", {}).get(\"percent\", 0) > 90:\n"
             "        return {\"action\": \"compact\"}\n"
             "    return None\n";
    case Sample::kNothing:
      return "    return None  # or {\"action\": ...}\n";
  }
  return {};
}

std::string python_source(const std::string& name, const EventTraits& event) {
  return "#!/usr/bin/env python3\n" + about("#", name, event) + comment("#", std::string(kProtocol)) +
         "import json\nimport sys\n\n\ndef answer(payload):\n" + python_body(event) +
         "\n\ndef main(words):\n    if words == [\"hook\"]:\n        print(\"" + std::string(event.name) +
         "\")\n    elif words == [\"run\"]:\n        said = answer(json.load(sys.stdin))\n"
         "        if said is not None:\n            print(json.dumps(said))\n    else:\n"
         "        sys.exit(f\"usage: {sys.argv[0]} hook|run\")\n\n\n"
         "if __name__ == \"__main__\":\n    main(sys.argv[1:])\n";
}

std::string yaml_body(const EventTraits& event) {
  switch (sample_of(event)) {
    case Sample::kGuard:
      return "matcher: bash\nwhen: tool.input.command contains \"rm -rf /\"\ndo:\n"
             "  action: block\n  reason: not the root directory\n";
    case Sample::kCompact:
      return "when: context.percent > 90\ndo: compact\n";
    case Sample::kNothing:
      return "# when: agent.depth == 0\ndo: none\n";
  }
  return {};
}

std::string yaml_source(const std::string& name, const EventTraits& event) {
  return about("#", name, event) +
         comment("#", "Instead of 'do:', use 'command:' or 'url:': they get the event as JSON and answer with JSON.") +
         "on: " + std::string(event.name) + "\n" + yaml_body(event);
}

Scaffold script(const std::string& file, std::string text, bool executable) {
  return {{{file, std::move(text), executable}}, file, {}};
}

}  // namespace

Result<Scaffold> make_scaffold(std::string_view name, std::string_view language, const EventTraits& event) {
  if (!is_name(name))
    return Error{
        Code::kInvalid,
        "'" + one_line(name, 80) + "' cannot be a hook's name: use letters, digits, _ and -, and begin with a letter"};
  const std::string own(name);
  if (language == "c++") return native(own, event, true);
  if (language == "c") return native(own, event, false);
  if (language == "bash") return script(own, bash_source(own, event), true);
  if (language == "python") return script(own, python_source(own, event), true);
  if (language == "yaml") return script(own + ".yaml", yaml_source(own, event), false);
  return Error{Code::kInvalid, "--lang must be c++, c, bash, python or yaml, not '" + one_line(language, 80) + "'"};
}

}  // namespace agentd::app
