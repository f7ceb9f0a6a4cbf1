// SPDX-License-Identifier: Apache-2.0
// Any text in place of a manifest: plain names or one sentence, and a verdict on one line.
#include <algorithm>

#include "core/native/manifest.h"
#include "tests/fuzz/target.h"

namespace {

bool is_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\x1b' || c == '\0'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  static const HostOffer offer{{"agentd.compactor", "agentd.tools/1"}, {"agentd.workspace/1"}};
  const auto manifest = parse_manifest(fuzz::view(data, size));
  if (!manifest) {
    fuzz::require(is_one_line(manifest.error().message), "a refusal is one line");
    return 0;
  }
  ++fuzz::got_through;
  fuzz::require(!manifest->id.empty() && is_one_line(manifest->id), "an id is plain");
  fuzz::require(!manifest->version.empty() && is_one_line(manifest->version), "a version is plain");
  for (const auto* list :
       {&manifest->events, &manifest->required, &manifest->wanted, &manifest->drafts, &manifest->capabilities})
    for (const std::string& each : *list) fuzz::require(is_one_line(each), "names are plain");
  const std::string obstacle = obstacle_of(*manifest, offer);
  fuzz::require(obstacle.empty() || is_one_line(obstacle), "an obstacle is one line");
  return 0;
}
