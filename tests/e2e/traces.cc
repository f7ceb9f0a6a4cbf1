// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/traces.h"

#include <cctype>
#include <string_view>

namespace agentd::testing {

std::string without_chance(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    bool digits = true;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) {
      digits = digits && std::isdigit(static_cast<unsigned char>(text[end])) != 0;
      ++end;
    }
    const std::size_t length = end - at;
    if (length == 0) {
      out += text[at++];
      continue;
    }
    const bool chance = length >= 20 || (digits && length >= 9);
    out += chance ? std::string("#") : text.substr(at, length);
    at = end;
  }
  return out;
}

std::string without_measures(std::string text) {
  for (const char* const key : {"duration_ms\":", "duration_ns\":", "time_ms\":", "\"ts\":", "\"time\":",
                                "deadline_ms\":", "_tokens\":", "\"estimated\":", "\"hidden\":"}) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const std::size_t value = at + std::string_view(key).size();
      text.erase(value, text.find_first_of(",}\n", value) - value);
    }
  }
  return text;
}

std::string without_place(std::string text, const Program& program) {
  const std::string place = program.project().substr(0, program.project().rfind('/'));
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place))
    text.replace(at, place.size(), "PLACE");
  return text;
}

}  // namespace agentd::testing
