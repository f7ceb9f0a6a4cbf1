// SPDX-License-Identifier: Apache-2.0
// How accurate an estimate is: texts of eleven kinds (corpus/), counted by the exact encodings. A factor learned from
// one half of a text must bring the other half within 20 % of the truth.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/conversation/rows.h"
#include "core/tokens/bpe.h"
#include "core/tokens/calibration.h"

namespace agentd {
namespace {

constexpr double kTolerance = 0.20;
constexpr const char* kKinds[] = {"english", "german", "french",     "russian", "chinese",       "japanese",
                                  "cpp",     "python", "typescript", "json",    "tool_arguments"};

struct Halves {
  std::string first, second;
};

std::string corpus(const std::string& kind) {
  auto text = read_file(std::string(AGENTD_TOKEN_CORPUS) + "/" + kind + ".txt", 1 << 20);
  EXPECT_TRUE(text) << kind;
  return text ? *text : std::string();
}

// Split at the line end next to the middle.
Halves halves_of(const std::string& kind) {
  const std::string text = corpus(kind);
  const std::size_t middle = text.find('\n', text.size() / 2) + 1;
  return {text.substr(0, middle), text.substr(middle)};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// A conversation whose messages are these texts; tool arguments as the arguments of calls.
Rows rows_of(const std::string& kind, const std::string& text) {
  Rows rows;
  for (const std::string& line : lines_of(text)) {
    Message message = Message::of_text(Role::kUser, line);
    if (kind == "tool_arguments") {
      message = Message{Role::kAssistant, 0, {Block::tool_use("c1", "edit_file", line)}};
    }
    rows.append(message, 1, 0);
  }
  return rows;
}

std::uint64_t count(const TokenEstimator& estimator, const Rows& rows) {
  std::uint64_t tokens = 0;
  for (const agentd_message& row : rows) tokens += estimator.count_row(row);
  return tokens;
}

// The error of the corrected estimate: 0.2 is 20 % too much, -0.2 too little.
double error_of(double factor, std::uint64_t estimated, std::uint64_t truth) {
  return factor * static_cast<double>(estimated) / static_cast<double>(truth) - 1;
}

const Bpe* const kTruths[] = {&Bpe::cl100k_base(), &Bpe::o200k_base()};

TEST(Estimate, EveryCorpusIsLongEnoughToMeanSomething) {
  for (const char* const kind : kKinds) {
    EXPECT_GE(corpus(kind).size(), 6'000u) << kind;
    EXPECT_TRUE(is_utf8(corpus(kind))) << kind;
    const Halves halves = halves_of(kind);
    EXPECT_GE(std::min(halves.first.size(), halves.second.size()), 2'000u) << kind;
  }
}

TEST(Estimate, CalibratedOnOneHalfTheOtherIsWithinAFifth) {
  const SimpleEstimator simple;
  for (const Bpe* const truth : kTruths)
    for (const char* const kind : kKinds) {
      const Halves halves = halves_of(kind);
      Calibration calibration("simple");
      calibration.learn("m", simple.count_text(halves.first), truth->count(halves.first));
      const double error =
          error_of(calibration.factor("m"), simple.count_text(halves.second), truth->count(halves.second));
      EXPECT_LE(std::abs(error), kTolerance) << kind << " by " << truth->name();
      RecordProperty(std::string(kind) + "_" + std::string(truth->name()),
                     std::to_string(calibration.factor("m")) + " " + std::to_string(error));
    }
}

TEST(Estimate, SoAreWholeMessagesWithTheirOverhead) {
  const SimpleEstimator simple;
  for (const Bpe* const truth : kTruths)
    for (const char* const kind : kKinds) {
      const Halves halves = halves_of(kind);
      const BpeEstimator exact(*truth);
      const Rows first = rows_of(kind, halves.first), second = rows_of(kind, halves.second);
      Calibration calibration("simple");
      calibration.learn("m", count(simple, first), count(exact, first));
      EXPECT_LE(std::abs(error_of(calibration.factor("m"), count(simple, second), count(exact, second))), kTolerance)
          << kind << " by " << truth->name();
    }
}

// The control: without the learned factor the bound is exceeded, so it is not met by chance.
TEST(Estimate, UncalibratedBytesByFourMissesWhatIsNotEnglish) {
  const SimpleEstimator simple;
  const auto raw = [&](const char* kind, const Bpe& truth) {
    return std::abs(error_of(1, simple.count_text(corpus(kind)), truth.count(corpus(kind))));
  };
  EXPECT_GT(raw("chinese", Bpe::cl100k_base()), kTolerance);
  EXPECT_GT(raw("russian", Bpe::o200k_base()), kTolerance);
  EXPECT_GT(raw("json", Bpe::cl100k_base()), kTolerance);
  EXPECT_LE(raw("english", Bpe::cl100k_base()), kTolerance);
}

// Another control: one language's factor does not help another language.
TEST(Estimate, AFactorOfAnotherLanguageIsNoHelp) {
  const SimpleEstimator simple;
  const Bpe& truth = Bpe::cl100k_base();
  Calibration calibration("simple");
  calibration.learn("m", simple.count_text(corpus("chinese")), truth.count(corpus("chinese")));
  EXPECT_GT(error_of(calibration.factor("m"), simple.count_text(corpus("english")), truth.count(corpus("english"))),
            kTolerance);
}

TEST(Estimate, TheFactorsOfRealTextsStayInsideTheBounds) {
  const SimpleEstimator simple;
  for (const Bpe* const truth : kTruths)
    for (const char* const kind : kKinds) {
      const double ratio =
          static_cast<double>(truth->count(corpus(kind))) / static_cast<double>(simple.count_text(corpus(kind)));
      EXPECT_GT(ratio, Calibration::kFactorMin * 1.1) << kind;
      EXPECT_LT(ratio, Calibration::kFactorMax / 1.5) << kind;
    }
}

TEST(Estimate, BytePairsNeedNoCalibration) {
  for (const Bpe* const truth : kTruths) {
    const BpeEstimator exact(*truth);
    for (const char* const kind : kKinds) {
      EXPECT_EQ(exact.count_text(corpus(kind)), truth->encode(corpus(kind)).size()) << kind;
      const Rows rows = rows_of(kind, corpus(kind));
      std::uint64_t tokens = 0;
      for (const std::string& line : lines_of(corpus(kind)))
        tokens += truth->count(line) + 4 + (std::string(kind) == "tool_arguments" ? truth->count("edit_file") : 0);
      EXPECT_EQ(count(exact, rows), tokens) << kind;
    }
  }
}

// ---- conversations: learning turn by turn, each turn with a new text

class Talk {
 public:
  explicit Talk(const Bpe& truth) : truth_(truth) {}
  // Estimates the text with the current factor, then learns from it. Returns the error of the estimate.
  double turn(const std::string& text) {
    const std::uint64_t estimated = simple_.count_text(text), real = truth_.count(text);
    const double error = error_of(calibration_.factor("m"), estimated, real);
    estimated_ += calibration_.factor("m") * static_cast<double>(estimated);
    real_ += static_cast<double>(real);
    calibration_.learn("m", estimated, real);
    return error;
  }
  // Over all texts, as estimated before they were reported.
  double error() const { return estimated_ / real_ - 1; }

 private:
  const SimpleEstimator simple_;
  const Bpe& truth_;
  Calibration calibration_{"simple"};
  double estimated_ = 0, real_ = 0;
};

TEST(Estimate, AMixedConversationIsWithinAFifthAsAWhole) {
  for (const Bpe* const truth : kTruths) {
    Talk talk(*truth);
    std::map<std::string, std::vector<std::string>> lines;
    for (const char* const kind : kKinds) lines[kind] = lines_of(corpus(kind));
    // One line of each kind in turn, as prose, code and tool calls alternate; prose lines are
    // paragraphs.
    for (std::size_t i = 0; i < 200; ++i) {
      std::string turn;
      for (const char* const kind : kKinds)
        if (i < lines[kind].size()) turn += lines[kind][i] + "\n";
      if (!turn.empty()) talk.turn(turn);
    }
    EXPECT_LE(std::abs(talk.error()), kTolerance) << truth->name();
  }
}

TEST(Estimate, AConversationThatChangesItsLanguageIsFollowedWithinAFewTurns) {
  for (const Bpe* const truth : kTruths) {
    for (const auto& [before, after] :
         std::map<std::string, std::string>{{"english", "chinese"}, {"russian", "json"}, {"cpp", "russian"}}) {
      Talk talk(*truth);
      const std::string old = corpus(before), fresh = corpus(after);
      for (int i = 0; i < 10; ++i) talk.turn(old);
      int turns = 0;
      // Turns of about 2,000 bytes each.
      for (; turns < 12; ++turns) {
        const std::size_t at = static_cast<std::size_t>(turns % 3) * (fresh.size() / 3);
        const std::string_view piece = utf8_prefix(std::string_view(fresh).substr(at), fresh.size() / 3);
        if (std::abs(talk.turn(to_utf8(piece))) <= kTolerance) break;
      }
      EXPECT_LE(turns, 6) << before << " to " << after << " by " << truth->name();
    }
  }
}

}  // namespace
}  // namespace agentd
