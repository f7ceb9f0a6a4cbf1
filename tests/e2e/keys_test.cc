// SPDX-License-Identifier: Apache-2.0
// keys_test.cc - each provider's key arrives at the host that it was set for, and nowhere else, on every way on which a
// model is asked.
//
// Every provider has a key of its own, and every host, those of the vendors included, is played on loopback. A host
// records whatever comes, so a key that is on a wrong way is seen where it arrives, in whatever part of a request.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/base/file.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tls_proxy.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/google_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

struct Vendor {
  const char *name, *model, *host, *variable;
};
constexpr Vendor kVendors[] = {
    {"anthropic", "claude-haiku-5-5", "api.anthropic.com", "ANTHROPIC_API_KEY"},
    {"openai", "gpt-6-luna", "api.openai.com", "OPENAI_API_KEY"},
    {"google", "gemini-3.8-flash", "generativelanguage.googleapis.com", "GEMINI_API_KEY"},
    {"deepseek", "m", "api.deepseek.com", "DEEPSEEK_API_KEY"},
    {"mistral", "m", "api.mistral.ai", "MISTRAL_API_KEY"},
    {"groq", "m", "api.groq.com", "GROQ_API_KEY"},
    {"xai", "m", "api.x.ai", "XAI_API_KEY"},
    {"openrouter", "m", "openrouter.ai", "OPENROUTER_API_KEY"},
};

// "canary-openai-4f1c6b02d9": by its first two words it is found, however it was cut.
std::string key_of(const std::string& name) { return "canary-" + name + "-4f1c6b02d9"; }

// A model's answer in the format of the request.
Reply answer_to(const RecordedRequest& got, const std::string& text) {
  if (has(got.target, "/messages"))
    return Reply::chunked({AnthropicWire().start().text({text}).finish("end_turn").bytes()});
  if (has(got.target, ":streamGenerateContent"))
    return Reply::chunked({GoogleWire().text({text}).finish("STOP").bytes()});
  if (has(got.target, "/responses")) return Reply::chunked({ResponsesWire().start().text({text}).finish().bytes()});
  return Reply::chunked({ChatWire().text({text}).finish("stop").bytes()});
}

// The hosts of the vendors, two gateways elsewhere, and two on this machine.
class Keys : public ::testing::Test {
 protected:
  Keys() {
    std::map<std::string, std::uint16_t> ports;
    for (const Vendor& each : kVendors) ports[each.host] = play(each.host);
    for (const char* const host : {"gateway.example", "llm.work.example"}) ports[host] = play(host);
    for (const char* const host : {"near", "other"}) play(host);
    proxy_ = std::make_unique<TlsProxy>(program_.directory().path(), ports);
    for (const Vendor& each : kVendors) set_key(each.variable, each.name);
    set_key("WORK_KEY", "work");
    configure("");
  }

  std::uint16_t play(const std::string& host) {
    servers_[host] = std::make_unique<LoopbackServer>([this, host](const RecordedRequest& got) {
      if (elsewhere_.contains(host)) return Reply::http(307, {{"location", elsewhere_[host]}}, "");
      if (overloaded_.contains(host)) return Reply::http(503, {{"content-type", "application/json"}}, "{}");
      if (has(got.target, "/messages") && has(got.body, "ask somebody") && !has(got.body, "tool_result"))
        return Reply::chunked(
            {AnthropicWire().start().tool_use("t1", "task", {R"({"prompt":"count"})"}).finish("tool_use").bytes()});
      return answer_to(got, "Well.");
    });
    return servers_[host]->port();
  }
  void set_key(const std::string& variable, const std::string& name) {
    program_.set(variable + "=" + key_of(name));
    keys_.insert(name);
  }
  std::string url(const std::string& host) const { return servers_.at(host)->url(); }

  // `more` may begin with the rest of the section `providers`, each line with two spaces.
  void configure(const std::string& more) {
    config_ =
        "network: {proxy: \"" + proxy_->url() + "\", ca_file: " + proxy_->ca_file() + "}\nhooks: {dev: true}\n" + more;
    program_.config(config_);
  }
  // Anthropic's requests go to a gateway, at which no other provider's key may arrive.
  void configure_gateway(const std::string& address, const std::string& more = {}) {
    configure("provider: anthropic\nbase_url: " + address + "\n" + more);
  }

  // What has arrived since it was asked last: "host: keys", each once; "-" is a request without a key.
  std::set<std::string> arrived() {
    std::set<std::string> out;
    for (const auto& [host, server] : servers_) {
      const std::vector<RecordedRequest> all = server->requests();
      for (std::size_t i = seen_[host]; i < all.size(); ++i) out.insert(host + ": " + keys_in(all[i]));
      seen_[host] = all.size();
    }
    for (const std::string& stranger : proxy_->strangers()) out.insert("unknown host: " + stranger);
    return out;
  }
  std::string keys_in(const RecordedRequest& got) const {
    std::string all = got.method + " " + got.target + "\n" + got.body, out;
    for (const auto& [name, value] : got.headers) all.append("\n").append(name).append(": ").append(value);
    for (const std::string& name : keys_)
      if (has(all, "canary-" + name)) out += (out.empty() ? "" : " and ") + name;
    return out.empty() ? "-" : out;
  }
  // What arrives in a run with these words.
  std::set<std::string> run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run", "hello"};
    words.insert(words.end(), more.begin(), more.end());
    last_ = program_.run(words);
    EXPECT_EQ(last_.code, 0) << last_.err;
    return arrived();
  }
  // A run with these words that is refused with the sentence, and sends nothing.
  void expect_refused(const std::vector<std::string>& more, const std::string& sentence) {
    std::vector<std::string> words{"run", "hello"};
    words.insert(words.end(), more.begin(), more.end());
    last_ = program_.run(words);
    EXPECT_EQ(last_.code, 2) << last_.err;
    EXPECT_TRUE(has(last_.err, sentence)) << last_.err;
    EXPECT_EQ(arrived(), Set());
  }
  // The provider's line in the report: "host key's variable", "host file" or "host none"; of JSON and text alike.
  std::string told(const std::string& provider) {
    for (const JsonDocument& line : json_lines(program_.run({"doctor", "--json"}).out)) {
      const JsonView facts = line.root();
      if (facts["provider"].string_or("") != provider) continue;
      const std::string host(facts["host"].string_or("")), from(facts["address_from"].string_or("")),
          variable(facts["variable"].string_or("")), kind(facts["key_from"].string_or(""));
      const std::string with = kind == "environment" ? "with the key in " + variable
                               : kind == "file"      ? "with the stored key"
                                                     : "without a key";
      const std::string text = provider + ": requests go to " + host + " (" + from + "), " + with;
      EXPECT_EQ(facts["text"].string_or(""), text);
      EXPECT_TRUE(has(program_.run({"doctor"}).out, "note    " + text + "\n"));
      return host + " " + (variable.empty() ? kind : variable);
    }
    return "nothing";
  }

  using Set = std::set<std::string>;
  Program program_;
  Finished last_;
  std::string config_;
  std::map<std::string, std::string> elsewhere_;  // hosts that redirect, and to where
  Set overloaded_, keys_;
  std::map<std::string, std::size_t> seen_;
  std::map<std::string, std::unique_ptr<LoopbackServer>> servers_;
  std::unique_ptr<TlsProxy> proxy_;
};

// ---- settings

TEST_F(Keys, EachProviderIsAskedAtHomeWithItsOwn) {
  for (const Vendor& each : kVendors) {
    EXPECT_EQ(run({"-m", std::string(each.name) + "/" + each.model}), Set{std::string(each.host) + ": " + each.name});
    EXPECT_EQ(told(each.name), std::string(each.host) + " " + each.variable);
  }
}

TEST_F(Keys, AGatewaysAddressIsTheConfiguredProvidersAlone) {
  for (const std::string gateway : {"near", "gateway.example"}) {
    const bool near = gateway == "near";
    // Beyond this machine keys need a name of their variables; these are named for their own providers.
    std::string named = "providers:\n";
    for (const Vendor& each : kVendors)
      named += "  " + std::string(each.name) + ": {api_key_env: " + each.variable + "}\n";
    configure_gateway(near ? url(gateway) : "https://gateway.example", near ? "" : named);
    EXPECT_EQ(run(), Set{gateway + ": anthropic"});
    EXPECT_EQ(run({"-m", "claude-haiku-5-5"}), Set{gateway + ": anthropic"});
    EXPECT_EQ(told("anthropic"), (near ? url(gateway).substr(7) : gateway) + " ANTHROPIC_API_KEY");
    for (const Vendor& each : kVendors) {
      if (each.name == std::string("anthropic")) continue;
      const std::string model = std::string(each.name) + "/" + each.model;
      const Set own{std::string(each.host) + ": " + each.name};
      EXPECT_EQ(run({"-m", model}), own) << gateway;
      EXPECT_EQ(run({"--set", "model=" + model}), own) << gateway;
      EXPECT_EQ(run({"-p", each.name, "-m", each.model}), own) << gateway;
      EXPECT_EQ(run({"-m", "fast", "--set", "models.aliases.fast=" + model}), own) << gateway;
      EXPECT_EQ(told(each.name), std::string(each.host) + " " + each.variable);
    }
  }
}

TEST_F(Keys, AStrongerPlaceThatSelectsAnotherProviderTakesNoAddressAlong) {
  configure_gateway(url("near"), "models: {aliases: {fast: openai/gpt-6-luna}}\n");
  EXPECT_EQ(run({"-m", "fast"}), Set{"api.openai.com: openai"});
  program_.set("AGENTD_MODEL=google/gemini-3.8-flash");
  EXPECT_EQ(run(), Set{"generativelanguage.googleapis.com: google"});
  EXPECT_EQ(told("google"), "generativelanguage.googleapis.com GEMINI_API_KEY");
  EXPECT_EQ(told("anthropic"), url("near").substr(7) + " ANTHROPIC_API_KEY");
  program_.set("AGENTD_MODEL=");
  program_.set("AGENTD_PROVIDER=openai");
  EXPECT_EQ(run(), Set{"api.openai.com: openai"});
}

TEST_F(Keys, ProviderComesBeforeTheModelsVendor) {
  configure_gateway(url("near"), "model: openai/gpt-6-luna\n");
  EXPECT_EQ(run(), Set{"api.openai.com: openai"});
  EXPECT_EQ(run({"-m", "claude-haiku-5-5"}), Set{"near: anthropic"});
  // Without it the model says whose address it is.
  configure("model: openai/gpt-6-luna\nbase_url: " + url("near") + "\n");
  EXPECT_EQ(run(), Set{"near: openai"});
  EXPECT_EQ(run({"-m", "anthropic/claude-haiku-5-5"}), Set{"api.anthropic.com: anthropic"});
}

TEST_F(Keys, AnAddressOfTheEnvironmentIsTheConfiguredProviders) {
  configure("provider: openai\n");
  program_.set("AGENTD_BASE_URL=" + url("near"));
  EXPECT_EQ(run(), Set{"near: openai"});
  EXPECT_EQ(told("openai"), url("near").substr(7) + " OPENAI_API_KEY");
  EXPECT_EQ(run({"-m", "anthropic/claude-haiku-5-5"}), Set{"api.anthropic.com: anthropic"});
  EXPECT_EQ(run({"-m", "groq/m"}), Set{"api.groq.com: groq"});
}

TEST_F(Keys, AnAddressOfTheCommandLineIsThatOfTheProviderWhichIsAsked) {
  const std::string address = "base_url=" + url("other");
  for (const char* const settings :
       {"", "provider: anthropic\n", "provider: anthropic\nmodel: google/gemini-3.8-flash\n"}) {
    configure(settings);
    EXPECT_EQ(run({"--set", address, "-m", "openai/gpt-6-luna"}), Set{"other: openai"});
    EXPECT_EQ(run({"--set", address, "-m", "openai/gpt-6-luna", "--set", "fallback=groq/m"}), Set{"other: openai"});
  }
  EXPECT_EQ(run({"--set", address}), Set{"other: google"}) << "the model of the file is asked";
  overloaded_ = {"other"};
  const std::string no_retries = "providers.openai.max_retries=0";
  EXPECT_EQ(run({"--set", address, "-m", "openai/gpt-6-luna", "--set", "fallback=groq/m", "--set", no_retries}),
            (Set{"other: openai", "api.groq.com: groq"}));
  overloaded_.clear();
  configure("provider: anthropic\n");
  EXPECT_EQ(run({"--set", address, "-p", "openai"}), Set{"other: openai"});
  EXPECT_EQ(run({"--set", address}), Set{"other: anthropic"});
}

TEST_F(Keys, AnAddressThatMayBeOfTwoProvidersIsRefused) {
  configure("base_url: " + url("near") + "\n");
  EXPECT_EQ(run(), Set{"near: anthropic"});
  const std::string file = program_.home() + "/config.yaml:3", begin = "base_url (" + file +
                                                                       ") is the address of "
                                                                       "anthropic, the default provider, but ";
  for (const char* const model : {"openai/gpt-6-luna", "gpt-6-luna"})
    expect_refused({"-m", model}, begin + "--model " + model +
                                      " selects openai: set provider where base_url is set, "
                                      "or replace base_url with providers.openai.base_url");
  expect_refused({"-p", "groq", "-m", "m"}, begin + "--provider groq selects groq");
  expect_refused({"-m", "openai/gpt-6-luna", "--set", "fallback=anthropic/claude-haiku-5-5"}, begin);
  // Others are not in question.
  EXPECT_EQ(run({"--set", "fallback=openai/gpt-6-luna"}), Set{"near: anthropic"});
  EXPECT_TRUE(has(program_.run({"doctor", "--set", "model=openai/gpt-6-luna"}).out, "BROKEN  " + begin));
  configure("provider: anthropic\nbase_url: " + url("near") + "\n");
  EXPECT_EQ(run({"-m", "gpt-6-luna", "-p", "openai"}), Set{"api.openai.com: openai"});
}

// ---- ways to a model

TEST_F(Keys, EachFallbackIsAskedAtItsOwnAddress) {
  configure_gateway(url("near"),
                    "fallback: [openai/gpt-6-luna, google/gemini-3.8-flash, groq/m, work/m, claude-haiku-5-5]\n"
                    "providers:\n  anthropic: {max_retries: 0}\n  openai: {max_retries: 0}\n"
                    "  google: {max_retries: 0}\n  groq: {max_retries: 0}\n"
                    "  work: {base_url: \"https://llm.work.example\", api_key_env: WORK_KEY}\n");
  overloaded_ = {"near", "api.openai.com", "generativelanguage.googleapis.com", "api.groq.com"};
  EXPECT_EQ(run(), (Set{"near: anthropic", "api.openai.com: openai", "generativelanguage.googleapis.com: google",
                        "api.groq.com: groq", "llm.work.example: work"}));
}

TEST_F(Keys, SummariesAndSubagentsAreAskedForAtTheAddressesOfTheirModels) {
  configure_gateway(url("near"),
                    "compaction: {model: google/gemini-3.8-flash}\n"
                    "agents: {enabled: true, model: openai/gpt-6-luna}\n");
  EXPECT_EQ(run({"ask somebody", "--allow", "task"}), (Set{"near: anthropic", "api.openai.com: openai"}));
  last_ = program_.run({"compact", "--follow"});
  EXPECT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(arrived(), Set{"generativelanguage.googleapis.com: google"}) << last_.out << last_.err;
  // Of a conversation with another vendor: its own cheap model.
  configure_gateway(url("near"));
  EXPECT_EQ(run({"-m", "openai/gpt-6.1-sol"}), Set{"api.openai.com: openai"});
  last_ = program_.run({"compact", "--follow", "--set", "model=openai/gpt-6.1-sol"});
  EXPECT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(arrived(), Set{"api.openai.com: openai"});
}

TEST_F(Keys, AModelThatAHookNamesIsAskedAtItsOwnAddress) {
  program_.drop_hook(AGENTD_ASKER_HOOK);
  const auto with = [this](const std::string& hooks) {
    configure_gateway(url("near"));
    std::string config = config_;
    config.replace(config.find("{dev: true}"), 11, "{dev: true, " + hooks + "}");
    program_.config(config);
  };
  for (const char* const isolation : {"process", "in-process"}) {
    with("isolation: " + std::string(isolation) + ", asker: {config: {model: openai/gpt-6-luna}}");
    EXPECT_EQ(run(), (Set{"near: anthropic", "api.openai.com: openai"})) << last_.err;
    EXPECT_TRUE(has(last_.err, "asked openai/gpt-6-luna: ok")) << last_.err;
    // While another one is asked for the run.
    EXPECT_EQ(run({"-m", "groq/m"}), (Set{"api.groq.com: groq", "api.openai.com: openai"})) << last_.err;
    with("isolation: " + std::string(isolation) + ", asker: {config: {model: anthropic/claude-haiku-5-5}}");
    EXPECT_EQ(run({"-m", "openai/gpt-6-luna"}), (Set{"near: anthropic", "api.openai.com: openai"})) << last_.err;
  }
  with("asker: {enabled: false}");
  ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/switch.yaml",
                                    "on: before_model_call\ndo: {model: google/gemini-3.8-flash}\n", 0600));
  EXPECT_EQ(run(), Set{"generativelanguage.googleapis.com: google"});
}

// The jobs of memories name the vendor of their session, whatever is selected when they are done.
TEST_F(Keys, MemoriesAreRefinedAtTheAddressOfTheirModel) {
  configure_gateway(url("near"));
  const std::string lesson =
      R"({"task":"Make the export of invoices faster","approach":"Rows are read in batches of 500",)"
      R"("outcome":"success","tags":["invoice export"],"notes":"The index on customer_id must exist"})";
  bool learned = false;
  servers_["api.openai.com"] = std::make_unique<LoopbackServer>([&](const RecordedRequest& got) {
    if (std::exchange(learned, true)) return answer_to(got, R"({"memories":[]})");
    return Reply::chunked({ResponsesWire().start().function_call("c1", "session_end", {lesson}).finish().bytes()});
  });
  proxy_ = nullptr;
  std::map<std::string, std::uint16_t> ports;
  for (const auto& [host, server] : servers_) ports[host] = server->port();
  proxy_ = std::make_unique<TlsProxy>(program_.directory().path(), ports);
  configure_gateway(url("near"));
  EXPECT_EQ(run({"-m", "openai/gpt-6-luna"}), Set{"api.openai.com: openai"});
  ASSERT_TRUE(learned);
  last_ = program_.run({"memory", "jobs", "--run"});
  EXPECT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(arrived(), Set{"api.openai.com: openai"}) << last_.out << last_.err;
}

TEST_F(Keys, ClientsOfTheDaemonNameModels) {
  configure_gateway(url("near"), "serve: {port: 0, socket: false, drain_seconds: 5}\n");
  Running daemon = program_.start({"serve"});
  ASSERT_TRUE(daemon.wait_for_out("\n")) << daemon.err();
  std::string token = read_file(program_.home() + "/serve.token", 1'000).value_or("");
  while (!token.empty() && token.back() == '\n') token.pop_back();
  const std::string said = daemon.out();
  const HttpClient client(static_cast<std::uint16_t>(std::stoi(said.substr(said.find("127.0.0.1:") + 10))), token);
  const auto ask = [&](const std::string& model) {
    const HttpAnswer made =
        client.post("/api/v1/conversations", R"({"cwd":")" + program_.project() + "\"" + model + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    const std::string path = "/api/v1/conversations/" + std::string(made.json().root()["id"].string_or(""));
    EventReader events = client.events(path + "/events");
    EXPECT_EQ(client.post(path + "/messages", R"({"text":"hello"})").status, 202);
    EXPECT_TRUE(events.until("run_ended"));
    return arrived();
  };
  EXPECT_EQ(ask(""), Set{"near: anthropic"});
  for (const Vendor& each : kVendors) {
    const std::string host = each.name == std::string("anthropic") ? "near" : each.host;
    EXPECT_EQ(ask(R"(,"model":")" + std::string(each.name) + "/" + each.model + "\""), Set{host + ": " + each.name});
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().code, 0);
}

// ---- where keys and addresses come from

TEST_F(Keys, TheVendorsVariablesAreTheirOwn) {
  program_.set("ANTHROPIC_BASE_URL=" + url("near"));
  program_.set("OPENAI_BASE_URL=" + url("other") + "/v1");
  program_.set("GOOGLE_GEMINI_BASE_URL=https://gateway.example");
  const std::map<std::string, std::string> hosts{
      {"anthropic", "near"}, {"openai", "other"}, {"google", "gateway.example"}};
  for (const char* const settings : {"", "provider: groq\nmodel: m\n"}) {
    configure(settings);
    for (const Vendor& each : kVendors) {
      const auto found = hosts.find(each.name);
      const std::string host = found == hosts.end() ? each.host : found->second;
      EXPECT_EQ(run({"-m", std::string(each.name) + "/" + each.model}), Set{host + ": " + each.name});
    }
  }
  EXPECT_EQ(told("google"), "gateway.example GEMINI_API_KEY");
  // They are not the selected provider's, and its address is not theirs.
  configure("provider: groq\nmodel: m\nbase_url: " + url("near") + "\n");
  EXPECT_EQ(run(), Set{"near: groq"});
  EXPECT_EQ(run({"-m", "openai/gpt-6-luna"}), Set{"other: openai"});
}

TEST_F(Keys, TheVendorsOtherVariablesGoNoFurther) {
  program_.set("ANTHROPIC_API_KEY=");
  program_.set("GEMINI_API_KEY=");
  set_key("ANTHROPIC_AUTH_TOKEN", "token");
  set_key("GOOGLE_API_KEY", "second");
  configure("provider: openai\nbase_url: " + url("near") + "\n");
  EXPECT_EQ(run({"-m", "anthropic/claude-haiku-5-5"}), Set{"api.anthropic.com: token"});
  EXPECT_EQ(run({"-m", "google/gemini-3.8-flash"}), Set{"generativelanguage.googleapis.com: second"});
  EXPECT_EQ(run(), Set{"near: openai"});
  configure("");
  last_ = program_.run({"run", "hello", "--set", "base_url=https://gateway.example", "--set",
                        "providers.anthropic.api_key_env=NOT_SET"});
  EXPECT_EQ(last_.code, 5) << last_.err;
  EXPECT_TRUE(has(last_.err, "no key for anthropic: set NOT_SET, or store one")) << last_.err;
  EXPECT_EQ(arrived(), Set());
}

TEST_F(Keys, ProvidersOfTheConfigurationHaveTheirOwnKeysOrNone) {
  configure_gateway(url("near"),
                    "providers:\n"
                    "  work: {base_url: \"https://llm.work.example\", api_key_env: WORK_KEY}\n"
                    "  gate: {kind: anthropic, base_url: \"https://gateway.example\"}\n"
                    "  bare: {base_url: " +
                        url("other") +
                        "/v1}\n"
                        "  ollama: {base_url: " +
                        url("other") + "/v1}\n");
  EXPECT_EQ(run({"-m", "work/m"}), Set{"llm.work.example: work"});
  EXPECT_EQ(run({"-m", "gate/m"}), Set{"gateway.example: -"});
  EXPECT_EQ(run({"-m", "bare/m"}), Set{"other: -"});
  EXPECT_EQ(run({"-m", "ollama/m"}), Set{"other: -"});
  EXPECT_EQ(run(), Set{"near: anthropic"});
  EXPECT_EQ(told("work"), "llm.work.example WORK_KEY");
  // One of them may be the one of the address.
  configure("provider: work\nmodel: m\nbase_url: " + url("near") + "\nproviders: {work: {api_key_env: WORK_KEY}}\n");
  EXPECT_EQ(run(), Set{"near: work"});
  EXPECT_EQ(run({"-m", "openai/gpt-6-luna"}), Set{"api.openai.com: openai"});
  EXPECT_EQ(run({"-m", "anthropic/claude-haiku-5-5"}), Set{"api.anthropic.com: anthropic"});
}

TEST_F(Keys, AVendorsKeyIsNotSentToAHostThatItWasNotSetFor) {
  configure("providers:\n  groq: {base_url: \"https://gateway.example\"}\n");
  expect_refused({"-m", "groq/m"}, "the key in GROQ_API_KEY was not set for gateway.example");
  configure("");
  expect_refused({"--set", "base_url=https://gateway.example"}, "the key in ANTHROPIC_API_KEY was not set for gateway");
  EXPECT_EQ(
      run({"--set", "base_url=https://gateway.example", "--set", "providers.anthropic.api_key_env=ANTHROPIC_API_KEY"}),
      Set{"gateway.example: anthropic"});
}

// The name of a key's variable is given for the addresses that were known where it was given.
TEST_F(Keys, AKeyOfAFileIsNotSentToAnAddressOfAStrongerPlace) {
  configure(
      "provider: work\nmodel: m\nproviders:\n"
      "  work: {base_url: \"https://llm.work.example\", api_key_env: WORK_KEY}\n");
  const std::string told =
      "the key in WORK_KEY was not set for gateway.example: set providers.work.api_key_env where "
      "the address is set, or store one with 'agentd auth set work'";
  expect_refused({"--set", "base_url=https://gateway.example"}, told);
  expect_refused({"--set", "providers.work.base_url=https://gateway.example"}, told);
  EXPECT_EQ(run({"--set", "base_url=https://llm.work.example/v2"}), Set{"llm.work.example: work"});
  EXPECT_EQ(run({"--set", "base_url=" + url("near")}), Set{"near: work"}) << "this machine";
  EXPECT_EQ(run({"--set", "base_url=https://gateway.example", "--set", "providers.work.api_key_env=WORK_KEY"}),
            Set{"gateway.example: work"});
  program_.set("AGENTD_BASE_URL=https://gateway.example");
  expect_refused({}, told);
}

TEST_F(Keys, AStoredKeyStaysWithItsHost) {
  program_.set("GROQ_API_KEY=");
  keys_.insert("stored");
  configure_gateway(url("near"));
  last_ = program_.run({"auth", "set", "groq"}, key_of("stored") + "\n");
  ASSERT_EQ(last_.code, 0) << last_.err;
  EXPECT_TRUE(has(last_.out, "of groq for api.groq.com in")) << last_.out;
  EXPECT_EQ(run({"-m", "groq/m"}), Set{"api.groq.com: stored"});
  EXPECT_EQ(told("groq"), "api.groq.com file");
  EXPECT_EQ(run(), Set{"near: anthropic"});
  expect_refused({"-m", "groq/m", "--set", "base_url=" + url("other")}, "was stored for api.groq.com");
}

TEST_F(Keys, ARedirectTakesNoKeyAlong) {
  for (const Vendor& each : kVendors) {
    const std::string target = each.name == std::string("openai") ? "https://gateway.example/v1" : url("other");
    elsewhere_[each.host] = target;
    last_ = program_.run({"run", "hello", "-m", std::string(each.name) + "/" + each.model});
    EXPECT_EQ(last_.code, 5) << last_.err;
    EXPECT_TRUE(has(last_.err, "redirects are not followed")) << last_.err;
    EXPECT_EQ(arrived(), Set{std::string(each.host) + ": " + each.name});
  }
}

// ---- the test itself

TEST_F(Keys, TheHostsSeeAKeyInEachPartOfARequest) {
  RecordedRequest got{"POST", "/v1/messages", "{}", {}};
  EXPECT_EQ(keys_in(got), "-");
  got.headers = {{"authorization", "Bearer " + key_of("openai")}};
  EXPECT_EQ(keys_in(got), "openai");
  got.target = "/v1/messages?key=" + key_of("google");
  EXPECT_EQ(keys_in(got), "google and openai");
  got.body = "{\"text\":\"" + key_of("anthropic") + "\"}";
  EXPECT_EQ(keys_in(got), "anthropic and google and openai");
  configure("providers: {strange: {base_url: \"https://strange.example\", max_retries: 0}}\n");
  last_ = program_.run({"run", "hello", "-m", "strange/m"});
  EXPECT_EQ(last_.code, 5) << last_.err;
  EXPECT_EQ(arrived(), Set{"unknown host: CONNECT strange.example:443"});
}

}  // namespace
}  // namespace agentd::testing
