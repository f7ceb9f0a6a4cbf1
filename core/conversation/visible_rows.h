// SPDX-License-Identifier: Apache-2.0
#pragma once
// visible_rows.h - the rows of a request for a model that does not accept all kinds of blocks: a text replaces each
// image or document that it, or every model, cannot see (supported: PNG, JPEG, GIF, WebP and PDF).
//
// A conversation may continue with another model at every run, and a server refuses the complete request for one block
// that its model does not accept.
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
  // The borrowed rows when everything is visible.
  std::span<const agentd_message> rows() const {
    return written_.empty() ? rows_ : std::span<const agentd_message>(visible_);
  }

 private:
  const std::span<const agentd_message> rows_;
  Rows written_;
  std::vector<agentd_message> visible_;
};

}  // namespace agentd
