// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plugins/session_memory/terms.h"

namespace session_memory {
namespace {

constexpr double kSaturation = 1.2;                   // k1
constexpr double kWeight[] = {3.0, 2.0, 1.0};         // of title, tags, content
constexpr double kLengthMatters[] = {0.3, 0.0, 0.6};  // b of each
constexpr double kHalfLifeDays = 90, kDayMs = 86'400'000.0;
constexpr double kDecayLeast = 0.5;
constexpr std::size_t kQueryTermsMax = 256;
constexpr double kImagined = 50;

// The floor: of the query's most telling terms, the memory must have this part, by rarity.
constexpr std::size_t kTellingTerms = 6;
constexpr double kCoverageLeast = 0.25;
// A further hit is given only if it is not far behind the best.
constexpr double kBehindMost = 0.2;
// A generic term counts this much of an ordinary one, in the floor and in the score.
constexpr double kGenericWeight = 0.35;

}  // namespace

struct Index::Asked {
  std::string term;
  double rarity = 0;  // lowered for a generic term
  bool generic = false;
  const std::vector<Posting>* postings = nullptr;
};

double decay(std::int64_t last_ms, std::uint64_t uses, std::int64_t now_ms) {
  const double days = std::max(0.0, static_cast<double>(now_ms - last_ms) / kDayMs);
  const double half_life = kHalfLifeDays * (1 + std::log2(1 + static_cast<double>(uses)));
  return kDecayLeast + (1 - kDecayLeast) * std::exp2(-days / half_life);
}

Index::Index(const std::vector<Memory>& memories) {
  documents_.reserve(memories.size());
  for (const Memory& each : memories) {
    Document made;
    made.confidence = each.confidence;
    made.created_ms = each.created_ms;
    made.used_ms = std::max(each.used_ms, each.created_ms);
    made.uses = each.uses;
    made.id = each.id;
    made.hidden = each.is_superseded();
    documents_.push_back(std::move(made));
    if (each.is_superseded()) continue;
    const auto document = static_cast<std::uint32_t>(documents_.size() - 1);
    add(document, kTitle, each.title);
    add(document, kTags, each.subject);
    for (const std::string& tag : each.tags) add(document, kTags, tag);
    add(document, kContent, each.content);
  }
  measure();
}

void Index::add(std::uint32_t document, Field field, std::string_view text) {
  for (std::string& term : terms_of(text, TermsOf::kDocument)) {
    std::vector<Posting>& list = postings_[std::move(term)];
    if (list.empty() || list.back().document != document) list.push_back({document, {}});
    std::uint16_t& count = list.back().count[field];
    if (count != std::numeric_limits<std::uint16_t>::max()) ++count;
    ++documents_[document].length[field];
  }
}

void Index::measure() {
  for (const Document& each : documents_) {
    if (each.hidden) continue;
    ++shown_;
    for (std::size_t field = 0; field < kFields; ++field) mean_[field] += each.length[field];
  }
  for (double& each : mean_) each = shown_ == 0 ? 0 : each / static_cast<double>(shown_);
}

// As if so many documents more were there, none with any term: otherwise no term of a small project would be rare.
double Index::rarity(std::size_t documents) const {
  const double all = static_cast<double>(shown_) + kImagined, having = static_cast<double>(documents);
  return std::log(1 + (all - having + 0.5) / (having + 0.5));
}

// The saturated frequency of a term in a document, over its fields.
double Index::weight(const Posting& posting) const {
  double sum = 0;
  for (std::size_t field = 0; field < kFields; ++field) {
    if (posting.count[field] == 0) continue;
    const double length = documents_[posting.document].length[field];
    const double relative = mean_[field] == 0 ? 1 : length / mean_[field];
    sum += kWeight[field] * posting.count[field] / (1 - kLengthMatters[field] + kLengthMatters[field] * relative);
  }
  return sum / (kSaturation + sum);
}

// Each term of the query once, the most telling first.
std::vector<Index::Asked> Index::asked(std::string_view query) const {
  std::vector<std::string> terms = terms_of(query, TermsOf::kQuery);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  std::vector<Asked> out;
  for (std::string& term : terms) {
    const auto found = postings_.find(term);
    Asked each;
    each.postings = found == postings_.end() ? nullptr : &found->second;
    each.generic = is_generic(term);
    each.rarity = rarity(each.postings == nullptr ? 0 : each.postings->size()) * (each.generic ? kGenericWeight : 1);
    each.term = std::move(term);
    out.push_back(std::move(each));
  }
  std::stable_sort(out.begin(), out.end(), [](const Asked& a, const Asked& b) { return a.rarity > b.rarity; });
  if (out.size() > kQueryTermsMax) out.resize(kQueryTermsMax);
  return out;
}

std::vector<Hit> Index::search(std::string_view query, std::size_t limit, std::int64_t now_ms) const {
  struct Found {
    double score = 0, covered = 0;
    bool telling = false;
  };
  const std::vector<Asked> terms = asked(query);
  std::map<std::uint32_t, Found> found;
  double wanted = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i < kTellingTerms) wanted += terms[i].rarity;
    if (terms[i].postings == nullptr) continue;
    for (const Posting& posting : *terms[i].postings) {
      Found& to = found[posting.document];
      to.score += terms[i].rarity * weight(posting);
      to.covered += terms[i].rarity;
      to.telling = to.telling || !terms[i].generic;
    }
  }
  std::vector<Hit> out;
  double best = 0;
  for (const auto& [document, each] : found) {
    if (!each.telling || each.covered < kCoverageLeast * wanted) continue;
    const Document& of = documents_[document];
    const double score = each.score * of.confidence * decay(of.used_ms, of.uses, now_ms);
    if (score <= 0) continue;
    best = std::max(best, score);
    out.push_back({document, score});
  }
  std::erase_if(out, [&](const Hit& hit) { return hit.score < kBehindMost * best; });
  const auto better = [&](const Hit& a, const Hit& b) {
    const Document &first = documents_[a.at], &second = documents_[b.at];
    if (a.score != b.score) return a.score > b.score;
    return first.created_ms != second.created_ms ? first.created_ms > second.created_ms : first.id < second.id;
  };
  std::sort(out.begin(), out.end(), better);
  if (out.size() > limit) out.resize(limit);
  return out;
}

}  // namespace session_memory
