// SPDX-License-Identifier: Apache-2.0
#pragma once
// ext_ask.h - one call of the tables of workspace and process. Private to this room.
//
// Threading: a value of one call.

#include <agentd/service_list.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/native/ext_shared.h"
#include "core/process/spill.h"
#include "core/tools/tool.h"

namespace agentd {

// One call of a table: the slot of its token, and how results and errors are returned.
class Ask {
 public:
  Ask(ExtShared& shared, agentd_token token)
      : shared_(shared),
        token_(token),
        slot_(shared.tokens.find(token)),
        own_(slot_ != nullptr && shared.files ? shared.files(slot_->conversation()) : nullptr) {}

  // AGENTD_OK, or why the call gets nothing: its token is stale, or it has no files.
  agentd_status refusal() const {
    if (slot_ == nullptr) return AGENTD_E_NOT_FOUND;
    if (own_ || shared_.workspace != nullptr) return AGENTD_OK;
    return fail({Code::kUnavailable,
                 "the call belongs to no session of an open project, so there are no files and no commands for it"});
  }
  CallSlot& slot() const { return *slot_; }
  // REQUIRES: no refusal().
  Workspace& files() const { return own_ ? *own_ : *shared_.workspace; }
  SessionCommands commands() const { return shared_.commands_of(slot_->conversation()); }
  const Clock& clock() const { return shared_.clock; }

  // The spilled output of the session's commands may be read as its files are.
  Result<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t most,
                           std::uint64_t* total) const {
    if (path.find("/spill/") != std::string::npos && is_spill_path(commands().spill_directory, path))
      return read_spilled(path, offset, most, total);
    if (withheld() != nullptr && withheld()->path(path))
      return Error{Code::kDenied, path + " is left out: the permission rules do not allow read_file to read it"};
    return files().read(path, offset, most, total);
  }

  agentd_status fail(const Error& error) const {
    const agentd_status status = status_of(error.code);
    slot_->fail(token_, status, error.message);
    return status;
  }
  agentd_status incomplete(const service_facts& facts) const { return fail({Code::kInvalid, service_needs(facts)}); }

  template <typename T>
  T* make(std::size_t count = 1) const {
    return static_cast<T*>(slot_->allocate(token_, sizeof(T) * std::max<std::size_t>(count, 1), alignof(T)));
  }
  // Null ptr if memory is short or the token has ended.
  agentd_str copy(std::string_view text) const { return slot_->copy(token_, text); }

  // The call's working directory, or else the first root.
  std::string cwd() const {
    const Dispatch* const dispatch = slot_->dispatch();
    if (dispatch != nullptr && dispatch->envelope != nullptr && dispatch->envelope->cwd.len != 0)
      return std::string(view_of(dispatch->envelope->cwd));
    const auto& roots = files().roots();
    return roots.empty() ? std::string() : roots.front();
  }

  // Files that this call is not shown; null = it may see all.
  const Withheld* withheld() const {
    const Dispatch* const dispatch = slot_->dispatch();
    return dispatch == nullptr ? nullptr : dispatch->withheld;
  }

  std::string absolute(std::string_view path) const {
    if (path.starts_with("/")) return std::string(path);
    std::string base = cwd();
    if (path.empty() || path == ".") return base;
    return base + "/" + std::string(path);
  }

 private:
  ExtShared& shared_;
  agentd_token token_;
  CallSlot* slot_;
  const std::shared_ptr<Workspace> own_;  // shared with the session, which may end meanwhile
};

inline bool is_text(const agentd_str& text) { return text.ptr != nullptr || text.len == 0; }

// The functions of agentd.process/1 (ext_process.cc).
agentd_process process_functions();

}  // namespace agentd
