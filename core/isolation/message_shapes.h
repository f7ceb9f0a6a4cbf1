// SPDX-License-Identifier: Apache-2.0
#pragma once
// message_shapes.h - the shapes of the lanes' messages, by which both sides check and relocate them.
//
// Threading: immutable data and pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/isolation/messages.h"
#include "core/isolation/shape.h"

namespace agentd {

// Null for an unknown op. `kind` is number[0] of kEmit, which selects the record; else 0.
const Shape* args_shape(std::uint32_t op, std::uint32_t kind);
const Shape* reply_shape(std::uint32_t op);
// Reads the op and number[0] of a flat ServiceArgs, before its shape is known; false if there are too few bytes.
bool peek_args(std::string_view bytes, std::uint32_t& op, std::uint32_t& kind);
// All checks of a request before the host uses it: relocate() with the shape of its op, and that an action has the kind
// in number[0]. kInvalid. REQUIRES: as relocate().
Result<const ServiceArgs*> open_args(std::span<std::byte> bytes);

const Shape& boot_args_shape();
const Shape& boot_reply_shape();

}  // namespace agentd
