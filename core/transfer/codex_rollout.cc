// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/codex_rollout.h"

#include <array>

#include "core/base/bytes.h"
#include "core/transfer/transcript_builder.h"

namespace agentd {
namespace {

// True for texts that the client puts before the user's words.
bool is_codex_note(std::string_view text) {
  constexpr std::array<std::string_view, 5> kBegins = {"<environment_context>", "<user_instructions>",
                                                       "<permissions instructions>", "<turn_aborted>",
                                                       "# AGENTS.md instructions"};
  for (const std::string_view begin : kBegins)
    if (text.starts_with(begin)) return true;
  return false;
}

class CodexReader {
 public:
  void take(JsonView line) {
    builder_.at(line["timestamp"].string_or(""));
    const std::string_view type = line["type"].string_or("");
    const JsonView payload = line["payload"];
    if (!payload.is_object()) return take_old(line, type);
    if (type == "session_meta") return take_meta(payload);
    if (type == "response_item") return take_item(payload);
    if (type == "compacted") return take_summary(payload);
    if (type == "event_msg") return take_event(payload["type"].string_or(""));
    if (type != "turn_context") builder_.leave_out("line of an unknown kind");
  }
  void cut_off(std::uint64_t lines) {
    if (lines != 0) builder_.leave_out("line that is cut off", lines);
  }
  ForeignTranscript finish() { return builder_.finish(); }

 private:
  void take_old(JsonView line, std::string_view type) {
    if (type.empty() && line["id"].is_string()) return take_meta(line);
    if (!type.empty()) return take_item(line);
    if (line["record_type"].string_or("") != "state") builder_.leave_out("line of an unknown kind");
  }

  // Events say again what items say, except for this one.
  void take_event(std::string_view type) {
    if (type == "thread_rolled_back") builder_.leave_out("undo that was not followed");
  }

  void take_meta(JsonView meta) {
    ForeignTranscript& head = builder_.head();
    if (!head.session_id.empty()) return;  // of a session that this one was forked from
    head.session_id = meta["id"].string_or("");
    head.cwd = meta["cwd"].string_or("");
    head.version = meta["cli_version"].string_or("");
  }

  void take_summary(JsonView payload) {
    std::string text(payload["message"].string_or(""));
    const JsonView kept = payload["replacement_history"];
    for (std::size_t i = 0; is_blank(text) && kept.is_array() && i < kept.size(); ++i)
      if (const std::string message = text_of(kept.at(i)["content"]); !is_codex_note(message)) text = message;
    builder_.summary(std::move(text));
  }

  void take_item(JsonView item) {
    const std::string_view type = item["type"].string_or("");
    if (type == "message") return take_message(item);
    if (type == "function_call") return take_call(item, item["name"].string_or(""), item["arguments"].string_or(""));
    if (type == "custom_tool_call") return take_call(item, item["name"].string_or(""), item["input"].string_or(""));
    if (type == "local_shell_call") return take_call(item, "local_shell", item["action"].text());
    if (type == "function_call_output" || type == "custom_tool_call_output") return take_result(item);
    if (type == "reasoning") return builder_.leave_out("thinking block");
    builder_.leave_out(type.ends_with("_call") ? "call of the vendor's own tool" : "item of an unknown kind");
  }

  void take_message(JsonView item) {
    const std::string_view role = item["role"].string_or("");
    if (role != "user" && role != "assistant") return builder_.leave_out("note of the client");
    const JsonView content = item["content"];
    std::vector<Block> blocks;
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i) take_part(blocks, content.at(i), role);
    if (role == "assistant") return builder_.assistant({}, std::move(blocks));
    builder_.user(std::move(blocks));
  }

  void take_part(std::vector<Block>& to, JsonView part, std::string_view role) {
    const std::string_view type = part["type"].string_or(""), text = part["text"].string_or("");
    if (type == "input_image") return take_image(to, part["image_url"].string_or(""));
    if (role == "user" && is_codex_note(text)) return builder_.leave_out("note of the client");
    if (!is_blank(text)) to.push_back(Block::of_text(std::string(text)));
  }

  // "data:image/png;base64,..." (RFC 2397)
  void take_image(std::vector<Block>& to, std::string_view url) {
    constexpr std::string_view kScheme = "data:", kCoding = ";base64,";
    const std::size_t comma = url.find(kCoding);
    if (!url.starts_with(kScheme) || comma == std::string_view::npos)
      return builder_.leave_out("image that cannot be sent");
    builder_.media(to, true, url.substr(kScheme.size(), comma - kScheme.size()), url.substr(comma + kCoding.size()));
  }

  void take_call(JsonView item, std::string_view name, std::string_view input) {
    std::vector<Block> blocks;
    blocks.push_back(TranscriptBuilder::call(item["call_id"].string_or(""), name, input));
    builder_.assistant({}, std::move(blocks));
  }

  // A text, a list of parts, or an object of older versions.
  void take_result(JsonView item) {
    const JsonView output = item["output"];
    const JsonView content = output.is_object() ? output["content"] : output;
    std::vector<Block> parts;
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i)
      if (content.at(i)["type"].string_or("") == "input_image")
        take_image(parts, content.at(i)["image_url"].string_or(""));
    const bool failed = output.is_object() && !output["success"].bool_or(true);
    builder_.result(item["call_id"].string_or(""), text_of(content), std::move(parts), failed);
  }

  TranscriptBuilder builder_{FileForm::kCodex};
};

}  // namespace

Result<ForeignTranscript> read_codex_rollout(std::string_view bytes) {
  std::uint64_t cut_off = 0;
  AGENTD_TRY(const std::vector<JsonDocument> lines, read_json_lines(bytes, cut_off));
  CodexReader reader;
  for (const JsonDocument& line : lines) reader.take(line.root());
  reader.cut_off(cut_off);
  return reader.finish();
}

}  // namespace agentd
