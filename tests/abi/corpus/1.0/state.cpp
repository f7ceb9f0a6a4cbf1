// SPDX-License-Identifier: Apache-2.0
// state.cpp - counts the tools that were asked for, tells how many at every second one, and carries
// the count over a reload; its configuration has where to begin.
#include <agentd/hook.hpp>

#include <charconv>

class State {
 public:
  explicit State(agentd::init& from) {
    const std::string_view config = from.config_json();
    const std::size_t at = config.find("\"begin\":");
    if (at == std::string_view::npos) return;
    if (!read(config.substr(at + 8))) from.refuse("begin must be a number");
  }
  void on_before_tool_call(agentd::call& c, agentd::tool_view) {
    ++count_;
    char text[32] = "tools so far: ";
    const auto end = std::to_chars(text + 14, text + sizeof text, count_);
    if (count_ % 2 == 0) c.block({text, end.ptr});
  }
  std::string save_state() const { return std::to_string(count_); }
  void load_state(std::string_view state, std::string_view /*version*/) { read(state); }

 private:
  bool read(std::string_view from) {
    while (!from.empty() && from.front() == ' ') from.remove_prefix(1);
    return std::from_chars(from.data(), from.data() + from.size(), count_).ec == std::errc();
  }
  int count_ = 0;
};
AGENTD_HOOK(State, "org.example.corpus.state", "1.0.0")
