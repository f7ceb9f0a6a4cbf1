// SPDX-License-Identifier: Apache-2.0
#include "core/acp/prompt.h"

#include "core/base/bytes.h"
#include "core/base/markdown.h"
#include "core/conversation/media.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kShownBlockBytes = 80;

Error bad_prompt(std::string what) { return {Code::kInvalid, std::move(what)}; }

void add(std::string& text, std::string_view more) {
  if (more.empty()) return;
  text += (text.empty() ? "" : "\n\n") + std::string(more);
}

Result<Block> media(JsonView block, bool image, std::string_view data) {
  return media_from({image, block["mimeType"].string_or(""), block[data].string_or(""), block["uri"].string_or("")});
}

// The path of "file:///a%20b"; empty: it is another URI, or names a part of a file.
std::string file_of(std::string_view uri) {
  constexpr std::string_view kFile = "file://";
  if (!uri.starts_with(kFile) || uri.find_first_of("?#") != std::string_view::npos) return {};
  const auto path = percent_decoded(uri.substr(kFile.size()));
  return path && path->starts_with('/') && !has_control_character(*path) && is_utf8(*path) ? *path : std::string();
}

Result<void> take_resource(Prompt& out, JsonView resource) {
  const std::string_view uri = resource["uri"].string_or("");
  if (resource["text"].is_string()) {
    if (std::string file = file_of(uri); !file.empty()) out.unsaved.push_back(std::move(file));
    add(out.text, "The file " + one_line(uri, 1'000) + ":\n" + fenced(resource["text"].string_or(""), ""));
    return {};
  }
  const std::string_view type = resource["mimeType"].string_or("");
  if (!resource["blob"].is_string())
    return bad_prompt("the resource " + one_line(uri, kShownBlockBytes) + " has no content");
  AGENTD_TRY(Block block, media(resource, type.starts_with("image/"), "blob"));
  out.media.push_back(std::move(block));
  return {};
}

Result<void> take_block(Prompt& out, JsonView block) {
  const std::string_view type = block["type"].string_or("");
  out.is_plain = out.is_plain && type == "text";
  if (type == "text") {
    if (!block["text"].is_string()) return bad_prompt("a text block has no text");
    add(out.text, block["text"].string_or(""));
    return {};
  }
  if (type == "resource_link") {
    const std::string_view uri = block["uri"].string_or("");
    if (uri.empty()) return bad_prompt("a resource_link has no uri");
    const std::string file = file_of(uri);
    add(out.text, "See " + one_line(file.empty() ? uri : std::string_view(file), 4'000));
    return {};
  }
  if (type == "resource") return take_resource(out, block["resource"]);
  if (type == "image") {
    AGENTD_TRY(Block image, media(block, true, "data"));
    out.media.push_back(std::move(image));
    return {};
  }
  return bad_prompt("a content block must be text, image, resource or resource_link, not '" +
                    one_line(type, kShownBlockBytes) + "'");
}

}  // namespace

Result<Prompt> read_prompt(JsonView blocks) {
  if (!blocks.is_array()) return bad_prompt("'prompt' must be a list of content blocks");
  Prompt out;
  out.is_plain = true;
  for (std::size_t i = 0; i < blocks.size(); ++i) AGENTD_TRY_VOID(take_block(out, blocks.at(i)));
  if (is_blank(out.text) && out.media.empty()) return bad_prompt("the prompt is empty");
  return out;
}

}  // namespace agentd::acp
