// SPDX-License-Identifier: Apache-2.0
// answers: a module that answers as its configuration says: {"action": NAME, "behaviour": NAME}.
#include <agentd/hook.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

class Answers {
 public:
  explicit Answers(agentd::init& init) : config_(init.config_json()) {
    if (says("behaviour", "cannot_start")) throw std::runtime_error("no start");
  }

  agentd_status on_before_tool_call(agentd::call& c) { return answer(c); }
  agentd_status on_permission_request(agentd::call& c) { return answer(c); }
  agentd_status on_after_tool_call(agentd::call& c) { return answer(c); }
  agentd_status on_user_message_send(agentd::call& c) { return answer(c); }
  agentd_status on_agent_stop(agentd::call& c) { return answer(c); }
  agentd_status on_before_compaction(agentd::call& c) { return answer(c); }
  agentd_status on_before_model_call(agentd::call& c) { return answer(c); }

 private:
  bool says(const char* key, const char* value) const {
    return config_.find("\"" + std::string(key) + "\":\"" + value + "\"") != std::string::npos;
  }

  agentd_status answer(agentd::call& c) {
    if (says("behaviour", "crash")) throw std::runtime_error("lost my way");
    if (says("behaviour", "timeout")) return AGENTD_PENDING;
    if (says("behaviour", "status")) return 77;
    if (says("behaviour", "garbage")) return c.emit(agentd_action{4, 999, 0});
    if (says("behaviour", "busy")) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return act(c);
  }

  agentd_status act(agentd::call& c) const {
    if (says("action", "block")) return c.block("no");
    if (says("action", "stop_run")) return c.stop_run("enough");
    if (says("action", "ask")) return c.ask("sure?");
    if (says("action", "allow")) return c.allow("fine");
    if (says("action", "rewrite_input")) return c.rewrite("{\"command\":\"ls -l\"}");
    if (says("action", "rewrite_output")) return c.rewrite("new output");
    if (says("action", "rewrite_message")) return c.rewrite("new message");
    if (says("action", "context")) return c.inject_context("more context");
    if (says("action", "notice")) return c.system_message("a notice");
    if (says("action", "continue")) return c.continue_with("go on");
    if (says("action", "compact")) return c.compact();
    if (says("action", "summary")) return c.summary("the summary");
    if (says("action", "instructions")) return c.set_instructions("keep the paths");
    if (says("action", "callback")) return c.callback("notes");
    if (says("action", "disable_tool")) return c.disable_tools("bash");
    return AGENTD_OK;
  }

  const std::string config_;
};
AGENTD_HOOK(Answers, "test.answers", "1.0.0")
