// SPDX-License-Identifier: Apache-2.0
#pragma once
// marked_rows.h - the rows of a request with a note for the model after each interrupted run.
//
// Without it an unanswered message and the next one read as one, and a partial answer reads as a complete one. Only
// requests have the note, not the log nor a hook's messages. Its place is the same in every request, so that a
// provider's cache stays valid.
//
// Threading: values.

#include <span>
#include <vector>

#include "core/conversation/origin.h"
#include "core/conversation/rows.h"

namespace agentd {

class MarkedRows {
 public:
  // Borrows the rows. `origins` may be null: then only answers that are marked as partial get a note.
  MarkedRows(std::span<const agentd_message> rows, const Origins* origins);
  // The borrowed rows when nothing needs a note.
  std::span<const agentd_message> rows() const {
    return marks_.empty() ? rows_ : std::span<const agentd_message>(marked_);
  }
  const Rows& marks() const { return marks_; }

 private:
  const std::span<const agentd_message> rows_;
  Rows marks_;
  std::vector<agentd_message> marked_;
};

}  // namespace agentd
