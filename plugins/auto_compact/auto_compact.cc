// SPDX-License-Identifier: Apache-2.0
// auto_compact: summarises the conversation when a run stops with a context fuller than `at_percent`, so that the next
// run starts with room.
//
// It asks the compactor for a summary and returns REPLACE_MESSAGES: one user message with the summary, bound to the
// summarised revision, so that a view that has changed is refused. It does nothing
//   - in a run that continues because a hook asked for it: a compaction between the continuations would make
//     each of them start from a summary;
//   - if the part that a compaction cannot remove is itself over the mark: it would repeat at every stop;
//   - if the summary is empty or not smaller than the messages that it replaces.
// A failure is reported and leaves the view unchanged.

#include <agentd/hook.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/json.h"

namespace {

constexpr double kAtPercent = 70;

struct Settings {
  double at_percent = kAtPercent;
  std::string model;
  std::string instructions;
};

// Reads the user's config into `out`; otherwise returns the message for the user.
std::optional<std::string> read_settings(std::string_view json, Settings& out) {
  if (json.empty()) return std::nullopt;
  const auto parsed = agentd::JsonDocument::parse(json);
  if (!parsed) return "the config is not valid JSON: " + parsed.error().message;
  const agentd::JsonView root = parsed->root();
  if (root.is_null()) return std::nullopt;
  if (!root.is_object()) return "the config must be an object with at_percent, model, instructions";
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string_view key = root.key_at(i);
    const agentd::JsonView value = root[key];
    if (key == "at_percent") {
      const double percent = value.number_or(0);
      if (!value.is_number() || !(percent >= 1 && percent <= 99))
        return "at_percent must be a number from 1 to 99, not " + value.text();
      out.at_percent = percent;
    } else if (key == "model" || key == "instructions") {
      if (!value.is_string()) return std::string(key) + " must be a text, not " + value.text();
      (key == "model" ? out.model : out.instructions) = value.string_or("");
    } else {
      return "unknown key " + std::string(key) + ": the keys are at_percent, model, instructions";
    }
  }
  return std::nullopt;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class AutoCompact {
 public:
  static constexpr std::string_view hook_requires[] = {agentd::id::compactor};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit AutoCompact(agentd::init& from) {
    if (const auto wrong = read_settings(from.config_json(), settings_)) from.refuse(*wrong);
  }

  agentd_status on_agent_stop(agentd::call& c, agentd::stop_view stop) const {
    if (stop.hook_active() || !is_over(stop.context(), stop.context().used())) return AGENTD_OK;
    if (is_over(stop.context(), stop.context().floor())) {
      c.log_warning(
          "the system prompt, tools and instructions alone fill the context to at_percent: nothing was compacted");
      return AGENTD_OK;
    }
    return summarise(c);
  }

 private:
  bool is_over(agentd::gauge_view gauge, std::uint64_t tokens) const {
    return gauge.limit() != 0 &&
           static_cast<double>(tokens) * 100 > settings_.at_percent * static_cast<double>(gauge.limit());
  }

  agentd_status summarise(agentd::call& c) const {
    const auto made = c.compactor().compact(
        {.strategy = AGENTD_STRATEGY_FULL, .model = settings_.model, .instructions = settings_.instructions});
    if (!made) {
      if (made.status() == AGENTD_E_CANCELLED) return made.status();
      return c.fail(made.status(), "the summary failed (" + std::string(agentd::status_text(made.status())) +
                                       "); the conversation is unchanged");
    }
    if (made->outcome() == AGENTD_RESULT_NOOP) return AGENTD_OK;
    if (made->outcome() == AGENTD_RESULT_FAILED || is_blank(made->summary()))
      return c.fail(AGENTD_E_IO, "the summary is empty; the conversation is unchanged");
    if (made->pre_tokens() != 0 && made->post_tokens() >= made->pre_tokens()) {
      c.log_warning("the summary is not smaller than the conversation, which is unchanged");
      return AGENTD_OK;
    }
    return replace(c, *made);
  }

  agentd_status replace(agentd::call& c, agentd::compact_result_view made) const {
    const agentd_status status = c.replace(agentd::replacement(made.base_revision()).user(made.summary()));
    if (status == AGENTD_OK) {
      c.log_info("compacted " + std::to_string(made.pre_tokens()) + " tokens to " + std::to_string(made.post_tokens()));
      return AGENTD_OK;
    }
    return c.fail(status, "the summary was refused (" + std::string(agentd::status_text(status)) +
                              "); the conversation is unchanged");
  }

  Settings settings_;
};

}  // namespace

AGENTD_HOOK_MANIFEST(AutoCompact, "agentd.auto_compact", "1.0.0",
                     R"("license":"Apache-2.0","config_schema":{"type":"object","additionalProperties":false,)"
                     R"("properties":{"at_percent":{"type":"number","minimum":1,"maximum":99,"default":70},)"
                     R"("model":{"type":"string"},"instructions":{"type":"string"}}})")
