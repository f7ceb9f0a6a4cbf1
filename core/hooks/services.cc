// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/services.h"

namespace agentd {

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
