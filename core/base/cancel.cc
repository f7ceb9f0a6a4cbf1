// SPDX-License-Identifier: Apache-2.0
#include "core/base/cancel.h"

#include <array>
#include <atomic>
#include <thread>

namespace agentd {
namespace {

// Slots for linked words. They grow and never shrink, so that a signal handler can walk them while a thread adds one.
struct Places {
  std::array<std::atomic<std::uint32_t*>, 16> words{};
  std::atomic<Places*> next{nullptr};

  ~Places() { delete next.load(); }

  bool put(std::uint32_t* from, std::uint32_t* to) {
    for (auto& place : words) {
      // A read first: a token of many links is walked past places that other threads use.
      std::uint32_t* expected = place.load();
      if (expected == from && place.compare_exchange_strong(expected, to)) return true;
    }
    return false;
  }
  // The slots after these, made when missing.
  Places* more() {
    if (Places* const there = next.load()) return there;
    auto made = std::make_unique<Places>();
    Places* expected = nullptr;
    return next.compare_exchange_strong(expected, made.get()) ? made.release() : expected;
  }
};

}  // namespace

// Every operation is sequentially consistent. link() looks for a reason after its word is in place, and cancel() looks
// for words after the reason is in place: one of the two sees the other.
struct CancelToken::State {
  std::atomic<std::uint32_t> reason{0};
  std::atomic<std::uint32_t> writers{0};  // calls of cancel() that may be writing to words
  Places places;
  std::shared_ptr<State> parent;  // null for most

  void add(std::uint32_t* word) {
    Places* at = &places;
    while (!at->put(nullptr, word)) at = at->more();
  }
  void remove(std::uint32_t* word) {
    for (Places* at = &places; at != nullptr && !at->put(word, nullptr);) at = at->next.load();
    // A cancel() may have found the word before it was removed. It needs only a few more stores, so this yields and
    // does not sleep.
    while (writers.load() != 0) std::this_thread::yield();
  }
  void tell(std::uint32_t why) {
    reason.store(why);
    ++writers;
    for (Places* at = &places; at != nullptr; at = at->next.load())
      for (auto& place : at->words)
        if (std::uint32_t* const word = place.load()) std::atomic_ref(*word).store(why);
    --writers;
  }
};

CancelToken::CancelToken() : state_(std::make_shared<State>()) {}

std::uint32_t CancelToken::reason() const {
  for (const State* state = state_.get(); state != nullptr; state = state->parent.get())
    if (const std::uint32_t reason = state->reason.load()) return reason;
  return 0;
}

CancelToken CancelToken::child() const {
  CancelToken out;
  out.state_->parent = state_;
  return out;
}

void CancelToken::cancel(std::uint32_t reason) const { state_->tell(reason); }

void CancelToken::link(std::uint32_t* word) const {
  std::atomic_ref(*word).store(0);
  for (State* state = state_.get(); state != nullptr; state = state->parent.get()) state->add(word);
  if (const std::uint32_t why = reason()) std::atomic_ref(*word).store(why);
}

void CancelToken::unlink(std::uint32_t* word) const {
  for (State* state = state_.get(); state != nullptr; state = state->parent.get()) state->remove(word);
  std::atomic_ref(*word).store(0);
}

}  // namespace agentd
