// SPDX-License-Identifier: Apache-2.0
#pragma once
// ecma_regex.h - JSON Schema's expressions, which are JavaScript's, compiled for RE2 (regex.h).
//
// Syntax that both share is passed on; \uXXXX, \u{X}, \cX, (?<name>...) and JavaScript's white space are rewritten.
// Syntax that RE2 reads differently (\A, \z, \a, \C, \Q) or cannot match in linear time (look-ahead, back references)
// is refused.
//
// Threading: pure.

#include <string_view>

#include "core/base/result.h"
#include "core/codec/regex.h"

namespace agentd {

// kInvalid: a complete sentence with the expression and the reason; kUnavailable as Regex::compile.
Result<Regex> compile_ecma(std::string_view pattern);

}  // namespace agentd
