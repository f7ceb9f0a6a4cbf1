// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/transcript.h"

#include "core/base/bytes.h"

namespace agentd {

std::string_view name_of(FileForm form) {
  switch (form) {
    case FileForm::kAgentd:
      return "agentd";
    case FileForm::kClaude:
      return "claude";
    case FileForm::kCodex:
      return "codex";
    case FileForm::kUnknown:
      break;
  }
  return {};
}

std::string taken_of(const ForeignTranscript& transcript) {
  std::vector<std::string> parts{counted(transcript.messages, "message")};
  if (transcript.calls != 0) parts.push_back(counted(transcript.calls, "tool call"));
  if (transcript.media != 0)
    parts.push_back(std::to_string(transcript.media) +
                    (transcript.media == 1 ? " image or document" : " images or documents"));
  if (transcript.compactions != 0) parts.push_back(counted(transcript.compactions, "compaction"));
  return join(parts, ", ");
}

std::string left_out_of(const ForeignTranscript& transcript) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : transcript.left_out) parts.push_back(what + " (" + with_commas(count) + ")");
  return join(parts, ", ");
}

}  // namespace agentd
