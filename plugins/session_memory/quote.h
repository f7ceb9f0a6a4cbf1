// SPDX-License-Identifier: Apache-2.0
#pragma once
// quote.h - memories as the model reads them: quoted data with their source, never as words of the user or of agentd.
//
// Every line of a memory's own text begins with "> ", so that no text can end its quotation. Its source is such a text:
// the name of a document, or what an imported file says.
//
// Threading: pure functions.

#include <span>
#include <string>
#include <string_view>

#include "plugins/session_memory/engine.h"

namespace session_memory {

// Each line with "> " before it.
std::string quoted_lines(std::string_view text);
// "conversation 01J…, messages 12 to 40", "document: guide.md", "recorded by hand".
std::string source_of(const Memory& memory);
// One memory with its title, id, confidence and source.
std::string quoted(const Memory& memory);
// All, with a sentence that says what they are; empty for none.
std::string quoted(std::span<const FoundMemory> found);
// A fix for an error that has occurred before.
std::string quoted(const Remediation& remediation);

}  // namespace session_memory
