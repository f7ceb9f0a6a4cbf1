// SPDX-License-Identifier: Apache-2.0
// acp_replay_test.cc - what clients of others have sent to agents of others, sent to agentd. The README of
// acp_recordings describes the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/file.h"
#include "tests/e2e/acp_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

using Lines = std::vector<JsonView>;
using Names = std::map<std::string, std::string>;  // "${SESSION_1}": what it stands for here

std::string with(const Names& names, std::string text) {
  for (const auto& [name, value] : names)
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  return text;
}

bool is_prompt(JsonView message) { return message["method"].string_or("") == "session/prompt"; }

// The mode in which nothing is asked and nothing is changed. What the other agents call their first mode is no mode of
// agentd's, so that it is kept.
bool is_plan(JsonView message) { return message["params"]["modeId"].string_or("") == "plan"; }

// The lines that belong to a prompt: those between it and its answer.
Lines lines_of_prompt(const Lines& lines, std::size_t at) {
  Lines out;
  const std::int64_t id = lines[at]["send"]["id"].int_or(-1);
  for (++at; at < lines.size() && lines[at]["answered"].int_or(-1) != id; ++at) out.push_back(lines[at]);
  return out;
}

// One connection of a recording: its client, and a model that asks what the other agent's model did.
class Connection {
 public:
  Connection(Program& program, Lines lines, Names& names, std::set<std::string>& spoken, bool has_texts_as_ids)
      : program_(program), lines_(std::move(lines)), names_(names), spoken_(spoken), texts_(has_texts_as_ids) {}

  void play() {
    editor_ = std::make_unique<AcpClient>(program_, std::vector<std::string>{"--script", program_.script(script())});
    editor_->on_request([this](const RpcMessage& request) { return answer_to(request); });
    for (const JsonView line : lines_) {
      if (line["answers"].exists())
        answers_[std::string(line["answers"].string_or(""))].push_back(line["send"]["result"]);
      else if (line["send"].exists())
        send(line["send"]);
      else
        check(line);
    }
    EXPECT_TRUE(asked_.empty());
    go_on();
    EXPECT_EQ(editor_->close(), 0);
    // Once, and nothing else but what go_on() has asked.
    std::map<RpcId, int> answers;
    for (const RpcId& id : editor_->answered()) ++answers[id];
    for (const std::int64_t id : sent_) {
      EXPECT_EQ(answers[id_of(id)], 1) << id;
      answers.erase(id_of(id));
    }
    for (const auto& [id, count] : answers) EXPECT_GT(id.number().value_or(0), AcpClient::kFirstId) << id.json();
    for (const auto& [file, runs] : effects_) EXPECT_EQ(exists(program_.project() + "/" + file), runs) << file;
    std::set<std::string> known;
    for (const auto& [name, value] : names_) known.insert(value);
    for (const RpcMessage& each : editor_->updates())
      EXPECT_TRUE(known.contains(std::string(each.params()["sessionId"].string_or(""))));
  }

 private:
  // A prompt in which the client was asked about calls has as many calls; one that it cancelled takes its time.
  std::string script() {
    std::string out;
    bool plans = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      plans = plans || is_plan(lines_[i]["send"]);
      if (!is_prompt(lines_[i]["send"])) continue;
      std::string last = "- text: done\n";
      for (const JsonView line : lines_of_prompt(lines_, i)) {
        if (line["send"]["method"].string_or("") == "session/cancel")
          last = "- text: one two three four five six seven eight nine ten\n  pace_ms: 200\n";
        if (line["answers"].string_or("") != "session/request_permission") continue;
        const std::string file = "made." + std::to_string(effects_.size());
        const std::string_view chosen = line["send"]["result"]["outcome"]["optionId"].string_or("");
        effects_[file] = chosen.starts_with("${allow") && !plans;
        out += "- calls: [{name: bash, input: {command: touch " + file + "}}]\n";
      }
      out += last;
    }
    return out + "- text: and on\n";
  }

  RpcId id_of(std::int64_t number) const {
    if (!texts_) return RpcId(number);
    return *RpcId::read(JsonDocument::parse("\"client-" + std::to_string(number) + "\"")->root());
  }

  void send(JsonView message) {
    const std::string method(message["method"].string_or("")), params = with(names_, message["params"].text());
    const std::string session(message["params"]["sessionId"].string_or(""));
    if (!message["id"].exists()) {
      ASSERT_EQ(method, "session/cancel");
      const std::size_t before = editor_->count("agent_message_chunk");
      EXPECT_TRUE(editor_->until([&] { return editor_->count("agent_message_chunk") > before; }));
      for (const auto& [id, asked] : asked_)
        if (is_prompt(asked) && asked["params"]["sessionId"].string_or("") == session) cancelled_.insert(id);
      return editor_->notify(method, params);
    }
    const std::int64_t id = message["id"].int_or(-1);
    asked_[id] = message;
    sent_.insert(id);
    if (method == "session/close") closed_ = true;
    plans_ = plans_ || is_plan(message);
    if (is_prompt(message)) {
      spoken_.insert(session);
      session_ = session;
    }
    // Member for member as it was written, but for the names.
    if (texts_)
      editor_->send(rpc_frame(RpcFraming::kLines, rpc_request(id_of(id), method, params)));
    else
      editor_->send(with(names_, message.text()) + "\n");
  }

  // As the client has answered, with the option of that kind.
  std::string answer_to(const RpcMessage& request) {
    std::deque<JsonView>& recorded = answers_[request.method];
    EXPECT_FALSE(plans_ || recorded.empty()) << "the client was not asked: " << request.method;
    if (recorded.empty()) return "null";
    const std::string out = recorded.front().text();
    recorded.pop_front();
    Names options;
    const JsonView offered = request.params()["options"];
    for (std::size_t i = 0; i < offered.size(); ++i)
      options["${" + std::string(offered.at(i)["kind"].string_or("")) + "}"] = offered.at(i)["optionId"].string_or("");
    return with(options, out);
  }

  // The code that agentd has to refuse a request with; nullopt: it has to answer it.
  std::optional<RpcCode> refusal_of(JsonView request) const {
    static const std::set<std::string_view> kMethods{"initialize",
                                                     "authenticate",
                                                     "session/new",
                                                     "session/load",
                                                     "session/resume",
                                                     "session/list",
                                                     "session/close",
                                                     "session/delete",
                                                     "session/prompt",
                                                     "session/set_mode",
                                                     "session/set_config_option"};
    static const std::set<std::string_view> kModes{"ask", "accept_edits", "plan", "allow"};
    const std::string_view method = request["method"].string_or("");
    const JsonView params = request["params"];
    if (!kMethods.contains(method)) return kRpcNoMethod;
    if (method == "session/set_mode" && !kModes.contains(params["modeId"].string_or(""))) return kRpcBadParams;
    // The models and the logins of the other agent.
    if (method == "session/set_config_option" || method == "authenticate") return kRpcBadParams;
    // A session in which nothing was said is not kept.
    const bool reopens = method == "session/load" || method == "session/resume";
    if (reopens && !spoken_.contains(std::string(params["sessionId"].string_or("")))) return kRpcNotFound;
    return std::nullopt;
  }

  void check(JsonView line) {
    const std::int64_t id = line["answered"].int_or(-1);
    ASSERT_TRUE(asked_.contains(id)) << line.text();
    const JsonView request = asked_[id];
    asked_.erase(id);
    SCOPED_TRACE(request.text());
    const RpcMessage answer = editor_->wait(id_of(id));
    if (const auto refusal = refusal_of(request)) {
      EXPECT_EQ(answer.fault.code, *refusal) << answer.fault.message;
      EXPECT_FALSE(answer.fault.message.empty());
      // Clients look for these words.
      EXPECT_EQ(*refusal == kRpcNoMethod, answer.fault.message.starts_with("Method not found"));
      return;
    }
    ASSERT_EQ(answer.kind, RpcMessage::Kind::kResult) << answer.fault.message;
    if (line["session"].exists()) {
      const std::string_view made = answer.result()["sessionId"].string_or("");
      EXPECT_FALSE(made.empty());
      names_[std::string(line["session"].string_or(""))] = made;
    }
    if (!is_prompt(request)) return;
    EXPECT_EQ(answer.result()["stopReason"].string_or(""), cancelled_.contains(id) ? "cancelled" : "end_turn");
    EXPECT_TRUE(plans_ || answers_["session/request_permission"].empty()) << "the client was not asked about each call";
    answers_.clear();
  }

  // The session that was spoken in last works, or a new one where there is none.
  void go_on() {
    std::string session = with(names_, session_);
    if (session.empty()) names_["${SESSION_AFTER}"] = session = editor_->new_session();
    if (closed_) {
      const std::string params =
          R"({"sessionId":")" + session + R"(","cwd":")" + program_.project() + R"(","mcpServers":[]})";
      EXPECT_EQ(editor_->call("session/load", params).kind, RpcMessage::Kind::kResult);
    }
    EXPECT_EQ(editor_->prompt(session, "go on"), "end_turn");
    // Warnings of another session may follow.
    EXPECT_TRUE(has(editor_->said("agent_message_chunk"), "and on"));
  }

  Program& program_;
  const Lines lines_;
  Names& names_;
  std::set<std::string>& spoken_;  // sessions that had a prompt
  const bool texts_;
  std::unique_ptr<AcpClient> editor_;
  std::map<std::int64_t, JsonView> asked_;  // that have no answer yet
  std::set<std::int64_t> sent_, cancelled_;
  std::map<std::string, std::deque<JsonView>> answers_;  // of the client, by the method that it was asked
  std::map<std::string, bool> effects_;                  // files of calls, and whether the call was allowed
  std::string session_;                                  // the last one with a prompt
  bool closed_ = false, plans_ = false;
};

std::vector<std::string> recordings() {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::directory_iterator(AGENTD_ACP_RECORDINGS))
    if (each.path().extension() == ".jsonl") out.push_back(each.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

// The ids of requests are numbers, as in the recordings, or texts, as other clients write them.
class AcpReplay : public ::testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(AcpReplay, IsAnsweredAsTheProtocolSays) {
  const auto& [name, has_texts_as_ids] = GetParam();
  const auto text = read_file(AGENTD_ACP_RECORDINGS "/" + name + ".jsonl", 1u << 20);
  ASSERT_TRUE(text);
  const std::vector<JsonDocument> documents = json_lines(*text);
  ASSERT_GT(documents.size(), 2u);
  EXPECT_TRUE(documents[0].root()["client"].is_string() && documents[0].root()["agent"].is_string());
  Program program;
  program.config("sandbox: {layer: 'off'}\n");
  Names names{{"${CWD}", program.project()}};
  std::set<std::string> spoken;
  std::vector<Lines> connections;
  for (std::size_t i = 1; i < documents.size(); ++i) {
    const JsonView line = documents[i].root();
    if (line["connects"].bool_or(false))
      connections.emplace_back();
    else
      connections.at(connections.size() - 1).push_back(line);
  }
  for (const Lines& lines : connections) Connection(program, lines, names, spoken, has_texts_as_ids).play();
  EXPECT_FALSE(spoken.empty());
}

INSTANTIATE_TEST_SUITE_P(OfOthers, AcpReplay, ::testing::Combine(::testing::ValuesIn(recordings()), ::testing::Bool()),
                         [](const auto& each) {
                           return std::get<0>(each.param) + (std::get<1>(each.param) ? "_texts" : "_numbers");
                         });

}  // namespace
}  // namespace agentd::testing
