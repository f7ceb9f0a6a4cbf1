// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_mistake.h - the sentences about mistakes in JSON, for the readers of this room.
//
// Threading: pure function.

#include <rapidjson/error/error.h>

#include <string_view>

namespace agentd {

// UTF-8's; a mistake at the beginning of a text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The mistake as the last part of a sentence: no capital at its beginning, no full stop at its end.
std::string_view json_mistake_text(rapidjson::ParseErrorCode code);

}  // namespace agentd
