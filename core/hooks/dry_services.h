// SPDX-License-Identifier: Apache-2.0
#pragma once
// dry_services.h - services that refuse everything but counting, so that nothing can be changed with them.
//
// Threading: thread-safe; there is no state.

#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/hooks/services.h"

namespace agentd {

class DryServices : public Services {
 public:
  std::uint64_t count_text(std::string_view, std::string_view text) override { return text.size() / 4; }
  std::uint64_t count_messages(std::string_view, const agentd_list& list) override { return list.count * 4; }
  Result<std::string> compaction_prompt(const CompactOptions&) override { return none(); }
  Result<CompactAnswer> compact(const ServiceCaller&, const CompactSource&, const CompactOptions&) override {
    return none();
  }
  Result<void> request_compaction(const ServiceCaller&, std::string_view, const CompactOptions&) override {
    return none();
  }
  Result<agentd_thread> open_thread(const ServiceCaller&, ThreadOptions) override { return none(); }
  Result<ThreadReply> send(const ServiceCaller&, agentd_thread, std::string_view) override { return none(); }
  Result<Usage> thread_usage(const ServiceCaller&, agentd_thread) override { return none(); }
  Result<void> close_thread(std::string_view, agentd_thread) override { return none(); }
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
  Result<Rows> messages(std::string_view, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t) override {
    return none();
  }
  Result<std::string> read_blob(std::string_view, std::uint64_t, std::uint64_t) override { return none(); }
  Result<std::vector<ConversationInfo>> changes(std::uint64_t, std::uint32_t, std::uint64_t*) override {
    return none();
  }

 private:
  static Error none() {
    return {Code::kUnavailable, "this is a dry run, without services: 'agentd hooks run' has them"};
  }
};

}  // namespace agentd
