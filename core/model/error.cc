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

std::string_view advice_for(ModelErrorKind kind) {
  switch (kind) {
    case ModelErrorKind::kAuth:
      return "check the API key and its rights";
    case ModelErrorKind::kBilling:
      return "check the credit and spend limits of the account";
    case ModelErrorKind::kContextLength:
      return "compact the conversation";
    case ModelErrorKind::kRateLimit:
    case ModelErrorKind::kOverloaded:
    case ModelErrorKind::kServer:
      return "try again later";
    case ModelErrorKind::kInterrupted:
      return "send the message again";
    case ModelErrorKind::kInvalid:
    case ModelErrorKind::kNetwork:
    case ModelErrorKind::kProtocol:
    case ModelErrorKind::kLedger:
    case ModelErrorKind::kLimit:
    case ModelErrorKind::kCancelled:
    case ModelErrorKind::kScript:
      return {};
  }
  return {};
}

}  // namespace agentd
