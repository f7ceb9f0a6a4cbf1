// SPDX-License-Identifier: Apache-2.0
// asker: a hook for the tests that asks the model of its configuration, {model: NAME}, on a thread of its own.
#include <agentd/hook.hpp>

#include <string>

struct Asker {
  static constexpr std::string_view hook_requires[] = {agentd::id::thread_factory};

  explicit Asker(agentd::init& from) {
    constexpr std::string_view kBegin = R"("model":")";
    const std::string config(from.config_json());
    const std::size_t at = config.find(kBegin);
    if (at == std::string::npos) {
      from.refuse("the config has no model");
      return;
    }
    model_ = config.substr(at + kBegin.size());
    model_ = model_.substr(0, model_.find('"'));
  }

  agentd_status on_agent_stop(agentd::call& c, agentd::stop_view) {
    const auto thread = c.threads().open({.model = model_});
    const auto reply = thread ? thread->send("what do you say?") : agentd::result<agentd::reply_view>(thread.status());
    c.system_message("asked " + model_ + ": " + std::string(agentd::status_text(reply.status())));
    return AGENTD_OK;
  }

 private:
  std::string model_;
};
AGENTD_HOOK(Asker, "test.asker", "1.0.0")
