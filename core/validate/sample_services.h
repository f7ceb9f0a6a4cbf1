// SPDX-License-Identifier: Apache-2.0
#pragma once
// sample_services.h - services that return samples: a hook behaves as in a run, but nothing is changed or sent.
//
// Threading: thread-safe; there is no state.

#include <string>

#include "core/hooks/dry_services.h"

namespace agentd::validation {

class SampleServices final : public DryServices {
 public:
  Result<std::string> compaction_prompt(const ServiceCaller&, const CompactOptions&) override {
    return std::string("Summarise the conversation.");
  }
  Result<CompactAnswer> compact(const ServiceCaller&, const CompactSource&, const CompactOptions&) override {
    CompactAnswer out;
    out.outcome = AGENTD_RESULT_APPLIED;
    out.summary = "A sample summary of a sample conversation.";
    out.pre_tokens = 1000;
    out.post_tokens = 100;
    return out;
  }
  Result<void> request_compaction(const ServiceCaller&, std::string_view, const CompactOptions&) override { return {}; }
  Result<agentd_thread> open_thread(const ServiceCaller&, ThreadOptions) override { return agentd_thread{1}; }
  Result<ThreadReply> send(const ServiceCaller&, agentd_thread, std::string_view) override {
    ThreadReply out;
    out.message = Message::of_text(Role::kAssistant, "A sample answer.");
    return out;
  }
  Result<Usage> thread_usage(const ServiceCaller&, agentd_thread) override { return Usage{}; }
  Result<void> close_thread(std::string_view, agentd_thread) override { return {}; }
  Result<Rows> messages(std::string_view, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t) override {
    return Rows();
  }
  Result<std::string> read_blob(std::string_view, std::uint64_t, std::uint64_t) override {
    return std::string("A sample text.");
  }
  Result<ConversationChanges> changes(std::uint64_t cursor, std::uint32_t) override {
    return ConversationChanges{{}, cursor};
  }
};

}  // namespace agentd::validation
