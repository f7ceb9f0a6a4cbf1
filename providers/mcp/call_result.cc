// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/call_result.h"

#include <string>

#include "core/base/bytes.h"
#include "core/conversation/media.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kPartsMax = 20;             // images and documents
constexpr std::size_t kPartBytesMax = 16u << 20;  // of all of them, in base64
constexpr std::size_t kShownPartBytes = 500;

std::string shown_text(std::string_view text) { return one_line(text, kShownPartBytes); }

// "image/png" of "image/png; a=b".
std::string_view essence(std::string_view media_type) {
  return without_blanks(media_type.substr(0, media_type.find(';')));
}

std::string size_of(std::string_view base64_text) { return counted(base64_text.size() / 4 * 3, "byte"); }

class Outcome {
 public:
  void take(JsonView block) {
    const std::string_view type = block["type"].string_or("");
    if (type == "text") return add(block["text"].string_or(""));
    if (type == "image") return take_media(block["data"].string_or(""), block["mimeType"].string_or(""), "image");
    if (type == "audio")
      return add("[audio, " + shown_text(block["mimeType"].string_or("")) + ", " +
                 size_of(block["data"].string_or("")) + ": it cannot be shown]");
    if (type == "resource") return take_resource(block["resource"]);
    if (type == "resource_link") return take_link(block);
    add("[content of the unknown kind '" + shown_text(type) + "']");
  }

  void add(std::string_view text) {
    if (has_text_) out.content += '\n';
    has_text_ = true;
    out.content += text;
  }
  bool empty() const { return !has_text_ && out.parts.empty(); }

  ToolOutcome out;

 private:
  void take_media(std::string_view data, std::string_view media_type, std::string_view what, std::string title = {}) {
    const std::string_view type = essence(media_type);
    const std::string name = std::string(what) + ", " + shown_text(type) + ", " + size_of(data);
    if (out.parts.size() == kPartsMax || part_bytes_ + data.size() > kPartBytesMax)
      return add("[" + name + ": it is left out, since there are too many]");
    auto block = media_from({type != "application/pdf", type, data, title});
    if (!block) return add("[" + name + ": " + block.error().message + "]");
    part_bytes_ += data.size();
    out.parts.push_back(std::move(*block));
  }

  void take_resource(JsonView resource) {
    const std::string uri = shown_text(resource["uri"].string_or(""));
    const std::string_view type = resource["mimeType"].string_or(""), blob = resource["blob"].string_or("");
    if (resource["text"].is_string()) {
      add("[resource " + uri + "]");
      return add(resource["text"].string_or(""));
    }
    if (essence(type).starts_with("image/") || essence(type) == "application/pdf") {
      add("[resource " + uri + "]");
      return take_media(blob, type, "resource", uri);
    }
    add("[resource " + uri + ", " + shown_text(type) + ", " + size_of(blob) + ": it cannot be shown]");
  }

  void take_link(JsonView link) {
    std::string text = "[resource " + shown_text(link["uri"].string_or(""));
    if (const std::string name = shown_text(link["name"].string_or("")); !name.empty()) text += ", " + name;
    if (const std::string type = shown_text(link["mimeType"].string_or("")); !type.empty()) text += ", " + type;
    if (const std::string about = shown_text(link["description"].string_or("")); !about.empty()) text += ": " + about;
    add(text + "]");
  }

  bool has_text_ = false;
  std::size_t part_bytes_ = 0;
};

}  // namespace

Result<ToolOutcome> outcome_of(JsonView result, bool modern) {
  Outcome reader;
  const JsonView content = result["content"], structured = result["structuredContent"];
  const auto is_absent = [](JsonView value) { return !value.exists() || value.is_null(); };
  if (!is_absent(content) && !content.is_array())
    return Error{Code::kInvalid, "answered with content that is not a list"};
  if (!modern && !is_absent(structured) && !structured.is_object())
    return Error{Code::kInvalid, "answered with structured content that is not an object"};
  for (std::size_t i = 0; i < content.size(); ++i) reader.take(content.at(i));
  if (structured.exists() && !structured.is_null()) {
    reader.out.structured_json = structured.text();
    if (reader.empty()) reader.add(reader.out.structured_json);
  }
  reader.out.success = !result["isError"].bool_or(false);
  reader.out.full_bytes = reader.out.content.size();
  return std::move(reader.out);
}

}  // namespace agentd::mcp
