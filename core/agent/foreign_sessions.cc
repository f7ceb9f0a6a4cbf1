// SPDX-License-Identifier: Apache-2.0
#include "core/agent/foreign_sessions.h"

#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/conversation/record.h"

namespace agentd {
namespace {

constexpr std::string_view kForeignSpace = "agentd.foreign";
constexpr std::size_t kKeyDigits = 40;  // the names may be too long for a key
constexpr int kClaimTries = 50;
constexpr Milliseconds kPause{20};  // until another process has made the conversation that it claims

std::string key_of(const ForeignSession& session) {
  const std::string name = session.project_id + '\0' + session.surface + '\0' + session.session_id;
  return hex(sha256(name)).substr(0, kKeyDigits);
}

std::string title_of(const ForeignSession& session) {
  return one_line((session.surface.empty() ? "session " : session.surface + " session ") + session.session_id, 80);
}

}  // namespace

// The row comes first, and who claims it holds the conversation's lease until that is there. So a row without a
// conversation that nobody holds was left by a process that was killed, or its conversation was deleted: the next call
// replaces it.
Result<Ulid> ForeignSessions::open(const ForeignSession& session) {
  if (is_blank(session.session_id)) return Error{Code::kInvalid, "a session elsewhere needs its session_id"};
  if (session.session_id.size() > ForeignSession::kSessionIdBytesMax)
    return Error{Code::kInvalid, "the session_id has " + std::to_string(session.session_id.size()) +
                                     " bytes, more than " + std::to_string(ForeignSession::kSessionIdBytesMax)};
  for (int tries = 1; tries <= kClaimTries; ++tries) {
    AGENTD_TRY(const std::optional<Ulid> opened, try_open(session));
    if (opened) return *opened;
    clock_.pause(kPause);
  }
  return Error{Code::kBusy, "another process opens the session " + one_line(session.session_id, 80) + ": try again"};
}

// Nullopt: another process is about to.
Result<std::optional<Ulid>> ForeignSessions::try_open(const ForeignSession& session) {
  const std::string key = key_of(session);
  const auto row = store_.get_key(kForeignSpace, key);
  if (!row && row.error().code != Code::kNotFound) return row.error();
  std::unique_ptr<Lease> abandoned;
  if (row) {
    AGENTD_TRY(const Ulid known, Ulid::parse(row->value));
    auto info = store_.info(known);
    if (!info && info.error().code == Code::kNotFound) {
      auto lease = store_.lease(known);
      if (!lease && lease.error().code == Code::kBusy) return std::optional<Ulid>();
      if (!lease) return lease.error();
      abandoned = std::move(*lease);
      info = store_.info(known);  // it may have been made before the lease was free
    }
    if (info) return std::optional<Ulid>(known);
    if (info.error().code != Code::kNotFound) return info.error();
  }
  const Ulid id = ids_.next();
  AGENTD_TRY(const auto lease, store_.lease(id));
  const KeyOp claim{KeyOp::Kind::kPut, key, id.text(), row ? row->version : KeyOp::kAbsent};
  const auto claimed = store_.commit_keys(kForeignSpace, {&claim, 1});
  if (!claimed && claimed.error().code == Code::kConflict) return std::optional<Ulid>();
  if (!claimed) return claimed.error();
  AGENTD_TRY_VOID(make(id, session));
  return std::optional<Ulid>(id);
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
