// SPDX-License-Identifier: Apache-2.0
#pragma once
// visible_rows.h - the rows of a request for a model that does not take all kinds of blocks: a word stands
// where it would find an image or a document that it cannot see, or that no model can (PNG, JPEG, GIF and WebP
// are seen, and PDF).
//
// A conversation may go on with another model at every run, and a server refuses the whole request for
// one block that its model does not take.
//
// Threading: values.

#include <span>
#include <vector>

#include "core/conversation/rows.h"

namespace agentd {

class VisibleRows {
 public:
  // Borrows the rows.
  VisibleRows(std::span<const agentd_message> rows, bool images, bool documents);
  // As they came where everything can be seen.
  std::span<const agentd_message> rows() const {
    return written_.empty() ? rows_ : std::span<const agentd_message>(visible_);
  }

 private:
  const std::span<const agentd_message> rows_;
  Rows written_;
  std::vector<agentd_message> visible_;
};

}  // namespace agentd
