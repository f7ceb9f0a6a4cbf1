// SPDX-License-Identifier: Apache-2.0
#pragma once
// pages.h - the settings as text for people: those in force, why one has its value, and the reference of all.
//
// Threading: pure functions.

#include <string>

#include "core/config/config.h"

namespace agentd {

// YAML with the origin of each value behind it; `set_only`: without those that only have their default.
std::string settings_page(const Config& config, bool set_only);

// One setting: its value, what it does, and what each layer says of it. REQUIRES: `key` is find_key(name).
std::string explanation(const Config& config, const KeySpec& key, const std::string& name);

// docs/reference/config.md.
std::string reference_page();

}  // namespace agentd
