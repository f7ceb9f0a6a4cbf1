// SPDX-License-Identifier: Apache-2.0
#pragma once
// media.h - files that are no plain text: pictures, PDF, UTF-16, and how they are named to the model.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace workspace_tools {

// The largest picture whose base64 every vendor accepts (5 MiB), and the largest document, which is sent again with
// each request.
inline constexpr std::uint64_t kImageBytesMax = (5u << 20) / 4 * 3;
inline constexpr std::uint64_t kDocumentBytesMax = 10u << 20;
inline constexpr std::uint64_t kHeadBytes = 512;  // that kind_of() needs

struct FileKind {
  enum class As { kText, kImage, kDocument, kUtf16, kBinary };
  As as = As::kText;
  std::string_view name = {};  // the media type, or what the file is: "an ELF program"
};

// True unless the file is a PNG without a complete header, or without complete data after it (RFC 2083, 3.2 and 4.1).
// Vendors refuse the whole request for such a picture.
bool has_picture(FileKind kind, std::string_view bytes);

// Judges a file by its first bytes. kText is only likely: text.h's is_binary() sees more of the file.
FileKind kind_of(std::string_view head);

}  // namespace workspace_tools
