// SPDX-License-Identifier: Apache-2.0
#pragma once
// cancel.h - the value that says "give up", and the words of memory that follow it.
//
// Threading: CancelToken is thread-safe; cancel() may be called in a signal handler, the rest may
// not.

#include <cstdint>
#include <memory>

namespace agentd {

// Shared between the one who may cancel and those who work: copies see the same flag. A default
// token is never cancelled by anybody else.
class CancelToken {
 public:
  CancelToken();
  // 0 = go on; otherwise an AGENTD_CANCEL_ reason of hook_types.h.
  std::uint32_t reason() const;
  bool cancelled() const { return reason() != 0; }
  // Returns when every linked word has the reason.
  void cancel(std::uint32_t reason) const;
  // Another one that is cancelled with this one, and may be cancelled alone.
  CancelToken child() const;

  // The word is set to 0, and to the reason as soon as there is one, for code that can only poll
  // memory: any number of words at once. REQUIRES: nobody else writes to it until unlink().
  void link(std::uint32_t* word) const;
  // Sets the word to 0; when it returns no cancel(), on any thread, will write to it any more.
  void unlink(std::uint32_t* word) const;

 private:
  struct State;
  // Shared by every copy: canceller and workers end in any order.
  std::shared_ptr<State> state_;
};

}  // namespace agentd
