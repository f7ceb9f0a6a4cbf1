// SPDX-License-Identifier: Apache-2.0
#include "core/agent/thinking.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kOmit = "omit";

// From the least to the most. `budget`: the largest budget that still counts as this effort, and what
// the effort is worth where a model takes a budget. `room`: what thinking may take of an answer.
struct Step {
  std::string_view effort;
  std::uint64_t budget, room;
};
constexpr Step kSteps[] = {{"minimal", 1'024, 4'096}, {"low", 4'096, 8'192},     {"medium", 8'192, 16'384},
                           {"high", 24'576, 32'768},  {"xhigh", 49'152, 65'536}, {"max", UINT64_MAX, 98'304}};
constexpr std::uint64_t kLargestBudget = 49'152;

// Past the end for a word of a provider that is not in the list.
std::size_t step_of(std::string_view effort) {
  std::size_t i = 0;
  while (i < std::size(kSteps) && kSteps[i].effort != effort) ++i;
  return i;
}

std::string_view effort_of(std::uint64_t budget) {
  // "minimal" is asked for by name alone.
  const auto found =
      std::find_if(std::begin(kSteps) + 1, std::end(kSteps), [&](const Step& step) { return budget <= step.budget; });
  return found->effort;
}

std::uint64_t budget_of(std::string_view effort) {
  const std::size_t step = std::min(step_of(effort), std::size(kSteps) - 1);
  return std::min(kSteps[step].budget, kLargestBudget);
}

// The strongest effort of the model that is not above the wish; its least when all are.
std::string nearest(const ModelInfo& model, std::string_view wish) {
  const auto& efforts = model.efforts;
  if (efforts.empty() || std::find(efforts.begin(), efforts.end(), wish) != efforts.end())
    return efforts.empty() ? std::string() : std::string(wish);
  const auto above = [&](const std::string& effort) { return step_of(effort) > step_of(wish); };
  const auto found = std::find_if(efforts.begin(), efforts.end(), above);
  return found == efforts.begin() ? *found : *(found - 1);
}

std::uint64_t room_of(const ModelInfo& model, std::string_view effort) {
  const std::string_view counted = effort.empty() ? std::string_view(model.default_effort) : effort;
  const std::size_t step = step_of(counted);
  return kSteps[step < std::size(kSteps) ? step : step_of("high")].room;
}

bool is_known(const ModelInfo& model) { return !model.pattern.empty(); }

// Beside `taken`, within the model's longest output.
std::uint64_t within(const ModelInfo& model, std::uint64_t room, std::uint64_t taken) {
  return std::min(room, model.max_output - std::min(model.max_output, taken));
}

Thinking budgeted(const ModelInfo& model, std::uint64_t budget, std::uint64_t answer) {
  Thinking out;
  if (budget == 0) return out;
  out.mode = Thinking::Mode::kBudget;
  out.budget_tokens = budget;
  // An unknown server's limit of output is unknown: the limit grows only where it must.
  out.room = is_known(model) ? within(model, budget, answer) : budget < answer ? 0 : budget;
  return out;
}

Thinking adaptive(const ModelInfo& model, std::string effort, std::uint64_t answer) {
  Thinking out;
  out.mode = Thinking::Mode::kAdaptive;
  out.room = within(model, room_of(model, effort), answer);
  out.effort = std::move(effort);
  return out;
}

// Switched off, as far as that can be.
Thinking least(const ModelInfo& model, std::uint64_t answer) {
  Thinking out;
  if (model.thinking == ThinkingKind::kAlways) return adaptive(model, nearest(model, "low"), answer);
  if (model.thinking != ThinkingKind::kAdaptive || model.thinking_off == kOmit) return out;
  out.mode = Thinking::Mode::kOff;
  out.off = model.thinking_off;
  return out;
}

bool thinks_unasked(const ModelInfo& model) {
  return model.thinking == ThinkingKind::kAlways || model.thinking_off != kOmit;
}

std::string shown_name(std::string_view name) { return one_line(name, 80); }

}  // namespace

Thinking plan_thinking(const ModelInfo& model, const ThinkingWish& wish, std::uint64_t max_output_tokens) {
  const bool named = !wish.effort.empty() && wish.effort != kNone;
  switch (model.thinking) {
    case ThinkingKind::kNone:
      return {};
    case ThinkingKind::kBudget: {
      if (wish.effort == kNone) return {};
      const bool worth = named && model.efforts.empty() && wish.budget_tokens == 0;
      Thinking out = budgeted(model, worth ? budget_of(wish.effort) : wish.budget_tokens, max_output_tokens);
      if (named) out.effort = nearest(model, wish.effort);
      return out;
    }
    case ThinkingKind::kAdaptive:
    case ThinkingKind::kAlways:
      if (wish.effort == kNone) return least(model, max_output_tokens);
      if (named) return adaptive(model, nearest(model, wish.effort), max_output_tokens);
      if (wish.budget_tokens != 0)
        return adaptive(model, nearest(model, effort_of(wish.budget_tokens)), max_output_tokens);
      return thinks_unasked(model) ? adaptive(model, {}, max_output_tokens) : Thinking{};
  }
  return {};
}

Thinking least_thinking(const ModelInfo& model, std::uint64_t max_output_tokens) {
  return least(model, max_output_tokens);
}

std::string thinking_note(const ModelInfo& model, std::string_view name, const ThinkingWish& wish) {
  const bool named = !wish.effort.empty() && wish.effort != kNone;
  const bool budget = wish.budget_tokens != 0;
  if (model.thinking == ThinkingKind::kNone)
    return named || budget
               ? shown_name(name) + " does not think: " + (named ? "effort" : "thinking_tokens") + " has no effect"
               : std::string();
  if (model.thinking == ThinkingKind::kBudget) {
    if (!named) return {};
    if (model.efforts.empty())
      return budget ? shown_name(name) +
                          " takes a thinking budget and no effort: effort has no effect with thinking_tokens"
                    : shown_name(name) + " takes a thinking budget and no effort: effort " + wish.effort +
                          " is sent as " + with_commas(budget_of(wish.effort)) + " thinking tokens";
  } else {
    if (wish.effort == kNone && model.thinking == ThinkingKind::kAlways)
      return shown_name(name) + " always thinks: effort none is sent as effort " + nearest(model, "low");
    const std::string effort = budget ? nearest(model, effort_of(wish.budget_tokens)) : std::string();
    if (budget && effort.empty())
      return shown_name(name) + " decides itself how much it thinks: thinking_tokens has no effect";
    if (budget)
      return shown_name(name) + " takes an effort and no thinking budget: " +
             (wish.effort.empty() ? "thinking_tokens " + with_commas(wish.budget_tokens) + " is sent as effort " +
                                        effort + "; set effort"
                                  : "thinking_tokens has no effect");
  }
  const std::string sent = named ? nearest(model, wish.effort) : std::string();
  if (!named || sent == wish.effort) return {};
  return shown_name(name) + " has no effort " + wish.effort + ": effort " + sent + " is sent";
}

}  // namespace agentd
