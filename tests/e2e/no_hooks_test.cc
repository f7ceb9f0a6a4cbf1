// SPDX-License-Identifier: Apache-2.0
// With no hook configured, requests and events are those of a build that has no hooks at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <regex>
#include <string>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr std::size_t kUlid = 26;

bool is_ulid_letter(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) ||
         (c >= 'A' && c <= 'Z' && c != 'I' && c != 'L' && c != 'O' && c != 'U');
}

// Ids by order of appearance, times and the temporary directory taken out; nothing else is touched.
class Normalised {
 public:
  std::string of(std::string text, const std::string& directory) {
    replace_all(text, directory, "<directory>");
    for (const char* key : {"\"duration_us\":", "\"duration_ms\":", "\"time_ms\":", "\"timestamp_ms\":"})
      drop_number(text, key);
    drop_uuids(text);
    return number_ids(text);
  }

 private:
  static void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  static void drop_number(std::string& text, const std::string& key) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + key.size())) {
      std::size_t end = at + key.size();
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
      text.erase(at + key.size(), end - at - key.size());
    }
  }
  // They are made of ids.
  static void drop_uuids(std::string& text) {
    static const std::regex kUuid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    text = std::regex_replace(text, kUuid, "<uuid>");
  }
  std::string number_ids(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_ulid_letter(text[end])) ++end;
      const std::string word = text.substr(at, end - at);
      if (word.size() == kUlid) {
        out += "<id " + std::to_string(ids_.emplace(word, ids_.size()).first->second) + ">";
      } else {
        out += word;
      }
      if (end < text.size()) out += text[end++];
      at = end;
    }
    return out;
  }
  std::map<std::string, std::size_t> ids_;
};

// The tools' plugin hears of messages and ends, to forget which files were read; it never says
// anything. That it was asked is the one line that a build without hooks cannot have.
std::string without_the_tools_own(const std::string& events) {
  std::string out;
  for (std::size_t at = 0; at < events.size();) {
    const std::size_t end = std::min(events.find('\n', at), events.size() - 1) + 1;
    const std::string line = events.substr(at, end - at);
    const bool silent = line.find(R"("type":"hook_answer")") != std::string::npos &&
                        line.find(R"("name":"workspace_tools")") != std::string::npos &&
                        line.find(R"("answer":"none","effect":"none")") != std::string::npos;
    if (!silent) out += line;
    at = end;
  }
  return out;
}

// A plain run, a run with a tool, one that is compacted by itself, and a compaction on request.
std::string transcript(const char* binary) {
  ::setenv("AGENTD_E2E_BINARY", binary, 1);
  Program program;
  program.file("notes.txt", "remember the milk\n");
  // The bundled hook that is on by default brings tools.
  program.config("scripted:\n  record: " + program.directory().file("requests") +
                 "\nhooks:\n  session_memory:\n    enabled: false\n");
  Normalised normalised;
  std::string out;
  const auto run = [&](std::vector<std::string> words, const std::string& script) {
    words.insert(words.end(), {"--json", "--script", program.script(script)});
    const Finished done = program.run(words);
    EXPECT_EQ(done.code, 0) << done.err;
    out += without_the_tools_own(normalised.of(done.out, program.directory().path()));
  };
  run({"run", "hello"}, "- text: hello yourself\n");
  run({"run", "--follow", "what do the notes say?"},
      "- calls: [{name: read_file, input: {path: notes.txt}}]\n- text: milk\n");
  const std::string long_text(30'000, 'x');
  run({"run", "--follow", "fill it", "--set", "context_window=12000"}, "- text: " + long_text + "\n");
  run({"run", "--follow", "go on", "--set", "context_window=12000"},
      "- for: summary\n  text: what was said so far\n- text: done\n");
  run({"compact", "--follow"}, "- for: summary\n  text: all of it in short\n");
  ::unsetenv("AGENTD_E2E_BINARY");
  return out + normalised.of(program.directory().read("requests"), program.directory().path());
}

TEST(NoHooks, RequestsAndEventsAreThoseOfABuildWithoutHooks) {
  const std::string with = transcript(AGENTD_BINARY);
  const std::string without = transcript(AGENTD_NO_HOOKS_BINARY);
  // The comparison is about something: all three kinds of run are in it.
  EXPECT_NE(with.find("tool_result"), std::string::npos);
  EXPECT_NE(with.find("compact_boundary"), std::string::npos) << with;
  EXPECT_NE(with.find("all of it in short"), std::string::npos);
  EXPECT_EQ(with, without);
}

TEST(NoHooks, TheBuildWithoutHooksIgnoresThemAndTheOtherDoesNot) {
  for (const bool has_hooks : {true, false}) {
    ::setenv("AGENTD_E2E_BINARY", has_hooks ? AGENTD_BINARY : AGENTD_NO_HOOKS_BINARY, 1);
    Program program;
    program.drop_hook(AGENTD_REFUSE_HOOK);
    const Finished done = program.run({"run", "a forbidden word", "--script", program.script("- text: fine\n")});
    ::unsetenv("AGENTD_E2E_BINARY");
    EXPECT_EQ(done.code, has_hooks ? 3 : 0) << done.err;
  }
}

}  // namespace
}  // namespace agentd::testing
