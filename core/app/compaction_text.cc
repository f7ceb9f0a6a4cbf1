// SPDX-License-Identifier: Apache-2.0
#include "core/app/compaction_text.h"

#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {

int compaction_exit(std::uint32_t outcome) {
  switch (outcome) {
    case AGENTD_RESULT_APPLIED:
    case AGENTD_RESULT_DEGRADED:
    case AGENTD_RESULT_NOOP:
      return kExitOk;
    case AGENTD_RESULT_VETOED:
      return kExitBlocked;
    default:
      return kExitProvider;
  }
}

std::string compacted_text(const std::string& id, const CompactionReport& report) {
  std::string out = "Compacted conversation " + id + "\nReduced from " + counted(report.messages_before, "message") +
                    " to 1 summary message";
  if (report.messages_after > 1) out += " and " + counted(report.messages_after - 1, "message") + " kept";
  return out + "\nContext: " + with_commas(report.pre_tokens) + " → " + with_commas(report.post_tokens) + " tokens\n";
}

std::string compaction_json(const std::string& id, const CompactionReport& report, bool dry_run) {
  JsonWriter out;
  out.begin_object().member("type", "compaction_result").member("conversation_id", id);
  out.member("outcome", result_name(report.outcome)).member("dry_run", dry_run);
  out.member("messages_before", report.messages_before).member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.optional("boundary_id", report.boundary_id).optional("text", report.text).optional("summary", report.summary);
  out.end_object();
  return std::string(out.text());
}

}  // namespace agentd::app
