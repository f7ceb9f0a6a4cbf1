// SPDX-License-Identifier: Apache-2.0
#pragma once
// unavailable_services.h - services that refuse everything, for tests of what stands in front of
// them.
//
// Threading: stateless.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hooks/services.h"

namespace agentd::testing {

// Every service answers that it cannot; the tables are still there to be granted or not.
// `on_compact` hears who asks for a compaction first.
class UnavailableServices final : public Services {
 public:
  std::uint64_t count_text(std::string_view, std::string_view text) override { return text.size() / 4; }
  std::uint64_t count_messages(std::string_view, const agentd_list& list) override { return list.count; }
  Result<std::string> compaction_prompt(const CompactOptions&) override { return none(); }
  std::function<void(const ServiceCaller&)> on_compact;
  Result<CompactAnswer> compact(const ServiceCaller& caller, const CompactSource&, const CompactOptions&) override {
    if (on_compact) on_compact(caller);
    return none();
  }
  Result<void> request_compaction(const ServiceCaller&, std::string_view, const CompactOptions&) override {
    return none();
  }
  Result<agentd_thread> open_thread(const ServiceCaller&, ThreadOptions) override { return none(); }
  Result<ThreadReply> send(const ServiceCaller&, agentd_thread, std::string_view) override { return none(); }
  Result<Usage> thread_usage(const ServiceCaller&, agentd_thread) override { return none(); }
  Result<void> close_thread(std::string_view, agentd_thread) override { return none(); }
  Result<PluginKey> get(const ServiceCaller&, std::string_view) override { return none(); }
  Result<std::vector<PluginKey>> scan(const ServiceCaller&, std::string_view, std::string_view,
                                      std::uint32_t) override {
    return none();
  }
  Result<std::uint64_t> commit(const ServiceCaller&, std::span<const PluginKeyOp>) override { return none(); }
  Result<std::vector<ConversationInfo>> conversations(const agentd_conv_query&) override { return none(); }
  Result<Rows> messages(std::string_view, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t) override {
    return none();
  }
  Result<std::string> read_blob(std::string_view, std::uint64_t, std::uint64_t) override { return none(); }
  Result<std::vector<ConversationInfo>> changes(std::uint64_t, std::uint32_t, std::uint64_t*) override {
    return none();
  }

 private:
  static Error none() { return {Code::kUnavailable, "no services in this test"}; }
};

}  // namespace agentd::testing
