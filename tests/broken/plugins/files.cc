// SPDX-License-Identifier: Apache-2.0
// files.cc - not broken: uses the draft interfaces that it lists, for the tests of the host.
#include <agentd/drafts.hpp>
#include <agentd/hook.hpp>

#include <string>

struct Files {
  static constexpr std::string_view hook_requires[] = {agentd::id::tools};
  static constexpr std::string_view hook_drafts[] = {agentd::id::workspace, agentd::id::process};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit Files(agentd::init& from)
      : files_(from.query<agentd_workspace>(AGENTD_WORKSPACE_ID)),
        process_(from.query<agentd_process>(AGENTD_PROCESS_ID)) {
    constexpr std::string_view kSchema = R"({"type":"object"})";
    (void)from.add_tool<&Files::read>({.name = "read", .input_schema = kSchema});
    (void)from.add_tool<&Files::list>({.name = "list", .input_schema = kSchema});
    (void)from.add_tool<&Files::run>({.name = "run", .input_schema = kSchema, .timeout_ms = 60'000});
  }

  // The text of {"text": "..."}. Its tests use no escapes but those of a character as it is.
  static std::string text_of(agentd::tool_view tool) {
    const std::string_view json = tool.input_json();
    std::string out;
    for (std::size_t i = json.find(":\"") + 2; i + 2 < json.size(); ++i) {
      if (json[i] == '\\') ++i;
      out += json[i];
    }
    return out;
  }
  agentd_status read(agentd::call& c, agentd::tool_view tool) {
    agentd_str text{};
    std::uint64_t total = 0;
    const std::string path = text_of(tool);
    const agentd_status status = files_->read(files_, c.raw().token, {path.data(), path.size()}, 0, 0, &text, &total);
    if (status != AGENTD_OK) return status;
    return c.output({text.ptr, text.len});
  }
  agentd_status list(agentd::call& c, agentd::tool_view tool) {
    agentd_list found{};
    std::uint32_t more = 0;
    const std::string path = text_of(tool);
    const agentd_status status = files_->list(files_, c.raw().token, {path.data(), path.size()}, 0, 0, &found, &more);
    if (status != AGENTD_OK) return status;
    std::string out;
    for (std::uint32_t i = 0; i < found.count; ++i) {
      const auto& row = static_cast<const agentd_file_entry*>(found.first)[i];
      out += std::string(row.path.ptr, row.path.len) + "\n";
    }
    return c.output(out);
  }
  agentd_status run(agentd::call& c, agentd::tool_view tool) {
    const std::string command = text_of(tool);
    const agentd_str argv[] = {{"sh", 2}, {"-c", 2}, {command.data(), command.size()}};
    agentd_process_options options{};
    options.size = sizeof(options);
    options.argv = {argv, 3, sizeof(agentd_str)};
    const agentd_process_result* result = nullptr;
    const agentd_status status = process_->run(process_, c.raw().token, &options, &result);
    if (status != AGENTD_OK) return status;
    const std::string said = std::to_string(result->exit_code) + " " + std::to_string(result->flags) + " " +
                             std::string(result->output.ptr, result->output.len);
    return c.output(said);
  }

 private:
  const agentd_workspace* files_;
  const agentd_process* process_;
};
AGENTD_HOOK(Files, "org.agentd.test.files", "1.0.0")
