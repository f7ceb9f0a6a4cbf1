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
class UnavailableServices final : public RefusingServices {
 public:
  UnavailableServices() : RefusingServices({Code::kUnavailable, "no services in this test"}) {}

  std::uint64_t count_text(std::string_view, std::string_view text) override { return text.size() / 4; }
  std::uint64_t count_messages(std::string_view, const agentd_list& list) override { return list.count; }
  std::function<void(const ServiceCaller&)> on_compact;
  Result<CompactAnswer> compact(const ServiceCaller& caller, const CompactSource& source,
                                const CompactOptions& options) override {
    if (on_compact) on_compact(caller);
    return RefusingServices::compact(caller, source, options);
  }
};

}  // namespace agentd::testing
