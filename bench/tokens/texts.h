// SPDX-License-Identifier: Apache-2.0
#pragma once
// texts.h - what the benches of the token counter count: a megabyte each, the same on every
// machine.
//
// Threading: pure functions.

#include <string>
#include <vector>

namespace agentd::bench {

struct Text {
  std::string name;
  std::string bytes;
  bool pathological;  // one of those that a merge of all pairs takes hours for
};

// The project's own documents and sources, and what is made from them or from a fixed seed.
std::vector<Text> texts();

}  // namespace agentd::bench
