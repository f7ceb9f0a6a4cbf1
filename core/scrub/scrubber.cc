// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/scrubber.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/base/mutex.h"
#include "core/codec/regex.h"
#include "core/scrub/prefilter.h"
#include "core/scrub/rules.h"

namespace agentd {
namespace {

constexpr std::string_view kOpen = "[redacted:";
constexpr std::string_view kUnnamed = "plugin";
// The bytes that an expression sees at first; more while a match fills them.
constexpr std::size_t kWindowBytes = 1024, kLongWindowBytes = 256 * 1024;
constexpr std::size_t kPassesMax = 16;
constexpr std::size_t kGroups = 5;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of a text; `rule` is the index of the rule that found them, lower ones name better.
struct Region {
  std::size_t begin = 0, end = 0;
  std::size_t rule = 0;
};

bool left_allows(ScrubLeft left, std::string_view text, std::size_t at) {
  if (at == 0) return left != ScrubLeft::kDigit;
  const char before = text[at - 1];
  switch (left) {
    case ScrubLeft::kAny:
      return true;
    // The letter of "\n" and "\t" as JSON and shells write them is not part of a word.
    case ScrubLeft::kNoWord:
      return !is_word(before) ||
             (at >= 2 && text[at - 2] == '\\' && std::string_view("nrt").find(before) != std::string_view::npos);
    case ScrubLeft::kNoToken:
      return before != '-' && left_allows(ScrubLeft::kNoWord, text, at);
    case ScrubLeft::kDigit:
      return is_ascii_digit(before);
    case ScrubLeft::kParameter:
      return std::string_view("?&;\"' ").find(before) != std::string_view::npos;
  }
  return true;
}

// True if = : or , follows the rest of a name, as every expression of such a rule needs it.
bool is_assigned(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.size(), at + 96);
  const auto skip = [&](std::string_view what) {
    while (at < end && what.find(text[at]) != std::string_view::npos) ++at;
  };
  while (at < end && (is_word(text[at]) || text[at] == '-' || text[at] == '.')) ++at;
  skip("\\\"'`]");
  skip(" \t");
  return at < end && std::string_view("=:,").find(text[at]) != std::string_view::npos;
}

// The first group that matched, or the complete match.
Regex::Match secret_of(std::span<const Regex::Match> groups) {
  for (std::size_t i = 1; i < groups.size(); ++i)
    if (groups[i].length != 0) return groups[i];
  return groups[0];
}

// One expression, compiled on first use.
class Expression {
 public:
  explicit Expression(std::string pattern) : pattern_(std::move(pattern)) {}

  Result<const Regex*> regex() const {
    const MutexLock lock(mutex_);
    if (!made_) made_.emplace(Regex::compile(pattern_));
    if (!*made_) return made_->error();
    return &**made_;
  }

 private:
  const std::string pattern_;
  mutable Mutex mutex_;
  mutable std::optional<Result<Regex>> made_ GUARDED_BY(mutex_);  // once written it stays
};

struct Rule {
  Rule(std::string name, const ScrubRuleSpec* from, std::string pattern)
      : id(std::move(name)), spec(from), expression(std::move(pattern)) {}
  const std::string id;
  const ScrubRuleSpec* const spec;  // null for a user's rule
  const Expression expression;
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    if (space != 0) out.push_back(text.substr(0, space));
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return out;
}

// Merges overlapping regions, so that no part of a secret stays; the best rule names the result.
std::vector<Region> united(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.begin != b.begin ? a.begin < b.begin : a.rule < b.rule; });
  std::vector<Region> out;
  for (const Region& each : regions) {
    if (out.empty() || each.begin >= out.back().end) {
      out.push_back(each);
      continue;
    }
    out.back().end = std::max(out.back().end, each.end);
    out.back().rule = std::min(out.back().rule, each.rule);
  }
  return out;
}

// A piece of a text that was made from another, with its origin.
struct Piece {
  std::size_t at = 0, length = 0;  // in the new text
  std::size_t from = 0, from_length = 0;
};

// Reads the pieces from left to right, so that all places of a text together cost one look at each piece.
class Origins {
 public:
  explicit Origins(const std::vector<Piece>& pieces) : pieces_(pieces) {}

  // The origin of a byte, or of an end. REQUIRES: `at` is not less than in the call before.
  std::size_t of(std::size_t at, bool end) {
    while (next_ < pieces_.size() && (at > end_of(next_) || (!end && at == end_of(next_)))) ++next_;
    if (next_ == pieces_.size()) return pieces_.empty() ? at : pieces_.back().from + pieces_.back().from_length;
    const Piece& piece = pieces_[next_];
    const std::size_t inside = at - piece.at;
    return piece.length == piece.from_length ? piece.from + inside : piece.from + (inside == 0 ? 0 : piece.from_length);
  }
  // Adds what the pieces have from `at` to `end`, which stands at `to` in the next text. REQUIRES: as above.
  void keep(std::size_t at, std::size_t end, std::size_t to, std::vector<Piece>& out) {
    while (kept_ < pieces_.size() && end_of(kept_) <= at) ++kept_;
    for (std::size_t i = kept_; i < pieces_.size() && pieces_[i].at < end; ++i) {
      const Piece& piece = pieces_[i];
      const std::size_t first = std::max(piece.at, at), last = std::min(end_of(i), end);
      if (first >= last) continue;
      const bool straight = piece.length == piece.from_length;
      out.push_back({to + (first - at), last - first, straight ? piece.from + (first - piece.at) : piece.from,
                     straight ? last - first : piece.from_length});
    }
  }

 private:
  std::size_t end_of(std::size_t i) const { return pieces_[i].at + pieces_[i].length; }

  const std::vector<Piece>& pieces_;
  std::size_t next_ = 0, kept_ = 0;
};

// Behind the rules, in the order of `also`.
std::vector<Region> regions_of(std::string_view text, std::span<const ScrubFinding> also, std::size_t rules) {
  const auto inside = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::vector<Region> out;
  for (std::size_t i = 0; i < also.size(); ++i) {
    if (also[i].at >= text.size() || also[i].length == 0) continue;
    Region region{also[i].at, also[i].at + std::min(also[i].length, text.size() - also[i].at), rules + i};
    while (region.begin > 0 && inside(region.begin)) --region.begin;
    while (inside(region.end)) ++region.end;
    out.push_back(region);
  }
  return out;
}

}  // namespace

struct Scrubber::State {
  decltype(ScrubOptions::mark) mark;
  decltype(ScrubOptions::is_own) is_own;
  std::vector<std::unique_ptr<Rule>> rules;  // the user's last
  std::size_t built_in = 0;
  std::set<std::string, std::less<>> ids;  // of all rules, including disabled ones
  Prefilter prefilter;
  std::vector<std::vector<std::size_t>> rules_of;  // by literal
  std::map<std::pair<std::string, bool>, std::uint32_t> literals;

  void add(const ScrubRuleSpec& spec) {
    std::string pattern = std::string(spec.any_case ? "(?i)" : "") + "\\A" + std::string(spec.pattern);
    rules.push_back(std::make_unique<Rule>(std::string(spec.id), &spec, std::move(pattern)));
    for (const std::string_view anchor : words_of(spec.anchors)) {
      const auto [place, fresh] = literals.try_emplace({std::string(anchor), spec.any_case}, 0);
      if (fresh) {
        place->second = prefilter.add(anchor, spec.any_case);
        rules_of.emplace_back();
      }
      rules_of[place->second].push_back(rules.size() - 1);
    }
  }

  // The length of "[redacted:ID]" or of a placeholder, of a known rule, at `at`; or 0. The twelve digits of a
  // placeholder are no secret, whoever wrote them.
  std::size_t mark_at(std::string_view text, std::size_t at) const {
    if (const auto form = placeholder_form_at(text, at))
      return ids.find(form->rule) != ids.end() || (is_own && is_own(*form)) ? form->text.size() : 0;
    if (!text.substr(at).starts_with(kOpen)) return 0;
    const std::string_view rest = text.substr(at + kOpen.size(), kRuleIdBytesMax + 1);
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos || ids.find(rest.substr(0, close)) == ids.end()) return 0;
    return kOpen.size() + close + 1;
  }

  // The rest of a region without the marks in it.
  void add_region(std::string_view text, Region region, std::vector<Region>& out) const {
    static_assert(kPlaceholderBytesMax > kOpen.size() + kRuleIdBytesMax + 1);
    const std::string_view whole = text.substr(0, region.end);
    for (std::size_t at = whole.find('[', region.begin - std::min(region.begin, kPlaceholderBytesMax));
         at != std::string_view::npos; at = whole.find('[', at + 1)) {
      const std::size_t length = mark_at(text, at);
      if (length == 0 || at + length <= region.begin) continue;
      if (at > region.begin) out.push_back({region.begin, at, region.rule});
      region.begin = std::min(at + length, region.end);
    }
    if (region.begin < region.end) out.push_back(region);
  }

  // The match of a built-in rule at the anchor, if any.
  struct Found {
    Region region;
    bool passes = false;  // its rule's check
  };
  Result<std::optional<Found>> match(std::string_view text, std::size_t anchor, std::size_t number) const;
  Result<void> match_anywhere(std::string_view text, std::size_t number, std::vector<Region>& out) const;
  Result<std::vector<Region>> find(std::string_view text) const;
};

Result<std::optional<Scrubber::State::Found>> Scrubber::State::match(std::string_view text, std::size_t anchor,
                                                                     std::size_t number) const {
  const Rule& rule = *rules[number];
  const std::optional<Found> none;
  if (anchor < rule.spec->before) return none;
  const std::size_t begin = anchor - rule.spec->before;
  if (!left_allows(rule.spec->left, text, begin)) return none;
  if (rule.spec->assigned && !is_assigned(text, anchor)) return none;
  AGENTD_TRY(const Regex* const regex, rule.expression.regex());
  std::array<Regex::Match, kGroups> groups;
  for (std::size_t bytes = rule.spec->spans ? kLongWindowBytes : kWindowBytes;; bytes *= 4) {
    const std::string_view window = text.substr(begin, bytes);
    if (!regex->find(window, 0, groups)) return none;
    if (groups[0].length == window.size() && begin + window.size() < text.size()) continue;
    const Regex::Match secret = secret_of(groups);
    return std::optional<Found>(Found{{begin + secret.at, begin + secret.at + secret.length, number},
                                      passes(rule.spec->check, window.substr(secret.at, secret.length))});
  }
}

Result<void> Scrubber::State::match_anywhere(std::string_view text, std::size_t number,
                                             std::vector<Region>& out) const {
  AGENTD_TRY(const Regex* const regex, rules[number]->expression.regex());
  std::array<Regex::Match, kGroups> groups;
  std::size_t from = 0;
  while (from <= text.size() && regex->find(text, from, groups)) {
    const Regex::Match secret = secret_of(groups);
    if (secret.length != 0) add_region(text, {secret.at, secret.at + secret.length, number}, out);
    from = std::max(groups[0].at + groups[0].length, from + 1);
  }
  return {};
}

Result<std::vector<Region>> Scrubber::State::find(std::string_view text) const {
  std::vector<Region> out;
  std::map<std::size_t, std::size_t> done;  // by rule: the end of its last match
  for (const Prefilter::Hit& hit : prefilter.find(text)) {
    for (const std::size_t number : rules_of[hit.literal]) {
      const auto seen = done.find(number);
      if (seen != done.end() && hit.at < seen->second) continue;
      AGENTD_TRY(const std::optional<Found> found, match(text, hit.at, number));
      if (!found) continue;
      // Also after a failed check: otherwise a long run of anchors would be read once for each of them.
      done[number] = found->region.end;
      if (found->passes) add_region(text, found->region, out);
    }
  }
  for (std::size_t number = built_in; number < rules.size(); ++number)
    AGENTD_TRY_VOID(match_anywhere(text, number, out));
  return united(std::move(out));
}

std::map<std::string, std::size_t> Scrubbed::counts() const {
  std::map<std::string, std::size_t> out;
  for (const ScrubFinding& finding : findings) ++out[finding.rule];
  return out;
}

Scrubber::Scrubber(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scrubber::Scrubber(Scrubber&&) noexcept = default;
Scrubber& Scrubber::operator=(Scrubber&&) noexcept = default;
Scrubber::~Scrubber() = default;

Result<Scrubber> Scrubber::make(ScrubOptions options) {
  auto state = std::make_unique<State>();
  for (const ScrubRuleSpec& spec : scrub_rules()) state->ids.emplace(spec.id);
  for (const std::string& id : options.disable)
    if (state->ids.find(id) == state->ids.end())
      return Error{Code::kInvalid, "no secret rule named '" + id + "' to disable"};
  for (const ScrubRuleSpec& spec : scrub_rules())
    if (std::find(options.disable.begin(), options.disable.end(), spec.id) == options.disable.end()) state->add(spec);
  state->built_in = state->rules.size();
  state->mark = std::move(options.mark);
  state->is_own = std::move(options.is_own);
  for (ScrubOptions::Extra& extra : options.extra) {
    if (!is_rule_id(extra.id))
      return Error{Code::kInvalid,
                   "'" + extra.id + "' is not a valid id of a secret rule: use letters, digits, '-', '_' and '.'"};
    if (!state->ids.insert(extra.id).second)
      return Error{Code::kInvalid, "a secret rule named '" + extra.id + "' already exists"};
    state->rules.push_back(std::make_unique<Rule>(extra.id, nullptr, extra.pattern));
    const auto made = state->rules.back()->expression.regex();
    if (!made)
      return Error{made.error().code, "the pattern of the secret rule '" + extra.id + "': " + made.error().message};
  }
  return Scrubber(std::move(state));
}

Result<void> Scrubber::prepare() const {
  const auto made = Regex::compile("x");
  if (!made) return made.error();
  return {};
}

Result<Scrubbed> Scrubber::scrub(std::string_view text, std::span<const ScrubFinding> also) const {
  Scrubbed out{std::string(text), {}};
  const std::size_t rules = state_->rules.size();
  const auto name_of = [&](const Region& region) {
    if (region.rule < rules) return state_->rules[region.rule]->id;
    const std::string& id = also[region.rule - rules].rule;
    return is_rule_id(id) ? id : std::string(kUnnamed);
  };
  std::vector<Piece> pieces{{0, text.size(), 0, text.size()}};
  // A secret next to another one may be recognised only after that one was replaced.
  for (std::size_t pass = 0; pass < kPassesMax; ++pass) {
    AGENTD_TRY(std::vector<Region> regions, state_->find(out.text));
    if (pass == 0 && !also.empty()) {
      for (const Region& region : regions_of(text, also, rules)) state_->add_region(text, region, regions);
      regions = united(std::move(regions));
    }
    if (regions.empty()) break;
    std::string next;
    std::vector<Piece> made;
    std::size_t at = 0;
    Origins origins(pieces);
    const auto keep = [&](std::size_t end) {
      origins.keep(at, end, next.size(), made);
      next.append(out.text, at, end - at);
    };
    for (const Region& region : regions) {
      keep(region.begin);
      const std::size_t from = origins.of(region.begin, false);
      const std::size_t to = origins.of(region.end, true);
      const std::string id = name_of(region);
      std::string mark = std::string(kOpen) + id + "]";
      if (state_->mark) {
        const std::string_view secret = std::string_view(out.text).substr(region.begin, region.end - region.begin);
        AGENTD_TRY(mark, state_->mark(id, secret));
      }
      made.push_back({next.size(), mark.size(), from, to - from});
      next += mark;
      out.findings.push_back({id, from, to - from, std::move(mark)});
      at = region.end;
    }
    keep(out.text.size());
    out.text = std::move(next);
    pieces = std::move(made);
  }
  std::sort(out.findings.begin(), out.findings.end(),
            [](const ScrubFinding& a, const ScrubFinding& b) { return a.at < b.at; });
  return out;
}

}  // namespace agentd
