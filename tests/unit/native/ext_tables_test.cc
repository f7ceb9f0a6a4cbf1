// SPDX-License-Identifier: Apache-2.0
#include "core/native/ext_tables.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "core/codec/json.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class ExtTablesTest : public ::testing::Test {
 protected:
  ExtTablesTest() : fixture_(AGENTD_BROKEN_HOOKS) {
    std::filesystem::create_directory(root());
    fixture_.install("files");
    fixture_.options.roots = {root()};
    fixture_.options.plugins["files"].grants = {AGENTD_WORKSPACE_ID, AGENTD_PROCESS_ID};
    fixture_.load();
  }
  std::string root() const { return fixture_.temp.file("work"); }
  Result<ToolOutcome> tool(const std::string& name, const std::string& input, const CancelToken& cancel = {},
                           Deadline deadline = {}) {
    JsonWriter text;
    text.begin_object().member("text", input).end_object();
    return fixture_.host->tools().call({}, {"c", name, *ToolInput::make(text.text())}, cancel, deadline);
  }

  HostFixture fixture_;
};

TEST_F(ExtTablesTest, ReadGivesTheFileToTheHook) {
  fixture_.temp.write("work/a.txt", "some text");
  const auto answer = tool("read", "a.txt");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "some text");
}

TEST_F(ExtTablesTest, EmptyFileIsAnAnswerToo) {
  fixture_.temp.write("work/a.txt", "");
  const auto answer = tool("read", "a.txt");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "");
}

TEST_F(ExtTablesTest, WayOutOfTheRootIsDenied) {
  fixture_.temp.write("secret", "x");
  for (const std::string& path : {std::string("../secret"), fixture_.temp.file("secret")}) {
    const auto answer = tool("read", path);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kDenied) << answer.error().message;
  }
}

TEST_F(ExtTablesTest, WhatIsWithheldFromTheCallIsNotRead) {
  struct Keys final : Withheld {
    bool entry(const std::string& path) const override { return path.ends_with("/key"); }
    bool path(const std::string& path) const override { return entry(path); }
  };
  fixture_.temp.write("work/key", "x");
  fixture_.temp.write("work/a.txt", "some text");
  const Keys keys;
  const auto read = [&](const std::string& path, const Withheld* withheld) {
    SessionContext session;
    session.withheld = withheld;
    JsonWriter text;
    text.begin_object().member("text", path).end_object();
    return fixture_.host->tools().call(session, {"c", "read", *ToolInput::make(text.text())}, {}, {});
  };
  EXPECT_TRUE(read("key", nullptr)) << "the control";
  const auto denied = read("key", &keys);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::kDenied);
  EXPECT_NE(denied.error().message.find("permission rules"), std::string::npos) << denied.error().message;
  EXPECT_EQ(read("a.txt", &keys)->content, "some text");
}

TEST_F(ExtTablesTest, MissingFileSaysWhich) {
  const auto answer = tool("read", "nope.txt");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_NE(answer.error().message.find("nope.txt"), std::string::npos) << answer.error().message;
}

TEST_F(ExtTablesTest, ListGivesEntriesInOrder) {
  std::filesystem::create_directory(root() + "/sub");
  fixture_.temp.write("work/sub/b", "x");
  fixture_.temp.write("work/a", "x");
  const auto answer = tool("list", ".");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "a\nsub\nsub/b\n");
}

TEST_F(ExtTablesTest, RunGivesOutputAndExitCode) {
  const auto answer = tool("run", "pwd; exit 3");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "3 0 " + std::filesystem::canonical(root()).string() + "\n");
}

TEST_F(ExtTablesTest, CallsDeadlineEndsTheCommand) {
  const auto answer = tool("run", "sleep 60", {}, Deadline::after(fixture_.clock, Milliseconds(100)));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->content.starts_with("-1 1 ")) << answer->content;
}

TEST_F(ExtTablesTest, CancellingTheRunEndsTheCommandThatIsRunning) {
  const CancelToken cancel;
  const std::string flag = root() + "/started";
  std::jthread canceller([&] {
    while (!std::filesystem::exists(flag)) std::this_thread::sleep_for(Milliseconds(2));
    cancel.cancel(AGENTD_CANCEL_USER);
  });
  const auto answer = tool("run", "touch started; sleep 60", cancel);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->content.starts_with("-1 2 ")) << answer->content;
}

TEST_F(ExtTablesTest, StaleTokenGetsNothing) {
  TokenTable tokens;
  auto workspace = open_workspace({root()});
  ASSERT_TRUE(workspace);
  const ExtTables tables(tokens, **workspace, fixture_.clock);
  agentd_str text{};
  EXPECT_EQ(tables.workspace()->read(tables.workspace(), 12345, {"a", 1}, 0, 0, &text, nullptr), AGENTD_E_NOT_FOUND);
  const agentd_process_result* result = nullptr;
  agentd_process_options options{};
  EXPECT_EQ(tables.process()->run(tables.process(), 12345, &options, &result), AGENTD_E_NOT_FOUND);
}

TEST_F(ExtTablesTest, OptionsThatCannotBeAreRefused) {
  TokenTable tokens;
  auto workspace = open_workspace({root()});
  ASSERT_TRUE(workspace);
  const ExtTables tables(tokens, **workspace, fixture_.clock);
  const SlotLease slot(tokens);
  const agentd_token token = slot->open(nullptr);
  const agentd_process_result* result = nullptr;
  const auto run = [&](const agentd_process_options& options) {
    return tables.process()->run(tables.process(), token, &options, &result);
  };
  agentd_process_options options{};
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "size 0";
  options.size = sizeof(options);
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "no arguments";
  const agentd_str broken{nullptr, 4};
  options.argv = {&broken, 1, sizeof(broken)};
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "an argument without bytes";
  const agentd_str missing{"agentd-no-such-program", 22};
  options.argv = {&missing, 1, sizeof(missing)};
  EXPECT_EQ(run(options), AGENTD_E_NOT_FOUND);
}

// ---- the text that a model may see

class ViewsTest : public ExtTablesTest {
 protected:
  ViewsTest() {
    auto opened = open_workspace({root()});
    EXPECT_TRUE(opened);
    workspace_ = std::move(*opened);
  }
  void use(const Secrets* secrets) {
    tables_.emplace(tokens_, *workspace_, fixture_.clock, FilesOfSession(), secrets);
    token_ = slot_->open(nullptr);
  }
  std::string view(const std::string& path, std::uint64_t limit = 0) {
    agentd_str out{};
    const agentd_status status =
        tables_->workspace()->view(tables_->workspace(), token_, to_abi(path), limit, &out, &total_);
    return status == AGENTD_OK ? std::string(view_of(out)) : std::to_string(status);
  }
  agentd_status edit(const std::string& path, const std::string& expected, const std::string& text) {
    return tables_->workspace()->edit(tables_->workspace(), token_, to_abi(path), to_abi(expected), to_abi(text));
  }
  std::string bytes() { return fixture_.temp.read("work/a"); }
  static std::unique_ptr<Secrets> secrets(Result<std::string> key) {
    return std::move(*Secrets::make({}, [key] { return key; }));
  }

  TokenTable tokens_;
  const SlotLease slot_{tokens_};
  std::unique_ptr<Workspace> workspace_;
  std::optional<ExtTables> tables_;
  agentd_token token_ = 0;
  std::uint64_t total_ = 0;
  const std::string token_text_ = "ghp_" + std::string(30, 'a') + "1b2c3d",
                    file_ = "key: " + token_text_ + "\nport: 1\n";
};

TEST_F(ViewsTest, SecretIsAPlaceholderThereAndStaysInTheFile) {
  const auto known = secrets(std::string(32, 'k'));
  use(known.get());
  fixture_.temp.write("work/a", file_);
  const std::string seen = view("a"), mark = seen.substr(5, seen.find(']') - 4);
  EXPECT_EQ(seen, "key: " + mark + "\nport: 1\n");
  EXPECT_TRUE(mark.starts_with("[secret:github-token:")) << mark;
  EXPECT_EQ(total_, file_.size());
  EXPECT_EQ(edit("a", seen, "port: 2\nkey: " + mark + "\n"), AGENTD_OK);
  EXPECT_EQ(bytes(), "port: 2\nkey: " + token_text_ + "\n");
}

TEST_F(ViewsTest, EditOfAFileThatLooksOtherwiseIsAConflict) {
  const auto known = secrets(std::string(32, 'k'));
  use(known.get());
  fixture_.temp.write("work/a", file_);
  const std::string seen = view("a");
  fixture_.temp.write("work/a", file_ + "more\n");
  EXPECT_EQ(edit("a", seen, "x"), AGENTD_E_CONFLICT);
  EXPECT_EQ(edit("a", file_ + "more\n", "x"), AGENTD_E_CONFLICT) << "the bytes are not the view";
  EXPECT_EQ(bytes(), file_ + "more\n");
}

TEST_F(ViewsTest, PlaceholderOfAnotherFileIsRefused) {
  const auto known = secrets(std::string(32, 'k'));
  use(known.get());
  fixture_.temp.write("work/a", "port: 1\n");
  EXPECT_EQ(edit("a", "port: 1\n", "key: " + known->pass(token_text_).text + "\n"), AGENTD_E_ARG);
  EXPECT_EQ(bytes(), "port: 1\n");
}

TEST_F(ViewsTest, FileThatCannotBeLookedThroughHasNone) {
  const auto known = secrets(Error{Code::kUnavailable, "no key"});
  use(known.get());
  fixture_.temp.write("work/a", file_);
  EXPECT_EQ(view("a"), std::to_string(AGENTD_E_UNSUPPORTED));
  fixture_.temp.write("work/a", "nothing\n");
  EXPECT_EQ(view("a"), "nothing\n");
}

TEST_F(ViewsTest, WithoutASearchTheyAreTheBytes) {
  use(nullptr);
  fixture_.temp.write("work/a", file_);
  EXPECT_EQ(view("a"), file_);
  EXPECT_EQ(edit("a", file_, "x\n"), AGENTD_OK);
  EXPECT_EQ(bytes(), "x\n");
}

TEST_F(ViewsTest, LargerFileHasNoTextAndItsSize) {
  use(nullptr);
  fixture_.temp.write("work/a", file_);
  EXPECT_EQ(view("a", 10), "");
  EXPECT_EQ(total_, file_.size());
  EXPECT_EQ(view("a", file_.size()), file_);
  EXPECT_EQ(view("missing"), std::to_string(AGENTD_E_NOT_FOUND));
}

}  // namespace
}  // namespace agentd
