// SPDX-License-Identifier: Apache-2.0
#include "tests/support/anthropic_rules.h"

#include <cstdint>

#include "core/codec/json.h"
#include "providers/anthropic/rules.h"

namespace agentd::testing {
namespace {

struct Model {
  std::string_view name;
  std::string_view thinking;  // the types that it takes
  std::string_view efforts;
  std::uint64_t max_output;
};
constexpr std::string_view kFive = "low medium high xhigh max";
constexpr Model kModels[] = {
    {"claude-fable-5-1", "adaptive", kFive, 128'000},
    {"claude-opus-5-5", "adaptive", kFive, 128'000},
    {"claude-sonnet-5-5", "adaptive between_tools", kFive, 128'000},
    {"claude-haiku-5-5", "adaptive disabled", kFive, 128'000},
    {"claude-opus-5", "adaptive disabled", kFive, 128'000},
    {"claude-sonnet-5", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-8", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-7", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-6", "adaptive enabled disabled", "low medium high max", 128'000},
    {"claude-opus-4-5", "enabled disabled", "low medium high", 64'000},
    {"claude-haiku-4-5", "enabled disabled", "", 64'000},
    {"claude-sonnet-4-5", "enabled disabled", "", 64'000},
};

bool lists(std::string_view words, std::string_view word) {
  const std::string all = " " + std::string(words) + " ", one = " " + std::string(word) + " ";
  return all.find(one) != std::string::npos;
}

const Model* model_of(std::string_view name) {
  for (const Model& model : kModels)
    if (model.name == name) return &model;
  return nullptr;
}

// What the model does not take, of what the wire has.
std::string thinking_refusal(JsonView body, const Model& model) {
  const JsonView thinking = body["thinking"];
  const std::string type(thinking["type"].string_or(""));
  if (thinking.exists() && !lists(model.thinking, type))
    return "\"thinking.type." + type +
           "\" is not supported for this model. Use \"thinking.type.adaptive\" and "
           "\"output_config.effort\" to control thinking behavior.";
  const std::string effort(body["output_config"]["effort"].string_or(""));
  if (!body["output_config"]["effort"].exists()) return {};
  if (model.efforts.empty()) return "This model does not support the effort parameter.";
  if (!lists(model.efforts, effort)) return "output_config.effort: '" + effort + "' is not supported";
  const bool strong = effort == "xhigh" || effort == "max";
  return type == "disabled" && strong ? "thinking cannot be disabled at this effort" : std::string();
}

std::string model_refusal(JsonView body) {
  const Model* const model = model_of(body["model"].string_or(""));
  if (model == nullptr) return {};
  const std::uint64_t max_tokens = body["max_tokens"].uint_or(0);
  if (max_tokens > model->max_output)
    return "max_tokens: " + std::to_string(max_tokens) + " > " + std::to_string(model->max_output) +
           ", which is the maximum allowed number of output tokens for " + std::string(model->name);
  return thinking_refusal(body, *model);
}

bool has_tool_blocks(JsonView messages) {
  for (std::size_t i = 0; i < messages.size(); ++i)
    for (std::size_t b = 0; b < messages.at(i)["content"].size(); ++b) {
      const std::string_view type = messages.at(i)["content"].at(b)["type"].string_or("");
      if (type == "tool_use" || type == "tool_result") return true;
    }
  return false;
}

}  // namespace

std::string anthropic_refusal(std::string_view text, const AnthropicRules& rules) {
  const auto document = JsonDocument::parse(text);
  const JsonView body = document ? document->root() : JsonView();
  if (std::string why = model_refusal(body); !why.empty()) return why;
  WireFacts facts;
  if (rules.own_signatures_alone)
    facts.foreign = [own = std::string(body["model"].string_or("")) + "/"](std::string_view seal) {
      return !seal.starts_with(own);
    };
  if (const Breaches broken = kAnthropicWire.breaches(text, facts); !broken.empty()) return broken.front().says;
  const std::string_view choice = body["tool_choice"]["type"].string_or("auto");
  if (choice != "auto" && choice != "none") return "tool_choice: forced tool use is not supported";
  if (rules.tools_beside_tool_blocks && body["tools"].size() == 0 && has_tool_blocks(body["messages"]))
    return "Requests which include `tool_use` or `tool_result` blocks must define tools";
  return {};
}

}  // namespace agentd::testing
