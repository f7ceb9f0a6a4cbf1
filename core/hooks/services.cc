// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/services.h"

#include <type_traits>

namespace agentd {
namespace {

// A refusal as the result of a service.
template <typename Returned>
Returned refused(const Error& error) {
  if constexpr (std::is_same_v<Returned, std::uint64_t>)
    return 0;
  else
    return error;
}

}  // namespace

#define AGENTD_REFUSE(table, function, method, Returned, parameters) \
  Returned RefusingServices::method parameters { return refused<Returned>(refusal_); }
AGENTD_SERVICE_METHODS(AGENTD_REFUSE)
#undef AGENTD_REFUSE

agentd_status status_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return AGENTD_E_ARG;
    case Code::kNotFound:
      return AGENTD_E_NOT_FOUND;
    case Code::kUnavailable:
      return AGENTD_E_IO;
    case Code::kBusy:
      return AGENTD_E_BUSY;
    case Code::kConflict:
      return AGENTD_E_CONFLICT;
    case Code::kDenied:
      return AGENTD_E_DENIED;
    case Code::kCancelled:
      return AGENTD_E_CANCELLED;
    case Code::kCorrupt:
      return AGENTD_E_IO;
    case Code::kInternal:
      return AGENTD_E_INTERNAL;
  }
  return AGENTD_E_INTERNAL;
}

}  // namespace agentd
