// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/consolidate.h"

#include <algorithm>
#include <map>

#include "plugins/session_memory/terms.h"

namespace session_memory {
namespace {

constexpr double kDuplicateLikeness = 0.6, kContradictionLikeness = 0.3;
constexpr double kMergeGain = 0.1, kConfidenceMost = 0.95;
constexpr double kOlderTrust = 0.7, kNewerTrust = 0.9, kConfidenceLeast = 0.05;

bool takes_part(const Memory& memory) { return !memory.is_superseded() && memory.origin != Origin::kDocument; }

template <typename T>
void add_missing(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& each : from)
    if (std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
}

}  // namespace

double likeness(const Memory& a, const Memory& b) {
  return overlap(term_set(a.title + "\n" + a.content), term_set(b.title + "\n" + b.content));
}

bool has_same_subject(const Memory& a, const Memory& b) {
  const std::vector<std::string> subject = term_set(a.subject);
  return !subject.empty() && subject == term_set(b.subject);
}

bool is_duplicate(const Memory& a, const Memory& b) {
  return a.polarity == b.polarity && has_same_subject(a, b) && likeness(a, b) >= kDuplicateLikeness;
}

bool contradicts(const Memory& a, const Memory& b) {
  return a.polarity != b.polarity && has_same_subject(a, b) && likeness(a, b) >= kContradictionLikeness;
}

Memory merged(const Memory& kept, const Memory& added) {
  Memory out = kept;
  const Memory& newer = added.created_ms >= kept.created_ms ? added : kept;
  out.title = newer.title;
  out.content = newer.content;
  out.outcome = newer.outcome;
  const double more = std::max(kept.confidence, added.confidence);
  out.confidence = std::max(more, std::min(kConfidenceMost, more + kMergeGain));
  out.uses += added.uses;
  out.helpful += added.helpful;
  out.unhelpful += added.unhelpful;
  out.created_ms = std::min(kept.created_ms, added.created_ms);
  out.used_ms = std::max({kept.used_ms, added.used_ms, newer.created_ms});
  add_missing(out.tags, added.tags);
  // The newer one's sources are of the text that stays: where there are too many, those of the other one go.
  out.provenance = newer.provenance;
  add_missing(out.provenance, (&newer == &added ? kept : added).provenance);
  return fitted(std::move(out));
}

Consolidated consolidate(const std::vector<Memory>& existing, std::vector<Memory> added) {
  std::vector<Memory> all = existing;
  std::map<std::string, std::size_t> changed;  // id, place in `all`
  Consolidated out;
  for (Memory& one : added) {
    const auto known = [&](const Memory& each) { return each.id == one.id; };
    if (std::any_of(all.begin(), all.end(), known)) continue;
    if (!takes_part(one)) {
      changed[one.id] = all.size();
      all.push_back(std::move(one));
      continue;
    }
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Memory& each) { return takes_part(each) && is_duplicate(each, one); });
    if (same != all.end()) {
      out.merged_into[one.id] = same->id;
      *same = merged(*same, one);
      changed[same->id] = static_cast<std::size_t>(same - all.begin());
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!takes_part(all[i]) || !contradicts(all[i], one)) continue;
      const bool newer = all[i].created_ms > one.created_ms;
      all[i].confidence = std::max(kConfidenceLeast, all[i].confidence * (newer ? kNewerTrust : kOlderTrust));
      one.confidence = std::max(kConfidenceLeast, one.confidence * (newer ? kOlderTrust : kNewerTrust));
      // The newer one is first: it is not trusted less than what it contradicts.
      if (newer)
        one.confidence = std::min(one.confidence, all[i].confidence);
      else
        all[i].confidence = std::min(all[i].confidence, one.confidence);
      changed[all[i].id] = i;
    }
    changed[one.id] = all.size();
    all.push_back(std::move(one));
  }
  for (const auto& [id, place] : changed) out.rows.push_back(all[place]);
  return out;
}

}  // namespace session_memory
