// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/hook_use.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "core/base/bytes.h"

namespace agentd {
namespace {

struct Figure {
  const char* key;
  std::uint64_t HookUse::*value;
  const char *one, *many;  // as text; null = not shown, or shown elsewhere
  bool always;             // written also when it is 0
};

constexpr std::array<Figure, 8> kFigures{{
    {"calls", &HookUse::calls, "call", "calls", true},
    {"failures", &HookUse::failures, "failure", "failures", false},
    {"refused", &HookUse::refused, "call refused", "calls refused", false},
    {"duration_ns", &HookUse::duration_ns, nullptr, nullptr, true},
    {"tokens", &HookUse::tokens, "token", "tokens", false},
    {"cost_nano_usd", &HookUse::cost_nano_usd, nullptr, nullptr, false},
    {"threads", &HookUse::threads, "thread", "threads", false},
    {"children", &HookUse::children, "child process ended", "child processes ended", false},
}};

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

void write_hook_use(JsonWriter& out, const HookUse& use) {
  out.begin_object().member("hook", use.hook).optional("plugin", use.plugin);
  for (const Figure& figure : kFigures)
    if (figure.always || use.*figure.value != 0) out.member(figure.key, use.*figure.value);
  out.end_object();
}

HookUse read_hook_use(JsonView from) {
  HookUse out;
  out.hook = std::string(from["hook"].string_or({}));
  out.plugin = std::string(from["plugin"].string_or({}));
  for (const Figure& figure : kFigures) out.*figure.value = from[figure.key].uint_or(0);
  return out;
}

std::string describe(const HookUse& use) {
  std::string out;
  for (const Figure& figure : kFigures) {
    const std::uint64_t value = use.*figure.value;
    if (figure.one != nullptr && (figure.always || value != 0))
      out += (out.empty() ? "" : ", ") + with_commas(value) + " " + (value == 1 ? figure.one : figure.many);
    if (figure.value == &HookUse::duration_ns) out += ", " + seconds(value);
  }
  return out;
}

}  // namespace agentd
