// SPDX-License-Identifier: Apache-2.0
// What the program says of the model in use, and whether what is built in is still served.
#include "core/app/model_setup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd::app {
namespace {

std::int64_t wall_of(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return std::chrono::duration_cast<std::chrono::milliseconds>(date.time_since_epoch()).count();
}

Config config_of(const std::vector<std::pair<std::string, std::string>>& settings) {
  ConfigSources sources;
  for (const auto& [key, value] : settings) sources.flags.push_back({key, value, "--set"});
  auto config = Config::load(sources);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return std::move(*config);
}

std::vector<std::string> warnings(const std::vector<std::pair<std::string, std::string>>& settings,
                                  std::int64_t wall_ms) {
  return model_warnings(ModelTable::embedded(), config_of(settings), "/home/ann/.agent", wall_ms);
}

TEST(ModelWarnings, AModelIsToldSixtyDaysBeforeItsLastDay) {
  const std::vector<std::pair<std::string, std::string>> old{{"model", "claude-sonnet-4-5"}};
  EXPECT_TRUE(warnings(old, wall_of(2026, 9, 30)).empty());
  ASSERT_EQ(warnings(old, wall_of(2026, 10, 1)).size(), 1u);
  EXPECT_EQ(warnings(old, wall_of(2026, 11, 29))[0],
            "the model claude-sonnet-4-5 will be retired by its provider on 2026-11-30 (in 1 day): "
            "choose another with --model, such as claude-sonnet-5-5");
  EXPECT_EQ(warnings(old, wall_of(2027, 2, 1))[0],
            "the model claude-sonnet-4-5 was retired by its provider on 2026-11-30: choose another with "
            "--model, such as claude-sonnet-5-5");
  EXPECT_EQ(warnings({{"model", "claude-sonnet-4-5"}, {"context_window", "5000"}},
                     wall_of(2026, 11, 29))
                .size(),
            1u);
}

TEST(ModelWarnings, TheSummarisersLastDayIsToldToo) {
  const auto told = warnings({{"compaction.model", "claude-sonnet-4-5"}}, wall_of(2026, 11, 20));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("(in 10 days): choose another with compaction.model"), std::string::npos)
      << told[0];
}

TEST(ModelWarnings, AnUnknownNameOfAKnownProviderIsToldWithWhatIsAssumed) {
  const auto told = warnings({{"model", "claude-opus-7"}}, wall_of(2026, 11, 20));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "the model 'claude-opus-7' is not in the model table: it is treated as anthropic's current "
            "models are (window 1,000,000 tokens, output 128,000, thinking always); give it an entry in "
            "/home/ann/.agent/models.yaml if that is wrong");
}

TEST(ModelWarnings, AKnownModelInItsTimeIsNoReasonToSpeak) {
  for (const char* const model : {"", "claude-opus-5-5", "claude-haiku-5-5", "anthropic/claude-sonnet-5.5"})
    EXPECT_TRUE(warnings({{"model", model}}, wall_of(2026, 11, 20)).empty()) << model;
  EXPECT_TRUE(warnings({{"provider", "scripted"}, {"model", "claude-3"}}, 0).empty());
}

TEST(ModelWarnings, AWishThatTheModelDoesNotTakeIsTold) {
  const auto told = warnings({{"thinking_tokens", "8000"}}, wall_of(2026, 11, 20));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("thinking_tokens 8,000 is sent as effort medium"), std::string::npos) << told[0];
  EXPECT_TRUE(warnings({{"effort", "high"}}, wall_of(2026, 11, 20)).empty());
}

// ---- where the requests go

Config in_environment(std::map<std::string, std::string> variables, const std::string& user_file = {}) {
  ConfigSources sources;
  sources.user_file = user_file;
  sources.environment = [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  auto config = Config::load(sources);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return std::move(*config);
}

std::string address(const Config& config) {
  const auto found = anthropic_address(config);
  return found ? found->place + " (" + found->origin + ")" : found.error().message;
}

TEST(ProviderAddress, TheProvidersVariableCountsWhereNothingElseIsSet) {
  testing::TempDir directory;
  const std::string file = directory.file("config.yaml");
  ASSERT_TRUE(write_file_atomically(
      file, "providers: {anthropic: {base_url: https://file.example/x}}\n", 0600));
  const std::pair<const std::string, std::string> theirs{"ANTHROPIC_BASE_URL",
                                                         " https://gateway.example:8443/llm/ \n"};
  EXPECT_EQ(address(in_environment({})), "api.anthropic.com (default)");
  EXPECT_EQ(address(in_environment({theirs})), "gateway.example:8443 (ANTHROPIC_BASE_URL)");
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", " "}})), "api.anthropic.com (default)");
  EXPECT_EQ(address(in_environment({theirs}, file)), "file.example (" + file + ":1)");
  EXPECT_EQ(address(in_environment({theirs, {"AGENTD_PROVIDERS_ANTHROPIC_BASE_URL", "https://ours"}})),
            "ours (AGENTD_PROVIDERS_ANTHROPIC_BASE_URL)");
  EXPECT_EQ(address(in_environment({theirs, {"AGENTD_BASE_URL", "https://all"}})),
            "all (AGENTD_BASE_URL)");
}

TEST(ProviderAddress, HttpIsForThisMachineAlone) {
  for (const char* const url : {"http://127.0.0.1:9000", "http://localhost/x", "http://[::1]:80"})
    EXPECT_TRUE(anthropic_address(in_environment({{"ANTHROPIC_BASE_URL", url}}))) << url;
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", "http://user:pw@gateway.example:80/secret"}})),
            "providers.anthropic.base_url (ANTHROPIC_BASE_URL): http://gateway.example:80 would carry the "
            "key and the prompts unencrypted; use https");
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", "gateway.example"}})),
            "providers.anthropic.base_url (ANTHROPIC_BASE_URL): 'gateway.example' is no usable URL: it must "
            "begin with https:// or http://");
}

// ---- on the day of a release

// The day for which the table must hold: AGENTD_RELEASE_DATE of the environment, else that of the
// commit which was built.
std::string release_date() {
  const char* const named = std::getenv("AGENTD_RELEASE_DATE");
  return named != nullptr ? named : AGENTD_COMMIT_DATE;
}

// What of the built-in table and of the defaults no longer holds on that day.
std::vector<std::string> past_on(const std::string& date) {
  const ModelTable table = ModelTable::embedded();
  std::vector<std::string> out;
  const auto look = [&](const std::string& model, const std::string& what) {
    const ModelInfo info = table.find(model);
    if (info.retired || (!info.retires.empty() && info.retires <= date)) out.push_back(what + model);
  };
  for (const ModelInfo& info : table.models()) {
    if (!info.retired && !info.retires.empty() && info.retires <= date)
      out.push_back("move to 'retired': " + info.pattern);
    if (info.retired && (info.retires.empty() || info.retires > date))
      out.push_back("not yet retired: " + info.pattern);
    if (!info.summary_model.empty()) look(info.summary_model, info.pattern + " is summarised by ");
  }
  look(model_name(config_of({})), "the default model is ");
  return out;
}

TEST(ModelTableOnItsRelease, NothingThatIsBuiltInIsPastItsLastDay) {
  const std::string date = release_date();
  ASSERT_TRUE(is_date(date)) << date;
  for (const std::string& past : past_on(date))
    ADD_FAILURE() << "on " << date << ", core/tokens/models.json: " << past;
}

TEST(ModelTableOnItsRelease, ADayTooLateIsSeen) {
  const auto past = past_on("2026-12-11");
  EXPECT_EQ(std::count(past.begin(), past.end(), "move to 'retired': claude-sonnet-4-5"), 1);
  EXPECT_EQ(std::count(past.begin(), past.end(), "move to 'retired': gpt-5"), 1);
  const auto early = past_on("2026-01-01");
  EXPECT_EQ(std::count(early.begin(), early.end(), "not yet retired: claude-opus-4"), 1);
}

}  // namespace
}  // namespace agentd::app
