// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/terms.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace session_memory {
namespace {

using Words = std::vector<std::string>;

TEST(Terms, AnIdentifierGivesItselfAndItsParts) {
  const Words wanted{"maxtokens", "max", "token"};
  EXPECT_EQ(terms_of("maxTokens"), wanted);
  EXPECT_EQ(terms_of("max_tokens"), wanted);
  EXPECT_EQ(terms_of("MAX-TOKENS"), wanted);
  EXPECT_EQ(terms_of("HTTPServer"), (Words{"httpserver", "http", "server"}));
  EXPECT_EQ(terms_of("sha256"), Words{"sha256"});
  EXPECT_EQ(terms_of("main.cc"), (Words{"maincc", "main", "cc"}));
  EXPECT_EQ(terms_of("C++ and C#"), (Words{"c++", "c#"}));
}

TEST(Terms, EnglishEndingsAreTakenOff) {
  for (const char* each : {"cache", "caches", "cached", "caching"}) EXPECT_EQ(terms_of(each), Words{"cach"}) << each;
  for (const char* each : {"retry", "retries", "retried"}) EXPECT_EQ(terms_of(each), Words{"retry"}) << each;
  for (const char* each : {"stop", "stops", "stopped", "stopping"}) EXPECT_EQ(terms_of(each), Words{"stop"}) << each;
  EXPECT_EQ(terms_of("adding"), terms_of("add"));
  EXPECT_EQ(terms_of("string"), Words{"string"});
  EXPECT_EQ(terms_of("status"), Words{"status"});
  EXPECT_EQ(terms_of("process"), Words{"process"});
}

TEST(Terms, StopWordsAreLeftOut) { EXPECT_EQ(terms_of("why does it not compile?"), Words{"compil"}); }

TEST(Terms, LettersAreFolded) {
  EXPECT_EQ(terms_of("Größe"), terms_of("grose"));
  EXPECT_EQ(terms_of("CAFÉ"), terms_of("cafe"));
  EXPECT_EQ(terms_of("ОШИБКА"), terms_of("ошибка"));
  EXPECT_EQ(terms_of("ＡＢＣ１"), Words{"abc1"});
}

TEST(Terms, ScriptsWithoutBlanksGivePairs) {
  EXPECT_EQ(terms_of("内存泄漏", TermsOf::kQuery), (Words{"内存", "存泄", "泄漏"}));
  EXPECT_EQ(terms_of("内存", TermsOf::kDocument), (Words{"内存", "内", "存"}));
  EXPECT_EQ(terms_of("锁", TermsOf::kQuery), Words{"锁"});
  EXPECT_EQ(terms_of("如何用cmake编译", TermsOf::kQuery), (Words{"何用", "cmak", "编译"}));
  EXPECT_EQ(terms_of("内存，泄漏", TermsOf::kQuery), (Words{"内存", "泄漏"}));
}

TEST(Terms, IllFormedBytesSeparate) { EXPECT_EQ(terms_of("alpha\xff\xfe\x80omega\xe5"), (Words{"alpha", "omega"})); }

TEST(Terms, OverlapIsThePartThatIsCommon) {
  EXPECT_EQ(overlap(term_set("red green blue"), term_set("blue green red")), 1);
  EXPECT_EQ(overlap(term_set("red"), term_set("blue")), 0);
  EXPECT_EQ(overlap(term_set("red green"), term_set("red blue")), 1.0 / 3);
  EXPECT_EQ(overlap({}, {}), 0);
}

TEST(Terms, GenericTermsAreKnownByTheirStem) {
  EXPECT_TRUE(is_generic(terms_of("errors").front()));
  EXPECT_TRUE(is_generic(terms_of("fixing").front()));
  EXPECT_FALSE(is_generic(terms_of("mutex").front()));
}

TEST(Terms, WordsKeepEverythingInOrder) {
  EXPECT_EQ(words_of("Do not run `make -j8`!"), (Words{"do", "not", "run", "make", "j8"}));
  EXPECT_EQ(words_of("运行make"), (Words{"运", "行", "make"}));
}

}  // namespace
}  // namespace session_memory
