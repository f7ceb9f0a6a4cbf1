// SPDX-License-Identifier: Apache-2.0
#pragma once
// samples.h - sample events to fire at a module, in several variants.
//
// Threading: thread-compatible.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hooks/payload_record.h"
#include "core/isolation/shape.h"
#include "core/validate/guard_arena.h"

namespace agentd::validation {

enum class Variant : std::uint8_t {
  kPlain,
  kLonger,   // records and strides of a newer host
  kEmpty,    // empty texts and lists, null records
  kUnknown,  // enumerations with unknown values
  kHuge,     // texts of a megabyte
  kBytes,    // texts that are not UTF-8, with NULs
};

// Inputs for a service, all of them JSON: of every type, empty, deep, and of AGENTD_SERVICE_JSON_MAX bytes; with a
// non-zero `seed` a few random ones.
std::vector<std::string> service_inputs(std::uint64_t seed = 0);

// One event in a frozen GuardArena.
class SampleEvent {
 public:
  // A non-zero `seed` varies texts and lists at random. kInvalid: no sample can be made of that event.
  static Result<std::unique_ptr<SampleEvent>> make(std::uint32_t event, Variant variant, std::uint64_t seed = 0);

  std::uint32_t event() const { return event_; }
  const agentd_envelope* envelope() const { return envelope_; }
  const void* payload() const { return payload_; }
  void vanish() { arena_.vanish(); }

 private:
  SampleEvent(std::uint32_t event, Variant variant, std::uint64_t seed)
      : event_(event), variant_(variant), seed_(seed) {}
  std::uint64_t chance();
  Variant variant_now();
  void* copy(const Shape& shape, const void* from);
  void fill(const Shape& shape, const void* from, void* to, std::size_t bytes, std::size_t room);
  agentd_str text(agentd_str from);
  agentd_list list(const Shape& of, const agentd_list& from);

  const std::uint32_t event_;
  const Variant variant_;
  std::uint64_t seed_;
  bool in_payload_ = false, full_ = false;
  agentd_str huge_{nullptr, 0};
  GuardArena arena_;
  const agentd_envelope* envelope_ = nullptr;
  const void* payload_ = nullptr;
};

}  // namespace agentd::validation
