// SPDX-License-Identifier: Apache-2.0
#pragma once
// call_table.h - the open calls and scopes of this worker, with the memory of each.
//
// The token is the host's; here it identifies the scratch memory and results that live until it ends. A pending call
// ends with complete(), from any thread.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/mutex.h"

namespace agentd::worker {

class OpenCall {
 public:
  OpenCall(agentd_token token, bool scope) : token_(token), scope_(scope) {}

  agentd_token token() const { return token_; }
  bool scope() const { return scope_; }
  // Null if memory is short; `align` a power of two up to 64.
  void* allocate(std::size_t bytes, std::size_t align);
  // The payload as JSON, if it was requested before.
  std::optional<agentd_str> json();
  void set_json(agentd_str text);

 private:
  friend class CallTable;
  struct Free {
    void operator()(void* memory) const;
  };
  void* from_new_chunk(std::size_t bytes, std::size_t align) REQUIRES(mutex_);

  const agentd_token token_;
  const bool scope_;
  bool pending_ = false, completed_ = false;  // guarded by the table's mutex
  Mutex mutex_;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_ GUARDED_BY(mutex_);
  std::byte* at_ GUARDED_BY(mutex_) = nullptr;
  std::size_t left_ GUARDED_BY(mutex_) = 0;
  std::optional<agentd_str> json_ GUARDED_BY(mutex_);
};

// Shared with the threads that use a call while another one ends it.
using OpenCallPtr = std::shared_ptr<OpenCall>;

class CallTable {
 public:
  OpenCallPtr open(agentd_token token, bool scope);
  // Null for a token that has ended or never existed.
  OpenCallPtr find(agentd_token token) const;
  // Called when the call's function has returned; a pending call stays open until it is completed.
  void returned(agentd_token token, bool pending);
  // Called for complete(), which may come before the function has returned.
  void completed(agentd_token token);
  void close_scope(agentd_token token);

 private:
  mutable Mutex mutex_;
  std::map<agentd_token, OpenCallPtr> calls_ GUARDED_BY(mutex_);
};

}  // namespace agentd::worker
