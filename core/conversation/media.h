// SPDX-License-Identifier: Apache-2.0
#pragma once
// media.h - images and documents of messages: what may be sent to a model, by the bytes themselves.
//
// Threading: pure functions.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/conversation/message.h"

namespace agentd {

inline constexpr std::size_t kImageBytesMax = 5u << 20;      // what all vendors take
inline constexpr std::size_t kDocumentBytesMax = 24u << 20;  // 32 MiB as base64

// "image/png" etc. or "application/pdf", by the first twelve bytes; empty for anything else.
std::string_view media_type_of(std::string_view bytes);
// An image (PNG, JPEG, GIF, WebP) or a PDF document as a block of a message, called `name`. Absent if the bytes
// are neither. kInvalid: too large for the vendors.
Result<std::optional<Block>> media_of(std::string_view bytes, const std::string& name);

struct MediaText {
  bool image = true;            // else a document
  std::string_view media_type;  // what the sender says it is
  std::string_view data;        // base64
  std::string_view title{};     // of a document
};
// The same of base64. kInvalid: the media_type fits no image or document, the data is no base64, is something else than
// the media_type says, or is too large. The message begins with "an image" or "a document", or is about its data.
Result<Block> media_from(const MediaText& from);

}  // namespace agentd
