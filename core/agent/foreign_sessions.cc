// SPDX-License-Identifier: Apache-2.0
#include "core/agent/foreign_sessions.h"

#include <vector>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/conversation/record.h"

namespace agentd {
namespace {

constexpr std::string_view kSpace = "agentd.foreign";
constexpr std::size_t kKeyDigits = 40;  // the names may be too long for a key
constexpr int kTries = 5;

std::string key_of(const ForeignSession& session) {
  const std::string name = session.project_id + '\0' + session.surface + '\0' + session.session_id;
  return hex(sha256(name)).substr(0, kKeyDigits);
}

std::string title_of(const ForeignSession& session) {
  return one_line((session.surface.empty() ? "session " : session.surface + " session ") + session.session_id, 80);
}

}  // namespace

// The row comes first: a process that is killed before the conversation is there leaves one that the next call
// replaces, as it does for a conversation that was deleted.
Result<Ulid> ForeignSessions::open(const ForeignSession& session) {
  if (is_blank(session.session_id)) return Error{Code::kInvalid, "a session elsewhere needs its session_id"};
  if (session.session_id.size() > ForeignSession::kSessionIdBytesMax)
    return Error{Code::kInvalid, "the session_id has " + std::to_string(session.session_id.size()) +
                                     " bytes, more than " + std::to_string(ForeignSession::kSessionIdBytesMax)};
  const std::string key = key_of(session);
  for (int tries = 1;; ++tries) {
    const auto row = store_.get_key(kSpace, key);
    if (!row && row.error().code != Code::kNotFound) return row.error();
    if (row) {
      AGENTD_TRY(const Ulid known, Ulid::parse(row->value));
      const auto info = store_.info(known);
      if (info) return known;
      if (info.error().code != Code::kNotFound) return info.error();
    }
    const Ulid id = ids_.next();
    const KeyOp claim{KeyOp::Kind::kPut, key, id.text(), row ? row->version : KeyOp::kAbsent};
    const auto claimed = store_.commit_keys(kSpace, {&claim, 1});
    if (!claimed && (claimed.error().code != Code::kConflict || tries == kTries)) return claimed.error();
    if (!claimed) continue;
    AGENTD_TRY_VOID(make(id, session));
    return id;
  }
}

Result<void> ForeignSessions::make(const Ulid& id, const ForeignSession& session) {
  GenesisRecord genesis;
  genesis.conversation_id = id.text();
  genesis.project_id = session.project_id;
  genesis.cwd = session.cwd;
  MetaRecord meta;
  meta.title = title_of(session);
  const std::vector<Record> records{write_genesis(genesis), write_meta(meta)};
  AGENTD_TRY([[maybe_unused]] const auto stored, store_.append(id, 0, records));
  return {};
}

}  // namespace agentd
