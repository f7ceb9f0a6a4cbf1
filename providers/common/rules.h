// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the rules of a wire as a table, what breaks them, and the check of every request that goes out.
//
// A provider refuses a whole request for one block that it does not take, and what is in the history is in
// every later request, too: the conversation is dead. So each wire has one validator (providers/*/rules.h),
// which reads the bytes of a request and knows nothing of the code that wrote them. Builds with assertions
// put every request through it before it is sent; the strict servers of the tests refuse by it.
//
// Threading: pure functions and immutable data; a RuleReader belongs to one call.

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

struct WireRule {
  std::string_view name;    // "roles-alternate"; unique within its wire
  std::string_view demand;  // what holds of every request
  std::string_view source;  // the vendor's page, or where the vendor's server was seen to refuse
  // What people and tools put in can break it, however the request is written: the provider's answer says so.
  bool of_content = false;
};

struct Breach {
  const WireRule* rule = nullptr;
  std::string place{};  // "messages[2].content[0].text"; empty = the whole body
  std::string says{};   // what the vendor's server says to it, as far as that is known
};
using Breaches = std::vector<Breach>;

// What the bytes of a request do not show.
struct WireFacts {
  // True for a signature, or a seal of reasoning, that another model than the request's has made; empty = unknown.
  std::function<bool(std::string_view seal)> foreign{};
  std::size_t call_id_bytes = 0;    // ids of calls are that many letters and digits; 0 = as the wire takes them
  bool user_behind_results = true;  // a message of the user may stand right behind results of tools
};

// Whether the build checks each request. What is behind `if constexpr` of this is in no release.
#ifdef NDEBUG
inline constexpr bool kRequestsAreChecked = false;
#else
inline constexpr bool kRequestsAreChecked = true;
#endif

// The seals in the rows of the request that another model, or another provider than `provider`, has made and
// this one has not. Borrows nothing.
std::function<bool(std::string_view seal)> foreign_seals(const ModelRequest& request, std::string_view provider);

// "the request to anthropic breaks the rule roles-alternate at messages[2]: ...": of the first breach that is
// no matter of content; empty = there is none.
std::string breach_sentence(std::string_view provider, const Breaches& broken);
// Aborts with that sentence. Called with each request in builds where kRequestsAreChecked.
void require_rules(std::string_view provider, const Breaches& broken);

// ---- what validators are made of

// Collects what is broken, in the order in which it is found.
class RuleReader {
 public:
  // `rules` is the wire's table; a rule is an index into it.
  explicit RuleReader(std::span<const WireRule> rules) : rules_(rules) {}
  void broken(std::size_t rule, std::string place, std::string says) {
    breaches_.push_back({&rules_[rule], std::move(place), std::move(says)});
  }
  // Members of an object that the wire does not know. `says` is what stands before and behind the key.
  void known_keys(std::size_t rule, JsonView object, std::initializer_list<std::string_view> known,
                  const std::string& place, std::string_view before, std::string_view behind);
  Breaches take() { return std::move(breaches_); }

 private:
  const std::span<const WireRule> rules_;
  Breaches breaches_;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);
// Letters, digits, '_' and '-', 1 to `most` of them.
bool is_plain_name(std::string_view name, std::size_t most);
// Unicode's White_Space and nothing else, with what Python's str.isspace() adds to it. True for an empty text.
bool is_all_white(std::string_view text);
// Bytes in base64, and some of them.
bool is_media_data(std::string_view text);
// "data:image/png;base64,AAAA" with one of those media types.
bool is_data_url(std::string_view url, std::initializer_list<std::string_view> media_types);
bool is_json_object(std::string_view text);
// A \uD800-\uDFFF escape without its other half: JSON that strict parsers refuse.
bool has_half_pair(std::string_view json);
// "a[3]"
std::string indexed(std::string_view place, std::size_t index);

}  // namespace agentd
