// SPDX-License-Identifier: Apache-2.0
// Any bytes in place of a module: an answer, and no manifest from outside of the file.
#include <cstring>

#include "core/native/elf_note.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  const std::string_view bytes = fuzz::view(data, size);
  const auto found = scan_module(MemoryBytes(bytes));
  if (!found) {
    fuzz::require(!found.error().message.empty(), "a refusal has its sentence");
    return 0;
  }
  if (!found->manifest) return 0;
  ++fuzz::got_through;
  fuzz::require(found->manifest->size() <= kManifestBytesMax, "a manifest has a limit");
  fuzz::require(bytes.find(*found->manifest) != std::string_view::npos, "a manifest is a part of the file");
  fuzz::require(found->manifest->find('\0') == std::string::npos, "a manifest ends at its NUL");
  return 0;
}
