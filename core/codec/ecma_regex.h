// SPDX-License-Identifier: Apache-2.0
#pragma once
// ecma_regex.h - expressions as JSON Schema has them, which are JavaScript's, over RE2 (regex.h).
//
// What both write alike goes through; \uXXXX, \u{X}, \cX, (?<name>...) and JavaScript's white space are
// rewritten. What RE2 would read as something else (\A, \z, \a, \C, \Q) or cannot do in linear time (a
// look ahead, a back reference) is refused.
//
// Threading: pure.

#include <string_view>

#include "core/base/result.h"
#include "core/codec/regex.h"

namespace agentd {

// kInvalid: a whole sentence with the expression and why; kUnavailable as Regex::compile.
Result<Regex> compile_ecma(std::string_view pattern);

}  // namespace agentd
