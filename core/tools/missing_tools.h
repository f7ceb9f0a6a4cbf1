// SPDX-License-Identifier: Apache-2.0
#pragma once
// missing_tools.h - what a source of tools knows of a name that is none of its tools now.
//
// Threading: thread-safe.

#include <string>
#include <string_view>

namespace agentd {

// A ToolSource that is one of these, too, is asked when a model calls a name that no tool has.
class MissingTools {
 public:
  virtual ~MissingTools() = default;
  // A sentence for the model; empty = nothing is known of the name.
  virtual std::string why_missing(std::string_view name) const = 0;
};

}  // namespace agentd
