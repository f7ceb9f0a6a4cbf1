// SPDX-License-Identifier: Apache-2.0
#pragma once
// vendor_fixtures.h - whole answers in the formats of OpenAI and Google, and what a client must
// read from them: for our providers and for the vendors' own SDKs (tests/interop).
//
// Threading: values.

#include <string>
#include <utility>
#include <vector>

namespace agentd::testing {

struct VendorFixture {
  std::string api;   // "chat", "responses", "generateContent"
  std::string name;  // the model that a server answers with it
  std::string bytes;
  std::string text{}, thinking{};
  std::vector<std::pair<std::string, std::string>> calls{};  // name, input as JSON
  std::string stop_reason{};                                 // as the wire names it
};
std::vector<VendorFixture> vendor_fixtures();

}  // namespace agentd::testing
