// SPDX-License-Identifier: Apache-2.0
#include "core/model/provider.h"

namespace agentd {

std::string_view name_of(ModelErrorKind kind) {
  switch (kind) {
    case ModelErrorKind::kAuth:
      return "auth";
    case ModelErrorKind::kBilling:
      return "billing";
    case ModelErrorKind::kInvalid:
      return "invalid_request";
    case ModelErrorKind::kContextLength:
      return "context_length";
    case ModelErrorKind::kRateLimit:
      return "rate_limit";
    case ModelErrorKind::kOverloaded:
      return "overloaded";
    case ModelErrorKind::kServer:
      return "server";
    case ModelErrorKind::kNetwork:
      return "network";
    case ModelErrorKind::kInterrupted:
      return "interrupted";
    case ModelErrorKind::kProtocol:
      return "protocol";
    case ModelErrorKind::kLimit:
      return "limit";
    case ModelErrorKind::kLedger:
      return "ledger";
    case ModelErrorKind::kCancelled:
      return "cancelled";
    case ModelErrorKind::kScript:
      return "script";
  }
  return "server";
}

}  // namespace agentd
