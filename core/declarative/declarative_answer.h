// SPDX-License-Identifier: Apache-2.0
#pragma once
// declarative_answer.h - turns `do:` of a declarative hook, a word or a mapping, into the canonical answer (private to
// declarative.cc).
//
// An action that the event does not allow is found when the file is read, not when the hook is called.
//
// Threading: pure functions.

#include <cstdint>
#include <string>

#include "core/declarative/declarative_source.h"

namespace agentd {

// The answer as a JSON object (dialect.h, interpret_canonical). kInvalid: an unknown key or word, a wrong type, or an
// action that the event does not allow or that lacks a key.
Result<std::string> canonical_answer(const DeclarativeSource& source, const YamlNode& node, std::uint32_t event);

}  // namespace agentd
