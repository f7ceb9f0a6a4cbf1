// SPDX-License-Identifier: Apache-2.0
#pragma once
// declarative_answer.h - `do:` of a declarative hook: a word or a mapping, made the canonical
// answer (private to declarative.cc).
//
// What an event does not take is found here, when the file is read, and not when the hook is asked.
//
// Threading: pure functions.

#include <cstdint>
#include <string>

#include "core/declarative/declarative_source.h"

namespace agentd {

// The answer as one JSON object (dialect.h, interpret_canonical). kInvalid for a key or a word that
// is unknown, a wrong type, an action that the event does not take or that lacks what it needs.
Result<std::string> canonical_answer(const DeclarativeSource& source, const YamlNode& node, std::uint32_t event);

}  // namespace agentd
