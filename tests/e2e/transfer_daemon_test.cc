// SPDX-License-Identifier: Apache-2.0
// transfer_daemon_test.cc - conversations, pictures and the store as files, while the daemon serves.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/base/base64.h"
#include "core/base/file.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kLines = "application/x-ndjson";

class TransferDaemon : public ::testing::Test {
 protected:
  void start(const std::string& turns, const std::string& settings = {}) {
    program_.config("serve: {port: 0, drain_seconds: 5" + settings + "}\n");
    running_ = std::make_unique<Running>(program_.start({"serve", "--script", program_.script(turns)}));
    ASSERT_TRUE(running_->wait_for_out("\n")) << running_->err();
    const std::string said = running_->out();
    std::string own = read_file(program_.home() + "/serve.token", 1'000).value_or("");
    while (!own.empty() && own.back() == '\n') own.pop_back();
    client_ = std::make_unique<HttpClient>(
        static_cast<std::uint16_t>(std::stoi(said.substr(said.find("127.0.0.1:") + 10))), own);
  }
  std::string token(const std::string& name, const std::string& scope) {
    const Finished made = program_.run({"auth", "token", "add", name, "--scope", scope});
    return made.out.substr(0, made.out.find('\n'));
  }
  std::string create() {
    const HttpAnswer made = client_->post("/api/v1/conversations", R"({"cwd":")" + program_.project() + "\"}");
    EXPECT_EQ(made.status, 201) << made.body;
    return std::string(made.json().root()["id"].string_or(""));
  }
  static std::string path(const std::string& id, const std::string& what) {
    return "/api/v1/conversations/" + id + "/" + what;
  }
  // Says it, and waits for the end of its run.
  void say(const std::string& id, const std::string& body) {
    EventReader events = client_->events(path(id, "events?after=0"));
    ASSERT_TRUE(events.until("resync"));
    const HttpAnswer said = client_->post(path(id, "messages"), body);
    ASSERT_EQ(said.status, 202) << said.body;
    ASSERT_TRUE(events.until("run_ended"));
  }
  HttpAnswer import(const std::string& bytes, const std::string& query = {}) {
    return client_->request("POST", "/api/v1/conversations/import" + query, bytes, {}, kLines);
  }
  static std::string code(const HttpAnswer& answer) {
    return std::string(answer.json().root()["error"]["code"].string_or(""));
  }
  // A conversation of another home, as a file.
  std::string file_of_elsewhere() {
    const Finished ran = other_.run({"run", "from elsewhere", "--script", other_.script("- text: hello\n")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return other_.run({"conversation", "export", other_.newest()}).out;
  }

  // 48 MiB in 32 messages, which come in beside the daemon.
  std::string large_conversation() {
    std::string lines;
    for (int i = 0; i < 32; ++i)
      lines += R"({"timestamp":"2026-01-31T09:05:07.250Z","type":"response_item","payload":{"type":"message",)"
               R"("role":"user","content":[{"type":"input_text","text":")" +
               std::string(1536u << 10, 'x') + "\"}]}}\n";
    const Finished came = program_.run({"conversation", "import", "-", "--json"}, lines);
    EXPECT_EQ(came.code, 0) << came.err;
    return std::string(json_lines(came.out)[0].root()["id"].string_or(""));
  }
  // Bytes of the daemon's memory that are no file's.
  std::size_t own_memory() const {
    std::ifstream file("/proc/" + std::to_string(running_->pid()) + "/status");
    const std::string status(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = status.find("RssAnon:");
    EXPECT_NE(at, std::string::npos);
    return at == std::string::npos ? 0 : std::stoul(status.substr(at + 8)) << 10;
  }

  Program program_, other_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(TransferDaemon, ConversationLeavesAndComesInByHttp) {
  start("- text: Hello.\n- text: Again.\n");
  const std::string id = create();
  say(id, R"({"text":"hi"})");
  const HttpAnswer exported = client_->get(path(id, "export"));
  ASSERT_EQ(exported.status, 200);
  EXPECT_TRUE(has(exported.head, "Content-Type: application/x-ndjson")) << exported.head;
  const Finished there = other_.run({"conversation", "import", "-"}, exported.body);
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_TRUE(has(there.out, id));

  const std::string file = file_of_elsewhere();
  const HttpAnswer came = import(file);
  ASSERT_EQ(came.status, 200) << came.body;
  const std::string second(came.json().root()["id"].string_or(""));
  EXPECT_EQ(came.json().root()["outcome"].string_or(""), "new");
  EXPECT_EQ(import(file).json().root()["outcome"].string_or(""), "here");
  // It is one of the daemon's from then on.
  EXPECT_EQ(client_->get("/api/v1/conversations/" + second).status, 200);
  std::filesystem::create_directories(other_.project());
  say(second, R"({"text":"go on"})");
  EXPECT_TRUE(has(client_->get(path(second, "messages")).body, "Again."));
}

TEST_F(TransferDaemon, ImportOfTheCommandLineIsSeenByTheDaemon) {
  start("- text: Hello.\n");
  const std::string file = file_of_elsewhere();
  const Finished came = program_.run({"conversation", "import", "-", "--json"}, file);
  ASSERT_EQ(came.code, 0) << came.err;
  const std::string id(json_lines(came.out)[0].root()["id"].string_or(""));
  EXPECT_EQ(client_->get("/api/v1/conversations/" + id).status, 200);
  say(id, R"({"text":"go on"})");
}

TEST_F(TransferDaemon, ExportWaitsForItsReaderAndHoldsLittle) {
  start("- text: Hello.\n");
  const std::string id = large_conversation();
  const std::size_t before = own_memory();
  constexpr std::size_t kTail = 4'096;
  std::size_t most = before, got = 0;
  UniqueFd reader = client_->begin("GET", path(id, "export"), "Connection: close\r\n");
  std::string last;
  std::vector<char> buffer(256u << 10);
  for (int reads = 0;; ++reads) {
    const ssize_t bytes = ::read(reader.get(), buffer.data(), buffer.size());
    if (bytes <= 0) break;
    got += static_cast<std::size_t>(bytes);
    last.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (last.size() > kTail) last.erase(0, last.size() - kTail);  // the end may come in pieces
    if (reads % 8 == 0) most = std::max(most, own_memory());
  }
  EXPECT_TRUE(has(last, "\"type\":\"end\"")) << last.size();
  EXPECT_GT(got, 48u << 20);
#if !defined(AGENTD_SANITIZED_BUILD)  // a sanitizer keeps what was freed
  EXPECT_LT(most - before, 24u << 20);
#endif
}

TEST_F(TransferDaemon, ReaderThatGoesEndsItsExportAlone) {
  start("- text: Hello.\n");
  const std::string id = large_conversation();
  for (int i = 0; i < 8; ++i) {
    UniqueFd reader = client_->begin("GET", path(id, "export"), "");
    char some[1'000];
    EXPECT_GT(::read(reader.get(), some, sizeof some), 0);
  }
  const HttpAnswer whole = client_->get(path(id, "export"));
  ASSERT_EQ(whole.status, 200);
  const Finished there = other_.run({"conversation", "import", "-"}, whole.body);
  EXPECT_EQ(there.code, 0) << there.err;
  // One that does not read does not keep the daemon from its end.
  UniqueFd idle = client_->begin("GET", path(id, "export"), "");
  char some[1'000];
  EXPECT_GT(::read(idle.get(), some, sizeof some), 0);
  running_->signal(SIGTERM);
  EXPECT_EQ(running_->wait().code, 0);
}

TEST_F(TransferDaemon, ImportThatIsBrokenOffLeavesNothing) {
  start("- text: Hello.\n");
  const std::string file = file_of_elsewhere();
  const std::string half = file.substr(0, file.size() / 2), type = std::string("Content-Type: ") + kLines + "\r\n";
  const auto begin = [&](const std::string& length, const std::string& body) {
    return client_->begin("POST", "/api/v1/conversations/import", type + length, body);
  };
  for (int i = 0; i < 6; ++i) {
    (void)begin("Content-Length: " + std::to_string(file.size()) + "\r\n", half);
    // All but the last byte.
    (void)begin("Content-Length: " + std::to_string(file.size()) + "\r\n", file.substr(0, file.size() - 1));
    (void)begin("Transfer-Encoding: chunked\r\n", "10\r\n" + file.substr(0, 16) + "\r\n");
    (void)begin("Transfer-Encoding: chunked\r\n", "fffffff\r\n" + half);
  }
  // A shorter body than the file: it is read, and refused.
  const UniqueFd cut = begin("Content-Length: " + std::to_string(half.size()) + "\r\n", half);
  char answer[64] = {};
  EXPECT_GT(::read(cut.get(), answer, sizeof answer - 1), 0);
  EXPECT_TRUE(has(answer, "400")) << answer;
  EXPECT_TRUE(has(client_->get("/api/v1/conversations").body, "\"conversations\":[]"));
  EXPECT_EQ(import(file).json().root()["outcome"].string_or(""), "new");
}

// A body of unknown length is counted as it comes.
TEST_F(TransferDaemon, ImportInChunksHasTheSameLimit) {
  start("- text: Hello.\n", ", import_mb: 1");
  const UniqueFd fd = client_->begin("POST", "/api/v1/conversations/import",
                                     std::string("Content-Type: ") + kLines + "\r\nTransfer-Encoding: chunked\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 17; ++i)
    if (!write_all(fd.get(), chunk)) break;
  char answer[64] = {};
  EXPECT_GT(::read(fd.get(), answer, sizeof answer - 1), 0);
  EXPECT_TRUE(has(answer, "413")) << answer;
}

TEST_F(TransferDaemon, EachRouteNeedsItsScope) {
  start("- text: Hello.\n");
  const std::string file = file_of_elsewhere();
  const std::string id(import(file).json().root()["id"].string_or(""));
  struct Row {
    const char* scope;
    int exports, imports, backs_up;
  };
  for (const Row& row : std::vector<Row>{
           {"read", 200, 403, 403}, {"run", 200, 200, 403}, {"approve", 200, 403, 403}, {"admin", 200, 200, 201}}) {
    SCOPED_TRACE(row.scope);
    const HttpClient client(client_->as(token(row.scope, row.scope)));
    EXPECT_EQ(client.get(path(id, "export")).status, row.exports);
    EXPECT_EQ(client.request("POST", "/api/v1/conversations/import", file, {}, kLines).status, row.imports);
    EXPECT_EQ(client.post("/api/v1/store/backup", R"({"name":"by-)" + std::string(row.scope) + "\"}").status,
              row.backs_up);
  }
  const HttpClient nobody(client_->as(""));
  EXPECT_EQ(nobody.get(path(id, "export")).status, 401);
  EXPECT_EQ(nobody.post("/api/v1/store/backup", R"({"name":"x"})").status, 401);
}

TEST_F(TransferDaemon, RefusesWhatItCannotTake) {
  start("- text: Hello.\n", ", import_mb: 1");
  const std::string file = file_of_elsewhere();
  const HttpClient looker(client_->as(token("looker", "read"))), stranger(client_->as(""));
  EXPECT_EQ(looker.request("POST", "/api/v1/conversations/import", file, {}, kLines).status, 403);
  EXPECT_EQ(stranger.request("POST", "/api/v1/conversations/import", file, {}, kLines).status, 401);
  EXPECT_EQ(client_->request("POST", "/api/v1/conversations/import", file).status, 415);
  EXPECT_EQ(client_->request("POST", "/api/v1/conversations", file, {}, kLines).status, 415);
  EXPECT_EQ(import(std::string((1u << 20) + 1, 'x')).status, 413);
  const HttpAnswer changed = import(file.substr(0, file.size() / 2));
  EXPECT_EQ(changed.status, 400);
  EXPECT_TRUE(has(changed.body, "line ")) << changed.body;
  EXPECT_EQ(import("hello\n").status, 400);
  EXPECT_EQ(import(file, "?from=other").status, 400);
  EXPECT_EQ(import(file, "?from=claude").status, 400);
  EXPECT_EQ(stranger.get(path("01JZ8Q4T6YV5X0K2M3N4P5R6S7", "export")).status, 401);
  EXPECT_EQ(client_->get(path("01JZ8Q4T6YV5X0K2M3N4P5R6S7", "export")).status, 404);
  const HttpAnswer list = client_->get("/api/v1/conversations");
  EXPECT_TRUE(has(list.body, "\"conversations\":[]")) << list.body;
  EXPECT_EQ(import(file).status, 200);
}

// A log says where its conversation works: no client gets into a closed directory by one.
TEST_F(TransferDaemon, ConversationOfAClosedDirectoryIsRefused) {
  start("- text: Hello.\n");
  Program inside;
  const std::string closed = program_.home() + "/inside";
  std::filesystem::create_directories(closed);
  inside.set_project(closed);
  ASSERT_EQ(inside.run({"run", "hi", "--script", inside.script("- text: hello\n")}).code, 0);
  const HttpAnswer came = import(inside.run({"conversation", "export", inside.newest()}).out);
  EXPECT_EQ(came.status, 403) << came.body;
  EXPECT_TRUE(has(client_->get("/api/v1/conversations").body, "\"conversations\":[]"));
}

TEST_F(TransferDaemon, PictureIsPartOfTheMessage) {
  start("- text: A dot.\n");
  const std::string id = create();
  const std::string png = base64(std::string("\x89PNG\r\n\x1a\n") + std::string(2'000, 'p'));
  say(id, R"({"text":"what is it","media":[{"type":"image","media_type":"image/png","data":")" + png + "\"}]}");
  const HttpAnswer exported = client_->get(path(id, "export"));
  EXPECT_TRUE(has(exported.body, png));
  EXPECT_TRUE(has(client_->get(path(id, "messages")).body, "image/png"));
}

TEST_F(TransferDaemon, PictureThatCannotBeOneIsRefused) {
  start("- text: never\n");
  const std::string id = create();
  const std::string png = base64("\x89PNG....");
  const auto item = [](const std::string& type, const std::string& media_type, const std::string& data) {
    return R"([{"type":")" + type + R"(","media_type":")" + media_type + R"(","data":")" + data + "\"}]";
  };
  std::string many;
  for (int i = 0; i < 21; ++i) {
    const std::string one = item("image", "image/png", png);
    many += (i == 0 ? "[" : ",") + one.substr(1, one.size() - 2);
  }
  many += "]";
  const std::vector<std::string> rows{
      many,
      "7",
      "{}",
      "[7]",
      "[{}]",
      "[\"x\"]",
      item("video", "image/png", png),
      item("image", "text/plain", png),
      item("image", "image/jpeg", png),
      item("image", "image/png", "%%%"),
      item("image", "image/png", ""),
      item("document", "image/png", png),
      item("document", "application/pdf", png),
      item("image", "image/png", base64("\x89PNG" + std::string(5u << 20, 'x'))),
      item("document", "application/pdf", base64("%PDF-" + std::string(24u << 20, 'x')))};
  for (const std::string& media : rows) {
    const HttpAnswer said = client_->post(path(id, "messages"), R"({"text":"look","media":)" + media + "}");
    EXPECT_EQ(said.status, 400) << media.substr(0, 100) << said.body;
    EXPECT_EQ(code(said), "bad_request");
  }
  const HttpAnswer large =
      client_->post(path(id, "messages"), R"({"text":")" + std::string((48u << 20) + 1, 'x') + "\"}");
  EXPECT_TRUE(large.status == 413 || large.status == 0) << large.status;
}

TEST_F(TransferDaemon, StoreIsCopiedWhileTheDaemonWrites) {
  std::string turns;
  for (int i = 0; i < 40; ++i) turns += "- text: Hello.\n";
  start(turns);
  std::vector<std::string> copies;
  const std::string id = create();
  for (int i = 0; i < 6; ++i) {
    // Messages are stored while the copy is made.
    for (int j = 0; j < 3; ++j) EXPECT_EQ(client_->post(path(id, "messages"), R"({"text":"hi"})").status, 202);
    if (i % 2 == 0) {
      const HttpAnswer made = client_->post("/api/v1/store/backup", R"({"name":"copy-)" + std::to_string(i) + "\"}");
      ASSERT_EQ(made.status, 201) << made.body;
      copies.emplace_back(made.json().root()["directory"].string_or(""));
      EXPECT_EQ(copies.back(), program_.home() + "/backups/copy-" + std::to_string(i));
    } else {
      copies.push_back(program_.directory().file("copy-" + std::to_string(i)));
      const Finished made = program_.run({"store", "backup", copies.back()});
      ASSERT_EQ(made.code, 0) << made.err;
    }
  }
  for (const std::string& copy : copies) {
    const Finished checked = program_.run({"store", "check", copy});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  }
  // A copy is a store: its conversation is read in another home.
  std::filesystem::create_directories(other_.home());
  std::filesystem::copy(copies.back(), other_.home() + "/store", std::filesystem::copy_options::recursive);
  const Finished shown = other_.run({"conversation", "show", id});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "hi"));
}

TEST_F(TransferDaemon, BackupHasAPlaceOfItsOwn) {
  start("- text: Hello.\n");
  const HttpClient runner(client_->as(token("runner", "run")));
  EXPECT_EQ(runner.post("/api/v1/store/backup", R"({"name":"a"})").status, 403);
  for (const char* const name : {"", ".", "..", "../x", "a/b", "/tmp/x", "a.b", "a b", "\\u0000", "\\n", "\xc3\xa4"})
    EXPECT_EQ(client_->post("/api/v1/store/backup", R"({"name":")" + std::string(name) + "\"}").status, 400) << name;
  EXPECT_EQ(client_->post("/api/v1/store/backup", R"({"name":")" + std::string(65, 'a') + "\"}").status, 400);
  EXPECT_FALSE(exists(program_.home() + "/backups"));
  EXPECT_EQ(client_->post("/api/v1/store/backup", R"({"name":"a"})").status, 201);
  EXPECT_EQ(client_->post("/api/v1/store/backup", R"({"name":"a"})").status, 409);
  struct stat found {};
  ASSERT_EQ(::stat((program_.home() + "/backups").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  // A link that leads elsewhere is not followed.
  std::filesystem::remove_all(program_.home() + "/backups");
  ASSERT_EQ(::symlink(other_.directory().path().c_str(), (program_.home() + "/backups").c_str()), 0);
  EXPECT_EQ(client_->post("/api/v1/store/backup", R"({"name":"b"})").status, 403);
  EXPECT_FALSE(exists(other_.directory().file("b")));
}

}  // namespace
}  // namespace agentd::testing
