// SPDX-License-Identifier: Apache-2.0
#include "core/agent/attendance.h"

#include <map>
#include <utility>

#include "core/base/hash.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::string_view kAttachedSpace = "agentd.attached";
constexpr std::size_t kProjectPrefixDigits = 32;  // a project's id may be a path, which is too long for a key
constexpr std::uint32_t kRowsMax = 1'000;

std::string prefix_of(const std::string& project_id) {
  return hex(sha256(project_id)).substr(0, kProjectPrefixDigits) + "/";
}

std::string key_of(const Attendance::Session& session) { return prefix_of(session.project_id) + session.session; }

}  // namespace

Result<std::string> Attendance::process() {
  const MutexLock lock(mutex_);
  if (process_.empty()) {
    const Ulid id = ids_.next();
    AGENTD_TRY(lease_, store_.lease(id));
    process_ = id.text();
  }
  return process_;
}

Result<KeyPut> Attendance::row_of(const Session& session) {
  AGENTD_TRY(const std::string own, process());
  JsonWriter out;
  out.begin_object().member("conversation", session.conversation).member("process", own).end_object();
  return KeyPut{std::string(kAttachedSpace), key_of(session), std::string(out.text())};
}

void Attendance::leave(const Session& session) {
  const KeyOp erase{KeyOp::Kind::kErase, key_of(session), {}};
  if (auto done = store_.commit_keys(kAttachedSpace, {&erase, 1}); !done)
    log_.write(LogLevel::kError, "agent",
               "the end of session " + session.session + " could not be saved: " + done.error().message);
}

std::vector<Attendance::Gone> Attendance::find_gone(const std::string& project_id) {
  std::vector<Gone> out;
  const std::string prefix = prefix_of(project_id);
  const auto rows = store_.scan_keys(kAttachedSpace, prefix, {}, kRowsMax);
  if (!rows || rows->empty()) return out;
  std::string own;
  {
    const MutexLock lock(mutex_);
    own = process_;
  }
  std::map<std::string, std::shared_ptr<Lease>, std::less<>> processes;  // null: it lives
  for (const StoredKey& row : *rows) {
    const auto json = JsonDocument::parse(row.value);
    if (!json) continue;
    const std::string process(json->root()["process"].string_or({}));
    const Session session{project_id, row.key.substr(prefix.size()),
                          std::string(json->root()["conversation"].string_or({}))};
    const auto of_process = Ulid::parse(process);
    const auto conversation = Ulid::parse(session.conversation);
    if (process == own || !of_process || !conversation) continue;
    auto known = processes.find(process);
    if (known == processes.end()) {
      auto lease = store_.lease(*of_process);
      known = processes.emplace(process, lease ? std::shared_ptr<Lease>(std::move(*lease)) : nullptr).first;
    }
    if (!known->second) continue;
    const auto info = store_.info(*conversation);
    if (!info && info.error().code == Code::kNotFound) {
      leave(session);
      continue;
    }
    if (!info || !info->wait.id.empty()) continue;
    out.push_back({session, known->second});
    if (out.size() == kAtOnce) break;
  }
  return out;
}

std::string task_of_session(const Store& store, const Ulid& conversation, const std::string& session) {
  std::string task;
  bool inside = false;
  (void)store.read(conversation, 1, 0, [&](const StoredRecord& each) {
    if (each.record.type == RecordType::kRunBegin) {
      const auto begin = read_run_begin(each.record);
      inside = begin && begin->session_id == session;
    } else if (inside && each.record.type == RecordType::kUserMessage) {
      const auto message = read_message(each.record);
      if (message && message->source == "user") task = message->message.text();
    }
    return task.empty();
  });
  return task;
}

}  // namespace agentd
