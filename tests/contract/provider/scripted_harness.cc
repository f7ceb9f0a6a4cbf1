// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/codec/json.h"
#include "providers/scripted/scripted.h"
#include "tests/contract/provider/harness.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

class ScriptedHarness final : public ProviderHarness {
 public:
  std::unique_ptr<ModelProvider> provider(const std::vector<WantedAnswer>& answers) override {
    std::string lines;
    for (const WantedAnswer& answer : answers) lines += line_of(answer) + "\n";
    ScriptedOptions options;
    options.script_path = dir_.write("script.jsonl", lines);
    options.record_path = dir_.file("record.jsonl");
    auto made = make_scripted_provider(options, clock_);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  std::string received() override {
    const std::string all = dir_.read("record.jsonl");
    const std::size_t end = all.rfind('\n', all.size() - 2);
    return all.substr(end == std::string::npos ? 0 : end + 1);
  }

 private:
  static std::string line_of(const WantedAnswer& answer) {
    JsonWriter out;
    out.begin_object().optional("text", answer.text).optional("thinking", answer.thinking);
    out.optional("signature", answer.signature);
    if (!answer.calls.empty()) {
      out.key("calls").begin_array();
      for (const auto& [name, input] : answer.calls)
        out.begin_object().member("name", name).member("input", input.empty() ? "{}" : input).end_object();
      out.end_array();
    }
    if (answer.fails) out.key("error").begin_object().member("kind", name_of(answer.kind)).end_object();
    if (answer.silent) out.member("text", "too late").member("delay_ms", 600'000);
    out.end_object();
    return std::string(out.text());
  }

  TempDir dir_;
  SystemClock clock_;
};

}  // namespace

std::unique_ptr<ProviderHarness> make_scripted_harness() { return std::make_unique<ScriptedHarness>(); }

}  // namespace agentd::testing
