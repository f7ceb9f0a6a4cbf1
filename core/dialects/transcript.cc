// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/transcript.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/dialects/dialect.h"

namespace agentd {
namespace {

constexpr unsigned kPrivate = 0600;

// Readers of the file look for Claude Code's tool names and keys: Bash, Edit, file_path.
void write_call(JsonWriter& out, std::string_view id, std::string_view tool, JsonView input) {
  out.begin_object().member("type", "tool_use").member("id", id);
  out.member("name", foreign_tool(Dialect::kClaude, tool)).key("input");
  if (input.is_object())
    out.raw(foreign_input(Dialect::kClaude, tool, input));
  else
    out.value(input);
  out.end_object();
}

// Writes one block of the canonical payload as the Messages API has it; false if it has no counterpart.
bool write_block(JsonWriter& out, JsonView block) {
  const std::string_view type = block["type"].string_or({});
  if (type == "text") {
    out.begin_object().member("type", "text").member("text", block["text"].string_or({})).end_object();
  } else if (type == "thinking") {
    out.begin_object().member("type", "thinking").member("thinking", block["text"].string_or({}));
    out.optional("signature", block["signature"].string_or({})).end_object();
  } else if (type == "tool_use") {
    write_call(out, block["call_id"].string_or({}), block["name"].string_or({}), block["input"]);
  } else if (type == "tool_result") {
    out.begin_object().member("type", "tool_result").member("tool_use_id", block["call_id"].string_or({}));
    out.member("content", block["text"].string_or({}));
    if (block["is_error"].bool_or(false)) out.member("is_error", true);
    out.end_object();
  } else {
    return false;
  }
  return true;
}

void write_transcript_content(JsonWriter& out, JsonView message) {
  out.key("content");
  const JsonView blocks = message["blocks"];
  if (!blocks.is_array() && message["role"].string_or({}) == "user") {
    out.string(message["content"].string_or({}));
    return;
  }
  out.begin_array();
  if (!blocks.is_array())
    out.begin_object().member("type", "text").member("text", message["content"].string_or({})).end_object();
  for (std::size_t i = 0; i < blocks.size(); ++i) write_block(out, blocks.at(i));
  out.end_array();
}

std::string line_of(JsonView payload, JsonView message, std::size_t index, const std::string& time) {
  const std::string_view role = message["role"].string_or("user");
  const std::string seq = std::to_string(message["seq"].uint_or(index));
  JsonWriter out;
  out.begin_object().member("type", role);
  out.member("sessionId", payload["session_id"].string_or({}));
  out.member("cwd", payload["cwd"].string_or({})).member("timestamp", time);
  out.member("uuid", std::string(payload["conv_id"].string_or({})) + "-" + seq);
  out.key("message").begin_object().member("role", role);
  if (role == "assistant") out.member("type", "message").member("model", payload["model"].string_or({}));
  write_transcript_content(out, message);
  out.end_object().end_object();
  return std::string(out.text()) + "\n";
}

}  // namespace

std::string transcript_path(const std::string& directory, JsonView payload) {
  const std::string_view conversation = payload["conv_id"].string_or({});
  if (directory.empty() || conversation.empty() || conversation.find_first_of("/.") != std::string_view::npos)
    return {};
  return directory + "/" + std::string(conversation) + ".jsonl";
}

std::string transcript_text(JsonView payload, const Clock& clock) {
  const JsonView messages = payload["messages"];
  const std::string time = iso_time(clock.wall_ms());
  std::string out;
  for (std::size_t i = 0; i < messages.size(); ++i) out += line_of(payload, messages.at(i), i, time);
  return out;
}

Result<void> write_transcript(const std::string& path, JsonView payload, const Clock& clock) {
  if (path.empty()) return {};
  AGENTD_TRY_VOID(make_directories(path.substr(0, path.rfind('/'))));
  return write_file_atomically(path, transcript_text(payload, clock), kPrivate);
}

}  // namespace agentd
