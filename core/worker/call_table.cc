// SPDX-License-Identifier: Apache-2.0
#include "core/worker/call_table.h"

#include <algorithm>
#include <cstdlib>

namespace agentd::worker {
namespace {

constexpr std::size_t kChunkBytes = 16 * 1024;
constexpr std::size_t kAlignMax = 64;

}  // namespace

void OpenCall::Free::operator()(void* memory) const { std::free(memory); }

// The arena of core/conversation ends the process when memory is short; here a plugin at its limit gets NULL, as the
// contract says.
void* OpenCall::from_new_chunk(std::size_t bytes, std::size_t align) {
  const std::size_t size = std::max(bytes + kAlignMax, kChunkBytes);
  auto* const memory = static_cast<std::byte*>(std::malloc(size));
  if (memory == nullptr) return nullptr;
  chunks_.emplace_back(memory);
  const std::size_t pad = (align - reinterpret_cast<std::size_t>(memory) % align) % align;
  // A piece with a chunk of its own leaves the rest of the chunk before in use.
  if (size - pad - bytes >= left_) {
    at_ = memory + pad + bytes;
    left_ = size - pad - bytes;
  }
  return memory + pad;
}

void* OpenCall::allocate(std::size_t bytes, std::size_t align) {
  bytes = std::max<std::size_t>(bytes, 1);
  const MutexLock lock(mutex_);
  const std::size_t pad = (align - reinterpret_cast<std::size_t>(at_) % align) % align;
  if (pad > left_ || bytes > left_ - pad) return from_new_chunk(bytes, align);
  std::byte* const out = at_ + pad;
  at_ += pad + bytes;
  left_ -= pad + bytes;
  return out;
}

std::optional<agentd_str> OpenCall::json() {
  const MutexLock lock(mutex_);
  return json_;
}

void OpenCall::set_json(agentd_str text) {
  const MutexLock lock(mutex_);
  json_ = text;
}

OpenCallPtr CallTable::open(agentd_token token, bool scope) {
  auto call = std::make_shared<OpenCall>(token, scope);
  const MutexLock lock(mutex_);
  calls_[token] = call;
  return call;
}

OpenCallPtr CallTable::find(agentd_token token) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(token);
  return found == calls_.end() ? nullptr : found->second;
}

void CallTable::returned(agentd_token token, bool pending) {
  OpenCallPtr ended;  // its memory is freed without the lock
  const MutexLock lock(mutex_);
  const auto found = calls_.find(token);
  if (found == calls_.end()) return;
  found->second->pending_ = pending && !found->second->completed_;
  if (found->second->pending_) return;
  ended = std::move(found->second);
  calls_.erase(found);
}

void CallTable::completed(agentd_token token) {
  OpenCallPtr ended;
  const MutexLock lock(mutex_);
  const auto found = calls_.find(token);
  if (found == calls_.end() || found->second->scope_) return;
  found->second->completed_ = true;
  if (!found->second->pending_) return;
  ended = std::move(found->second);
  calls_.erase(found);
}

void CallTable::close_scope(agentd_token token) {
  OpenCallPtr ended;
  const MutexLock lock(mutex_);
  const auto found = calls_.find(token);
  if (found == calls_.end() || !found->second->scope_) return;
  ended = std::move(found->second);
  calls_.erase(found);
}

}  // namespace agentd::worker
