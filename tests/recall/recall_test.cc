// SPDX-License-Identifier: Apache-2.0
// How well memories are found: session_memory's ranking next to plain BM25 and substring search, on the held corpus of
// this folder. It prints a table, and requires that the ranking is at least as good as plain BM25 in both figures:
//   recall@3     of the queries that memories answer, the part with one of those among the first three results
//   abstention   of the queries that no memory answers, the part with no result
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/codec/json.h"
#include "plugins/session_memory/index.h"

namespace session_memory {
namespace {

using agentd::JsonDocument;
using agentd::JsonView;

constexpr std::size_t kResults = 3;
constexpr std::uint64_t kBytesMax = 64u << 20;
constexpr std::int64_t kNow = 1'767'225'600'000;

struct Query {
  std::string text, language;
  std::set<std::string> relevant;
};

std::string contents(const std::string& name) {
  auto text = agentd::read_file(std::string(AGENTD_RECALL_CORPUS) + "/" + name, kBytesMax);
  EXPECT_TRUE(text) << text.error().message;
  return text ? std::move(*text) : std::string();
}

template <typename Each>
void each_line(const std::string& name, Each&& each) {
  const std::string text = contents(name);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const auto parsed = JsonDocument::parse(line);
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().message;
    each(parsed->root());
  }
}

std::vector<Memory> memories() {
  std::vector<Memory> out;
  each_line("memories.jsonl", [&](JsonView from) {
    Memory made;
    made.id = from["id"].string_or("");
    made.title = from["title"].string_or("");
    made.content = from["content"].string_or("");
    made.subject = from["subject"].string_or("");
    for (std::size_t i = 0; i < from["tags"].size(); ++i) made.tags.emplace_back(from["tags"].at(i).string_or(""));
    made.created_ms = kNow;
    out.push_back(std::move(made));
  });
  return out;
}

std::vector<Query> queries() {
  std::vector<Query> out;
  each_line("queries.jsonl", [&](JsonView from) {
    Query made;
    made.text = from["query"].string_or("");
    made.language = from["language"].string_or("");
    for (std::size_t i = 0; i < from["relevant"].size(); ++i)
      made.relevant.emplace(from["relevant"].at(i).string_or(""));
    out.push_back(std::move(made));
  });
  return out;
}

// ---- what it is compared with

std::string lower(std::string text) {
  for (char& each : text)
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + 32);
  return text;
}

std::string text_of(const Memory& memory) {
  std::string out = memory.title + "\n" + memory.subject + "\n" + memory.content;
  for (const std::string& tag : memory.tags) out += "\n" + tag;
  return lower(std::move(out));
}

// Letters and digits in a row; bytes beyond ASCII are letters.
std::vector<std::string> plain_words(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (const char each : lower(text) + " ") {
    const bool letter = (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || (each & 0x80) != 0;
    if (letter)
      word += each;
    else if (!word.empty())
      out.push_back(std::exchange(word, {}));
  }
  return out;
}

using Results = std::vector<std::string>;
using Search = std::function<Results(const std::string&)>;

// BM25 of one field with the usual constants; every shared word is a result.
class PlainBm25 {
 public:
  explicit PlainBm25(const std::vector<Memory>& memories) {
    for (const Memory& each : memories) {
      std::map<std::string, double> counts;
      const std::vector<std::string> words = plain_words(text_of(each));
      for (const std::string& word : words) ++counts[word];
      for (const auto& [word, count] : counts) ++having_[word];
      documents_.push_back({each.id, std::move(counts), static_cast<double>(words.size())});
      mean_ += static_cast<double>(words.size());
    }
    mean_ /= std::max<double>(1, static_cast<double>(documents_.size()));
  }
  Results operator()(const std::string& query) const {
    constexpr double k1 = 1.2, b = 0.75;
    const std::vector<std::string> words = plain_words(query);
    std::vector<std::pair<double, std::string>> scored;
    for (const Document& document : documents_) {
      double score = 0;
      for (const std::string& word : std::set<std::string>(words.begin(), words.end())) {
        const auto found = document.counts.find(word);
        if (found == document.counts.end()) continue;
        const double having = having_.at(word), all = static_cast<double>(documents_.size());
        const double idf = std::log(1 + (all - having + 0.5) / (having + 0.5));
        score += idf * found->second * (k1 + 1) / (found->second + k1 * (1 - b + b * document.length / mean_));
      }
      if (score > 0) scored.emplace_back(-score, document.id);
    }
    std::sort(scored.begin(), scored.end());
    Results out;
    for (std::size_t i = 0; i < std::min(kResults, scored.size()); ++i) out.push_back(scored[i].second);
    return out;
  }

 private:
  struct Document {
    std::string id;
    std::map<std::string, double> counts;
    double length;
  };
  std::vector<Document> documents_;
  std::map<std::string, double> having_;
  double mean_ = 0;
};

// Every word of the query somewhere in the memory's text.
Search substring_search(const std::vector<Memory>& memories) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Memory& each : memories) texts.emplace_back(each.id, text_of(each));
  return [texts](const std::string& query) {
    const std::vector<std::string> words = plain_words(query);
    Results out;
    for (const auto& [id, text] : texts) {
      const bool has_all = !words.empty() && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
        return text.find(word) != std::string::npos;
      });
      if (has_all && out.size() < kResults) out.push_back(id);
    }
    return out;
  };
}

// ---- figures

struct Figures {
  double recall = 0, abstention = 0;
  std::size_t answered = 0, unanswered = 0;
};

Figures figures(const std::vector<Query>& queries, const Search& search, const std::string& language) {
  Figures out;
  for (const Query& query : queries) {
    if (!language.empty() && query.language != language) continue;
    const Results got = search(query.text);
    if (query.relevant.empty()) {
      ++out.unanswered;
      out.abstention += got.empty() ? 1 : 0;
      continue;
    }
    ++out.answered;
    const bool hit =
        std::any_of(got.begin(), got.end(), [&](const std::string& id) { return query.relevant.contains(id); });
    out.recall += hit ? 1 : 0;
  }
  out.recall /= std::max<double>(1, static_cast<double>(out.answered));
  out.abstention /= std::max<double>(1, static_cast<double>(out.unanswered));
  return out;
}

std::string three_digits(double value) {
  char out[16];
  std::snprintf(out, sizeof out, "%.3f", value);
  return out;
}

TEST(Recall, IsMeasuredOnTheFilesOfTheChecksums) {
  for (const std::string name : {"memories.jsonl", "queries.jsonl"}) {
    const std::string digest = agentd::hex(agentd::sha256(contents(name)));
    EXPECT_NE(contents("SHA256SUMS").find(digest + "  " + name + "\n"), std::string::npos) << digest;
    EXPECT_NE(contents("README.md").find(digest), std::string::npos) << digest;
  }
}

TEST(Recall, IsAtLeastThatOfPlainBm25) {
  const std::vector<Memory> all = memories();
  const std::vector<Query> asked = queries();
  ASSERT_GE(all.size(), 150u);
  ASSERT_GE(asked.size(), 60u);
  const Index index(all);
  const Search ours = [&](const std::string& query) {
    Results out;
    for (const Hit& hit : index.search(query, kResults, kNow)) out.push_back(all[hit.at].id);
    return out;
  };
  const PlainBm25 plain(all);
  const std::pair<const char*, Search> searches[] = {
      {"session_memory", ours}, {"plain BM25", plain}, {"substring", substring_search(all)}};
  std::set<std::string> languages{""};
  for (const Query& each : asked) languages.insert(each.language);
  std::printf("%zu memories, %zu queries\n%-16s %-9s %9s %11s\n", all.size(), asked.size(), "search", "language",
              "recall@3", "abstention");
  const std::string page = contents("README.md");
  for (const auto& [name, search] : searches) {
    std::string recalls, abstentions;  // as cells of the page's table
    for (const std::string& language : languages) {
      const Figures made = figures(asked, search, language);
      std::printf("%-16s %-9s %9.3f %11.3f\n", name, language.empty() ? "all" : language.c_str(), made.recall,
                  made.abstention);
      recalls += " | " + three_digits(made.recall);
      abstentions += " | " + three_digits(made.abstention);
    }
    const std::string row = "| " + std::string(name) + recalls + abstentions + " |";
    EXPECT_NE(page.find(row), std::string::npos) << "the README's table has not the row\n" << row;
  }
  const Figures mine = figures(asked, ours, ""), theirs = figures(asked, plain, "");
  EXPECT_GE(mine.recall, theirs.recall);
  EXPECT_GE(mine.abstention, theirs.abstention);
}

}  // namespace
}  // namespace session_memory
