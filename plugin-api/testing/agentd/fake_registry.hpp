// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_registry.hpp - agentd.services/1 for tests: the services that a plugin calls, played by the test.
//
//   host.registry.script("agentd.memory/1", "search", R"([{"title":"tabs"}])");
//   host.registry.fail("agentd.memory/1", "record", AGENTD_E_BUSY, "it waits for you");
//
// An operation that is not scripted is AGENTD_E_UNSUPPORTED, as in an agentd without such a plugin.
//
// Threading: the table may be called from any thread; the members belong to the test's thread.

#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>
#include <agentd/fake_services.hpp>
#include <agentd/json.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentd::testing {

struct service_seen {
  std::string interface_id, operation, input_json;
};

class fake_registry {
 public:
  explicit fake_registry(token_book& book) : book_(&book) {
    table_.size = sizeof(agentd_registry);
    AGENTD_REGISTRY_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.call = &call;
  }
  fake_registry(const fake_registry&) = delete;
  fake_registry& operator=(const fake_registry&) = delete;
  [[nodiscard]] const agentd_registry* table() const { return &table_; }

  // The operation returns this JSON.
  void script(std::string_view interface_id, std::string_view operation, std::string_view result_json) {
    answers_[key(interface_id, operation)] = {AGENTD_OK, std::string(result_json)};
  }
  // It fails with this status and sentence.
  void fail(std::string_view interface_id, std::string_view operation, agentd_status status, std::string_view why) {
    answers_[key(interface_id, operation)] = {status, std::string(why)};
  }
  // Every call, in order.
  std::vector<service_seen> calls;

 private:
  struct owned : agentd_registry {
    fake_registry* owner;
  };
  using name = std::pair<std::string, std::string>;
  struct answer {
    agentd_status status = AGENTD_OK;
    std::string text;  // the result, or the error
  };
  static name key(std::string_view interface_id, std::string_view operation) {
    return {std::string(interface_id), std::string(operation)};
  }

  static agentd_status AGENTD_CALL call(const agentd_registry* table, agentd_token id, agentd_str interface_id,
                                        agentd_str operation, agentd_str input_json, agentd_str* result) noexcept {
    fake_registry& self = *static_cast<const owned*>(table)->owner;
    const auto token = self.book_->find(id, "registry->call");
    if (token == nullptr) return AGENTD_E_NOT_FOUND;
    if (result == nullptr) return AGENTD_E_ARG;
    const std::lock_guard lock(self.book_->mutex());
    self.calls.push_back(
        {std::string(as_view(interface_id)), std::string(as_view(operation)), std::string(as_view(input_json))});
    const auto refuse = [&](agentd_status status, std::string why) {
      token->error = std::move(why);
      return status;
    };
    if (input_json.len > AGENTD_SERVICE_JSON_MAX) return refuse(AGENTD_E_TOO_BIG, "the input is too long");
    if (json_view(as_view(input_json)).type() == json_type::absent)
      return refuse(AGENTD_E_ARG, "the input is not JSON");
    const auto found = self.answers_.find(key(as_view(interface_id), as_view(operation)));
    if (found == self.answers_.end())
      return refuse(AGENTD_E_UNSUPPORTED, self.calls.back().interface_id + " is unsupported here");
    if (found->second.status != AGENTD_OK) return refuse(found->second.status, found->second.text);
    *result = token->memory.text(found->second.text);
    return AGENTD_OK;
  }

  token_book* book_;
  std::map<name, answer> answers_;
  owned table_{};
};

}  // namespace agentd::testing
