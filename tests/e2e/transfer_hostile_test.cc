// SPDX-License-Identifier: Apache-2.0
// transfer_hostile_test.cc - files of strangers: each is refused in one sentence, and the store is as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class TransferHostile : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string script = program_.script(
        "- calls: [{name: bash, input: {command: echo hello}}]\n- text: an answer\n"
        "- {for: summary, text: \"## Goal\\nThe user asked for it.\"}\n");
    ASSERT_EQ(program_.run({"run", "go", "--allow", "bash", "--script", script}).code, 0);
    id_ = program_.newest();
    ASSERT_EQ(program_.run({"compact", "-c", id_, "--script", script}).code, 0);
    const Finished done = program_.run({"conversation", "export", id_});
    ASSERT_EQ(done.code, 0) << done.err;
    file_ = done.out;
    for (std::size_t at = 0; at < file_.size();) {
      const std::size_t end = file_.find('\n', at) + 1;
      lines_.push_back(file_.substr(at, end - at));
      at = end;
    }
  }
  std::string with(const std::string& from, const std::string& to) const {
    std::string out = file_;
    const std::size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? out : out.replace(at, from.size(), to);
  }
  std::string of(const std::function<void(std::vector<std::string>&)>& change) const {
    std::vector<std::string> lines = lines_;
    change(lines);
    std::string out;
    for (const std::string& line : lines) out += line;
    return out;
  }
  // The line with that text.
  std::size_t line_of(const std::string& text) const {
    const auto found =
        std::find_if(lines_.begin(), lines_.end(), [&](const std::string& line) { return has(line, text); });
    EXPECT_NE(found, lines_.end()) << text;
    return static_cast<std::size_t>(found - lines_.begin());
  }

  Program program_, empty_;
  std::string id_, file_;
  std::vector<std::string> lines_;
};

TEST_F(TransferHostile, FileThatWasChangedIsRefusedInOneSentence) {
  const auto flip = [&](std::size_t at) {
    std::string out = file_;
    out[at] = static_cast<char>(out[at] ^ 1);
    return out;
  };
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::vector<std::pair<std::string, std::string>> rows{
      {"nothing", ""},
      {"a line end", "\n"},
      {"words", "this is no export\n"},
      {"a picture", "\x89PNG\r\n\x1a\n\x00\x01"},
      {"no UTF-8", "\xff\xfe\n"},
      {"an empty object", "{}\n"},
      {"an array", "[1,2,3]\n"},
      {"a deep array", deep + "\n"},
      {"the header alone", lines_.front()},
      {"no header", of([](auto& lines) { lines.erase(lines.begin()); })},
      {"two headers", of([](auto& lines) { lines.insert(lines.begin(), lines.front()); })},
      {"no end", of([](auto& lines) { lines.pop_back(); })},
      {"two ends", of([](auto& lines) { lines.push_back(lines.back()); })},
      {"the end in the middle", of([](auto& lines) { std::swap(lines[3], lines.back()); })},
      {"a cut line", file_.substr(0, file_.size() / 2)},
      {"no last line end", file_.substr(0, file_.size() - 1)},
      {"a gap", of([](auto& lines) { lines.erase(lines.begin() + 3); })},
      {"a repeated record", of([](auto& lines) { lines.insert(lines.begin() + 3, lines[3]); })},
      {"exchanged records", of([](auto& lines) { std::swap(lines[2], lines[4]); })},
      {"a further line", file_ + "{\"type\":\"record\"}\n"},
      {"a line of another kind", of([](auto& lines) { lines.insert(lines.begin() + 2, "{\"type\":\"x\"}\n"); })},
      {"a line that is no object", of([](auto& lines) { lines.insert(lines.begin() + 2, "7\n"); })},
      {"a deep line", of([&](auto& lines) { lines.insert(lines.begin() + 2, "{\"type\":" + deep + "}\n"); })},
      {"an empty line", of([](auto& lines) { lines.insert(lines.begin() + 2, "\n"); })},
      {"DOS line ends", with("\n", "\r\n")},
      {"a newer form", with("\"version\":1", "\"version\":2")},
      {"another id", with(id_, "01JZ8Q4T6YV5X0K2M3N4P5R6S7")},
      {"no id", with(id_, "x")},
      {"another revision", with("\"revision\":", "\"revision\":1")},
      {"another text", with("an answer", "An answer")},
      {"another kind", with("\"kind\":4", "\"kind\":5")},
      {"a negative number", with("\"seq\":1,", "\"seq\":-1,")},
      {"a large number", with("\"seq\":1,", "\"seq\":99999999999999999999,")},
      {"a broken number", with("\"seq\":1,", "\"seq\":1.5,")},
      {"another turn", with("\"turn\":1", "\"turn\":2")},
      {"another time", with("\"time_ms\":1", "\"time_ms\":2")},
      {"an unknown member", with("\"type\":\"record\",", "\"type\":\"record\",\"x\":1,")},
      {"a member twice", with("\"seq\":1,", "\"seq\":1,\"seq\":1,")},
      {"no text",
       of([&](auto& lines) { lines.erase(lines.begin() + static_cast<long>(line_of("\"type\":\"text\""))); })},
      {"a text of another content", with("\"type\":\"text\",\"sha256\":\"", "\"type\":\"text\",\"sha256\":\"0")},
      {"a byte in the header", flip(40)},
      {"a byte in the middle", flip(file_.size() / 2)},
      {"a byte at the end", flip(file_.size() - 5)},
  };
  ASSERT_GE(rows.size(), 30u);
  const std::string before = program_.run({"conversation", "list", "--all", "--json"}).out;
  for (const auto& [what, bytes] : rows) {
    SCOPED_TRACE(what);
    for (Program* const program : {&program_, &empty_}) {
      const Finished done = program->run({"conversation", "import", "-"}, bytes);
      EXPECT_EQ(done.code, 2) << done.err;
      EXPECT_EQ(done.out, "");
      EXPECT_TRUE(done.err.starts_with("agentd: ")) << done.err;
      EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
      EXPECT_LT(done.err.size(), 500u) << done.err;
    }
  }
  EXPECT_EQ(program_.run({"conversation", "list", "--all", "--json"}).out, before);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  EXPECT_FALSE(exists(empty_.home() + "/store"));
  // The file as it was is taken: the rows above are refused for what was changed.
  EXPECT_EQ(empty_.run({"conversation", "import", "-"}, file_).code, 0);
}

TEST_F(TransferHostile, TranscriptsThatCannotBeReadAreRefused) {
  const std::string user =
      R"({"sessionId":"s","uuid":"u1","parentUuid":null,"type":"user","message":{"role":"user","content":"hi"}})";
  const std::vector<std::string> rows{user + "\nwhat\n" + user + "\n", user + "\n\xff\n",
                                      R"({"sessionId":"s","type":"user","message":{}})",
                                      R"({"type":"session_meta","payload":{"id":"c"}})"};
  for (const std::string& bytes : rows) {
    const Finished done = empty_.run({"conversation", "import", "-"}, bytes);
    EXPECT_EQ(done.code, 2) << bytes << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
  EXPECT_FALSE(exists(empty_.home() + "/store"));
  EXPECT_EQ(empty_.run({"conversation", "import", "-"}, user + "\n").code, 0);
}

}  // namespace
}  // namespace agentd::testing
