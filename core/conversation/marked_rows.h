// SPDX-License-Identifier: Apache-2.0
#pragma once
// marked_rows.h - the rows of a request with a word for the model behind each place where a run broke off.
//
// Without it a message that was never answered and the next one read as one, and half an answer reads as
// a whole one. The word is the request's alone: neither the log nor a hook's messages have it. It stays
// where it is from request to request, so that what a provider has cached serves on.
//
// Threading: values.

#include <span>
#include <vector>

#include "core/conversation/origin.h"
#include "core/conversation/rows.h"

namespace agentd {

class MarkedRows {
 public:
  // Borrows the rows. `origins` may be null: then only answers that say of themselves that they broke
  // off are marked.
  MarkedRows(std::span<const agentd_message> rows, const Origins* origins);
  // As they came where there is nothing to mark.
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
