// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics.h"

#include <cstdio>

#include "core/compaction/compaction.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kNamesMax = 200;
constexpr double kNanoPerDollar = 1e9, kMicrosPerSecond = 1e6;

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void head(std::string& out, std::string_view name, std::string_view about, std::string_view type) {
  out.append("# HELP ").append(name).append(" ").append(about).append("\n# TYPE ").append(name).append(" ");
  out.append(type).append("\n");
}

void line(std::string& out, std::string_view name, std::string_view labels, const std::string& value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

void counters(std::string& out, std::string_view name, std::string_view about,
              const std::map<std::string, std::uint64_t, std::less<>>& values) {
  head(out, name, about, "counter");
  for (const auto& [labels, value] : values) line(out, name, labels, std::to_string(value));
}

}  // namespace

std::string label(std::string_view key, std::string_view value) {
  std::string out(key);
  out += "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string gauge_text(std::string_view name, std::string_view about, double value) {
  std::string out;
  head(out, name, about, "gauge");
  line(out, name, {}, number(value));
  return out;
}

void Metrics::add(Counters& to, std::string labels, std::uint64_t amount) {
  if (to.size() >= kNamesMax && !to.contains(labels)) labels = label("other", "true");
  to[std::move(labels)] += amount;
}

void Metrics::count(const RunEvent& event) {
  const MutexLock lock(mutex_);
  if (event.type() == RunEvent::Type::kTurnEnded) {
    ++turns_;
  } else if (const auto* const tool = std::get_if<told::ToolEnded>(&event.body)) {
    add(tools_, label("tool", tool->name) + "," + label("status", name_of(tool->status)));
  } else if (const auto* const hook = std::get_if<told::HookAnswered>(&event.body)) {
    std::string key = label("hook", hook->hook);
    if (hooks_.size() >= kNamesMax && !hooks_.contains(key)) key = label("hook", "other");
    Histogram& of = hooks_[key];
    ++of.count;
    of.sum_us += hook->duration_us;
    for (std::size_t i = 0; i < kLatencyBounds_us.size(); ++i)
      if (hook->duration_us <= kLatencyBounds_us[i]) {
        ++of.below[i];
        break;
      }
  } else if (const auto* const failed = std::get_if<told::HookFailed>(&event.body)) {
    add(failures_, label("hook", failed->hook));
  } else if (const auto* const compacted = std::get_if<told::CompactionEnded>(&event.body)) {
    add(compactions_, label("result", result_name(compacted->result)));
  } else if (const auto* const ended = std::get_if<told::RunEnded>(&event.body); ended && event.agent_depth == 0) {
    add(runs_, label("outcome", name_of(ended->outcome)));
    const Usage& used = ended->usage;  // with its subagents
    add(tokens_, label("kind", "input"), used.input);
    add(tokens_, label("kind", "output"), used.output);
    add(tokens_, label("kind", "cache_read"), used.cache_read);
    add(tokens_, label("kind", "cache_write"), used.cache_write);
    cost_nano_usd_ += used.cost_nano_usd;
  }
}

void Metrics::count_request(std::string_view route, unsigned status) {
  const MutexLock lock(mutex_);
  add(requests_, label("route", route) + "," + label("status", std::to_string(status)));
}

void Metrics::count_store_failure() {
  const MutexLock lock(mutex_);
  ++store_failures_;
}

std::uint64_t Metrics::store_failures() const {
  const MutexLock lock(mutex_);
  return store_failures_;
}

std::string Metrics::text() const {
  const MutexLock lock(mutex_);
  std::string out;
  counters(out, "agentd_runs_total", "Runs that have ended, by their outcome.", runs_);
  head(out, "agentd_turns_total", "Answers of models that were recorded.", "counter");
  line(out, "agentd_turns_total", {}, std::to_string(turns_));
  counters(out, "agentd_tokens_total", "Tokens of ended runs, as providers reported them.", tokens_);
  head(out, "agentd_cost_usd_total", "The cost of ended runs whose prices are known, in US dollars.", "counter");
  line(out, "agentd_cost_usd_total", {}, number(static_cast<double>(cost_nano_usd_) / kNanoPerDollar));
  counters(out, "agentd_tool_calls_total", "Tool calls, by tool and status.", tools_);
  counters(out, "agentd_compactions_total", "Compactions, by their result.", compactions_);
  counters(out, "agentd_hook_failures_total", "Calls of hooks that failed.", failures_);
  counters(out, "agentd_http_requests_total", "Requests of this interface, by route and status.", requests_);
  head(out, "agentd_store_failures_total", "Runs that the store could not record.", "counter");
  line(out, "agentd_store_failures_total", {}, std::to_string(store_failures_));
  head(out, "agentd_hook_duration_seconds", "The time of each answer of a hook.", "histogram");
  for (const auto& [labels, of] : hooks_) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kLatencyBounds_us.size(); ++i) {
      sum += of.below[i];
      line(out, "agentd_hook_duration_seconds_bucket",
           labels + "," + label("le", number(static_cast<double>(kLatencyBounds_us[i]) / kMicrosPerSecond)),
           std::to_string(sum));
    }
    line(out, "agentd_hook_duration_seconds_bucket", labels + "," + label("le", "+Inf"), std::to_string(of.count));
    line(out, "agentd_hook_duration_seconds_sum", labels, number(static_cast<double>(of.sum_us) / kMicrosPerSecond));
    line(out, "agentd_hook_duration_seconds_count", labels, std::to_string(of.count));
  }
  return out;
}

}  // namespace agentd::serve
