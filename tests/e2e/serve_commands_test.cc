// SPDX-License-Identifier: Apache-2.0
// serve_commands_test.cc - each command with a daemon and without one, in a home that begins anew: the same output, the
// same exit code, the same store and the same files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/commands_home.h"

namespace agentd::testing {
namespace {

using Lines = std::vector<std::vector<std::string>>;  // of words; ID is the newest conversation

struct Case {
  std::string name, turns;         // of the script
  std::vector<std::string> words;  // the command
  std::string input = {}, settings = {}, hook = {};
  Lines before = {};  // commands that run by themselves before, with `turns_before` where there are some
  std::string turns_before = {};
  int served = 1;  // 0: the command works by itself, whether there is a daemon or not
  int signal = 0;  // is sent when the message is stored
  std::vector<std::pair<std::string, std::string>> terminal = {};  // it runs on one, with these inputs
  std::string recipe = {};                                         // /poem
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

// The text with a sum in place of each long word: neither expressions nor differences are for pictures.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLongWord = 500;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\"\\", at), text.size());
    const std::string word = text.substr(at, end - at);
    out += word.size() < kLongWord ? word
                                   : std::to_string(word.size()) + ":" + std::to_string(std::hash<std::string>()(word));
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

// The text with numbers for what differs from run to run. The same id has the same number, so their order counts.
std::string levelled(const std::string& whole) {
  std::string text = shortened(whole);
  static const std::pair<std::regex, const char*> kTimes[] = {
      {std::regex(R"re("(\w+_(?:ms|us|ns))":[0-9]+)re"), "\"$1\":N"},
      {std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?"), "TIME"},
      {std::regex("[0-9.,]+ (ms|s|µs)\\b"), "N s"},
      {std::regex(R"re("(parent_chain|digest)":"[0-9a-f]+")re"), "\"$1\":\"SUM\""},
  };
  static const std::regex kId(
      "[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  for (const auto& [part, with] : kTimes) text = std::regex_replace(text, part, with);
  std::map<std::string, std::size_t> known;
  std::string out;
  std::size_t taken = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kId); at != std::sregex_iterator(); ++at) {
    const auto number = known.emplace(at->str(), known.size() + 1).first->second;
    out += text.substr(taken, static_cast<std::size_t>(at->position()) - taken) + "ID" + std::to_string(number);
    taken = static_cast<std::size_t>(at->position() + at->length());
  }
  return out + text.substr(taken);
}

// What the program has left: conversations with their logs, memories, waiting calls, and files with their modes.
std::string left_by(Program& program) {
  std::string out;
  for (const std::vector<std::string>& words : Lines{{"conversation", "list", "--all", "--json"},
                                                     {"memory", "list", "--json"},
                                                     {"checkpoint", "list", "--json"},
                                                     {"approve", "--list", "--json"}}) {
    const Finished list = program.run(words);
    out += "--- " + words.front() + " " + std::to_string(list.code) + "\n" + list.out;
    if (words.front() == "conversation")
      for (const JsonDocument& each : json_lines(list.out))
        out += program.run({"conversation", "show", std::string(each.root()["id"].string_or("")), "--log"}).out;
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(program.project())) {
    struct stat file {};
    if (::stat(entry.path().c_str(), &file) != 0 || !entry.is_regular_file()) continue;
    files.push_back("--- " + entry.path().string() + " " + std::to_string(file.st_mode) + "\n" +
                    read_file(entry.path(), 1 << 20).value_or("?"));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) out += file;
  return out;
}

class Stage {
 public:
  // What the command says and leaves. It begins anew each time, in the same directories.
  std::string result_of(const Case& each, bool by_daemon) {
    Program& program = home_.program();
    home_.begin_again(each.settings);
    if (!each.hook.empty()) home_.hook(std::regex_replace(each.hook, std::regex("PROJECT"), program.project()));
    if (!each.recipe.empty()) home_.recipe("poem", each.recipe);
    (void)program.file("note.txt", "a note\n");
    (void)program.file("picture.png", "\x89PNG\r\n\x1a\nnot much of a picture");
    (void)program.file("large.png", "\x89PNG\r\n\x1a\n" + std::string(4u << 20, 'x'));
    (void)program.file("plan.pdf", "%PDF-1.7\nnot much of a document");
    (void)program.file("schema.json", R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
    home_.script(each.turns_before.empty() ? each.turns : each.turns_before);
    for (const auto& words : each.before) (void)program.run(with_id(words));
    const std::vector<std::string> words = with_id(each.words);
    home_.script(each.turns);
    if (by_daemon) home_.serve();
    const Finished ran = finish(each, words);
    if (by_daemon) {
      EXPECT_EQ(home_.served(), each.served) << ran.err;
      EXPECT_EQ(home_.end().code, 0);
    }
    return levelled("code " + std::to_string(ran.code) + "\n--- out\n" + ran.out + "--- err\n" + ran.err +
                    left_by(program));
  }

 private:
  std::vector<std::string> with_id(std::vector<std::string> words) {
    for (std::string& word : words)
      if (word == "ID") word = home_.program().newest();
    return words;
  }
  Finished finish(const Case& each, const std::vector<std::string>& words) {
    Program& program = home_.program();
    if (!each.terminal.empty()) return program.on_terminal(words, each.terminal);
    Running run = program.start(words, each.input);
    if (each.signal != 0) {
      EXPECT_TRUE(comes([&] { return has(home_.log(program.newest()), "\"user_message\""); })) << run.err();
      run.signal(each.signal);
    }
    return run.wait();
  }

  CommandsHome home_;
};

const std::string kServeHello = "- text: Hello there.\n";
const std::string kServeLate = "- {text: Late., delay_ms: 60000}\n";
const std::string kReads =
    "- text: I look.\n  calls:\n    - {name: read_file, input: {path: note.txt}}\n- text: It is a note.\n";
const std::string kWrites =
    "- calls:\n    - {name: write_file, input: {path: new/made.txt, content: \"made here\\n\"}}\n"
    "    - {name: read_file, input: {path: note.txt}}\n"
    "- calls:\n    - {name: edit_file, input: {path: note.txt, old_string: a note, new_string: an edit}}\n"
    "    - {name: bash, input: {command: \"pwd; umask; echo by bash > bash.txt\"}}\n- text: So be it.\n";
const std::string kServeCommands =
    "- calls:\n    - {name: bash, input: {command: \"echo made > made.txt\"}}\n- text: So be it.\n";
const std::string kLong(3u << 20, 'x');
const std::string kSummary = "- for: summary\n  text: They said hello.\n";
const std::string kTalk = kServeHello + "- text: Again.\n" + kSummary;
const std::string kAllow = "permissions: {allow: [bash, write_file, edit_file]}\n";
const std::string kWait = "permissions: {unanswered: wait}\n";
const std::string kFails = "on: before_tool_call\ncommand: 'cat > /dev/null; echo broken >&2; exit 3'\n";
const std::string kBlocks = "on: user_message_send\ndo: {action: block, reason: not today}\n";
const std::string kPoem =
    "---\ndescription: a poem\nallowed_tools: [read_file]\narguments: {topic: {required: true}}\n---\n"
    "Write a poem about {{.topic}}.\n";
const std::string kJsonPoem =
    "---\nhooks:\n  turn_end: {handler: validate_output, params: {schema: {type: object}, retries: 0}}\n---\n"
    "Write about {{.topic}} as JSON.\n";
const std::string kTellsAll =
    "on: [before_clear, after_clear, session_start, session_end]\ncommand: cat >> PROJECT/heard; echo >> "
    "PROJECT/heard\n";
const Lines kOne = {{"run", "hello"}};
const Lines kTwo = {{"run", "hello"}, {"run", "--follow", "and again"}};
const Lines kCompacted = {{"run", "hello"}, {"run", "--follow", "and again"}, {"compact", "-c", "ID"}};

std::vector<Case> runs() {
  return {
      {.name = "text", .turns = kServeHello, .words = {"run", "hello"}},
      {.name = "json", .turns = kServeHello, .words = {"run", "hello", "--json"}},
      {.name = "result only", .turns = kServeHello, .words = {"run", "hello", "--result-only"}},
      {.name = "thinking", .turns = "- thinking: Let me see.\n  text: Hello.\n", .words = {"run", "hello", "--json"}},
      {.name = "a picture", .turns = kServeHello, .words = {"run", "--image", "picture.png", "what is it?"}},
      {.name = "a picture and a document",
       .turns = kServeHello,
       .words = {"run", "--image", "picture.png", "@plan.pdf?"}},
      {.name = "a large picture",
       .turns = kServeHello,
       .words = {"run", "--image", "large.png", "what is it?"},
       .served = 0},
      {.name = "a long answer", .turns = "- text: " + kLong + "\n", .words = {"run", "hello", "--json"}},
      {.name = "a long message", .turns = kServeHello, .words = {"run", "-"}, .input = kLong, .served = 0},
      {.name = "standard input", .turns = kServeHello, .words = {"run", "-"}, .input = "hello from a pipe\n"},
      {.name = "words and a pipe",
       .turns = kServeHello,
       .words = {"run", "say", "this"},
       .input = "hello from a pipe\n"},
      {.name = "a file of the workspace", .turns = kServeHello, .words = {"run", "what is in @note.txt?"}},
      {.name = "resume", .turns = kServeHello, .words = {"run", "--resume", "ID", "more"}, .before = kOne},
      {.name = "resume as JSON",
       .turns = kServeHello,
       .words = {"run", "--resume", "ID", "more", "--json"},
       .before = kOne},
      {.name = "follow", .turns = kServeHello, .words = {"run", "--follow", "more"}, .before = kOne},
      {.name = "a key", .turns = kServeHello, .words = {"run", "--resume", "ID", "--key", "k", "more"}, .before = kOne},
      {.name = "a key again",
       .turns = kServeHello,
       .words = {"run", "--resume", "ID", "--key", "k", "more"},
       .before = {{"run", "hello"}, {"run", "--resume", "ID", "--key", "k", "more"}}},
      {.name = "not found",
       .turns = kServeHello,
       .words = {"run", "--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "more"},
       .before = kOne},
      {.name = "nothing to follow", .turns = kServeHello, .words = {"run", "--follow", "more"}},
      {.name = "an answer by a schema",
       .turns = "- text: '{\"n\": 7}'\n",
       .words = {"run", "count", "--output-schema", "schema.json"}},
      {.name = "an answer by no schema",
       .turns = "- text: seven\n- text: seven\n- text: seven\n",
       .words = {"run", "count", "--output-schema", "schema.json"}},
      {.name = "a provider that fails", .turns = "- error: {kind: auth, message: no key}\n", .words = {"run", "hello"}},
      {.name = "a provider that fails as JSON",
       .turns = "- error: {kind: auth, message: no key}\n",
       .words = {"run", "hello", "--json"}},
      {.name = "no more turns",
       .turns = "- calls: [{name: read_file, input: {path: note.txt}}]\n",
       .words = {"run", "hello"}},
      {.name = "a refusal", .turns = "- {text: No., stop_reason: refusal}\n", .words = {"run", "hello"}},
      {.name = "a cut answer",
       .turns = "- {text: Half of, stop_reason: max_tokens}\n",
       .words = {"run", "hello", "--json"}},
      {.name = "no text", .turns = "- {stop_reason: end_turn}\n", .words = {"run", "hello"}},
      {.name = "an interrupt", .turns = kServeLate, .words = {"run", "hello"}, .signal = SIGINT},
      {.name = "an interrupt as JSON", .turns = kServeLate, .words = {"run", "hello", "--json"}, .signal = SIGINT},
      {.name = "a termination", .turns = kServeLate, .words = {"run", "hello"}, .signal = SIGTERM},
      {.name = "a limit", .turns = kReads + kReads, .words = {"run", "read it"}, .settings = "max_turns: 1\n"},
  };
}

std::vector<Case> hooks_and_tools() {
  return {
      {.name = "a hook blocks", .turns = kServeHello, .words = {"run", "hello"}, .hook = kBlocks},
      {.name = "a hook blocks as JSON", .turns = kServeHello, .words = {"run", "hello", "--json"}, .hook = kBlocks},
      {.name = "a hook speaks",
       .turns = kServeHello,
       .words = {"run", "hello"},
       .hook = "on: agent_stop\ndo: {system_message: well done}\n"},
      {.name = "a hook fails", .turns = kReads, .words = {"run", "read it"}, .hook = kFails},
      {.name = "a hook fails as JSON", .turns = kReads, .words = {"run", "read it", "--json"}, .hook = kFails},
      {.name = "a guard fails", .turns = kReads, .words = {"run", "read it"}, .hook = "guard: true\n" + kFails},
      {.name = "a trace of hooks", .turns = kReads, .words = {"run", "read it"}, .settings = "hooks: {trace: true}\n"},
      {.name = "a tool", .turns = kReads, .words = {"run", "read it"}},
      {.name = "a tool as JSON", .turns = kReads, .words = {"run", "read it", "--json"}},
      {.name = "tools that write", .turns = kWrites, .words = {"run", "write it"}, .settings = kAllow},
      {.name = "tools that write as JSON",
       .turns = kWrites,
       .words = {"run", "write it", "--json"},
       .settings = kAllow},
      {.name = "a denied tool", .turns = kServeCommands, .words = {"run", "make it"}},
      {.name = "a denied tool as JSON", .turns = kServeCommands, .words = {"run", "make it", "--json"}},
      {.name = "a question that waits", .turns = kServeCommands, .words = {"run", "make it"}, .settings = kWait},
      {.name = "a question that waits as JSON",
       .turns = kServeCommands,
       .words = {"run", "make it", "--json"},
       .settings = kWait},
      {.name = "a question at a terminal",
       .turns = kServeCommands,
       .words = {"run", "make it"},
       .terminal = {{"Allow?", "y\n"}, {"So be it.", ""}}},
      {.name = "a no at a terminal",
       .turns = kServeCommands,
       .words = {"run", "make it"},
       .terminal = {{"Allow?", "n\n"}, {"So be it.", ""}}},
      {.name = "always at a terminal",
       .turns = "- calls:\n    - {name: bash, input: {command: \"echo made > made.txt\"}}\n" + kServeCommands,
       .words = {"run", "make it"},
       .terminal = {{"Allow?", "a\n"}, {"So be it.", ""}}},
      {.name = "approve as JSON",
       .turns = "- text: It is made.\n",
       .words = {"approve", "ID", "--json"},
       .settings = kWait,
       .before = {{"run", "make it"}},
       .turns_before = kServeCommands,
       .terminal = {{"Allow?", "y\n"}, {"It is made.", ""}}},
      {.name = "approve",
       .turns = "- text: It is made.\n",
       .words = {"approve", "ID"},
       .settings = kWait,
       .before = {{"run", "make it"}},
       .turns_before = kServeCommands,
       .terminal = {{"Allow?", "y\n"}, {"It is made.", ""}}},
      {.name = "deny",
       .turns = "- text: It is not made.\n",
       .words = {"approve", "ID", "--deny", "--reason", "no time"},
       .settings = kWait,
       .before = {{"run", "make it"}},
       .turns_before = kServeCommands,
       .terminal = {{"It is not made.", ""}}},
      {.name = "approve without a terminal",
       .turns = kServeHello,
       .words = {"approve", "ID"},
       .settings = kWait,
       .before = {{"run", "make it"}},
       .turns_before = kServeCommands,
       .served = 0},
  };
}

std::vector<Case> compactions() {
  return {
      {.name = "compact", .turns = kTalk, .words = {"compact", "-c", "ID"}, .before = kTwo},
      {.name = "compact as JSON", .turns = kTalk, .words = {"compact", "--follow", "--json"}, .before = kTwo},
      {.name = "compact without effect", .turns = kTalk, .words = {"compact", "-c", "ID", "--dry-run"}, .before = kTwo},
      {.name = "a compaction that fails", .turns = kServeHello, .words = {"compact", "-c", "ID"}, .before = kTwo},
      {.name = "a compaction that is refused",
       .turns = kTalk,
       .words = {"compact", "-c", "ID"},
       .hook = "on: before_compaction\ndo: {action: block, reason: keep it}\n",
       .before = kTwo},
      {.name = "undo", .turns = kTalk, .words = {"compact", "-c", "ID", "--undo"}, .before = kCompacted},
      {.name = "undo as JSON",
       .turns = kTalk,
       .words = {"compact", "-c", "ID", "--undo", "--json"},
       .before = kCompacted},
      {.name = "nothing to undo", .turns = kTalk, .words = {"compact", "-c", "ID", "--undo"}, .before = kTwo},
      {.name = "a difference",
       .turns = kTalk,
       .words = {"compact", "-c", "ID", "--diff"},
       .before = kCompacted,
       .served = 0},
  };
}

// By itself, whether there is a daemon or not.
std::vector<Case> alone() {
  return {
      {.name = "an empty message", .turns = kServeHello, .words = {"run", " "}, .served = 0},
      {.name = "an unknown option", .turns = kServeHello, .words = {"run", "--nothing"}, .served = 0},
      {.name = "options that exclude each other",
       .turns = kServeHello,
       .words = {"run", "--json", "--result-only", "hello"},
       .served = 0},
      {.name = "without saving", .turns = kServeHello, .words = {"run", "hello", "--no-save"}, .served = 0},
      {.name = "another setting", .turns = kServeHello, .words = {"run", "hello", "--max-turns", "3"}, .served = 0},
      {.name = "without hooks",
       .turns = kServeHello,
       .words = {"run", "hello", "--no-hooks"},
       .hook = kBlocks,
       .served = 0},
      {.name = "messages as a stream",
       .turns = kServeHello,
       .words = {"run", "--input-format", "stream-json"},
       .input = R"({"text":"hello"})",
       .served = 0},
      {.name = "a chat without saving",
       .turns = kTalk,
       .words = {"chat", "--no-save"},
       .input = "hello\n/status\n/clear\nonce more\n",
       .served = 0},
      {.name = "a list", .turns = kServeHello, .words = {"conversation", "list"}, .before = kTwo, .served = 0},
      {.name = "show", .turns = kReads, .words = {"conversation", "show", "ID"}, .before = kOne, .served = 0},
      {.name = "show what is not there",
       .turns = kServeHello,
       .words = {"conversation", "show", "01ARZ3"},
       .before = kOne,
       .served = 0},
      {.name = "fork", .turns = kServeHello, .words = {"conversation", "fork", "ID"}, .before = kOne, .served = 0},
      {.name = "delete",
       .turns = kServeHello,
       .words = {"conversation", "delete", "ID", "--yes"},
       .before = kOne,
       .served = 0},
      {.name = "search",
       .turns = kServeHello,
       .words = {"conversation", "search", "there"},
       .before = kOne,
       .served = 0},
      {.name = "memory add",
       .turns = kServeHello,
       .words = {"memory", "add", "-"},
       .input = "# Ports\n\nThe port is 9090.\n",
       .served = 0},
      {.name = "memory list",
       .turns = kServeHello,
       .words = {"memory", "list"},
       .before = {{"memory", "add", "note.txt"}},
       .served = 0},
      {.name = "memory search",
       .turns = kServeHello,
       .words = {"memory", "search", "note"},
       .before = {{"memory", "add", "note.txt"}},
       .served = 0},
      {.name = "approve list",
       .turns = kServeCommands,
       .words = {"approve", "--list"},
       .settings = kWait,
       .before = kOne,
       .served = 0},
      {.name = "hooks trace",
       .turns = kReads,
       .words = {"hooks", "trace", "-c", "ID"},
       .hook = kFails,
       .before = kOne,
       .served = 0},
      {.name = "hooks why",
       .turns = kReads,
       .words = {"hooks", "why", "call_1_1"},
       .hook = kFails,
       .before = kOne,
       .served = 0},
      {.name = "usage", .turns = kServeHello, .words = {"usage"}, .before = kOne, .served = 0},
      {.name = "checkpoint", .turns = kServeHello, .words = {"checkpoint", "save", "ID"}, .before = kOne, .served = 0},
  };
}

std::vector<Case> chats() {
  return {
      {.name = "a chat", .turns = kTalk, .words = {"chat"}, .input = "hello\nonce more\n/exit\n"},
      {.name = "a chat of every command",
       .turns = kTalk,
       .words = {"chat"},
       .input = "/status\nhello\n/help\n/status\n/recipes\n/checkpoint first\nonce more\n/compact be short\n/status\n"
                "/undo\n/status\n/undo now\n/nothing\n/statsu\n/a/path\n/clear\n/status\n/exit\n"},
      {.name = "an empty chat", .turns = kTalk, .words = {"chat"}, .input = ""},
      {.name = "an empty conversation",
       .turns = kTalk,
       .words = {"chat"},
       .input = "\n/compact\n/undo\n/checkpoint\n/compact-brief\n/clear\n"},
      {.name = "a chat that begins anew",
       .turns = kServeHello + "- text: Again.\n- text: And again.\n",
       .words = {"chat"},
       .input = "hello\n/clear\nonce more\n/checkpoint second\n/clear\n/clear\nand once more\n/status\n"},
      {.name = "hooks hear a chat that begins anew",
       .turns = kServeHello + "- text: Again.\n",
       .words = {"chat"},
       .input = "hello\n/clear\nonce more\n",
       .hook = kTellsAll},
      {.name = "a chat that may not begin anew",
       .turns = kServeHello + "- text: Again.\n",
       .words = {"chat"},
       .input = "hello\n/clear\nonce more\n/clear\n",
       .hook = "on: before_clear\ndo: {action: block, reason: keep it}\n"},
      {.name = "a chat that asks before it begins anew",
       .turns = kServeHello,
       .words = {"chat"},
       .input = "hello\n/clear\n",
       .settings = "lifecycle: {verify_before_clear: true}\n"},
      {.name = "a chat with a recipe",
       .turns = kServeHello + "- text: A poem.\n- text: Again.\n",
       .words = {"chat"},
       .input = "hello\n/poem topic=tea in two lines\nonce more\n/recipes\n",
       .recipe = kPoem},
      {.name = "a recipe of few tools",
       .turns = kReads + "- calls: [{name: bash, input: {command: touch made.txt}}]\n- text: No.\n" + kServeCommands,
       .words = {"chat"},
       .input = "read it\n/poem topic=tea\nmake it\n",
       .settings = kAllow,
       .recipe = kPoem},
      {.name = "a recipe that fails",
       .turns = "- text: no JSON\n- text: no JSON\n- text: no JSON\n- text: Again.\n",
       .words = {"chat"},
       .input = "/poem topic=tea\n",
       .recipe = kJsonPoem},
      {.name = "recipes that are wrong",
       .turns = kServeHello,
       .words = {"chat"},
       .input = "/poem\n/poem topic=tea other=1\n/pom topic=tea\nhello\n/poem\n",
       .recipe = kPoem},
      {.name = "a recipe that compacts",
       .turns = kServeHello + "- text: Again.\n- text: They said hello.\n- text: More.\n",
       .words = {"chat"},
       .input = "hello\nonce more\n/compact-brief keep the names\n/status\nmore\n/undo\n"},
      {.name = "a recipe that is refused",
       .turns = kServeHello,
       .words = {"chat"},
       .input = "hello\n/poem topic=tea\n",
       .hook = kBlocks,
       .recipe = kPoem},
      {.name = "a chat that fails at the end",
       .turns = kServeHello + "- error: {kind: auth, message: no key}\n",
       .words = {"chat"},
       .input = "hello\nonce more\n"},
      {.name = "a chat that fails on the way",
       .turns = "- error: {kind: auth, message: no key}\n" + kServeHello,
       .words = {"chat"},
       .input = "hello\nonce more\n/status\n"},
      {.name = "a chat with a compaction that fails",
       .turns = kServeHello,
       .words = {"chat"},
       .input = "hello\n/compact\n/status\n"},
      {.name = "a chat with tools",
       .turns = kReads + kWrites,
       .words = {"chat"},
       .input = "read it\nwrite it\n",
       .settings = kAllow},
      {.name = "a chat with a denied tool", .turns = kServeCommands, .words = {"chat"}, .input = "make it\n"},
      {.name = "a chat with a question that waits",
       .turns = kServeCommands + kServeHello,
       .words = {"chat"},
       .input = "make it\nhello\n",
       .settings = kWait},
      {.name = "a chat where a call waits",
       .turns = kServeHello,
       .words = {"chat", "--resume", "ID"},
       .input = "hello\n",
       .settings = kWait,
       .before = {{"run", "make it"}},
       .turns_before = kServeCommands},
      {.name = "a chat with commands in the background",
       .turns = "- calls: [{name: bash, input: {command: sleep 600, background: true}}]\n- text: It runs.\n",
       .words = {"chat"},
       .input = "start it\n/status\n/clear\n/status\n",
       .settings = kAllow},
      {.name = "a chat that is resumed",
       .turns = kServeHello,
       .words = {"chat", "--resume", "ID"},
       .input = "more\n/status\n",
       .before = kTwo},
      {.name = "a chat that follows",
       .turns = kServeHello,
       .words = {"chat", "--follow"},
       .input = "more\n",
       .before = kTwo},
      {.name = "a chat of nothing",
       .turns = kServeHello,
       .words = {"chat", "--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
       .input = "more\n",
       .before = kOne},
      {.name = "a chat that begins as a checkpoint",
       .turns = kServeHello,
       .words = {"chat"},
       .input = "more\n/status\n",
       .settings = "lifecycle: {auto_resume_on_start: true}\n",
       .before = {{"run", "hello"}, {"checkpoint", "save", "ID"}}},
      {.name = "an interrupt of a chat",
       .turns = kServeLate,
       .words = {"chat"},
       .input = "hello\nmore\n",
       .signal = SIGINT},
      {.name = "a termination of a chat",
       .turns = kServeLate,
       .words = {"chat"},
       .input = "hello\nmore\n",
       .signal = SIGTERM},
      {.name = "a chat with pictures",
       .turns = kServeHello + "- text: Large.\n",
       .words = {"chat"},
       .input = "what is @picture.png?\nand @large.png?\nand @none.png?\n"},
      {.name = "a long message of a chat", .turns = kServeHello, .words = {"chat"}, .input = kLong + "\n"},
      {.name = "a chat that offers a checkpoint",
       .turns = kServeHello,
       .words = {"chat"},
       .before = {{"run", "hello"}, {"checkpoint", "save", "ID"}},
       .terminal = {{"can be resumed", ""}, {"> ", "/exit\n"}}},
      {.name = "a chat that asks a person before it begins anew",
       .turns = kServeHello + "- text: Again.\n",
       .words = {"chat"},
       .settings = "lifecycle: {verify_before_clear: true}\n",
       .terminal = {{"> ", "hello\n"},
                    {"Hello there.", ""},
                    {"> ", "/clear\n"},
                    {"[y/N] ", "n\n"},
                    {"Nothing was cleared", ""},
                    {"> ", "/clear\n"},
                    {"[y/N] ", "y\n"},
                    {"Started a new", ""},
                    {"> ", "more\n"},
                    {"Again.", ""},
                    {"> ", "/exit\n"}}},
      {.name = "a chat at a terminal",
       .turns = kServeHello + kServeCommands,
       .words = {"chat"},
       .settings = "context_window: 100000\n",
       .terminal = {{"> ", "hello\n"},
                    {"Hello there.", ""},
                    {"> ", "make it\n"},
                    {"Allow?", "y\n"},
                    {"So be it.", ""},
                    {"> ", "/exit\n"}}},
  };
}

class Same : public ::testing::TestWithParam<Case> {};

TEST_P(Same, WithADaemonAndWithoutOne) {
  Stage stage;
  const std::string alone = stage.result_of(GetParam(), false);
  EXPECT_EQ(stage.result_of(GetParam(), true), alone);
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& test) {
  std::string out;
  for (const char c : test.param.name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

INSTANTIATE_TEST_SUITE_P(Runs, Same, ::testing::ValuesIn(runs()), name_of_case);
INSTANTIATE_TEST_SUITE_P(HooksAndTools, Same, ::testing::ValuesIn(hooks_and_tools()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Compactions, Same, ::testing::ValuesIn(compactions()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Chats, Same, ::testing::ValuesIn(chats()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Alone, Same, ::testing::ValuesIn(alone()), name_of_case);

// The comparison finds what differs: in the output, in the store alone, and in the files alone.
TEST(TheComparison, FindsAPlantedDifference) {
  Stage stage;
  const Case one{.name = "one", .turns = kServeHello, .words = {"run", "hello", "--json"}};
  const std::string plain = stage.result_of(one, true);
  EXPECT_NE(plain, stage.result_of({.name = "other", .turns = "- text: Hello There.\n", .words = one.words}, false));
  EXPECT_NE(plain, stage.result_of({.name = "denied", .turns = kServeCommands, .words = one.words}, false));
  const Case quiet{.name = "quiet", .turns = kServeHello, .words = {"run", "hello", "--result-only"}};
  EXPECT_NE(stage.result_of(quiet, true),
            stage.result_of({.name = "again", .turns = kServeHello, .words = quiet.words, .before = kOne}, true));
  const std::string name = "made.txt", other = "else.txt";
  const Case writes{
      .name = "writes", .turns = kServeCommands, .words = {"run", "make it", "--result-only"}, .settings = kAllow};
  Case elsewhere = writes;
  elsewhere.turns.replace(elsewhere.turns.find(name), name.size(), other);
  EXPECT_NE(stage.result_of(writes, true), stage.result_of(elsewhere, false));
}

TEST(TheComparison, GivesEachIdItsNumberAndLeavesTheRest) {
  const std::string a = "01ARZ3NDEKTSV4RRFFQ69G5FAV", b = "01BRZ3NDEKTSV4RRFFQ69G5FAV";
  EXPECT_EQ(levelled(a + " " + b + " " + a), "ID1 ID2 ID1");
  EXPECT_NE(levelled(a + " " + b + " " + a), levelled(a + " " + b + " " + b));
  EXPECT_NE(levelled(std::string(1'000'000, 'x')), levelled(std::string(1'000'000, 'y')));
  EXPECT_EQ(levelled(R"({"time_ms":17,"turns":2})"), R"({"time_ms":N,"turns":2})");
}

}  // namespace
}  // namespace agentd::testing
