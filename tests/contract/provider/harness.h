// SPDX-License-Identifier: Apache-2.0
#pragma once
// harness.h - how the contract suite brings a provider to give a certain answer.
//
// Threading: one test at a time.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/provider.h"
#include "tests/support/model_fakes.h"

namespace agentd::testing {

// What the other side shall answer.
struct WantedAnswer {
  std::string text{}, thinking{}, signature{};
  std::vector<std::pair<std::string, std::string>> calls{};  // name, input as the model writes it
  bool fails = false;
  ModelErrorKind kind = ModelErrorKind::kServer;  // when it fails; kInterrupted = after the text
  bool silent = false;                            // does not answer within the test's time
};

class ProviderHarness {
 public:
  virtual ~ProviderHarness() = default;
  // A provider that gives these answers in order.
  virtual std::unique_ptr<ModelProvider> provider(const std::vector<WantedAnswer>& answers) = 0;
  // The last request as the other side got it: holds every text that was sent.
  virtual std::string received() = 0;
};

struct ProviderKind {
  std::string kind;     // for people: "openai_chat"
  std::string name;     // of the provider
  bool seals = true;    // what was thought comes with a seal, which goes back
  bool replays = true;  // and so does its text
  std::function<std::unique_ptr<ProviderHarness>()> make;
};

std::unique_ptr<ProviderHarness> make_scripted_harness();
std::unique_ptr<ProviderHarness> make_anthropic_harness();
std::unique_ptr<ProviderHarness> make_google_harness();
std::unique_ptr<ProviderHarness> make_responses_harness();
std::unique_ptr<ProviderHarness> make_chat_harness();

}  // namespace agentd::testing
