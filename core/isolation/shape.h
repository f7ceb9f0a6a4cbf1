// SPDX-License-Identifier: Apache-2.0
#pragma once
// shape.h - the texts, lists and pointers of each record of the hook ABI.
//
// A record that crosses to a worker process is copied by its shape (flat.h, window.h): only the shape knows which words
// of a record are addresses. Shapes are made from the lists of records in the headers of the ABI.
//
// Threading: immutable data.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

struct Shape {
  enum class Kind : std::uint8_t {
    kText,     // agentd_str
    kList,     // agentd_list of `of`
    kPointer,  // const T*, `of` is T; may be NULL
  };
  struct Member {
    Kind kind = Kind::kText;
    std::uint16_t offset = 0;
    const Shape* of = nullptr;  // of a list or pointer: null = unused here, crosses as empty
  };
  std::string_view name;    // "agentd_block"
  std::uint16_t bytes = 0;  // the record's size for this host
  bool sized = true;        // begins with `uint32_t size`: shorter ones are zero-filled, longer ones cut
  std::span<const Member> members;
};

const Shape& message_shape();
const Shape& envelope_shape();
// The payload of an event or a control call; null for an unknown event, and for DESTROY and SAVE_STATE, which have
// none.
const Shape* payload_shape(std::uint32_t event);

}  // namespace agentd
