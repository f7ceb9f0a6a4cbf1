// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the rules of a wire format as a table, and the check of every outgoing request.
//
// A provider refuses a complete request for one block that it does not accept, and the history is in every later
// request, too: the conversation would be unusable. So each wire format has one validator (providers/*/rules.h), which
// reads a request's bytes and is independent of the code that wrote them. Builds with assertions check every request
// with it before sending; the strict servers of the tests refuse by it.
//
// Threading: pure functions and immutable data; a RuleReader belongs to one call.

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

struct WireRule {
  std::string_view name;    // "roles-alternate"; unique within its wire format
  std::string_view demand;  // the property of every valid request
  std::string_view source;  // the vendor's page, or an observed refusal by the vendor's server
  // User and tool content can break it, however the request is written: the provider's answer reports it.
  bool of_content = false;
};

struct Breach {
  const WireRule* rule = nullptr;
  std::string place{};  // "messages[2].content[0].text"; empty = the body
  std::string says{};   // the vendor's server's message, as far as it is known
};
using Breaches = std::vector<Breach>;

// Facts that the bytes of a request do not show.
struct WireFacts {
  // True for a signature, or a seal of reasoning, of another model than the request's; empty = unknown.
  std::function<bool(std::string_view seal)> foreign{};
  std::size_t call_id_bytes = 0;    // call ids are that many letters and digits; 0 = as the wire format accepts them
  bool user_behind_results = true;  // a user message may directly follow tool results
  bool thinking_back = false;       // each answer must have its thinking beside it
};

// The rules of a wire format, and what checks a request's body against them: all breaches in its order; none = the API
// accepts it.
struct WireFormat {
  std::span<const WireRule> rules;
  Breaches (*breaches)(std::string_view body, const WireFacts& facts);
};

// True if the build checks each request. Code behind `if constexpr` of this is in no release.
#ifdef NDEBUG
inline constexpr bool kRequestsAreChecked = false;
#else
inline constexpr bool kRequestsAreChecked = true;
#endif

// Matches seals in the request's rows that another model or provider than `provider` made and this one did not. Borrows
// nothing.
std::function<bool(std::string_view seal)> foreign_seals(const ModelRequest& request, std::string_view provider);

// "the request to anthropic breaks the rule roles-alternate at messages[2]: ...": the first breach that content did not
// cause; empty = none.
std::string breach_sentence(std::string_view provider, const Breaches& broken);
// Aborts with that sentence. Called for each request in builds with kRequestsAreChecked.
void require_rules(std::string_view provider, const Breaches& broken);

// ---- helpers of validators

// Collects breaches in the order in which they are found.
class RuleReader {
 public:
  // `rules` is the wire's table; a rule is an index into it.
  explicit RuleReader(std::span<const WireRule> rules) : rules_(rules) {}
  void broken(std::size_t rule, std::string place, std::string says) {
    breaches_.push_back({&rules_[rule], std::move(place), std::move(says)});
  }
  // Reports members of an object that the wire format does not know. `says` is the text before and after the key.
  void known_keys(std::size_t rule, JsonView object, std::initializer_list<std::string_view> known,
                  const std::string& place, std::string_view before, std::string_view behind);
  Breaches take() { return std::move(breaches_); }

 private:
  const std::span<const WireRule> rules_;
  Breaches breaches_;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);
// 1 to `most` letters, digits, '_' and '-'.
bool is_plain_name(std::string_view name, std::size_t most);
// True for a text of Unicode's White_Space and Python's additional str.isspace() characters only; also for an empty
// one.
bool is_all_white(std::string_view text);
// True for bytes in base64, at least one.
bool is_media_data(std::string_view text);
// True for "data:image/png;base64,AAAA" with one of those media types.
bool is_data_url(std::string_view url, std::initializer_list<std::string_view> media_types);
bool is_json_object(std::string_view text);
// A \uD800-\uDFFF escape without its other half, which strict JSON parsers refuse.
bool has_half_pair(std::string_view json);
// "a[3]"
std::string indexed(std::string_view place, std::size_t index);

}  // namespace agentd
