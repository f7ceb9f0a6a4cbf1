// SPDX-License-Identifier: Apache-2.0
#pragma once
// dry_services.h - services that refuse everything but counting, so that nothing can be changed with them.
//
// Threading: thread-safe; there is no state.

#include <vector>

#include "core/base/bytes.h"
#include "core/hooks/services.h"

namespace agentd {

class DryServices : public RefusingServices {
 public:
  DryServices()
      : RefusingServices({Code::kUnavailable, "this is a dry run, without services: 'agentd hooks run' has them"}) {}

  std::uint64_t count_text(std::string_view, std::string_view text) override { return text.size() / 4; }
  std::uint64_t count_messages(std::string_view, const agentd_list& list) override { return list.count * 4; }
  // An empty store that keeps nothing: what runs once has not run yet.
  Result<PluginKey> get(const ServiceCaller&, std::string_view key) override {
    return Error{Code::kNotFound, "no key " + one_line(key, 80)};
  }
  Result<std::vector<PluginKey>> scan(const ServiceCaller&, std::string_view, std::string_view,
                                      std::uint32_t) override {
    return std::vector<PluginKey>{};
  }
  Result<std::uint64_t> commit(const ServiceCaller&, std::span<const PluginKeyOp>) override { return std::uint64_t{1}; }
  Result<std::vector<ConversationInfo>> conversations(const agentd_conv_query&) override {
    return std::vector<ConversationInfo>{};
  }
};

}  // namespace agentd
