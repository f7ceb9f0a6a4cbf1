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
        process_(from.query<agentd_process>(AGENTD_PROCESS_ID)),
        commands_(process_) {
    constexpr std::string_view kSchema = R"({"type":"object"})";
    (void)from.add_tool<&Files::read>({.name = "read", .input_schema = kSchema});
    (void)from.add_tool<&Files::list>({.name = "list", .input_schema = kSchema});
    (void)from.add_tool<&Files::run>({.name = "run", .input_schema = kSchema, .timeout_ms = 60'000});
    (void)from.add_tool<&Files::talk>({.name = "talk", .input_schema = kSchema, .timeout_ms = 60'000});
    (void)from.add_tool<&Files::again>({.name = "again", .input_schema = kSchema, .timeout_ms = 60'000});
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
  // Starts the shell line, writes one line to it and returns what it says until it has ended, and what the functions
  // answer on the way.
  agentd_status talk(agentd::call& c, agentd::tool_view tool) {
    const std::string command = text_of(tool);
    const std::string_view argv[] = {"sh", "-c", command}, variables[] = {"TALK=yes"};
    const auto started = commands_.start(
        c, argv, {.environment = variables, .description = "talks", .flags = AGENTD_PROCESS_TAKES_INPUT});
    if (!started) return started.status();
    std::string said = "wrote " + std::to_string(commands_.write(c, *started, "line\n", true)) + "\n";
    for (bool over = false; !over;) {
      const auto piece = commands_.read(c, *started, AGENTD_PROCESS_UNREAD, 10'000);
      if (!piece) return piece.status();
      said += piece->bytes();
      over = piece->last();
    }
    const auto state = commands_.wait(c, *started, 10'000);
    if (!state) return state.status();
    said += std::to_string(state->exit_code()) + " " + std::to_string(state->reason()) + " " +
            std::string(state->description()) + "\n";
    said += std::to_string(commands_.signal(c, *started, 15)) + " " +
            std::to_string(commands_.resize(c, *started, 30, 100)) + " " +
            std::to_string(commands_.end(c, 99).status());
    return c.output(said);
  }
  // Starts the shell line and leaves it; the call after that ends it. Says what is listed then.
  agentd_status again(agentd::call& c, agentd::tool_view tool) {
    const std::string command = text_of(tool);
    const std::string_view argv[] = {"sh", "-c", command};
    const auto before = commands_.list(c);
    if (!before) return before.status();
    std::string said;
    for (const agentd::process_state_view each : *before) {
      const auto ended = commands_.end(c, each.handle());
      said += "ended " + std::string(each.command()) + " " + std::to_string(ended ? ended->reason() : 0) + "\n";
    }
    if (said.empty() && !commands_.start(c, argv)) return AGENTD_E_INTERNAL;
    return c.output(said.empty() ? "started" : said);
  }

 private:
  const agentd_workspace* files_;
  const agentd_process* process_;
  const agentd::process commands_;
};
AGENTD_HOOK(Files, "org.agentd.test.files", "1.0.0")
