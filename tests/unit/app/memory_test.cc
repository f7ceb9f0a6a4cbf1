// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/memory.h"

#include <gtest/gtest.h>

#include "core/app/cli.h"
#include "core/app/exit_codes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "tests/unit/app/app_support.h"

namespace agentd::testing {
namespace {

struct Call {
  std::string operation, input;
};

// `agentd memory` with a service that the test plays.
class MemoryCommand : public ::testing::Test {
 protected:
  Ran run(const std::string& command, const std::vector<std::string>& words) {
    Sink out_sink, err_sink;
    Ran ran;
    {
      app::Output out(out_sink.fd(), false, false), err(err_sink.fd(), false, false);
      app::App app(test_.surroundings(), out, err);
      const app::CommandSpec* const spec = app::find_command("memory " + command);
      EXPECT_NE(spec, nullptr) << command;
      const auto arguments = app::parse_arguments(*spec, words);
      EXPECT_TRUE(arguments) << arguments.error().message;
      const app::OpenMemory memory{
          [this](std::string_view operation, std::string_view input) {
            calls_.push_back({std::string(operation), std::string(input)});
            const auto found = answers_.find(std::string(operation));
            return found == answers_.end() ? Result<std::string>(Error{Code::kUnavailable, "no plugin offers memories"})
                                           : found->second;
          },
          "the project", nullptr};
      ran.code = app::run_memory(app, *arguments, memory);
    }
    ran.out = out_sink.text();
    ran.err = err_sink.text();
    return ran;
  }
  void answer(const std::string& operation, std::string json) {
    answers_.insert_or_assign(operation, Result<std::string>(std::move(json)));
  }
  JsonDocument last_input() const {
    auto parsed = JsonDocument::parse(calls_.back().input);
    EXPECT_TRUE(parsed);
    return std::move(*parsed);
  }
  std::string path(const std::string& name) const { return test_.directory.file(name); }

  TestApp test_;
  std::map<std::string, Result<std::string>> answers_;
  std::vector<Call> calls_;
};

constexpr const char* kFound =
    R"({"memories":[{"id":"01A","title":"Build with ninja","text":"make is slow\nhere","confidence":0.6,)"
    R"("source":"recorded by hand"}]})";
constexpr const char* kShown =
    R"({"memory":{"id":"01A","title":"Build with ninja","content":"make is slow","polarity":"do","outcome":"success",)"
    R"("origin":"recorded","tags":["build"],"confidence":0.6},"source":"conversation 01C, message 7"})";

TEST_F(MemoryCommand, SearchesInTheProject) {
  answer("search", kFound);
  const Ran ran = run("search", {"ninja", "build"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "Build with ninja\n    01A · 60 % · recorded by hand\n    make is slow\n    here\n");
  EXPECT_EQ(last_input().root()["query"].string_or(""), "ninja build");
  EXPECT_EQ(last_input().root()["project_id"].string_or(""), "the project");
  run("search", {"ninja", "--global", "--limit", "2"});
  EXPECT_EQ(last_input().root()["project_id"].string_or("?"), "");
  EXPECT_EQ(last_input().root()["limit"].uint_or(0), 2u);
}

TEST_F(MemoryCommand, SaysThatNothingFits) {
  answer("search", R"({"memories":[]})");
  const Ran ran = run("search", {"ninja"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.out, "no memory fits that\n");
}

TEST_F(MemoryCommand, SaysThatThereIsNoService) {
  const Ran ran = run("list", {});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("no plugin offers memories"), std::string::npos);
}

TEST_F(MemoryCommand, AddsADocumentByItsName) {
  ASSERT_TRUE(write_file_atomically(path("design.md"), "# A\ntext", 0600));
  answer("add_document", R"({"sections":3})");
  const Ran ran = run("add", {path("design.md")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Added design.md as 3 sections.\n");
  EXPECT_EQ(last_input().root()["name"].string_or(""), "design.md");
  EXPECT_EQ(last_input().root()["text"].string_or(""), "# A\ntext");
  EXPECT_EQ(run("add", {path("absent.md")}).code, 2);
}

TEST_F(MemoryCommand, ListsAllPages) {
  answer("list", R"({"memories":[{"id":"01A","title":"T","polarity":"avoid","confidence":0.5,"uses":3}]})");
  const Ran ran = run("list", {});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("01A"), std::string::npos);
  EXPECT_NE(ran.out.find("avoid"), std::string::npos);
  EXPECT_EQ(run("list", {"--json"}).out, R"({"id":"01A","title":"T","polarity":"avoid","confidence":0.5,"uses":3})"
                                         "\n");
}

TEST_F(MemoryCommand, ShowsTheConversation) {
  answer("show", kShown);
  const Ran ran = run("show", {"01A"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("source        conversation 01C, message 7\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\nmake is slow\n"), std::string::npos);
  answers_.insert_or_assign("show", Result<std::string>(Error{Code::kNotFound, "no memory has the id 02"}));
  EXPECT_EQ(run("show", {"02"}).code, 4);
}

TEST_F(MemoryCommand, EditsTheNamedFields) {
  answer("edit", kShown);
  EXPECT_EQ(run("edit", {"01A", "--title", "New", "--tag", "a", "--tag", "b", "--confidence", "0.25"}).code, 0);
  EXPECT_EQ(last_input().root()["fields"].text(), R"({"title":"New","tags":["a","b"],"confidence":0.25})");
  const std::size_t before = calls_.size();
  EXPECT_EQ(run("edit", {"01A"}).code, 2);
  EXPECT_EQ(run("edit", {"01A", "--confidence", "much"}).code, 2);
  EXPECT_EQ(calls_.size(), before);
}

TEST_F(MemoryCommand, AddsOnlyTextsInUtf8) {
  answer("add_document", R"({"sections":1})");
  const std::pair<std::string, std::string> wrong[] = {{"", "has no text"},
                                                       {" \n", "has no text"},
                                                       {std::string("a\0b", 3), "has a NUL byte at offset 1"},
                                                       {"caf\xE9\n", "is not valid UTF-8"}};
  for (const auto& [text, why] : wrong) {
    ASSERT_TRUE(write_file_atomically(path("doc.md"), text, 0600));
    const Ran ran = run("add", {path("doc.md")});
    EXPECT_EQ(ran.code, 2) << why;
    EXPECT_NE(ran.err.find("doc.md " + why), std::string::npos) << ran.err;
  }
  EXPECT_TRUE(calls_.empty());
  ASSERT_TRUE(write_file_atomically(path("doc.md"), "caf\xC3\xA9\n", 0600));
  EXPECT_EQ(run("add", {path("doc.md")}).code, 0);
}

TEST_F(MemoryCommand, DeletesAfterAYesOnly) {
  answer("show", kShown);
  answer("delete", kShown);
  const Ran refused = run("delete", {"01"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--yes"), std::string::npos);
  EXPECT_EQ(calls_.back().operation, "show");
  EXPECT_EQ(run("delete", {"01", "--yes"}).out, "deleted 01A\n");
  EXPECT_EQ(last_input().root()["id"].string_or(""), "01A");
}

TEST_F(MemoryCommand, ShowsJobsAndRunsThemWhenAsked) {
  answer("jobs", R"({"jobs":[{"conversation_id":"01C","state":"resting","attempts":3,"error":"no answer"}]})");
  answer("run_jobs", R"({"done":1,"failed":0,"left":2})");
  EXPECT_NE(run("jobs", {}).out.find("no answer"), std::string::npos);
  EXPECT_EQ(calls_.size(), 1u);
  EXPECT_TRUE(run("jobs", {"--run"}).out.starts_with("done 1, failed 0, left 2\n"));
  EXPECT_EQ(calls_[1].operation, "run_jobs");
}

TEST_F(MemoryCommand, JobsThatFailEndWithTheExitCodeOfTheProvider) {
  answer("jobs", R"({"jobs":[]})");
  answer("run_jobs", R"({"done":1,"failed":1,"left":0})");
  EXPECT_EQ(run("jobs", {"--run"}).code, app::kExitProvider);
  EXPECT_EQ(run("jobs", {"--run", "--json"}).code, app::kExitProvider);
  answer("run_jobs", R"({"done":1,"failed":0,"left":0})");
  EXPECT_EQ(run("jobs", {"--run"}).code, 0);
}

TEST_F(MemoryCommand, SessionsThatAScriptAnsweredAreTriedWithAScriptOnly) {
  answer("jobs", R"({"jobs":[]})");
  answer("run_jobs", R"({"done":0,"failed":0,"left":0,"skipped":2})");
  const Ran ran = run("jobs", {"--run"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("2 sessions answered by a script not tried: give --script FILE\n"), std::string::npos)
      << ran.out;
  ASSERT_EQ(calls_[0].operation, "run_jobs");
  EXPECT_EQ(JsonDocument::parse(calls_[0].input)->root()["absent"].at(0).string_or(""), "scripted");
  run("jobs", {"--run", "--script", "answers.yaml"});
  EXPECT_EQ(JsonDocument::parse(calls_[2].input)->root()["absent"].size(), 0u) << calls_[2].input;
}

TEST_F(MemoryCommand, ExportsFilesAndKeepsThemInTheDirectory) {
  answer("export", R"({"files":[{"name":"a-1.md","text":"---\n---\na\n"}]})");
  EXPECT_EQ(run("export", {path("out")}).out, "Exported 1 memory to " + path("out") + ".\n");
  EXPECT_EQ(*read_file(path("out/a-1.md"), 1000), "---\n---\na\n");
  for (const char* name : {"../b.md", "/b.md", ".b.md", ""}) {
    JsonWriter bad;
    bad.begin_object().key("files").begin_array().begin_object().member("name", name).member("text", "x");
    bad.end_object().end_array().end_object();
    answer("export", std::string(bad.text()));
    EXPECT_EQ(run("export", {path("out")}).code, 2) << name;
  }
}

TEST_F(MemoryCommand, ImportsTheMarkdownFilesOfADirectory) {
  ASSERT_TRUE(make_directories(path("in")));
  ASSERT_TRUE(write_file_atomically(path("in/b.md"), "b", 0600));
  ASSERT_TRUE(write_file_atomically(path("in/a.md"), "a", 0600));
  ASSERT_TRUE(write_file_atomically(path("in/c.txt"), "c", 0600));
  answer("import", R"({"added":1,"changed":1,"problems":[]})");
  EXPECT_EQ(run("import", {path("in")}).out, "Imported from " + path("in") + ": 1 new, 1 changed.\n");
  EXPECT_EQ(last_input().root()["files"].size(), 2u);
  EXPECT_EQ(last_input().root()["files"].at(0)["name"].string_or(""), "a.md");
  answer("import", R"({"added":0,"changed":0,"problems":["a.md:1: wrong"]})");
  const Ran ran = run("import", {path("in")});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("a.md:1: wrong"), std::string::npos);
  EXPECT_EQ(run("import", {path("absent")}).code, 2);
}

}  // namespace
}  // namespace agentd::testing
