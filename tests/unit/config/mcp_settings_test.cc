// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_settings.h"

#include <gtest/gtest.h>

#include "core/config/mcp_address.h"
#include "core/config/mcp_import.h"
#include "core/config/mcp_shown.h"
#include "core/config/secret_words.h"

namespace agentd {
namespace {

Result<McpServerSettings> read(const std::string& json, const std::string& name = "files") {
  const auto document = JsonDocument::parse(json);
  EXPECT_TRUE(document) << json;
  return read_mcp_server(name, document->root());
}

std::string fault(const std::string& json, const std::string& name = "files") {
  const auto out = read(json, name);
  return out ? "none" : out.error().message;
}

TEST(McpSettings, AServerIsACommandOrAnAddress) {
  const auto program = read(R"({"command":"npx","args":["-y","x"],"env":{"A":"1","N":2},"scope":"session",)"
                            R"("writable":["."],"timeout_ms":1000,"sandbox":false})");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->command, "npx");
  EXPECT_EQ(program->args, (std::vector<std::string>{"-y", "x"}));
  EXPECT_EQ(program->env.at("N"), "2") << "YAML makes a number of it";
  EXPECT_TRUE(program->per_session);
  EXPECT_FALSE(program->sandbox);
  EXPECT_EQ(program->timeout, Milliseconds(1000));
  const auto address = read(R"({"type":"http","url":"https://x.org/mcp","headers":{"Authorization":"Bearer ${T}"}})");
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_EQ(address->url, "https://x.org/mcp");
}

TEST(McpSettings, AMistakeNamesTheMember) {
  EXPECT_EQ(fault("[]"), "a server must be an object with a command or a url");
  EXPECT_EQ(fault("{}"), "a server must have a command or a url");
  EXPECT_EQ(fault(R"({"command":"a","url":"https://x"})"), "a server has a command or a url, not both");
  EXPECT_EQ(fault(R"({"command":["a"]})"), "command must be a text");
  EXPECT_EQ(fault(R"({"command":"a","args":"-y"})"), "args must be a list of texts");
  EXPECT_EQ(fault(R"({"command":"a","env":{"A":[]}})"), "env must be an object of texts");
  EXPECT_EQ(fault(R"({"command":"a","env":{"A=B":"x"}})"), "env has a name that cannot be one: 'A=B'");
  EXPECT_EQ(fault(R"({"url":"https://x","headers":{"A":"x\r\nB: y"}})"), "headers must not have a line end in 'A'");
  EXPECT_EQ(fault(R"({"command":"a","enable":true})"), "enable is no member of a server: did you mean 'enabled'?");
  EXPECT_EQ(fault(R"({"command":"a","scope":"user"})"), "scope must be workplace or session");
  EXPECT_EQ(fault(R"({"command":"a","timeout_ms":0})"),
            "timeout_ms must be a whole number of milliseconds, at most a day");
  EXPECT_EQ(fault(R"({"url":"https://x","args":["a"]})"),
            "args, env, pass_environment and cwd are of a command, and this server has a url");
  EXPECT_TRUE(fault(R"({"type":"sse","url":"https://x"})").starts_with("type sse is the transport of 2024"));
}

TEST(McpSettings, ANameLeavesNoDoubtAboutTheToolsOfAServer) {
  for (const char* const wrong : {"", "a__b", "a_", "a.b", "a b", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz0123456"})
    EXPECT_NE(fault(R"({"command":"a"})", wrong), "none") << wrong;
  for (const char* const right : {"a", "a-b_c", "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"})
    EXPECT_EQ(fault(R"({"command":"a"})", right), "none") << right;
}

TEST(McpSettings, AFileIsReadAsAWholeOrNotAtAll) {
  const auto read_file = [](std::string_view text) {
    return read_mcp_file(text, "/p/.mcp.json", McpServerSettings::Origin::kProject);
  };
  const auto two = read_file(R"({"mcpServers":{"b":{"command":"x"},"a":{"url":"https://y"}}})");
  ASSERT_TRUE(two) << two.error().message;
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].place, "/p/.mcp.json");
  EXPECT_EQ(read_file(R"({"mcpServers":{"a":{"command":"x"},"b":{"comand":"y"}}})").error().message,
            "/p/.mcp.json: mcpServers.b: comand is no member of a server: did you mean 'command'?");
  EXPECT_EQ(read_file(R"({"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}})").error().message,
            "/p/.mcp.json: mcpServers has 'a' twice");
  EXPECT_FALSE(read_file("[]"));
  EXPECT_FALSE(read_file("{"));
}

TEST(McpSettings, OfAFileEachServerCanBeReadForItself) {
  const auto file = read_mcp_entries(
      R"({"mcpServers":{"a":{"command":"x"},"b":{"comand":"y"},"c":{"command":"1"},"c":{"command":"2"},"d__e":{}}})",
      "/p/.mcp.json", McpServerSettings::Origin::kProject);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->servers.size(), 1u);
  EXPECT_EQ(file->servers[0].name, "a");
  ASSERT_EQ(file->faults.size(), 3u);
  EXPECT_EQ(file->faults[0].name, "b");
  EXPECT_EQ(file->faults[0].why,
            "/p/.mcp.json: mcpServers.b: comand is no member of a server: did you mean 'command'?");
  EXPECT_EQ(file->faults[1].why, "/p/.mcp.json: mcpServers has 'c' twice");
  EXPECT_EQ(file->faults[2].name, "d__e");
  EXPECT_FALSE(read_mcp_entries("{", "/f", McpServerSettings::Origin::kProject));
}

TEST(McpSettings, AnAddressIsHttpsOrOfThisMachine) {
  const auto fault_of = [](std::string_view url) {
    const auto usable = check_mcp_url(url);
    return usable ? std::string("none") : usable.error().message;
  };
  for (const char* const good :
       {"https://example.org/mcp", "http://127.0.0.1:8080/mcp", "http://[::1]:1/", "${URL}",
        "https://${HOST}:${PORT}/mcp", "http://${HOST}/mcp", "https://h/${PATH}?a=${B}", "${SCHEME}://x"})
    EXPECT_EQ(fault_of(good), "none") << good;
  EXPECT_EQ(fault_of("http://example.org/${X}"), "must be https, or http on this machine");
  EXPECT_EQ(fault_of("file:///etc/passwd"),
            "'file:///etc/passwd' is not a usable URL: it must begin with https:// or http://");
  EXPECT_EQ(fault_of("ftp://${HOST}/x"),
            "'ftp://localhost' is not a usable URL: it must begin with https:// or http://");
  EXPECT_EQ(fault_of("https:///mcp?key=sekret"), "'https:///mcp' is not a usable URL: the host is missing");
  for (const char* const port : {"x", "0", "65536", "-1", "99999999999"})
    EXPECT_EQ(fault_of("https://h:" + std::string(port) + "/"),
              "'https://h:" + std::string(port) + "/' is not a usable URL: its port is not a number from 1 to 65535");
}

TEST(McpSettings, AnAddressIsShownWithoutSecrets) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://ann:pw@h.org:8/mcp", "https://***@h.org:8/mcp"},
      {"https://h/mcp?apiKey=abc&project=my-project-2024&x", "https://h/mcp?apiKey=***&project=my-project-2024&x"},
      {"https://h/mcp?a=aB3aB3aB3aB3aB3aB3", "https://h/mcp?a=***"},
      {"https://h/s/aB3aB3aB3aB3aB3aB3/mcp", "https://h/s/***/mcp"},
      {"https://h/0123456789abcdef01234567", "https://h/***"},
      {"https://h/mcp#access_token=x", "https://h/mcp#access_token=***"},
      {"https://h/mcp?token=${T}&key=${K:-lit/eral}", "https://h/mcp?token=${T}&key=${K:-***}"},
      {"https://h/mcp?token=ab${T}", "https://h/mcp?token=***${T}"},
      {"https://${USER}:${PW}@h/", "https://${USER}:${PW}@h/"},
      {"https://${USER}:pw@h/", "https://${USER}:***@h/"},
      {"http://127.0.0.1:9090/mcp?cwd=/home/ann/project", "http://127.0.0.1:9090/mcp?cwd=/home/ann/project"},
  };
  for (const auto& [url, shown] : cases) EXPECT_EQ(shown_mcp_url(url), shown) << url;
}

TEST(McpSettings, VariablesAreShownBesideWhatIsNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"agentd ${ANTHROPIC_API_KEY}", "*** ${ANTHROPIC_API_KEY}"},
      {"Bearer ${X}", "Bearer ${X}"},
      {"Bearer abc", "Bearer ***"},
      {"x${A}y${B}z", "***${A}***${B}***"},
      {"${A}:${B}", "${A}:${B}"},
      {"${A:-x${B}", "${A:-***}"},
      {"${A:-}", "${A:-}"},
      {"${a b}", "***"},
      {"${", "***"},
      {"", ""},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(without_literals(text), shown) << text;
}

TEST(McpSettings, SecretsOfArgumentsAreNotShown) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{"-y", "@scope/server-2024", "/Users/Ann/Projects/Server2.js"},
       {"-y", "@scope/server-2024", "/Users/Ann/Projects/Server2.js"}},
      {{"--api-key", "abc", "x"}, {"--api-key", "***", "x"}},
      {{"--api-key", "${KEY}"}, {"--api-key", "${KEY}"}},
      {{"--token=ghp_abc", "--password", "x"}, {"--token=***", "--password", "***"}},
      {{"--auth", "--port", "80"}, {"--auth", "--port", "80"}},
      {{"--no-auth", "x"}, {"--no-auth", "x"}},
      {{"-e", "API_KEY=abc", "-e", "LEVEL=debug"}, {"-e", "API_KEY=***", "-e", "LEVEL=debug"}},
      {{"--header", "Authorization: Bearer abc"}, {"--header", "Authorization: Bearer ***"}},
      {{"--header=Authorization:${A}"}, {"--header=Authorization:${A}"}},
      {{"--db=postgres://ann:pw@h/db", "https://h/?key=a"}, {"--db=postgres://***@h/db", "https://h/?key=***"}},
      {{"sk-ant-api03-abc", "a/b"}, {"***", "a/b"}},
      {{"image@sha256:0123456789abcdef0123456789abcdef"}, {"image@sha256:0123456789abcdef0123456789abcdef"}},
      {{"${TOKEN:-x}", "registry.org/auth:latest"}, {"${TOKEN:-x}", "registry.org/auth:latest"}},
  };
  for (const auto& [args, shown] : cases) EXPECT_EQ(shown_mcp_args(args), shown) << args[0];
}

TEST(McpSettings, WrittenSecretsAreNamed) {
  const auto written = [](const std::string& json) {
    const auto server = read(json);
    EXPECT_TRUE(server) << server.error().message;
    return server ? written_secrets(*server) : std::vector<std::string>();
  };
  EXPECT_EQ(written(R"({"command":"x","args":["--token","a1"],"env":{"API_KEY":"b","LEVEL":"debug"}})"),
            (std::vector<std::string>{"the variable API_KEY", "the argument --token ***"}));
  EXPECT_EQ(written(R"({"url":"https://u:p@h/","headers":{"Authorization":"Bearer x","X-A":"ghp_1","X-B":"c"}})"),
            (std::vector<std::string>{"the header Authorization", "the header X-A", "the address https://***@h/"}));
  EXPECT_TRUE(written(R"({"url":"https://h/","headers":{"Authorization":"Bearer ${X}"}})").empty());
}

TEST(McpSettings, AHeaderOfTheTransportIsRefused) {
  for (const char* const name : {"Content-Length", "host", "ACCEPT", "Content-Type", "Mcp-Session-Id",
                                 "MCP-Protocol-Version", "Connection", "Transfer-Encoding"})
    EXPECT_EQ(fault(R"({"url":"https://x","headers":{")" + std::string(name) + R"(":"1"}})"),
              "headers must not have '" + std::string(name) + "', which agentd sets itself: omit it");
  EXPECT_EQ(fault(R"({"url":"https://x","headers":{"X-Accept":"1"}})"), "none");
}

TEST(McpSettings, WrittenAndReadIsTheSame) {
  const auto first = read(R"({"command":"npx","args":["a"],"env":{"A":"1"},"pass_environment":["B"],"cwd":"sub",)"
                          R"("enabled":false,"scope":"session","sandbox":false,"trust_annotations":true,)"
                          R"("tools":["x*"],"except_tools":["y"],"network":["h"],"readable":["/r"],"writable":["."],)"
                          R"("start_timeout_ms":5,"timeout_ms":6})");
  ASSERT_TRUE(first) << first.error().message;
  const std::string json = mcp_server_json(*first);
  const auto second = read(json);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(mcp_server_json(*second), json);
  for (const char* const member :
       {"command", "args", "env", "pass_environment", "cwd", "enabled", "scope", "sandbox", "trust_annotations",
        "tools", "except_tools", "network", "readable", "writable", "start_timeout_ms", "timeout_ms"})
    EXPECT_NE(json.find('"' + std::string(member) + '"'), std::string::npos) << member;
}

TEST(McpSettings, VariablesStandForTheEnvironment) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "SET") return "value";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  const auto text = [&](std::string_view from) {
    const auto out = with_variables(from, environment);
    return out ? *out : "! " + out.error().message;
  };
  EXPECT_EQ(text("a ${SET} b${SET}"), "a value bvalue");
  EXPECT_EQ(text("${EMPTY}|${EMPTY:-x}|${NONE:-}|${NONE:-y z}"), "|x||y z");
  EXPECT_EQ(text("$SET $$ ${"), "! '${' must be ${NAME} or ${NAME:-TEXT}");
  EXPECT_EQ(text("${NONE}"), "! the variable NONE is not set");
  EXPECT_EQ(text("${a b}"), "! '${a b}' must be ${NAME} or ${NAME:-TEXT}");
}

TEST(McpSettings, TheSettingsNameTheLineOfAMistake) {
  ConfigSources sources;
  sources.flags = {{"mcp.servers.a", "{command: x, arg: [y]}", "--set"}};
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(mcp_servers_of(*config).error().message,
            "--set: mcp.servers.a: arg is no member of a server: did you mean 'args'?");
  const auto fault_of = [](const std::string& key, const std::string& value) {
    ConfigSources flags;
    flags.flags = {{key, value, "--set"}};
    const auto read = Config::load(flags);
    EXPECT_TRUE(read) << read.error().message;
    return read ? mcp_servers_of(*read).error().message : "";
  };
  EXPECT_TRUE(fault_of("mcp.servers.ok.enabeld", "false")
                  .starts_with("--set: mcp.servers.ok.enabeld: 'enabeld' is no member of a server (did you mean "
                               "'enabled'?), which has type, "
                               "command, args,"));
  EXPECT_TRUE(fault_of("mcp.servers.ok.x", "").starts_with("--set: mcp.servers.ok.x: 'x' is no member of a server, "));
  EXPECT_EQ(fault_of("mcp.servers.ok.enabled", "false"),
            "--set: mcp.servers.ok.enabled: a member of a server cannot be set by itself: set the whole server, --set "
            "'mcp.servers.ok={command: PROGRAM, args: [...]}'");
  const KeySpec* const key = find_key("mcp.servers.a");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(display(*key, ConfigValue{{}, {}, R"({"env":{"K":"secret"}})"}), "\"***\"");
}

// ---- import

ImportedServers imported(std::string_view text, McpDialect dialect, const std::string& root = "/p") {
  auto out = import_mcp_servers(text, dialect, "/f", root);
  EXPECT_TRUE(out) << out.error().message;
  return out ? std::move(*out) : ImportedServers();
}

TEST(McpImport, ServersOfClaudeCodeWithThoseOfTheProject) {
  const ImportedServers all =
      imported(R"({"mcpServers":{"a":{"type":"stdio","command":"x","args":["1"],"env":{"K":"v"}}},)"
               R"("projects":{"/p":{"mcpServers":{"b":{"type":"http","url":"https://h","headers":{"A":"b"}}}},)"
               R"("/q":{"mcpServers":{"c":{"command":"no"}}}}})",
               McpDialect::kClaude);
  ASSERT_EQ(all.servers.size(), 2u);
  EXPECT_EQ(mcp_server_json(all.servers[0]), R"({"command":"x","args":["1"],"env":{"K":"v"}})");
  EXPECT_EQ(mcp_server_json(all.servers[1]), R"({"url":"https://h","headers":{"A":"b"}})");
  EXPECT_TRUE(all.problems.empty());
}

TEST(McpImport, ServersOfCodex) {
  const ImportedServers all = imported(
      "model = \"x\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"d\"]\nenv = { K = \"v\" }\n"
      "startup_timeout_sec = 2.5\ntool_timeout_sec = 60\nenabled_tools = [\"find\"]\ndisabled_tools = [\"x\"]\n"
      "[mcp_servers.far]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"TOKEN\"\nenabled = false\n",
      McpDialect::kCodex);
  ASSERT_EQ(all.servers.size(), 2u);
  EXPECT_EQ(mcp_server_json(all.servers[0]),
            R"({"command":"npx","args":["-y","d"],"env":{"K":"v"},"tools":["find"],"except_tools":["x"],)"
            R"("start_timeout_ms":2500,"timeout_ms":60000})");
  EXPECT_EQ(mcp_server_json(all.servers[1]),
            R"({"url":"https://h/mcp","headers":{"Authorization":"Bearer ${TOKEN}"},"enabled":false})");
  EXPECT_TRUE(all.problems.empty());
  EXPECT_EQ(import_mcp_servers("a = [", McpDialect::kCodex, "/f", "").error().message.substr(0, 5), "/f:1:");
}

TEST(McpImport, ServersOfGeminiAndVsCode) {
  const ImportedServers gemini =
      imported(R"({"mcpServers":{"a":{"httpUrl":"https://h","timeout":9,"trust":true},"b":{"url":"https://sse"}}})",
               McpDialect::kGemini);
  ASSERT_EQ(gemini.servers.size(), 1u);
  EXPECT_EQ(mcp_server_json(gemini.servers[0]), R"({"url":"https://h","timeout_ms":9})");
  EXPECT_EQ(gemini.problems.size(), 3u);
  const ImportedServers vscode =
      imported(R"({"inputs":[],"servers":{"a":{"type":"stdio","command":"x","cwd":"${workspaceFolder}"},)"
               R"("b":{"command":"y","env":{"K":"${input:key}"}},"c":{"command":"z"}}})",
               McpDialect::kVscode);
  ASSERT_EQ(vscode.servers.size(), 1u);
  EXPECT_EQ(vscode.servers[0].name, "c");
  EXPECT_EQ(vscode.problems.size(), 2u);
  EXPECT_FALSE(import_mcp_servers(R"({"mcpServers":{}})", McpDialect::kVscode, "/f", ""));
  EXPECT_EQ(mcp_dialect_of("/h/.codex/config.toml"), McpDialect::kCodex);
  EXPECT_EQ(mcp_dialect_of("/h/.gemini/settings.json"), McpDialect::kGemini);
  EXPECT_EQ(mcp_dialect_of("/p/.vscode/mcp.json"), McpDialect::kVscode);
  EXPECT_EQ(mcp_dialect_of("/p/.mcp.json"), McpDialect::kClaude);
  EXPECT_EQ(find_mcp_dialect("vim"), std::nullopt);
}

TEST(McpImport, ToolsThatAnotherAgentLeavesOutStayOut) {
  const ImportedServers gemini =
      imported(R"x({"mcp":{"excluded":["off"]},"mcpServers":{"a":{"command":"x","includeTools":["p","q(1)"],)x"
               R"x("excludeTools":["r"]},"none":{"command":"x","includeTools":[]},"off":{"command":"y"}}})x",
               McpDialect::kGemini);
  ASSERT_EQ(gemini.servers.size(), 3u);
  EXPECT_EQ(mcp_server_json(gemini.servers[0]), R"({"command":"x","tools":["p"],"except_tools":["r"]})");
  EXPECT_EQ(mcp_server_json(gemini.servers[1]), R"({"command":"x","except_tools":["*"]})") << "none is not all";
  EXPECT_FALSE(gemini.servers[2].enabled);
  ASSERT_EQ(gemini.problems.size(), 1u);
  EXPECT_TRUE(gemini.problems[0].starts_with("a: includeTools q(1) is not imported")) << gemini.problems[0];
  const ImportedServers claude =
      imported(R"({"mcpServers":{"a":{"command":"x"},"b":{"command":"x"}},"projects":{"/p":{"mcpServers":{},)"
               R"("disabledMcpServers":["b"],"disabledMcpjsonServers":["c"]}}})",
               McpDialect::kClaude);
  EXPECT_TRUE(claude.servers.at(0).enabled);
  EXPECT_FALSE(claude.servers.at(1).enabled);
  ASSERT_EQ(claude.problems.size(), 1u);
  EXPECT_TRUE(claude.problems[0].starts_with("disabledMcpjsonServers is not imported: c of .mcp.json is not started"));
}

TEST(McpImport, AnAddressThatCannotBeUsedIsLeftOutByItself) {
  const ImportedServers all =
      imported(R"({"mcpServers":{"a":{"url":"http://example.org/mcp"},"b":{"command":"x"},"c":{"url":"file:///x"}}})",
               McpDialect::kClaude);
  ASSERT_EQ(all.servers.size(), 1u);
  EXPECT_EQ(all.problems, (std::vector<std::string>{
                              "a is not imported: url: must be https, or http on this machine",
                              "c is not imported: url: 'file:///x' is not a usable URL: it must begin with https:// "
                              "or http://"}));
}

TEST(McpImport, VariablesOfOtherAgentsStayVariables) {
  const ImportedServers gemini = imported(
      R"({"mcpServers":{"a":{"command":"x","args":["$HOME"],"env":{"A":"$TOK","B":"${TOK} $1 $","C":"a$TOK_2-b"}},)"
      R"("h":{"httpUrl":"https://h","headers":{"A":"Bearer $TOK"}}}})",
      McpDialect::kGemini);
  ASSERT_EQ(gemini.servers.size(), 2u);
  EXPECT_EQ(mcp_server_json(gemini.servers[0]),
            R"({"command":"x","args":["$HOME"],"env":{"A":"${TOK}","B":"${TOK} $1 $","C":"a${TOK_2}-b"}})");
  EXPECT_EQ(mcp_server_json(gemini.servers[1]), R"({"url":"https://h","headers":{"A":"Bearer ${TOK}"}})");
  const ImportedServers vscode =
      imported(R"({"servers":{"a":{"command":"x","args":["${env:FOO}/${env:BAR}"],"env":{"A":"${env:FOO}"}},)"
               R"("b":{"command":"${workspaceFolder}/x"},"c":{"command":"x","cwd":"${workspaceFolder}"},)"
               R"("d":{"command":"x","args":["${workspaceFolder}"],"cwd":"${workspaceFolder}"}}})",
               McpDialect::kVscode);
  ASSERT_EQ(vscode.servers.size(), 1u);
  EXPECT_EQ(mcp_server_json(vscode.servers[0]), R"({"command":"x","args":["${FOO}/${BAR}"],"env":{"A":"${FOO}"}})");
  EXPECT_EQ(vscode.problems,
            (std::vector<std::string>{
                "b is not imported: its command has ${workspaceFolder}: write paths from the project's root, where a "
                "server starts",
                "c is not imported: its cwd has ${workspaceFolder}: omit it, since a server starts at the "
                "project's root",
                "d is not imported: its args and its cwd have ${workspaceFolder}: write paths from the project's root, "
                "where a server starts, and omit cwd"}));
}

TEST(McpImport, HeadersOfTheTransportAreLeftOut) {
  const ImportedServers all =
      imported(R"({"mcpServers":{"a":{"url":"https://h","headers":{"Accept":"x","K":"v"}},"A":{"command":"x"}}})",
               McpDialect::kClaude);
  ASSERT_EQ(all.servers.size(), 1u);
  EXPECT_EQ(mcp_server_json(all.servers[0]), R"({"url":"https://h","headers":{"K":"v"}})");
  EXPECT_EQ(all.problems, (std::vector<std::string>{
                              "a: headers.Accept is not imported: agentd sets it itself",
                              "A is not imported: the file has another server of that name (upper and lower case are "
                              "one)"}));
}

TEST(McpImport, CommentsAndLastCommasOfEditorsAreRead) {
  const ImportedServers all = imported(
      "\xEF\xBB\xBF// mine\n{\"servers\": {/* one */ \"a\": {\"command\": \"x//y\", "
      "\"args\": [\"a,]\", \"/*b*/\", ], // last\n },\n}, }\n",
      McpDialect::kVscode);
  ASSERT_EQ(all.servers.size(), 1u);
  EXPECT_EQ(mcp_server_json(all.servers[0]), R"({"command":"x//y","args":["a,]","/*b*/"]})");
  for (const char* const wrong : {"{\"servers\": {},, }", "{\"servers\": {\"a\" }"})
    EXPECT_FALSE(import_mcp_servers(wrong, McpDialect::kVscode, "/f", "")) << wrong;
}

}  // namespace
}  // namespace agentd
