// SPDX-License-Identifier: Apache-2.0
// Any bytes as the orders of a sandbox: refused with a sentence, or read to the same again from their own text.
#include "core/cage/orders.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  const auto orders = cage::parse_orders(fuzz::view(data, size));
  if (!orders) {
    fuzz::require(!orders.error().message.empty(), "a refusal has its sentence");
    return 0;
  }
  ++fuzz::got_through;
  const auto again = cage::parse_orders(cage::text_of(*orders));
  fuzz::require(static_cast<bool>(again), "what was read can be written");
  fuzz::require(again->apart == orders->apart && again->confines == orders->confines &&
                    again->sockets == orders->sockets && again->proxy == orders->proxy &&
                    again->processes_max == orders->processes_max && again->file_bytes_max == orders->file_bytes_max,
                "single orders stay");
  fuzz::require(
      again->readable == orders->readable && again->writable == orders->writable && again->devices == orders->devices,
      "lists stay");
  return 0;
}
