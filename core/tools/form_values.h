// SPDX-License-Identifier: Apache-2.0
#pragma once
// form_values.h - whether a value is what a property of a form asks for; for whoever asks a person (elicitor.h) and for
// whoever passes the answer on.
//
// A property is one of a flat form: a string, a number, an integer, a boolean, a choice, or a list of choices.
// Source: modelcontextprotocol.io, "Elicitation" 2025-11-25.
//
// Threading: pure functions.

#include <string>

#include "core/codec/json.h"

namespace agentd {

// The choices of a property, or of the items of a list: "enum", or "oneOf"/"anyOf" with a "const" each; missing where
// it is none.
JsonView form_choices(JsonView property);
// The text of one of them; empty = it is none.
std::string_view form_choice(JsonView choice);

// "from 1 to 9", "at most 5 characters", "at least 1 choice": the limits of a property; empty = it has none.
std::string form_limits(JsonView property);

// The demand of the property that the value does not meet: "a whole number", "at most 9", "one of: red, green"; empty =
// it fits.
std::string form_value_unmet(JsonView property, JsonView value);

}  // namespace agentd
