// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/media.h"

#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

using As = FileKind::As;
using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  FileKind kind;
};

// The first bytes of files, as their formats define them.
constexpr Magic kMagics[] = {
    {"\x89PNG\r\n\x1a\n"sv, {As::kImage, "image/png"}},
    {"\xff\xd8\xff"sv, {As::kImage, "image/jpeg"}},
    {"GIF87a"sv, {As::kImage, "image/gif"}},
    {"GIF89a"sv, {As::kImage, "image/gif"}},
    {"%PDF-"sv, {As::kDocument, "application/pdf"}},
    {"\xff\xfe\0\0"sv, {As::kUtf16, "UTF-32LE"}},
    {"\0\0\xfe\xff"sv, {As::kUtf16, "UTF-32BE"}},
    {"\xff\xfe"sv, {As::kUtf16, "UTF-16LE"}},
    {"\xfe\xff"sv, {As::kUtf16, "UTF-16BE"}},
    {"\x7f"
     "ELF"sv,
     {As::kBinary, "an ELF program or library"}},
    {"PK\x03\x04"sv, {As::kBinary, "a zip archive"}},
    {"\x1f\x8b"sv, {As::kBinary, "a gzip archive"}},
    {"\xfd"
     "7zXZ\0"sv,
     {As::kBinary, "an xz archive"}},
    {"\x28\xb5\x2f\xfd"sv, {As::kBinary, "a zstd archive"}},
    {"SQLite format 3\0"sv, {As::kBinary, "an SQLite database"}},
};

std::uint32_t big_endian(std::string_view four) {
  std::uint32_t out = 0;
  for (const char c : four) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

// Chunks of a length, a name, as many bytes and a checksum; the first one has the size of the picture.
bool has_png_data(std::string_view bytes) {
  constexpr std::size_t kSignature = 8, kFrame = 12, kHeader = 13, kSideMax = 0x7fffffff;
  for (std::size_t at = kSignature; bytes.size() - at >= kFrame;) {
    const std::size_t length = big_endian(bytes.substr(at, 4));
    const std::string_view name = bytes.substr(at + 4, 4), data = bytes.substr(at + 8);
    if (data.size() < length + 4) return false;
    if (at == kSignature) {
      if (name != "IHDR" || length != kHeader) return false;
      for (const std::size_t side : {big_endian(data.substr(0, 4)), big_endian(data.substr(4, 4))})
        if (side == 0 || side > kSideMax) return false;
    }
    if (name == "IDAT" && length != 0) return true;
    at += kFrame + length;
  }
  return false;
}

}  // namespace

bool has_picture(FileKind kind, std::string_view bytes) {
  return kind.name != kMagics[0].kind.name || has_png_data(bytes);
}

FileKind kind_of(std::string_view head) {
  for (const auto& [bytes, kind] : kMagics)
    if (head.starts_with(bytes)) return kind;
  if (head.starts_with("RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") return {As::kImage, "image/webp"};
  if (is_binary(head)) return {As::kBinary, "a binary file"};
  return {};
}

}  // namespace workspace_tools
