// SPDX-License-Identifier: Apache-2.0
#pragma once
// vendor_play.h - the four wires behind one HTTP client that never opens a socket: each request is held against
// the rules of its wire, and answered at random, as vendors and the servers that copy them answer.
//
// Threading: thread-compatible.

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/net/http.h"
#include "providers/common/rules.h"

namespace agentd::testing {

// Numbers and texts of one seed.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}
  int below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }
  bool once_in(int times) { return below(times) == 0; }
  template <typename T, std::size_t N>
  const T& of(const T (&list)[N]) {
    return list[static_cast<std::size_t>(below(int{N}))];
  }
  // A few words; once in three times what somebody could write to break something: nothing, white space of any
  // script, control characters, bytes that are no UTF-8, halves of pairs, marks, a text as long as a window.
  std::string text();

 private:
  std::mt19937 random_;
};

class PlayedVendors final : public HttpClient {
 public:
  explicit PlayedVendors(Chance& chance) : chance_(chance) {}

  // A 400 for a broken rule, which `broken` then has with its wire and its body.
  Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                            Deadline deadline) override;
  void warm_up() override {}

  std::vector<std::string> broken;    // "anthropic: the sentence\nthe body"
  std::map<std::string, int> asked;   // requests by wire
  std::map<std::string, int> seen;    // requests by what they hold: "picture"
  std::map<std::string, int> given;   // answers by what they were: "cut"
  std::function<void()> meanwhile{};  // happens while a vendor thinks
  bool answers_calls = true;          // false: no vendor calls a tool

 private:
  struct Answer {
    std::string thought, text, seal;
    struct Call {
      std::string id, name, input;
    };
    std::vector<Call> calls;
    bool cut = false, pause = false, refusal = false, longest = false;
  };
  Answer answer(const std::string& model);
  std::string stream_of(const std::string& wire, const Answer& answer) const;
  std::string call_id();

  Chance& chance_;
  int number_ = 0;
};

}  // namespace agentd::testing
