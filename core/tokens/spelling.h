// SPDX-License-Identifier: Apache-2.0
#pragma once
// spelling.h - how providers and gateways write a model's name. Private to this room.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/tokens/tokens.h"

namespace agentd {

// Another model's name as the provider knows it that calls this entry's model `name`; empty for a gateway, whose
// spelling is not guessed.
std::string spelt_alike(const ModelInfo& info, std::string_view name, const std::string& other);

}  // namespace agentd
