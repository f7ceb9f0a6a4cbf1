# SPDX-License-Identifier: Apache-2.0
# one_of_each.cmake - copies the files that somebody edits who adds an event, an event field, an action, a record, a
# service function, a log record kind, a setting, a command, a dialect and a rung of compaction, adds one of each, and
# counts the files of each.
#
# cmake -DFROM=source tree -DTO=folder -P one_of_each.cmake
cmake_minimum_required(VERSION 3.25)

# Puts `text` before the first `place` of the file; `kind` is what it is part of.
function(add kind file place text)
  edit(${kind} ${file} "${place}" "${text}${place}")
endfunction()
function(edit kind file place text)
  if(NOT EXISTS ${TO}/${file})
    cmake_path(GET file PARENT_PATH folder)
    file(COPY ${FROM}/${file} DESTINATION ${TO}/${folder})
  endif()
  file(READ ${TO}/${file} before)
  string(FIND "${before}" "${place}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "one_of_each: '${place}' is not in ${file}")
  endif()
  string(LENGTH "${place}" length)
  math(EXPR behind "${at} + ${length}")
  string(SUBSTRING "${before}" 0 ${at} head)
  string(SUBSTRING "${before}" ${behind} -1 tail)
  file(WRITE ${TO}/${file} "${head}${text}${tail}")
  set_property(GLOBAL APPEND PROPERTY files_of_${kind} ${file})
endfunction()
# What the test leaves out: the place where the program uses the new thing.
function(used_in kind file)
  set_property(GLOBAL APPEND PROPERTY files_of_${kind} ${file})
endfunction()

file(REMOVE_RECURSE ${TO})
file(COPY ${FROM}/plugin-api/include/agentd DESTINATION ${TO}/plugin-api/include)
set(api plugin-api/include/agentd)

add(event ${api}/hook_events.h "  /* the next event goes here */\n"
  "  ROW(X, TEST_EVENT, test_event, 63, agentd_notification, 1, 0, AGENTD_MAY(BLOCK) | AGENTD_MAY(TEST), 0, \\\n\
    \"a test adds an event\", \"level, text\") \\\n")
used_in(event "core/agent: where it fires")

edit(field ${api}/hook_events.h "  uint32_t level; /* AGENTD_LEVEL_ */\n  agentd_str text;\n"
  "  uint32_t level; /* AGENTD_LEVEL_ */\n  agentd_str text;\n  agentd_str origin;\n")
edit(field ${api}/hook_events.h "X(notification, AGENTD_TEXT(text))"
  "X(notification, AGENTD_TEXT(text), AGENTD_TEXT(origin))")
add(field core/hooks/payload_fields.cc
  "};\nconstexpr PayloadTable kTable = plain(sizeof(Record), kFields);\n}  // namespace notification"
  "    optional(text(\"origin\", AT(origin), \"who says it\", R\"(\"test\")\")),\n")
used_in(field "core/agent: where it is known")

add(action ${api}/hook_actions.h "/* clang-format on */\n\n/* FROZEN header"
  "#define AGENTD_ACT_TEST 19 /* agentd_act_text */\n")
add(action ${api}/hook_actions.h "  /* the next action goes here */\n"
  "  X(TEST, test, act_text, AddsUp, \"action: test\", \"a test adds an action\") \\\n")
used_in(action "${api}/hook_events.h")
used_in(action "core/agent: where it is applied")

add(record ${api}/hook_services.h "/* NULL = not asked for, or not granted. */"
  "typedef struct agentd_sample {\n  uint32_t size, reserved0;\n  agentd_str text;\n  agentd_list parts;\n\
} agentd_sample;\nAGENTD_LAYOUT(agentd_sample, 40);\n\n")
add(record ${api}/hook_services.h "  X(kv, AGENTD_TEXT(key)"
  "  X(sample, AGENTD_TEXT(text), AGENTD_LIST(parts, kv)) \\\n")
used_in(record "where it is made")

add(service ${api}/hook_services.h "} agentd_store;\n"
  "  /* The first key with the prefix. [any] */\n  agentd_status(AGENTD_CALL* first)(const struct agentd_store*, \
agentd_token, agentd_str prefix,\n                                     const agentd_kv** out) AGENTD_NOEXCEPT;\n")
edit(service ${api}/hook_services.h "X(store, changes, StoreChanges, none, conv_info, 0, \"\")"
  "X(store, changes, StoreChanges, none, conv_info, 0, \"\") \\\n  X(store, first, StoreFirst, none, none, 0, \"\")")
edit(service ${api}/hook_services.h "AGENTD_LAYOUT(agentd_store, 64)" "AGENTD_LAYOUT(agentd_store, 72)")
edit(service core/hooks/services.h "(std::uint64_t /*cursor*/, std::uint32_t /*limit*/))"
  "(std::uint64_t /*cursor*/, std::uint32_t /*limit*/)) \\\n  X(store, first, first, Result<PluginKey>, \
(const ServiceCaller&, std::string_view))")
add(service core/agent/services/store.cc "}  // namespace agentd\n"
  "Result<PluginKey> AgentServices::first(const ServiceCaller& caller, std::string_view prefix) {\n\
  AGENTD_TRY(std::vector<PluginKey> found, scan(caller, prefix, {}, 1));\n\
  if (found.empty()) return Error{Code::kNotFound, \"no key begins so\"};\n\
  return std::move(found.front());\n}\n\n")

add(kind core/conversation/record.h "  /* the next kind goes here */\n" "  X(24, Test, test, 0, \"note\") \\\n")
add(kind core/conversation/record.h "}  // namespace agentd\n"
  "Record write_test(const std::string& note);\nResult<std::string> read_test(const Record& from);\n\n")
add(kind core/conversation/record.cc "Record write_meta("
  "Record write_test(const std::string& note) {\n  JsonWriter out;\n  out.begin_object().member(\"note\", note);\n\
  return finish(RecordType::kTest, out);\n}\n\nResult<std::string> read_test(const Record& from) {\n\
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kTest));\n\
  return text(document.root(), \"note\");\n}\n\n")
used_in(kind "core/agent: where it is written")

add(setting core/config/config_keys.cc "    {\"max_turns\", ValueType::kWhole"
  "    {\"test.setting\", ValueType::kWhole, \"7\", \"A test adds a setting.\", {}, 1, 9},\n")
used_in(setting "where it is read")

add(command core/app/commands/commands.h "int completion_command("
  "int test_command(App& app, const Arguments& arguments);\n")
add(command core/app/command_table.cc "CommandSpec completion_spec() {"
  "CommandSpec test_spec() {\n\
  return {\"test\", \"\", \"a test adds a command\", \"\", {}, {}, 0, 0, {}, test_command};\n}\n\n")
edit(command core/app/command_table.cc "completion_spec()}" "completion_spec(), test_spec()}")
file(WRITE ${TO}/core/app/commands/test.cc "#include \"core/app/commands/commands.h\"\n\nnamespace agentd::app {\n\n\
int test_command(App&, const Arguments&) { return 7; }\n\n}  // namespace agentd::app\n")
used_in(command core/app/commands/test.cc)

edit(dialect core/dialects/definition.h "X(kGemini, gemini)" "X(kGemini, gemini) X(kTest, test)")
file(WRITE ${TO}/core/dialects/test.cc "#include \"core/dialects/translator.h\"\n\nnamespace agentd {\nnamespace {\n\n\
constexpr EventName kEvents[] = {{\"ToolComes\", AGENTD_EVENT_BEFORE_TOOL_CALL}};\n\
constexpr ToolRow kTools[] = {{\"bash\", \"Run\", {}}};\n\
std::string input(const HookDefinition&, JsonView, const DialectContext&) { return \"{}\"; }\n\
Verdict interpret_test(const HookDefinition&, JsonView, const RawAnswer&) { return {}; }\n\
Result<DefinitionSet> settings(std::string_view, std::string_view, std::string_view) { return DefinitionSet(); }\n\
constexpr Translator kTest{.traits = {.program = \"Test\", .settings_folder = \".test\"},\n\
                           .events = kEvents,\n                           .tools = kTools,\n\
                           .input = input,\n                           .interpret = interpret_test,\n\
                           .read_settings = settings};\n\n}  // namespace\n\n\
const Translator& test_translator() { return kTest; }\n\n}  // namespace agentd\n")
used_in(dialect core/dialects/test.cc)
used_in(dialect docs/reference/hooks-yaml.md)

add(rung ${api}/hook_events.h "\ntypedef struct agentd_after_compaction {" "#define AGENTD_METHOD_TEST 7\n")
edit(rung ${api}/hook_events.h "X(METHOD_TRUNCATE, truncate)" "X(METHOD_TRUNCATE, truncate) X(METHOD_TEST, test)")
add(rung core/agent/compaction/compact.h "  Result<CompactionReport, RunError> replace_by_summary();"
  "  Result<std::optional<CompactionReport>, RunError> test_rung();\n")
edit(rung core/agent/compaction/rungs.cc "&Compaction::shorten_view}"
  "&Compaction::shorten_view, &Compaction::test_rung}")
add(rung core/agent/compaction/rungs.cc "Result<CompactionReport, RunError> Compaction::replace_by_summary() {"
  "Result<Over, RunError> Compaction::test_rung() {\n  Draft draft = draft_of(AGENTD_METHOD_TEST);\n\
  return over(commit(std::move(draft)));\n}\n\n")

set(counts "")
foreach(kind event field action record service kind setting command dialect rung)
  get_property(files GLOBAL PROPERTY files_of_${kind})
  list(REMOVE_DUPLICATES files)
  list(LENGTH files count)
  list(JOIN files ", " names)
  string(APPEND counts "${kind}: ${count}: ${names}\n")
endforeach()
file(WRITE ${TO}/counts.txt "${counts}")
