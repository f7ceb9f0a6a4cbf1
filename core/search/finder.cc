// SPDX-License-Identifier: Apache-2.0
#include "core/search/finder.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/bytes.h"
#include "core/search/catch_up.h"
#include "core/search/searchable.h"
#include "core/search/terms.h"

namespace agentd {
namespace {

// Around the matches in an indexed text, which has no control characters.
constexpr char kBegin = '\1', kEnd = '\2';

// The index of the texts drives the joins, so that its order by rows needs no sorting and ends with the limit.
constexpr std::string_view kMatches =
    "SELECT texts.rowid, bm25(texts), r.conversation, r.seq, r.time_ms, r.role "
    "FROM texts CROSS JOIN records r ON r.id = texts.rowid CROSS JOIN conversations c ON c.id = r.conversation "
    "WHERE texts MATCH ?1 AND (?2 = '' OR c.project = ?2) AND r.time_ms >= ?3 AND r.time_ms < ?4 "
    "ORDER BY texts.rowid DESC LIMIT ?5";
constexpr std::string_view kMarked =
    "SELECT highlight(texts, 0, char(1), char(2)) FROM texts WHERE texts MATCH ?1 AND rowid = ?2";
constexpr std::string_view kName = "SELECT name FROM conversations WHERE id = ?1";

struct Match {
  std::int64_t row = 0;
  double score = 0;  // the lower, the better
  std::uint64_t seq = 0;
  std::int64_t time_ms = 0;
  std::string role;

  bool is_before(const Match& other) const {
    return std::tuple(score, -time_ms, -row) < std::tuple(other.score, -other.time_ms, -other.row);
  }
};

struct Group {
  std::int64_t conversation = 0;
  std::vector<Match> matches;  // best first
};

// An indexed text and its matches.
struct Marked {
  std::string text;
  std::vector<TextRange> matches;
};

Marked read_marks(std::string_view marked) {
  Marked out;
  out.text.reserve(marked.size());
  for (const char c : marked) {
    if (c == kBegin)
      out.matches.push_back({out.text.size(), out.text.size()});
    else if (c == kEnd && !out.matches.empty())
      out.matches.back().to = out.text.size();
    else
      out.text += c;
  }
  return out;
}

class Finder {
 public:
  Finder(const Store& store, const SearchQuery& query, const std::string& expression, Statement marked, Statement name)
      : store_(store), query_(query), expression_(expression), marked_(std::move(marked)), name_(std::move(name)) {}

  Result<Findings> run(Statement matches) {
    AGENTD_TRY(const std::vector<Group> groups, groups_of(std::move(matches)));
    for (const Group& group : groups) {
      AGENTD_TRY(std::optional<SearchedConversation> found, shown(group));
      if (!found) continue;
      out_.answer.more = out_.answer.found.size() == query_.limit;
      if (out_.answer.more) break;
      out_.answer.found.push_back(std::move(*found));
    }
    return std::move(out_);
  }

 private:
  Result<std::vector<Group>> groups_of(Statement matches) {
    const std::int64_t until = query_.until_ms == 0 ? INT64_MAX : query_.until_ms;
    matches.bind(1, expression_).bind(2, query_.project_id).bind(3, query_.since_ms).bind(4, until).bind(5, kRankedMax);
    std::vector<Group> out;
    std::unordered_map<std::int64_t, std::size_t> places;
    for (std::int64_t count = 0;; ++count) {
      AGENTD_TRY(const bool there, matches.step());
      if (!there) break;
      const std::int64_t conversation = matches.number(2);
      const auto [place, added] = places.emplace(conversation, out.size());
      if (added) out.push_back({conversation, {}});
      out[place->second].matches.push_back({matches.number(0), matches.real(1),
                                            static_cast<std::uint64_t>(matches.number(3)), matches.number(4),
                                            std::string(matches.text(5))});
      if (count + 1 == kRankedMax)
        out_.answer.notes.push_back("only the newest " + with_commas(static_cast<std::uint64_t>(kRankedMax)) +
                                    " matches were ranked: add words, or a date");
    }
    for (Group& group : out)
      std::sort(group.matches.begin(), group.matches.end(),
                [](const Match& a, const Match& b) { return a.is_before(b); });
    std::sort(out.begin(), out.end(),
              [](const Group& a, const Group& b) { return a.matches.front().is_before(b.matches.front()); });
    return out;
  }

  // nullopt: nothing of it is in the store.
  Result<std::optional<SearchedConversation>> shown(const Group& group) {
    AGENTD_TRY(const bool named, name_.bind(1, group.conversation).step());
    const auto id = Ulid::parse(named ? name_.text(0) : std::string_view());
    name_.reset();
    if (!id) return Error{Code::kCorrupt, "the search index has texts of no conversation"};
    const auto info = store_.info(*id);
    if (!info && info.error().code == Code::kNotFound) return std::optional<SearchedConversation>();
    if (!info) return error_of_store(info.error());
    SearchedConversation out;
    out.info = *info;
    const auto is_title = [](const Match& match) { return match.role == kTitleRole; };
    const auto titles = static_cast<std::uint64_t>(std::count_if(group.matches.begin(), group.matches.end(), is_title));
    std::uint64_t others = group.matches.size() - titles;
    for (const bool title : {false, true}) {
      if (title && !out.hits.empty()) break;
      for (const Match& match : group.matches) {
        if (is_title(match) != title || out.hits.size() == query_.hits_each) continue;
        AGENTD_TRY(std::optional<SearchHit> hit, checked(*id, *info, match));
        if (!hit && !title) --others;
        if (hit) out.hits.push_back(std::move(*hit));
      }
    }
    if (out.hits.empty()) return std::optional<SearchedConversation>();
    if (out.hits.front().seq != 0) out.more_hits = others - out.hits.size();
    return std::optional(std::move(out));
  }

  // nullopt: the store does not have that text there.
  Result<std::optional<SearchHit>> checked(const Ulid& id, const ConversationInfo& info, const Match& match) {
    AGENTD_TRY(const SearchableText source, text_in_store(id, info, match.seq));
    AGENTD_TRY(const bool there, marked_.bind(1, expression_).bind(2, match.row).step());
    const Marked marked = read_marks(there ? marked_.text(0) : std::string_view());
    marked_.reset();
    if (!there || source.role != match.role || marked.text != index_text(source.text)) {
      out_.differs = true;
      return std::optional<SearchHit>();
    }
    const std::vector<TextRange> places = source_ranges(source.text, marked.matches);
    return std::optional(
        SearchHit{match.seq, match.time_ms, match.role, snippet_of(source.text, places, query_.columns)});
  }

  // Without text where the store has none.
  Result<SearchableText> text_in_store(const Ulid& id, const ConversationInfo& info, std::uint64_t seq) const {
    if (seq == 0) return SearchableText{kTitleRole, info.title};
    SearchableText out;
    if (seq > info.revision) return out;
    const auto read = store_.read(id, seq, seq, [&](const StoredRecord& record) {
      if (auto text = searchable_text(record.record)) out = std::move(*text);
      return true;
    });
    if (!read && read.error().code != Code::kNotFound && read.error().code != Code::kCorrupt)
      return error_of_store(read.error());
    return out;
  }

  const Store& store_;
  const SearchQuery& query_;
  const std::string& expression_;
  Statement marked_, name_;
  Findings out_;
};

}  // namespace

Result<Findings> find_in(const Database& index, const Store& store, const SearchQuery& query,
                         const std::string& expression) {
  AGENTD_TRY(Statement matches, index.prepare(kMatches));
  AGENTD_TRY(Statement marked, index.prepare(kMarked));
  AGENTD_TRY(Statement name, index.prepare(kName));
  return Finder(store, query, expression, std::move(marked), std::move(name)).run(std::move(matches));
}

}  // namespace agentd
