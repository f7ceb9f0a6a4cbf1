// SPDX-License-Identifier: Apache-2.0
// Any bytes in place of a module for Windows: an answer, always with an obstacle.
#include "core/native/pe_section.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  const std::string_view bytes = fuzz::view(data, size);
  const auto found = scan_pe(MemoryBytes(bytes));
  if (!found) {
    fuzz::require(!found.error().message.empty(), "a refusal has its sentence");
    return 0;
  }
  fuzz::require(!found->obstacle.empty(), "a module for Windows is never loaded");
  if (!found->manifest) return 0;
  ++fuzz::got_through;
  fuzz::require(!found->manifest->empty() && found->manifest->size() <= kManifestBytesMax, "a manifest has a limit");
  fuzz::require(found->manifest->find('\0') == std::string::npos, "a manifest ends at its NUL");
  fuzz::require(bytes.find(*found->manifest) != std::string_view::npos, "a manifest is a part of the file");
  return 0;
}
