// SPDX-License-Identifier: Apache-2.0
#pragma once
// module.h - a shared library in this process, and the plugin record that it hands out.
//
// A module that was loaded stays: its handle goes into a list that is never destroyed, because threads,
// thread-locals and exit handlers of a plugin outlive every moment at which unmapping would be safe.
//
// Threading: open_module() is thread-safe; values otherwise.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct ModuleEntry {
  agentd_entry call = nullptr;
};

// Maps the module at `path`, which keeps its name for as long as `fd` is open, and finds its entry.
// kInvalid: the message ends the sentence "FILE ...".
Result<ModuleEntry> open_module(UniqueFd fd, const std::string& path);

// What an entry handed out, checked and normalised.
struct PluginRecord {
  agentd_plugin plugin{};
  std::string id, version;
  std::vector<agentd_hook> rows;
  std::vector<std::string> notes;  // rows that were skipped, and why
};

// Negotiates with the entry and reads its record; `flags` are AGENTD_NEGOTIATE_. kInvalid as above.
Result<PluginRecord> read_plugin(ModuleEntry entry, std::uint32_t flags = 0);

}  // namespace agentd
