// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/transcript_file.h"

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/transfer/claude_transcript.h"
#include "core/transfer/codex_rollout.h"
#include "core/transfer/log_file.h"

namespace agentd {
namespace {

constexpr int kLinesToLook = 50;

FileForm form_of_line(JsonView line) {
  if (line["format"].string_or("") == kLogFileFormat) return FileForm::kAgentd;
  const std::string_view type = line["type"].string_or("");
  const bool item = type == "session_meta" || type == "response_item" || type == "turn_context" || type == "event_msg";
  if (item && line["payload"].is_object()) return FileForm::kCodex;
  // The first line of older rollouts.
  if (type.empty() && line["id"].is_string() && line["timestamp"].is_string()) return FileForm::kCodex;
  if ((type == "user" || type == "assistant") && line["message"].is_object() && line["sessionId"].is_string())
    return FileForm::kClaude;
  return FileForm::kUnknown;
}

}  // namespace

FileForm form_of(std::string_view bytes) {
  for (int i = 0; i < kLinesToLook && !bytes.empty(); ++i) {
    const std::size_t end = bytes.find('\n');
    const auto json = JsonDocument::parse(bytes.substr(0, end));
    if (const FileForm form = json ? form_of_line(json->root()) : FileForm::kUnknown; form != FileForm::kUnknown)
      return form;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return FileForm::kUnknown;
}

Result<ForeignTranscript> read_transcript(FileForm form, std::string_view bytes) {
  if (!is_utf8(bytes)) return Error{Code::kInvalid, "the transcript is not UTF-8"};
  Result<ForeignTranscript> read = form == FileForm::kCodex ? read_codex_rollout(bytes) : read_claude_transcript(bytes);
  if (read && read->messages == 0)
    return Error{Code::kInvalid,
                 "the file has no message of a " +
                     std::string(form == FileForm::kCodex ? "rollout of Codex" : "transcript of Claude Code")};
  return read;
}

}  // namespace agentd
