// SPDX-License-Identifier: Apache-2.0
// What the program says of the model in use, and whether what is built in is still served.
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/surroundings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "core/base/file.h"
#include "core/tokens/retirement.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

std::int64_t wall_of(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
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
  const Config config = config_of(settings);
  const ModelTable table = ModelTable::embedded();
  return model_warnings(table, config, *model_in_force(config, table, wall_ms), "/home/ann/.agent", wall_ms);
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
  EXPECT_EQ(warnings({{"model", "claude-sonnet-4-5"}, {"context_window", "5000"}}, wall_of(2026, 11, 29)).size(), 1u);
}

TEST(ModelWarnings, TheSummarisersLastDayIsToldToo) {
  const auto told = warnings({{"compaction.model", "claude-sonnet-4-5"}}, wall_of(2026, 11, 20));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("(in 10 days): choose another with compaction.model"), std::string::npos) << told[0];
}

TEST(ModelWarnings, TheLastDaysOfFallbacksAreToldToo) {
  const auto told = warnings({{"fallback", "gpt-5,openai/o3"}}, wall_of(2026, 12, 11));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0],
            "the model gpt-5 was retired by its provider on 2026-12-11: choose another with fallback, such as "
            "gpt-6.1-sol");
  EXPECT_NE(told[1].find("the model openai/o3 was retired"), std::string::npos) << told[1];
}

TEST(ModelWarnings, TheLastDayOfASummariserInTheUsersOwnTableIsTold) {
  const Config config = config_of({{"model", "claude-opus-5-5"}});
  ModelTable table = ModelTable::embedded();
  ASSERT_TRUE(table.overlay("models: [{pattern: claude-opus-5-5, summary_model: claude-sonnet-4-5}]", "models.yaml"));
  const std::int64_t day = wall_of(2026, 11, 30);
  const auto told = model_warnings(table, config, *model_in_force(config, table, day), "/home/ann/.agent", day);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("was retired by its provider on 2026-11-30: choose another with summary_model in models.yaml"),
            std::string::npos)
      << told[0];
}

// They retire on their day in a program that was built before.
TEST(ModelWarnings, AModelRetiresOnItsDay) {
  for (const auto& [model, day] : {std::pair("claude-sonnet-4-5", wall_of(2026, 11, 30)),
                                   {"gemini-2.5-pro", wall_of(2026, 12, 1)},
                                   {"gemini-2.5-flash", wall_of(2026, 12, 1)},
                                   {"gpt-5", wall_of(2026, 12, 11)},
                                   {"o3", wall_of(2026, 12, 11)},
                                   {"claude-opus-4-5", wall_of(2027, 1, 22)},
                                   {"claude-mythos-preview", wall_of(2026, 6, 30)}}) {
    const auto before = warnings({{"model", model}}, day - 1), then = warnings({{"model", model}}, day);
    ASSERT_EQ(before.size(), 1u) << model;
    EXPECT_NE(before[0].find(" will be retired by its provider"), std::string::npos) << before[0];
    EXPECT_NE(before[0].find(" (in 1 day)"), std::string::npos) << before[0];
    ASSERT_EQ(then.size(), 1u) << model;
    EXPECT_NE(then[0].find(" was retired by its provider"), std::string::npos) << then[0];
  }
}

TEST(ModelWarnings, AnUnknownNameOfAKnownProviderIsToldWithWhatIsAssumed) {
  const auto told = warnings({{"model", "claude-opus-7"}}, wall_of(2026, 11, 20));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "the model 'claude-opus-7' is not in the model table: it is treated as anthropic's current "
            "models are (window 1,000,000 tokens, output 128,000, thinking always); give it an entry in "
            "/home/ann/.agent/models.yaml if that is wrong");
}

// The warnings about misspelt providers, a line each.
std::string misspelt(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::string out;
  for (const std::string& text : warnings(settings, wall_of(2026, 11, 20)))
    if (text.starts_with("no provider named")) out += text + "\n";
  return out;
}

TEST(ModelWarnings, AProviderThatIsMisspeltInFrontOfAModelIsToldWhereverItIsNamed) {
  EXPECT_EQ(misspelt({{"model", "opnai/gpt-6"}}),
            "no provider named 'opnai': did you mean 'openai'? openai is used for the model 'opnai/gpt-6'\n");
  EXPECT_EQ(misspelt({{"model", "nosuch/x"}}),
            "no provider named 'nosuch', so anthropic is used for the model 'nosuch/x'\n");
  EXPECT_EQ(misspelt({{"model", "openai/gpt-6.1-sol"}}), "");
  const std::string told = "no provider named 'nosuch', so anthropic is used for the model 'nosuch/x'\n";
  for (const char* const setting : {"fallback", "compaction.model", "agents.model"})
    EXPECT_EQ(misspelt({{setting, "nosuch/x"}}), told) << setting;
  EXPECT_EQ(misspelt({{"agents.enabled", "true"}, {"agents.model", "nosuch/x"}}), told);
  EXPECT_EQ(misspelt({{"models.aliases.fast", "nosuch/x"}, {"model", "fast"}}), told);
  EXPECT_EQ(misspelt({{"model", "nosuch/x"}, {"fallback", "nosuch/x"}, {"compaction.model", "nosuch/x"}}), told);
  EXPECT_EQ(misspelt({{"provider", "scripted"}, {"model", "nosuch/x"}}), "");
}

TEST(ModelWarnings, ANameWithASlashIsAServersOwnUnlessItIsAVendorsModel) {
  const std::pair<std::string, std::string> gateway{"base_url", "https://gateway.example"};
  EXPECT_EQ(misspelt({{"model", "bedrock/claude"}, gateway}), "");
  EXPECT_EQ(misspelt({{"provider", "groq"}, {"model", "meta-llama/llama-4"}}), "");
  EXPECT_EQ(misspelt({{"provider", "openrouter"}, {"model", "mistralai/mistral-large"}}), "");
  EXPECT_EQ(misspelt({{"provider", "openrouter"}, {"model", "x-ai/grok-4"}}), "");
  // The vendor's own model behind a name that is nearly the vendor's.
  EXPECT_NE(misspelt({{"model", "opnai/gpt-6.1-terra"}, gateway}).find("did you mean 'openai'?"), std::string::npos);
  EXPECT_NE(misspelt({{"provider", "openrouter"}, {"fallback", "opnai/gpt-6.1-terra"}, {"model", "x/y"}})
                .find("openrouter is used for the model 'opnai/gpt-6.1-terra'"),
            std::string::npos);
}

TEST(ModelWarnings, ANameOfTheUsersTableIsNotMisspelt) {
  const Config config = config_of({});
  ModelTable table = ModelTable::embedded();
  EXPECT_NE(misspelt_provider(table, config, "anthropic", "house/model-7"), "");
  ASSERT_TRUE(table.overlay("models: [{pattern: house/model, window: 60000}]\n", "models.yaml"));
  EXPECT_EQ(misspelt_provider(table, config, "anthropic", "house/model-7"), "");
  EXPECT_EQ(misspelt_provider(table, config, "anthropic", "house/other"), "");
  EXPECT_NE(misspelt_provider(table, config, "anthropic", "hous/model-7"), "");
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

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Config in_environment(std::map<std::string, std::string> variables, const std::string& user_file = {}) {
  ConfigSources sources;
  sources.user_file = user_file;
  sources.environment = environment_of(std::move(variables));
  auto config = Config::load(sources);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return std::move(*config);
}

std::string address(const Config& config, const std::string& provider = "anthropic") {
  const auto found = provider_setup(config, ModelTable::embedded(), provider);
  return found ? found->place + " (" + found->url_origin + ")" : found.error().message;
}

TEST(ProviderAddress, TheProvidersVariableCountsWhereNothingElseIsSet) {
  testing::TempDir directory;
  const std::string file = directory.file("config.yaml");
  ASSERT_TRUE(write_file_atomically(
      file, "providers: {anthropic: {base_url: https://file.example/x, api_key_env: MY_KEY}}\n", 0600));
  const std::pair<const std::string, std::string> theirs{"ANTHROPIC_BASE_URL", " https://gateway.example:8443/llm/ \n"};
  const std::pair<const std::string, std::string> key{"AGENTD_PROVIDERS_ANTHROPIC_API_KEY_ENV", "MY_KEY"};
  EXPECT_EQ(address(in_environment({})), "api.anthropic.com (default)");
  EXPECT_EQ(address(in_environment({theirs})), "gateway.example:8443 (ANTHROPIC_BASE_URL)");
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", " "}})), "api.anthropic.com (default)");
  EXPECT_EQ(address(in_environment({theirs}, file)), "file.example (" + file + ":1)");
  EXPECT_EQ(address(in_environment({theirs, key, {"AGENTD_PROVIDERS_ANTHROPIC_BASE_URL", "https://ours"}})),
            "ours (AGENTD_PROVIDERS_ANTHROPIC_BASE_URL)");
  EXPECT_EQ(address(in_environment({theirs, key, {"AGENTD_BASE_URL", "https://all"}})), "all (AGENTD_BASE_URL)");
  EXPECT_EQ(address(in_environment({{"OPENAI_BASE_URL", "https://gateway.example/v1"}}), "openai"),
            "gateway.example (OPENAI_BASE_URL)");
}

// A base_url in each place, with what provider and model are set there and elsewhere: the provider that it belongs to;
// "NAME?" where no setting names it.
TEST(ProviderAddress, ABaseUrlBelongsToTheProviderThatItsPlaceOrAWeakerOneNames) {
  testing::TempDir directory;
  const std::string system = directory.file("system.yaml"), user = directory.file("user.yaml");
  const auto owner = [&](const std::string& of_system, const std::string& of_user,
                         std::map<std::string, std::string> variables = {},
                         std::vector<ConfigSources::Flag> flags = {}) {
    EXPECT_TRUE(write_file_atomically(system, of_system, 0600));
    EXPECT_TRUE(write_file_atomically(user, of_user, 0600));
    ConfigSources sources;
    sources.system_file = system;
    sources.user_file = user;
    sources.environment = environment_of(std::move(variables));
    sources.flags = std::move(flags);
    const auto config = Config::load(sources);
    if (!config) return config.error().message;
    const BaseUrlOwner found = base_url_owner(*config, ModelTable::embedded());
    return found.provider + (found.named || found.provider.empty() ? "" : "?");
  };
  const std::string here = "base_url: https://x.example\n";
  const ConfigSources::Flag ask_openai{"model", "openai/m", "--model"}, at_x{"base_url", "https://x.example", "--set"};
  EXPECT_EQ(owner("", "provider: openai\n"), "");
  EXPECT_EQ(owner("", here), "anthropic?");
  EXPECT_EQ(owner("", here, {}, {ask_openai}), "anthropic?");
  EXPECT_EQ(owner(here, "provider: openai\n"), "anthropic?");
  EXPECT_EQ(owner("", here + "provider: groq\n", {}, {ask_openai}), "groq");
  EXPECT_EQ(owner("", here + "provider: groq\n", {{"AGENTD_PROVIDER", "openai"}}), "groq");
  EXPECT_EQ(owner("", here + "provider: groq\nmodel: openai/m\n"), "groq");
  EXPECT_EQ(owner(here + "provider: groq\n", "provider: openai\n"), "groq");
  EXPECT_EQ(owner("provider: groq\n", here), "groq");
  EXPECT_EQ(owner("provider: groq\n", here + "provider: openai\n"), "openai");
  EXPECT_EQ(owner("", here + "model: openai/m\n"), "openai");
  EXPECT_EQ(owner("", here + "model: gpt-6-luna\n"), "openai");
  EXPECT_EQ(owner("", here + "model: fast\nmodels: {aliases: {fast: google/m}}\n"), "google");
  EXPECT_EQ(owner("", here + "model: unknown\n", {}, {ask_openai}), "anthropic?");
  EXPECT_EQ(owner("", here + "provider: scripted\n"), "scripted");
  EXPECT_EQ(owner("", "provider: groq\n", {{"AGENTD_BASE_URL", "https://x.example"}}), "groq");
  EXPECT_EQ(owner("", "", {{"AGENTD_BASE_URL", "https://x.example"}}, {ask_openai}), "anthropic?");
  EXPECT_EQ(owner("", "provider: groq\n", {{"AGENTD_BASE_URL", "https://x.example"}, {"AGENTD_MODEL", "openai/m"}}),
            "openai");
  EXPECT_EQ(owner("", "provider: groq\nmodel: openai/m\n", {{"AGENTD_BASE_URL", "https://x.example"}}), "groq");
  EXPECT_EQ(owner("", "provider: groq\n", {}, {at_x}), "groq");
  EXPECT_EQ(owner("", "provider: groq\n", {}, {at_x, ask_openai}), "openai");
  EXPECT_EQ(owner("", "provider: groq\nmodel: google/m\n", {}, {at_x}), "google");
  EXPECT_EQ(owner("", here + "provider: groq\n", {}, {at_x, ask_openai}), "openai");
  EXPECT_EQ(owner("", here + "provider: groq\n", {}, {{"base_url", "", "--set"}}), "");
}

// Which variable the key comes from, "file", "none", or why there is none to be sent.
std::string key_of(const Config& config, const std::string& provider, const std::map<std::string, std::string>& keys,
                   const std::string& home = "/nonexistent") {
  const auto setup = provider_setup(config, ModelTable::embedded(), provider);
  if (!setup) return setup.error().message;
  const auto source = KeyRing(environment_of(keys), home).find(*setup);
  if (!source) return source.error().message;
  if (source->kind == KeySource::Kind::kVariable) return source->variable;
  return source->kind == KeySource::Kind::kFile ? "file" : "none";
}

// The provider is selected, with an address in the environment.
Config elsewhere(const std::string& provider, const std::string& url = "https://other.example/v1") {
  return in_environment({{"AGENTD_BASE_URL", url}, {"AGENTD_PROVIDER", provider}});
}

TEST(ProviderAddress, AKeyGoesToNoHostThatItWasNotSetFor) {
  for (const char* const provider : {"anthropic", "openai", "groq"}) {
    const std::string said = key_of(elsewhere(provider), provider, {});
    EXPECT_NE(said.find("was not set for other.example: name the variable that holds its key in providers." +
                        std::string(provider) + ".api_key_env"),
              std::string::npos)
        << said;
  }
  // Its own host, this machine, and a server that gets no key of a vendor's.
  EXPECT_EQ(address(elsewhere("openai", "https://api.openai.com/v2"), "openai"), "api.openai.com (AGENTD_BASE_URL)");
  EXPECT_EQ(address(elsewhere("openai", "http://127.0.0.1:9/v1"), "openai"), "127.0.0.1:9 (AGENTD_BASE_URL)");
  EXPECT_EQ(address(elsewhere("ollama"), "ollama"), "other.example (AGENTD_BASE_URL)");
}

TEST(ProviderAddress, TheVendorsOtherVariableGoesNoFurtherThanItsFirst) {
  const std::map<std::string, std::string> keys{{"ANTHROPIC_AUTH_TOKEN", "t"}, {"GOOGLE_API_KEY", "g"}};
  EXPECT_EQ(key_of(in_environment({}), "anthropic", keys), "ANTHROPIC_AUTH_TOKEN");
  EXPECT_EQ(key_of(in_environment({}), "google", keys), "GOOGLE_API_KEY");
  for (const char* const provider : {"anthropic", "google"}) {
    const std::string variable = provider == std::string("google") ? "AGENTD_PROVIDERS_GOOGLE_API_KEY_ENV"
                                                                   : "AGENTD_PROVIDERS_ANTHROPIC_API_KEY_ENV";
    const Config named = in_environment(
        {{"AGENTD_BASE_URL", "https://other.example"}, {"AGENTD_PROVIDER", provider}, {variable, "MY_KEY"}});
    EXPECT_EQ(key_of(named, provider, keys), "none");
    EXPECT_EQ(key_of(named, provider, {{"MY_KEY", "k"}}), "MY_KEY");
  }
}

TEST(StoredKeys, AreUsedWhereNoVariableIsSetAndForTheirHostAlone) {
  testing::TempDir directory;
  const std::string home = directory.file("home");
  const Config usual = in_environment({}), other = elsewhere("groq"), here = elsewhere("groq", "http://127.0.0.1:9/v1");
  EXPECT_EQ(key_of(usual, "groq", {}, home), "none");
  ASSERT_TRUE(store_credential(home, {"groq", "api.groq.com", "gsk-1"}));
  EXPECT_EQ(key_of(usual, "groq", {}, home), "file");
  EXPECT_EQ(key_of(usual, "groq", {{"GROQ_API_KEY", "k"}}, home), "GROQ_API_KEY");
  EXPECT_EQ(key_of(usual, "groq", {{"GROQ_API_KEY", " "}}, home), "file");
  EXPECT_EQ(key_of(usual, "openai", {}, home), "none");
  for (const Config* const config : {&other, &here}) {
    const std::string said = key_of(*config, "groq", {}, home);
    EXPECT_NE(said.find("was stored for api.groq.com and is not sent to other hosts"), std::string::npos) << said;
    EXPECT_NE(said.find("'agentd auth set groq'"), std::string::npos) << said;
  }
  // Stored for the other host it goes there, which a vendor's variable does not.
  ASSERT_TRUE(store_credential(home, {"groq", "other.example", "gsk-2"}));
  EXPECT_EQ(key_of(other, "groq", {}, home), "file");
  EXPECT_NE(key_of(other, "groq", {{"GROQ_API_KEY", "k"}}, home).find("was not set for other.example"),
            std::string::npos);
  const auto setup = provider_setup(other, ModelTable::embedded(), "groq");
  const KeyRing keys(environment_of({}), home);
  EXPECT_EQ(keys.value(*setup, *keys.find(*setup)), "gsk-2");
}

TEST(ProviderAddress, HttpIsForThisMachineAlone) {
  for (const char* const url : {"http://127.0.0.1:9000", "http://localhost/x", "http://[::1]:80"})
    EXPECT_TRUE(provider_setup(in_environment({{"ANTHROPIC_BASE_URL", url}}), ModelTable::embedded(), "anthropic"))
        << url;
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", "http://user:pw@gateway.example:80/secret"}})),
            "providers.anthropic.base_url (ANTHROPIC_BASE_URL): http://gateway.example:80 would carry the "
            "key and the prompts unencrypted; use https");
  EXPECT_EQ(address(in_environment({{"ANTHROPIC_BASE_URL", "gateway.example"}})),
            "providers.anthropic.base_url (ANTHROPIC_BASE_URL): 'gateway.example' is not a usable URL: it must "
            "begin with https:// or http://");
}

// ---- who answers

std::string in_force(const std::map<std::string, std::string>& variables) {
  const auto route = model_in_force(in_environment(variables), ModelTable::embedded(), 0);
  return route ? route->provider + " " + route->model : route.error().message;
}

TEST(ModelInForce, IsWhatProviderAndModelSayTogether) {
  const auto of = [](const std::string& model, const std::string& provider = {}) {
    std::map<std::string, std::string> variables;
    if (!model.empty()) variables["AGENTD_MODEL"] = model;
    if (!provider.empty()) variables["AGENTD_PROVIDER"] = provider;
    return in_force(variables);
  };
  EXPECT_EQ(of(""), "anthropic claude-sonnet-5-5");
  EXPECT_EQ(of("", "openai"), "openai gpt-6.1-terra");
  EXPECT_EQ(of("openai/gpt-6-luna"), "openai gpt-6-luna");
  EXPECT_EQ(of("gemini-3.8-flash"), "google gemini-3.8-flash");
  EXPECT_EQ(of("gpt-6-luna"), "openai gpt-6-luna");        // the table knows whose it is
  EXPECT_EQ(of("gpt-6-luna", "groq"), "groq gpt-6-luna");  // the user says whose
  EXPECT_EQ(of("openai/gpt-6-luna", "groq"), "openai gpt-6-luna");
  EXPECT_EQ(of("nobody-knows"), "anthropic nobody-knows");
  EXPECT_EQ(of("openrouter/anthropic/claude-opus-5-5"), "openrouter anthropic/claude-opus-5-5");
  EXPECT_EQ(of("meta/llama", "ollama"), "ollama meta/llama");  // no provider's name
  EXPECT_EQ(of("", "scripted"), "scripted scripted");
  EXPECT_EQ(of("openai/gpt-6-luna", "scripted"), "scripted openai/gpt-6-luna");
  EXPECT_NE(of("", "ollama").find("'ollama' has no default; pass --model NAME"), std::string::npos);
  EXPECT_NE(of("", "opnai").find("no provider named 'opnai': did you mean 'openai'?"), std::string::npos);
}

TEST(ModelInForce, AProviderOfTheCommandLineMustNotContradictTheModels) {
  const auto said = [](const std::vector<ConfigSources::Flag>& flags) {
    ConfigSources sources;
    sources.flags = flags;
    sources.environment = environment_of({{"AGENTD_MODEL", "google/gemini-3.8-flash"}});
    const auto config = Config::load(sources);
    if (!config) return config.error().message;
    const auto route = model_in_force(*config, ModelTable::embedded(), 0);
    return route ? route->provider + " " + route->model : route.error().message;
  };
  EXPECT_EQ(said({{"provider", "openai", "--provider"}, {"model", "anthropic/claude-opus-5-5", "--model"}}),
            "--provider openai and --model anthropic/claude-opus-5-5 name two providers: omit the first to ask "
            "anthropic, or set --model to a model of openai, such as openai/NAME");
  EXPECT_NE(
      said({{"provider", "openai", "--set"}}).find("--set provider=openai and model google/gemini-3.8-flash (AGE"),
      std::string::npos);
  EXPECT_EQ(said({{"provider", "openai", "--provider"}, {"model", "openai/gpt-6-luna", "--model"}}),
            "openai gpt-6-luna");
  EXPECT_EQ(said({{"provider", "groq", "--provider"}, {"model", "gpt-6-luna", "--model"}}), "groq gpt-6-luna");
  EXPECT_EQ(said({{"provider", "scripted", "--script"}, {"model", "openai/gpt-6-luna", "--model"}}),
            "scripted openai/gpt-6-luna");
  EXPECT_EQ(said({{"model", "anthropic/claude-opus-5-5", "--model"}}), "anthropic claude-opus-5-5");
}

TEST(NetworkFiles, ThatCannotBeOpenedAreMistakesOfTheConfiguration) {
  testing::TempDir directory;
  const std::string file = directory.file("config.yaml"), pem = directory.file("own.pem");
  ASSERT_TRUE(write_file_atomically(pem, "-----BEGIN CERTIFICATE-----\n", 0600));
  EXPECT_TRUE(check_network_files(config_of({})));
  for (const std::string key : {"ca_file", "client_cert", "client_key"}) {
    EXPECT_TRUE(check_network_files(config_of({{"network." + key, pem}}))) << key;
    ASSERT_TRUE(write_file_atomically(file, "network:\n  " + key + ": /nonexistent.pem\n", 0600));
    const auto missing = check_network_files(in_environment({}, file));
    ASSERT_FALSE(missing) << key;
    EXPECT_EQ(missing.error().code, Code::kInvalid);
    EXPECT_EQ(missing.error().message.find(file + ":2: network." + key + ": opening /nonexistent.pem"), 0u)
        << missing.error().message;
    const auto folder = check_network_files(config_of({{"network." + key, directory.path()}}));
    ASSERT_FALSE(folder) << key;
    EXPECT_NE(folder.error().message.find("is a directory"), std::string::npos) << folder.error().message;
  }
}

// ---- the home directory

TEST(Home, IsAnAbsolutePathWhicheverVariableNamesIt) {
  const auto home = [](const std::map<std::string, std::string>& variables) {
    ProcessSurroundings surroundings;
    surroundings.environment = environment_of(variables);
    const auto found = home_of(surroundings);
    return found ? *found : found.error().message;
  };
  EXPECT_EQ(home({{"HOME", "/home/ann"}}), "/home/ann/.agent");
  EXPECT_EQ(home({{"HOME", "rel"}, {"AGENTD_HOME", "/x"}}), "/x");
  EXPECT_EQ(home({{"HOME", "rel"}}),
            "HOME must be an absolute path, and is 'rel': the shell expands ~ only outside quotes");
  EXPECT_EQ(home({{"HOME", "/home/ann"}, {"AGENTD_HOME", "rel"}}),
            "AGENTD_HOME must be an absolute path, and is 'rel': the shell expands ~ only outside quotes");
  EXPECT_NE(home({}).find("neither AGENTD_HOME nor HOME is set"), std::string::npos);
}

TEST(ModelInForce, AProviderOfTheConfigurationIsOneToo) {
  testing::TempDir directory;
  const std::string file = directory.file("config.yaml");
  ASSERT_TRUE(write_file_atomically(
      file,
      "providers:\n  work: {base_url: https://llm.work.example/v1, api_key_env: WORK_KEY, max_retries: 5}\n"
      "  gate: {kind: anthropic, base_url: https://gate.example}\n  lost: {max_retries: 1}\n",
      0600));
  const Config config = in_environment({{"AGENTD_MODEL", "work/some/model"}}, file);
  const auto route = model_in_force(config, ModelTable::embedded(), 0);
  ASSERT_TRUE(route) << route.error().message;
  EXPECT_EQ(route->provider + " " + route->model, "work some/model");
  const auto work = provider_setup(config, ModelTable::embedded(), "work");
  ASSERT_TRUE(work) << work.error().message;
  EXPECT_EQ(work->key_variable, "WORK_KEY");
  EXPECT_EQ(work->format->name, "openai");
  const auto gate = provider_setup(config, ModelTable::embedded(), "gate");
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_EQ(gate->format->name, "anthropic");
  EXPECT_EQ(gate->key_variable, "");  // no vendor's key goes there
  EXPECT_NE(provider_setup(config, ModelTable::embedded(), "lost")
                .error()
                .message.find("has no address: set providers.lost.base_url"),
            std::string::npos);
}

// ---- on the day of a release

// The day for which the table must hold: AGENTD_RELEASE_DATE of the environment, else that of the
// commit which was built.
std::string release_date() {
  const char* const named = std::getenv("AGENTD_RELEASE_DATE");
  return named != nullptr ? named : AGENTD_COMMIT_DATE;
}

// The models that the table chooses for a user who has not chosen, and that have retired on that day. A release should
// name their successors; an older program takes them from the table.
std::vector<std::string> past_on(const ModelTable& table, std::int64_t wall_ms) {
  std::vector<std::string> out;
  const auto look = [&](const std::string& model, const std::string& what) {
    if (is_retired(table.find(model), wall_ms)) out.push_back(what + model);
  };
  for (const ModelInfo& info : table.models())
    if (!info.summary_model.empty()) look(info.summary_model, info.pattern + " is summarised by ");
  for (const auto& [provider, model] : table.defaults()) look(model, "the default model of " + provider + " is ");
  return out;
}

std::int64_t wall_of(const std::string& date) {
  return wall_of(std::stoi(date.substr(0, 4)), static_cast<unsigned>(std::stoi(date.substr(5, 2))),
                 static_cast<unsigned>(std::stoi(date.substr(8, 2))));
}

TEST(ModelTableOnItsRelease, NothingThatItChoosesIsPastItsLastDay) {
  const std::string date = release_date();
  ASSERT_TRUE(is_date(date)) << date;
  for (const std::string& past : past_on(ModelTable::embedded(), wall_of(date)))
    ADD_FAILURE() << "on " << date << ", core/tokens/models.json: " << past;
}

TEST(ModelTableOnItsRelease, ADayTooLateIsSeen) {
  ModelTable table = ModelTable::embedded();
  ASSERT_TRUE(
      table.overlay("models: [{pattern: claude-sonnet-5-5, retires: 2027-03-01}, "
                    "{pattern: gemini-3.5-flash-lite, retires: 2027-03-02}]",
                    "models.yaml"));
  EXPECT_TRUE(past_on(table, wall_of(2027, 2, 28)).empty());
  EXPECT_EQ(past_on(table, wall_of(2027, 3, 1)),
            std::vector<std::string>{"the default model of anthropic is claude-sonnet-5-5"});
  const auto later = past_on(table, wall_of(2027, 3, 2));
  EXPECT_EQ(std::count(later.begin(), later.end(), "gemini-2.5-pro is summarised by gemini-3.5-flash-lite"), 1);
}

// A program that is not replaced for two years still chooses models that are served, as far as the table knows.
TEST(ModelTableOnItsRelease, AnOldProgramChoosesNoModelThatHasRetired) {
  ModelTable table = ModelTable::embedded();
  const std::int64_t last = wall_of(release_date()) + 700 * std::int64_t{86'400'000};
  const auto check = [&] {
    for (const auto& [provider, model] : table.defaults())
      EXPECT_FALSE(is_retired(table.find(default_in_service(table, provider, last)), last)) << provider;
    for (const ModelInfo& info : table.models())
      EXPECT_FALSE(is_retired(table.find(summariser_in_service(table, info, last)), last)) << info.pattern;
  };
  check();
  // Models that are chosen today, once their vendors announce a day.
  ASSERT_TRUE(
      table.overlay("models: [{pattern: claude-sonnet-5-5, retires: 2027-03-01, successor: claude-opus-5-5}, "
                    "{pattern: claude-haiku-5-5, retires: 2027-03-01, successor: claude-sonnet-5-5}]",
                    "models.yaml"));
  EXPECT_EQ(default_in_service(table, "anthropic", last), "claude-opus-5-5");
  check();
}

}  // namespace
}  // namespace agentd
