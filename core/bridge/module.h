// SPDX-License-Identifier: Apache-2.0
#pragma once
// module.h - loads a shared library into this process and reads its plugin record.
//
// A loaded module is never unloaded: its handle is in a list that is not destroyed, because threads, thread-locals and
// exit handlers of a plugin outlive every moment at which unmapping would be safe.
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

// Maps the module at `path`, which stays valid as long as `fd` is open, and finds its entry. kInvalid: the message
// completes the sentence "FILE ...".
Result<ModuleEntry> open_module(UniqueFd fd, const std::string& path);

// An entry's plugin record, checked and normalised.
struct PluginRecord {
  agentd_plugin plugin{};
  std::string id, version;
  std::vector<agentd_hook> rows;
  std::vector<std::string> notes;  // skipped rows, and why
};

// Negotiates with the entry and reads its record; `flags` are AGENTD_NEGOTIATE_. kInvalid as above.
Result<PluginRecord> read_plugin(ModuleEntry entry, std::uint32_t flags = 0);

}  // namespace agentd
