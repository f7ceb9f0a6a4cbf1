// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/compaction_stage.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/file.h"
#include "core/compaction/compaction.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::testing {
namespace {

std::string usage_of(const std::string& body) {
  return R"({"input_tokens":)" + std::to_string(body.size() / 4) + R"(,"output_tokens":1})";
}

std::string output_usage(const std::string& text) {
  return R"({"output_tokens":)" + std::to_string(text.size() / 4 + 1) + "}";
}

Block block_of(JsonView from) {
  const std::string_view type = from["type"].string_or("");
  if (type == "tool_use")
    return Block::tool_use(std::string(from["id"].string_or("")), std::string(from["name"].string_or("")),
                           from["input"].text());
  if (type == "tool_result") {
    std::string text(from["content"].string_or(""));
    for (std::size_t i = 0; i < from["content"].size(); ++i) text += from["content"].at(i)["text"].string_or("");
    return Block::tool_result(std::string(from["tool_use_id"].string_or("")), text, from["is_error"].bool_or(false));
  }
  Block block = Block::of_text(std::string(from["text"].string_or("")));
  if (type == "thinking") block.text = std::string(from["thinking"].string_or(""));
  return block;
}

std::vector<Message> messages_in(const std::string& body) {
  std::vector<Message> out;
  const auto parsed = JsonDocument::parse(body);
  if (!parsed) return out;
  const JsonView messages = parsed->root()["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Message message;
    message.role = messages.at(i)["role"].string_or("") == "assistant" ? Role::kAssistant : Role::kUser;
    const JsonView content = messages.at(i)["content"];
    if (content.is_string()) message.blocks.push_back(Block::of_text(std::string(content.string_or(""))));
    for (std::size_t b = 0; content.is_array() && b < content.size(); ++b)
      message.blocks.push_back(block_of(content.at(b)));
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace

std::string broken_pairs(const std::string& body) {
  Rows rows;
  for (const Message& message : messages_in(body)) rows.append(message, 0, 0);
  if (rows.empty()) return "the request has no messages";
  const auto sound = check_pairs(rows.list(), true);
  return sound ? std::string() : sound.error().message;
}

std::string texts_of(const std::string& body) {
  std::string out;
  for (const Message& message : messages_in(body))
    for (const Block& block : message.blocks) out += block.text + block.json + "\n";
  return out;
}

// ---- the model

Reply PlayedAnthropic::text_reply(const std::string& body, const std::string& text, const std::string& stop_reason) {
  return Reply::stream(
      AnthropicWire().start(usage_of(body)).text({text}).finish(stop_reason, output_usage(text)).bytes());
}

Reply PlayedAnthropic::too_long() {
  return Reply::http(400, {{"content-type", "application/json"}},
                     anthropic_error_body("invalid_request_error", "prompt is too long: 20001 tokens > 20000 maximum"));
}

PlayedAnthropic& PlayedAnthropic::say(std::string text) {
  const std::lock_guard lock(mutex_);
  turns_.emplace_back([text](const std::string& body) { return text_reply(body, text); });
  return *this;
}

PlayedAnthropic& PlayedAnthropic::say(std::string text, std::uint64_t input_tokens, std::uint64_t output_tokens) {
  const std::lock_guard lock(mutex_);
  turns_.emplace_back([=](const std::string&) {
    return Reply::stream(AnthropicWire()
                             .start(R"({"output_tokens":1,"input_tokens":)" + std::to_string(input_tokens) + "}")
                             .text({text})
                             .finish("end_turn", R"({"output_tokens":)" + std::to_string(output_tokens) + "}")
                             .bytes());
  });
  return *this;
}

PlayedAnthropic& PlayedAnthropic::call_tool(std::string name, std::string input_json) {
  const std::lock_guard lock(mutex_);
  const std::string call = "toolu_" + std::to_string(calls_.size()) + "_" + std::to_string(turns_.size());
  turns_.emplace_back([=](const std::string& body) {
    return Reply::stream(AnthropicWire()
                             .start(usage_of(body))
                             .text({"let me look"})
                             .tool_use(call, name, {input_json})
                             .finish("tool_use", output_usage(input_json))
                             .bytes());
  });
  return *this;
}

PlayedAnthropic& PlayedAnthropic::overflow() {
  const std::lock_guard lock(mutex_);
  turns_.emplace_back([](const std::string&) { return too_long(); });
  return *this;
}

void PlayedAnthropic::summaries(Fault fault, std::string text) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  summary_ = std::move(text);
  how_ = nullptr;
}

void PlayedAnthropic::summaries_by(std::function<Reply(const RecordedRequest&)> how) {
  const std::lock_guard lock(mutex_);
  how_ = std::move(how);
}

void PlayedAnthropic::refuse_turns_above(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  turn_bytes_max_ = bytes;
}

std::vector<PlayedAnthropic::Call> PlayedAnthropic::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<PlayedAnthropic::Call> PlayedAnthropic::calls_since(std::size_t first, bool summary) const {
  std::vector<Call> out;
  const std::vector<Call> all = calls();
  for (std::size_t i = first; i < all.size(); ++i)
    if (all[i].summary == summary) out.push_back(all[i]);
  return out;
}

bool PlayedAnthropic::wait_for_summaries(std::size_t count) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (calls_since(0, true).size() < count) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Reply PlayedAnthropic::answer(const RecordedRequest& request) {
  const std::lock_guard lock(mutex_);
  Call call;
  const auto parsed = JsonDocument::parse(request.body);
  if (parsed) call.model = std::string(parsed->root()["model"].string_or(""));
  call.summary = request.body.find("You summarise conversations") != std::string::npos;
  call.body = request.body;
  call.headers = request.headers;
  call.refused = !call.summary && turn_bytes_max_ != 0 && call.body.size() > turn_bytes_max_;
  calls_.push_back(call);
  if (call.refused) return too_long();
  if (call.summary && how_) return how_(request);
  if (call.summary && fault_ != Fault::kNone) return failed_summary(fault_, request.body);
  if (call.summary) return text_reply(request.body, summary_);
  if (turns_.empty()) return text_reply(request.body, "fine");
  const auto next = std::move(turns_.front());
  turns_.pop_front();
  return next(request.body);
}

Reply PlayedAnthropic::failed_summary(Fault fault, const std::string& body) {
  const std::string begun = AnthropicWire().start(usage_of(body)).text({"HALF-A-SUMMARY", " of the talk"}).bytes();
  switch (fault) {
    case Fault::kNone:
      break;
    case Fault::kServerError:
      return Reply::http(500, {}, "oops");
    case Fault::kOverloaded:
      return Reply::http(529, {{"content-type", "application/json"}},
                         anthropic_error_body("overloaded_error", "Overloaded"));
    case Fault::kNeverAnswers:
      return Reply().stall();
    case Fault::kEmpty:
      return Reply::stream(AnthropicWire().start(usage_of(body)).finish("end_turn", R"({"output_tokens":1})").bytes());
    case Fault::kBlank:
      return text_reply(body, " \n\t \n");
    case Fault::kRefusal:
      return text_reply(body, "I cannot help with that.", "refusal");
    case Fault::kCutStream:
      return Reply::stream(begun.substr(0, begun.rfind("event: content_block_stop")));
    case Fault::kGarbage:
      return Reply::stream(begun + "event: content_block_delta\ndata: {{{\"not json\n\n");
    case Fault::kPromptTooLong:
      return too_long();
  }
  return Reply::http(500, {}, "oops");
}

// ---- the stage

// The window is small, and its tools would be a part of each request.
const std::vector<std::string> kNoMemory{"--set", "hooks.session_memory.enabled=false"};

CompactionStage::CompactionStage(const std::string& more_config) {
  program_.set("ANTHROPIC_API_KEY=sk-test-123");
  program_.set("NO_PROXY=127.0.0.1");
  program_.config("base_url: " + model_.url() +
                  "\ncontext_window: 20000\n"
                  "providers: {anthropic: {max_retries: 0}}\n" +
                  more_config);
  ::chmod(program_.home().c_str(), 0700);
}

Finished CompactionStage::run(std::vector<std::string> words) {
  words.insert(words.begin(), {"run", "--json"});
  words.insert(words.end(), kNoMemory.begin(), kNoMemory.end());
  return program_.run(words);
}

Finished CompactionStage::compact(std::vector<std::string> words) {
  words.insert(words.begin(), {"compact", "--json"});
  words.insert(words.end(), kNoMemory.begin(), kNoMemory.end());
  return program_.run(words);
}

void CompactionStage::fill() {
  // The floor - system prompt and tools - is what a first request weighs without its messages.
  model_.say("FIRST-ANSWER " + std::string(14'000, 'a'));
  ASSERT_EQ(run({"--no-tools", "FIRST-QUESTION about kites " + std::string(6'000, 'p')}).code, 0);
  model_.say("SECOND-ANSWER " + std::string(14'000, 'b'));
  ASSERT_EQ(run({"--follow", "--no-tools", "SECOND-QUESTION about sails " + std::string(8'000, 'q')}).code, 0);
}

std::string CompactionStage::question(const std::string& words) const { return words + " " + std::string(8'000, 'r'); }

void CompactionStage::yaml_hook(const std::string& name, const std::string& text) const {
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/" + name + ".yaml", text, 0644));
}

void CompactionStage::executable_hook(const std::string& name, const std::string& event,
                                      const std::string& body) const {
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(
      program_.home() + "/hooks/" + name,
      "#!/bin/bash\ncase \"$1\" in\n  hook) echo " + event + " ;;\n  run)\n" + body + "\n  ;;\nesac\n", 0755));
}

void CompactionStage::record_events(const std::vector<std::string>& events) const {
  for (const std::string& event : events)
    executable_hook("zz_record_" + event, event,
                    "    cat >> " + program_.directory().file("recorded." + event) + "; echo >> " +
                        program_.directory().file("recorded." + event));
}

std::vector<JsonDocument> CompactionStage::recorded(const std::string& event) const {
  std::string text = program_.directory().read("recorded." + event), lines;
  // One object a line, whether or not the program ends its lines.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end != at) lines += text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return json_lines(lines);
}

std::string CompactionStage::outcomes(const Finished& ran) {
  std::string out;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or("") == "compaction_outcome")
      out += (out.empty() ? "" : ",") + std::string(line.root()["outcome"].string_or("?"));
  return out;
}

std::vector<std::string> CompactionStage::types(const Finished& ran) {
  std::vector<std::string> out;
  for (const JsonDocument& line : json_lines(ran.out)) out.emplace_back(line.root()["type"].string_or(""));
  return out;
}

std::size_t CompactionStage::count_type(const Finished& ran, const std::string& type) {
  const std::vector<std::string> all = types(ran);
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), type));
}

JsonDocument CompactionStage::boundary_message(const Finished& ran) {
  JsonDocument found = *JsonDocument::parse("null");
  std::size_t count = 0;
  for (JsonDocument& line : json_lines(ran.out)) {
    if (line.root()["subtype"].string_or("") != "compact_boundary") continue;
    found = std::move(line);
    ++count;
  }
  EXPECT_EQ(count, 1u) << ran.out;
  return count == 1 ? std::move(found) : *JsonDocument::parse("null");
}

std::string CompactionStage::view() {
  const std::string shown = program_.run({"conversation", "show", id(), "--view", "--format", "json"}).out;
  const std::size_t at = shown.find("\"messages\": [");
  const std::size_t compact = shown.find("\"messages\":[");
  EXPECT_TRUE(at != std::string::npos || compact != std::string::npos) << shown.substr(0, 500);
  return shown.substr(std::min(at, compact));
}

std::string CompactionStage::whole_log() { return program_.run({"conversation", "show", id(), "--log"}).out; }

std::vector<JsonDocument> CompactionStage::boundaries() {
  std::vector<JsonDocument> out;
  for (JsonDocument& record : json_lines(whole_log()))
    if (record.root()["type"].string_or("") == "boundary") out.push_back(std::move(record));
  return out;
}

std::size_t CompactionStage::attempts() {
  std::size_t count = 0;
  for (const JsonDocument& record : json_lines(whole_log()))
    if (record.root()["type"].string_or("") == "compaction_attempt") ++count;
  return count;
}

void CompactionStage::expect_sound_log() {
  const SystemClock clock;
  LmdbOptions options;
  options.directory = program_.home() + "/store";
  options.create = false;
  options.read_only = true;
  auto store = open_lmdb_store(options, clock);
  ASSERT_TRUE(store) << store.error().message;
  const auto all = (*store)->list({});
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->empty());
  for (const ConversationInfo& info : *all) {
    const auto sound = (*store)->verify(*Ulid::parse(info.id));
    EXPECT_TRUE(sound) << info.id << ": " << sound.error().message;
  }
}

void CompactionStage::expect_good_requests(std::size_t first) const {
  const auto turns = model_.calls_since(first, false);
  ASSERT_FALSE(turns.empty());
  for (const auto& call : turns) EXPECT_EQ(broken_pairs(call.body), "");
  // JSON's own characters only make it look bigger.
  EXPECT_LE(turns.back().body.size() / 4, kStageLimit);
}

}  // namespace agentd::testing
