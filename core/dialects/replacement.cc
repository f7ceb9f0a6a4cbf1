// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/replacement.h"

#include <initializer_list>
#include <optional>
#include <string>

#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

Error bad_replacement(std::string what) { return {Code::kInvalid, std::move(what)}; }

// The first of several spellings that is present as a text.
std::string_view first_text(JsonView object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (object[key].is_string()) return object[key].string_or("");
  return {};
}

bool has_any_text(JsonView object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (object[key].is_string()) return true;
  return false;
}

Result<Block> block_of(JsonView from);

Result<Block> tool_use_of(JsonView from) {
  const std::string_view id = first_text(from, {"call_id", "id", "tool_use_id"});
  const std::string_view name = first_text(from, {"name"});
  if (id.empty() || name.empty()) return bad_replacement("a tool_use needs a call_id and a name");
  if (!from["input"].is_object()) return bad_replacement("the input of a tool_use must be an object");
  return Block::tool_use(std::string(id), std::string(name), from["input"].text());
}

// A result's content: a text, or blocks, whose texts are joined and whose other blocks become parts.
Result<void> take_content(JsonView content, Block& result) {
  if (content.is_string()) {
    result.text = std::string(content.string_or(""));
    return {};
  }
  for (std::size_t i = 0; i < content.size(); ++i) {
    AGENTD_TRY(Block part, block_of(content.at(i)));
    if (part.kind != BlockKind::kText) {
      result.parts.push_back(std::move(part));
      continue;
    }
    if (!result.text.empty()) result.text += "\n\n";
    result.text += part.text;
  }
  return {};
}

Result<Block> tool_result_of(JsonView from) {
  const std::string_view id = first_text(from, {"call_id", "tool_use_id", "id"});
  if (id.empty()) return bad_replacement("a tool_result needs the call_id of its tool_use");
  Block result =
      Block::tool_result(std::string(id), std::string(first_text(from, {"text"})), from["is_error"].bool_or(false));
  if (!from["text"].is_string()) AGENTD_TRY_VOID(take_content(from["content"], result));
  if (from["parts"].is_array())
    for (std::size_t i = 0; i < from["parts"].size(); ++i) {
      AGENTD_TRY(Block part, block_of(from["parts"].at(i)));
      result.parts.push_back(std::move(part));
    }
  return result;
}

Result<Block> media_of(JsonView from, BlockKind kind) {
  const JsonView source = from["source"].is_object() ? from["source"] : from;
  Block media;
  media.kind = kind;
  media.name = std::string(first_text(source, {"media_type"}));
  media.opaque = std::string(first_text(source, {"data"}));
  if (kind == BlockKind::kDocument) media.text = std::string(first_text(from, {"title"}));
  if (media.name.empty() || media.opaque.empty())
    return bad_replacement("an image or a document needs media_type and data");
  return media;
}

Result<Block> block_of(JsonView from) {
  if (from.is_string()) return Block::of_text(std::string(from.string_or("")));
  if (!from.is_object()) return bad_replacement("a block must be an object, not " + std::string(type_name(from)));
  if (from["elided"].bool_or(false))
    return bad_replacement("a block is elided and only the log has it complete; name its message with keep");
  const std::string_view type = from["type"].string_or("text");
  if (type == "text") {
    if (!from["text"].is_string()) return bad_replacement("a text block needs a text");
    return Block::of_text(std::string(from["text"].string_or("")));
  }
  if (type == "tool_use") return tool_use_of(from);
  if (type == "tool_result") return tool_result_of(from);
  if (type == "image") return media_of(from, BlockKind::kImage);
  if (type == "document") return media_of(from, BlockKind::kDocument);
  if (type != "thinking")
    return bad_replacement("the block type " + in_quotes(type) +
                           " is not text, thinking, tool_use, tool_result, image or document");
  if (!has_any_text(from, {"text", "thinking"})) return bad_replacement("a thinking block needs a text");
  Block thinking = Block::of_text(std::string(first_text(from, {"text", "thinking"})));
  thinking.kind = BlockKind::kThinking;
  thinking.opaque = std::string(first_text(from, {"signature"}));
  return thinking;
}

std::optional<Role> role_of(JsonView from) {
  const std::string_view role = from["role"].string_or("");
  if (role == "summary" || (role == "user" && from["summary"].bool_or(false))) return Role::kSummary;
  if (role == "user") return Role::kUser;
  if (role == "assistant" || role == "model") return Role::kAssistant;
  return std::nullopt;
}

// `blocks` is present when `content` is incomplete, so it takes precedence.
Result<std::vector<Block>> blocks_of(JsonView from) {
  const JsonView content = from["blocks"].is_array() ? from["blocks"] : from["content"];
  std::vector<Block> blocks;
  if (content.is_string()) {
    blocks.push_back(Block::of_text(std::string(content.string_or(""))));
    return blocks;
  }
  if (!content.is_array())
    return bad_replacement("its content must be a text or a list of blocks, not " + std::string(type_name(content)));
  for (std::size_t i = 0; i < content.size(); ++i) {
    AGENTD_TRY(Block block, block_of(content.at(i)));
    blocks.push_back(std::move(block));
  }
  if (blocks.empty()) return bad_replacement("it has no content");
  return blocks;
}

Result<ReplacePart> kept(JsonView keep) {
  ReplacePart part;
  part.first = keep["first"].uint_or(0);
  part.last = keep["last"].uint_or(0);
  if (part.first == 0 || part.last < part.first)
    return bad_replacement("keep needs first and last, the numbers of messages (seq) in that order");
  return part;
}

Result<ReplacePart> part_of(JsonView from) {
  if (!from.is_object()) return bad_replacement("a message must be an object, not " + std::string(type_name(from)));
  if (from["keep"].exists()) return kept(from["keep"]);
  const std::optional<Role> role = role_of(from);
  if (!role)
    return bad_replacement("the role " + in_quotes(from["role"].string_or("")) + " is not user, assistant or summary");
  ReplacePart part;
  part.literal.role = *role;
  if (from["context"].bool_or(false)) part.literal.flags |= AGENTD_MESSAGE_CONTEXT;
  if (from["interrupted"].bool_or(false)) part.literal.flags |= AGENTD_MESSAGE_INTERRUPTED;
  AGENTD_TRY(part.literal.blocks, blocks_of(from));
  return part;
}

}  // namespace

Result<std::vector<ReplacePart>> replacement_parts(JsonView messages) {
  std::vector<ReplacePart> parts;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto part = part_of(messages.at(i));
    if (!part) return bad_replacement("replace_messages[" + std::to_string(i) + "]: " + part.error().message);
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) return bad_replacement("replace_messages has no message");
  return parts;
}

}  // namespace agentd
