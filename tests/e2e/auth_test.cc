// SPDX-License-Identifier: Apache-2.0
// auth_test.cc - stored keys: where they lie, where they go, and where nothing of them is to be found.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

const std::string kKey = "canary-5be2d0a97c41f386-wxyz", kSecret = "canary-5be2d0a97c41f386";

Reply answer(const std::string& text) { return Reply::chunked({ChatWire().text({text}).finish("stop").bytes()}); }

class Auth : public ::testing::Test {
 protected:
  Auth() { program_.set("NO_PROXY=127.0.0.1"); }

  void use(const LoopbackServer& server, const std::string& more = {}) {
    program_.config("model: work/m\nprovider: work\n" + more + "providers: {work: {base_url: " + server.url() +
                    "/v1, max_retries: 0}}\n");
  }
  Finished store() { return program_.run({"auth", "set", "work"}, kKey + "\n"); }
  std::string keys() const { return program_.home() + "/credentials"; }

  // The files below the test's directory in which the text stands, but for the keys themselves and what the test
  // has sent to standard input.
  std::vector<std::string> files_with(const std::string& text) const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(program_.directory().path())) {
      if (!entry.is_regular_file() || entry.path() == keys()) continue;
      if (entry.path().filename().string().starts_with("in.")) continue;
      const auto bytes = read_file(entry.path().string(), 1u << 30);
      if (bytes && has(*bytes, text)) out.push_back(entry.path().string());
    }
    return out;
  }

  Program program_;
};

TEST_F(Auth, AKeyIsStoredListedUsedAndRemoved) {
  LoopbackServer server([](const RecordedRequest&) { return answer("Hi."); });
  use(server);
  const std::string place = server.url().substr(7);
  const Finished stored = store();
  EXPECT_EQ(stored.code, 0) << stored.err;
  EXPECT_EQ(stored.out, "stored the key ...wxyz of work for " + place + " in " + keys() + "\n");
  struct stat info {};
  ASSERT_EQ(::stat(keys().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.out, "Hi.\n") << ran.err;
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].header("authorization"), "Bearer " + kKey);
  EXPECT_EQ(program_.run({"auth", "list", "--json"}).out,
            R"({"provider":"work","from":"file","host":")" + place + R"(","end":"...wxyz","used":true})" + "\n");
  const Finished table = program_.run({"auth", "list"});
  EXPECT_TRUE(has(table.out, "work      ...wxyz  file  " + place)) << table.out;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "work: a key is stored for " + place));
  const Finished removed = program_.run({"auth", "remove", "work"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_TRUE(has(removed.out, "removed the key ...wxyz of work for " + place)) << removed.out;
  const Finished again = program_.run({"auth", "remove", "work"});
  EXPECT_EQ(again.code, 4) << again.err;
  EXPECT_TRUE(has(program_.run({"auth", "list"}).out, "no provider has a key"));
  ASSERT_EQ(program_.run({"run", "hello"}).code, 0);
  EXPECT_EQ(server.requests()[1].header("authorization"), "");
}

TEST_F(Auth, ATerminalDoesNotShowTheKey) {
  LoopbackServer server([](const RecordedRequest&) { return answer("Hi."); });
  use(server);
  const Finished stored =
      program_.on_terminal({"auth", "set", "work"}, {{"Key of work (not shown): ", kKey + "\n"}, {"stored", ""}});
  EXPECT_EQ(stored.code, 0) << stored.out;
  EXPECT_FALSE(has(stored.out, kSecret)) << stored.out;
  EXPECT_TRUE(has(*read_file(keys(), 1 << 20), kKey));
  const Finished left = program_.on_terminal({"auth", "set", "work"}, {{"Key of work (not shown): ", "other\x03"}});
  EXPECT_EQ(left.code, 130) << left.out;
  EXPECT_TRUE(has(*read_file(keys(), 1 << 20), kKey));
}

TEST_F(Auth, AKeyIsNoArgument) {
  const std::string key = "sk-" + kKey;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"auth", "set", "groq", key},
                                             {"auth", "set", key},
                                             {"auth", "set", "groq", "--key=" + key},
                                             {"auth", "set", "groq", "--key", key},
                                             {"auth", key},
                                             {"auth", "list", key},
                                             {"auth", "set", "groq", kKey}}) {
    const Finished ran = program_.run(words, kKey);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(has(ran.err, "a key is never an argument")) << ran.err;
    EXPECT_FALSE(has(ran.out + ran.err, kSecret)) << ran.err;
  }
  EXPECT_FALSE(exists(keys()));
  EXPECT_EQ(program_.run({"auth", "set", "groq"}, "two\nlines").code, 2);
  EXPECT_EQ(program_.run({"auth", "set", "groq"}, " \n").code, 2);
  const Finished unknown = program_.run({"auth", "set", "grok"}, kKey);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(has(unknown.err, "did you mean 'groq'?")) << unknown.err;
  EXPECT_FALSE(exists(keys()));
}

TEST_F(Auth, AKeyGoesToTheHostThatItWasStoredForAlone) {
  LoopbackServer first([](const RecordedRequest&) { return answer("First."); });
  LoopbackServer second([](const RecordedRequest&) { return answer("Second."); });
  use(first);
  ASSERT_EQ(store().code, 0);
  use(second);
  const Finished refused = program_.run({"run", "hello"});
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(has(refused.err, "was stored for " + first.url().substr(7) + " and is not sent to other hosts"))
      << refused.err;
  EXPECT_TRUE(second.requests().empty());
  // By --set and by a fallback it is the same.
  use(first, "fallback: [other/m]\n");
  EXPECT_EQ(program_.run({"run", "hello", "--set", "base_url=" + second.url() + "/v1"}).code, 2);
  EXPECT_TRUE(second.requests().empty());
  // The key for the other host goes there, and so does a variable.
  use(second);
  ASSERT_EQ(program_.run({"auth", "set", "work"}, "the-other-key-of-mine").code, 0);
  EXPECT_EQ(program_.run({"run", "hello"}).out, "Second.\n");
  program_.set("WORK_KEY=by-variable");
  EXPECT_EQ(program_.run({"run", "hello", "--set", "providers.work.api_key_env=WORK_KEY"}).out, "Second.\n");
  ASSERT_EQ(second.requests().size(), 2u);
  EXPECT_EQ(second.requests()[0].header("authorization"), "Bearer the-other-key-of-mine");
  EXPECT_EQ(second.requests()[1].header("authorization"), "Bearer by-variable");
}

// The address on the command line is the one that the key is for.
TEST_F(Auth, AnAddressOfAnotherProviderIsNotPassedOver) {
  const Finished wrong =
      program_.run({"auth", "set", "openai", "--set", "base_url=https://gw.example/v1"}, kKey + "\n");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_TRUE(has(wrong.err, "give that of openai with --set providers.NAME.base_url=URL")) << wrong.err;
  EXPECT_FALSE(exists(keys()));
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--set", "providers.openai.base_url=https://gw.example/v1"},
                                             {"--set", "base_url=https://gw.example/v1", "--set", "provider=openai"}}) {
    std::vector<std::string> words{"auth", "set", "openai"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished stored = program_.run(words, kKey + "\n");
    EXPECT_EQ(stored.code, 0) << stored.err;
    EXPECT_TRUE(has(stored.out, "of openai for gw.example")) << stored.out;
  }
}

TEST_F(Auth, AFileThatOthersMayOpenIsRefused) {
  LoopbackServer server([](const RecordedRequest&) { return answer("Hi."); });
  use(server);
  ASSERT_EQ(store().code, 0);
  ASSERT_EQ(::chmod(keys().c_str(), 0644), 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "hello"}, {"auth", "list"}, {"auth", "set", "work"}}) {
    const Finished ran = program_.run(words, kKey);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(has(ran.err, "is accessible to others (mode 0644)") && has(ran.err, "chmod 600 ")) << ran.err;
  }
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "BROKEN  " + keys() + " is accessible to others"));
  ASSERT_EQ(::chmod(keys().c_str(), 0600), 0);
  fs::rename(keys(), program_.home() + "/elsewhere");
  fs::create_symlink("elsewhere", keys());
  const Finished linked = program_.run({"run", "hello"});
  EXPECT_EQ(linked.code, 2);
  EXPECT_TRUE(has(linked.err, "is a symbolic link")) << linked.err;
  EXPECT_TRUE(server.requests().empty());
  fs::remove(keys());
  fs::rename(program_.home() + "/elsewhere", keys());
  EXPECT_EQ(program_.run({"run", "hello"}).out, "Hi.\n");
}

// Every way by which a key could leave: an echo of the server in an error and in a long page, the log at its most
// talkative, hooks' input and environment, tools that are asked to read it, commands, and all that agentd prints.
TEST_F(Auth, NothingOfAKeyIsFoundAnywhereElse) {
  int requests = 0;
  const std::string file = R"({"path":")" + keys() + R"("})";
  LoopbackServer server([&](const RecordedRequest& got) {
    const std::string key = got.header("authorization").substr(7);
    const auto call = [](const char* name, const std::string& input) {
      return Reply::chunked({ChatWire().tool_call(0, "c", name, {input}).finish("tool_calls").bytes()});
    };
    switch (requests++) {
      case 0:
        return Reply::http(401, {{"content-type", "application/json"}},
                           openai_error_body("auth", "", "Incorrect API key provided: " + key));
      case 1:  // the key lies where an error's text is cut
        return Reply::http(502, {{"content-type", "text/html"}}, std::string(98, 'x') + key + std::string(300, 'y'));
      case 2:
        return call("read_file", file);
      case 3:
        return call("grep", R"({"pattern":"canary","path":")" + program_.home() + R"("})");
      case 4:
        return call("edit_file", R"({"path":")" + keys() + R"(","old_string":"canary","new_string":"x"})");
      case 5:
        return call("bash", R"({"command":"env; cat /proc/self/environ; tr '\\0' ' ' < /proc/$PPID/cmdline"})");
      default:
        return answer("Done.");
    }
  });
  use(server, "log: {level: debug}\nworkspace: {roots: [" + program_.directory().path() +
                  "]}\npermissions: {mode: allow}\nhooks: {trace: true}\n");
  ASSERT_EQ(store().code, 0);
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  const std::string seen = program_.directory().file("seen");
  ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/spy",
                                    "#!/bin/bash\ncase \"$1\" in\n  hook) echo before_model_call after_model_call "
                                    "before_tool_call after_tool_call session_start notification ;;\n"
                                    "  *) { cat; env; } >> " +
                                        seen + " ;;\nesac\n",
                                    0755));
  EXPECT_EQ(program_.run({"run", "one"}).code, 5);
  EXPECT_EQ(program_.run({"run", "two"}).code, 5);
  const Finished ran = program_.run({"run", "--json", "--trace-hooks", "three"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  ASSERT_EQ(requests, 7);
  const std::string log = program_.run({"conversation", "show", program_.newest(), "--log"}).out;
  EXPECT_TRUE(has(log, keys() + " is outside of the workspace, or may not be accessed")) << log;
  EXPECT_TRUE(has(log, "PATH=/usr/bin:/bin")) << log;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"config", "show"},
                                                                                     {"doctor"},
                                                                                     {"auth", "list"},
                                                                                     {"auth", "list", "--json"},
                                                                                     {"models"},
                                                                                     {"usage"},
                                                                                     {"hooks", "trace"}})
    EXPECT_EQ(program_.run(words).code, 0) << words[0];
  for (const RecordedRequest& got : server.requests()) {
    EXPECT_EQ(got.header("authorization"), "Bearer " + kKey);
    EXPECT_FALSE(has(got.body, kSecret)) << got.body;
  }
  // The scan sees what there is: the hook has seen the calls, and a file with the key is found.
  EXPECT_TRUE(has(program_.directory().read("seen"), "read_file"));
  EXPECT_FALSE(files_with("Incorrect API key provided: ***").empty());
  for (std::size_t part = kSecret.size(); part >= 12; part -= 4)
    EXPECT_EQ(files_with(kSecret.substr(0, part)), std::vector<std::string>()) << part;
  program_.file("planted", kKey);
  EXPECT_EQ(files_with(kSecret).size(), 1u);
}

TEST_F(Auth, ATokenIsShownOnceAndListedAndRemoved) {
  const std::string file = program_.home() + "/serve.tokens";
  const Finished none = program_.run({"auth", "token", "list"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_TRUE(has(none.out, "there are no tokens for clients")) << none.out;
  EXPECT_FALSE(exists(file));
  const Finished added = program_.run({"auth", "token", "add", "ci", "--scope", "run"});
  ASSERT_EQ(added.code, 0) << added.err;
  ASSERT_EQ(added.out.size(), 72u) << added.out;
  EXPECT_TRUE(added.out.starts_with("agentd_") && added.out.ends_with('\n')) << added.out;
  const std::string token = added.out.substr(0, 71);
  EXPECT_TRUE(has(added.err, "the token 'ci' has the scope run: it may look, and let models and tools work"))
      << added.err;
  EXPECT_FALSE(has(added.err, token.substr(7, 16)));
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(program_.run({"auth", "token", "add", "phone", "--scope=approve"}).code, 0);
  const Finished listed = program_.run({"auth", "token", "list"});
  EXPECT_TRUE(has(listed.out, "NAME   SCOPE    CREATED\nci     run      2")) << listed.out;
  const auto lines = json_lines(program_.run({"auth", "token", "list", "--json"}).out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].root()["name"].string_or(""), "phone");
  EXPECT_EQ(lines[1].root()["scope"].string_or(""), "approve");
  // Of the token nothing is anywhere but on that standard output, which is a file of the test's directory.
  int places = 0;
  for (const std::string& path : files_with(token.substr(7, 16))) places += has(path, program_.home()) ? 100 : 1;
  EXPECT_EQ(places, 1);
  const Finished removed = program_.run({"auth", "token", "remove", "ci"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_EQ(removed.out, "removed the token 'ci' with the scope run\n");
  EXPECT_EQ(program_.run({"auth", "token", "remove", "ci"}).code, 4);
  EXPECT_EQ(json_lines(program_.run({"auth", "token", "list", "--json"}).out).size(), 1u);
}

TEST_F(Auth, ATokenNeedsANameAndAScope) {
  const std::string file = program_.home() + "/serve.tokens";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{},
                                                                                     {"ci"},
                                                                                     {"--scope", "read"},
                                                                                     {"ci", "--scope"},
                                                                                     {"ci", "--scope", ""},
                                                                                     {"ci", "--scope", "none"},
                                                                                     {"ci", "--scope", "Read"},
                                                                                     {"ci", "more", "--scope", "read"},
                                                                                     {"a b", "--scope", "read"},
                                                                                     {"../x", "--scope", "read"},
                                                                                     {"agentd", "--scope", "read"}}) {
    std::vector<std::string> all{"auth", "token", "add"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished ran = program_.run(all);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("agentd: ")) << ran.err;
  }
  EXPECT_FALSE(exists(file));
  ASSERT_EQ(program_.run({"auth", "token", "add", "ci", "--scope", "read"}).code, 0);
  const Finished again = program_.run({"auth", "token", "add", "ci", "--scope", "admin"});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(has(again.err, "a token with the name 'ci' exists")) << again.err;
  // A token is no name, and is not repeated.
  const std::string token = "agentd_" + std::string(64, '5');
  for (const char* command : {"add", "remove"}) {
    const Finished ran = program_.run({"auth", "token", command, token, "--scope", "read"});
    EXPECT_NE(ran.code, 0);
    EXPECT_FALSE(has(ran.out + ran.err, std::string(20, '5'))) << ran.err;
  }
}

TEST_F(Auth, TokensThatOthersMayHaveReadAreRefused) {
  const std::string file = program_.home() + "/serve.tokens", own = program_.home() + "/serve.token";
  ASSERT_EQ(program_.run({"auth", "token", "add", "ci", "--scope", "read"}).code, 0);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"auth", "token", "list"},
                                             {"auth", "token", "add", "x", "--scope", "read"},
                                             {"auth", "token", "remove", "ci"}}) {
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(has(ran.err, "serve.tokens is accessible to others (mode 0644)")) << ran.err;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  // The daemon's own as well: this is where its user looks when no token works.
  ASSERT_TRUE(write_file_atomically(own, "agentd_" + std::string(64, 'a') + "\n", 0640));
  const Finished listed = program_.run({"auth", "token", "list"});
  EXPECT_EQ(listed.code, 2);
  EXPECT_TRUE(has(listed.err, "serve.token is accessible to others (mode 0640)")) << listed.err;
  ASSERT_EQ(::chmod(own.c_str(), 0600), 0);
  EXPECT_EQ(program_.run({"auth", "token", "list"}).code, 0);
}

// What cannot be shown is not kept.
TEST_F(Auth, ATokenThatNobodyHasReadIsRemoved) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  program_.set_output(full);
  const Finished lost = program_.run({"auth", "token", "add", "ci", "--scope", "read"});
  program_.set_output(-1);
  ::close(full);
  EXPECT_EQ(lost.code, 1) << lost.err;
  EXPECT_TRUE(has(lost.err, "writing the output: ")) << lost.err;
  EXPECT_FALSE(exists(program_.home() + "/serve.tokens"));
  EXPECT_EQ(program_.run({"auth", "token", "add", "ci", "--scope", "read"}).code, 0);
}

TEST_F(Auth, AKeyIsNotAttachedToAMessageByWhateverName) {
  LoopbackServer server([](const RecordedRequest&) { return answer("Hi."); });
  use(server, "workspace: {roots: [" + program_.directory().path() + "]}\n");
  ASSERT_EQ(store().code, 0);
  fs::create_symlink(keys(), program_.project() + "/symbolic");
  fs::create_hard_link(keys(), program_.project() + "/hard");
  for (const std::string& name : {std::string("symbolic"), std::string("hard"), keys()}) {
    const Finished ran = program_.run({"run", "look at @" + name});
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_TRUE(has(ran.err, "belongs to agentd itself")) << ran.err;
  }
  const Finished prompt = program_.run({"run", "--set", "system_prompt_file=" + keys(), "hello"});
  EXPECT_EQ(prompt.code, 2) << prompt.out;
  EXPECT_TRUE(has(prompt.err, "belongs to agentd itself")) << prompt.err;
  EXPECT_TRUE(has(prompt.err, "agentd: --set: system_prompt_file: ")) << prompt.err;
  EXPECT_TRUE(server.requests().empty());
  program_.file("notes.txt", "plain");
  EXPECT_EQ(program_.run({"run", "look at @notes.txt"}).code, 0);
}

}  // namespace
}  // namespace agentd::testing
