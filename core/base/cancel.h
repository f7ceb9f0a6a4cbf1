// SPDX-License-Identifier: Apache-2.0
#pragma once
// cancel.h - a flag that cancels work, and words of memory that mirror it.
//
// Threading: CancelToken is thread-safe. Only cancel() may be called in a signal handler.

#include <cstdint>
#include <memory>

namespace agentd {

// Shared by the canceller and the workers: copies see the same flag. A default-constructed token has no other
// canceller.
class CancelToken {
 public:
  CancelToken();
  // 0 = go on; otherwise an AGENTD_CANCEL_ reason of hook_types.h.
  std::uint32_t reason() const;
  bool cancelled() const { return reason() != 0; }
  // Returns when every linked word has the reason.
  void cancel(std::uint32_t reason) const;
  // A token that is cancelled with this one and can also be cancelled alone.
  CancelToken child() const;

  // Sets the word to 0 and, as soon as there is a reason, to the reason: for code that can only poll memory. Any number
  // of words may be linked. REQUIRES: no other code writes to it until unlink().
  void link(std::uint32_t* word) const;
  // Sets the word to 0. After it returns, no cancel() on any thread writes to the word.
  void unlink(std::uint32_t* word) const;

 private:
  struct State;
  // Shared by every copy, since the canceller and the workers end in any order.
  std::shared_ptr<State> state_;
};

}  // namespace agentd
