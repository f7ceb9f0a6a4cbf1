// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/media.h"

#include "core/base/base64.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 60;

Error bad(std::string what) { return {Code::kInvalid, std::move(what)}; }

Error too_large(std::size_t bytes, bool image) {
  return bad("it has " + with_commas(bytes) + " bytes, and " + (image ? "an image" : "a document") + " may have " +
             with_commas(image ? kImageBytesMax : kDocumentBytesMax));
}

}  // namespace

std::string_view media_type_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"\x89PNG"sv, "image/png"},
                                                                      {"\xff\xd8\xff"sv, "image/jpeg"},
                                                                      {"GIF8"sv, "image/gif"},
                                                                      {"%PDF-"sv, "application/pdf"}};
  for (const auto& [magic, type] : kTypes)
    if (bytes.starts_with(magic)) return type;
  return bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP" ? "image/webp" : "";
}

Result<std::optional<Block>> media_of(std::string_view bytes, const std::string& name) {
  const std::string_view type = media_type_of(bytes);
  if (type.empty()) return std::optional<Block>();
  Block block;
  const bool image = type.starts_with("image/");
  block.kind = image ? BlockKind::kImage : BlockKind::kDocument;
  if (bytes.size() > (image ? kImageBytesMax : kDocumentBytesMax)) return too_large(bytes.size(), image);
  block.name = std::string(type);
  if (!image) block.text = name.substr(name.rfind('/') + 1);
  block.opaque = base64(bytes);
  return std::optional(std::move(block));
}

Result<Block> media_from(const MediaText& from) {
  const std::string what = from.image ? "an image" : "a document";
  if (from.image ? !from.media_type.starts_with("image/") : from.media_type != "application/pdf")
    return bad(what + " cannot have the media_type '" + one_line(from.media_type, kShownBytes) + "'");
  if (from.data.empty() || !is_base64(from.data)) return bad("the data of " + what + " is not base64");
  if (const std::string_view real = media_type_of(base64_head(from.data)); real != from.media_type)
    return bad("the data of " + what + " is not " + one_line(from.media_type, kShownBytes) +
               (real.empty() ? "" : ", but " + std::string(real)));
  const std::size_t bytes = from.data.size() / 4 * 3;
  if (bytes > (from.image ? kImageBytesMax : kDocumentBytesMax) + 2) return too_large(bytes, from.image);
  Block block;
  block.kind = from.image ? BlockKind::kImage : BlockKind::kDocument;
  block.name = std::string(from.media_type);
  block.opaque = std::string(from.data);
  if (!from.image) block.text = std::string(from.title);
  return block;
}

}  // namespace agentd
