// SPDX-License-Identifier: Apache-2.0
#include "core/agent/compaction/boundary_message.h"

#include "core/base/ids.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

std::string uuid_of(const std::string& id) {
  const auto parsed = Ulid::parse(id);
  return parsed ? parsed->uuid() : id;
}

}  // namespace

std::string boundary_message(const BoundaryRecord& boundary, std::uint64_t seq, const Conversation& conversation) {
  const Ulid id = Ulid::parse(conversation.id()).value_or(Ulid{});
  const Rows& rows = conversation.rows();
  JsonWriter out;
  out.begin_object().member("type", "system").member("subtype", "compact_boundary");
  out.key("compact_metadata").begin_object().member("id", boundary.id);
  out.member("trigger", boundary.trigger).member("pre_tokens", boundary.pre_tokens);
  out.member("post_tokens", boundary.post_tokens).member("duration_ms", boundary.duration_ms);
  out.member("method", boundary.method).member("reason", boundary.reason);
  out.member("phase", boundary.phase).member("strategy", boundary.strategy);
  out.member("result", boundary.result).member("seq", seq);
  out.key("preserved_messages").begin_object();
  out.member("anchor_uuid", boundary.summary_seq != 0 ? id.uuid(boundary.summary_seq) : uuid_of(boundary.id));
  out.key("uuids").begin_array();
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    if (rows[i].seq != boundary.summary_seq) out.string(id.uuid(rows[i].seq));
  out.end_array().key("ranges").begin_array();
  for (const SeqRange& range : boundary.kept) out.begin_array().number(range.first).number(range.last).end_array();
  out.end_array().end_object().end_object();
  out.member("uuid", uuid_of(boundary.id)).member("session_id", boundary.session_id).end_object();
  return std::string(out.text());
}

}  // namespace agentd
