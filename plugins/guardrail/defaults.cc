// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/rules.h"

// A program's name begins here, or after a path.
#define AGENTD_WORD R"re((?:^|[^\w.-]))re"
#define AGENTD_WORD_END R"re((?:[\s;&|)]|$))re"
// Other words of the same command.
#define AGENTD_WORDS R"re((?:[^;&|\n]*\s)?)re"
#define AGENTD_EVERYTHING                                                                           \
  R"re((?:/+|/+\*|/+\.|~(?:root)?/?|~(?:root)?/\*|\$\{?HOME(?::[-=?+][^}\s]*)?\}?/?\*?|/(?:bin|)re" \
  R"re(boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var)/?\*?))re"
#define AGENTD_RECURSIVE R"re((?:-[A-Za-z]*[rR][A-Za-z]*|--recursive))re"
#define AGENTD_FETCHERS R"re((?:curl|wget|fetch|lwp-request|aria2c))re"
#define AGENTD_WRAPPERS R"re((?:[\w./-]*(?:sudo|env|nohup|exec|command|busybox)\s+(?:[\w=./-]+\s+)*)*)re"
#define AGENTD_SHELLS R"re([\w./-]*?(?:(?:ba|z|da|k|c|tc|fi|a)?sh|python[0-9.]*|perl|ruby|node|php))re"

namespace guardrail {
namespace {

struct CommandRule {
  const char *name, *command;
  Verdict action;
  const char* reason;
};

constexpr const char* kEverything = "it would remove the system or the home directory";
constexpr const char* kDownload = "it would run what it downloads: save it, read it, then run it";

constexpr CommandRule kCommands[] = {
    {"remove-everything",
     AGENTD_WORD R"re(rm\s)re" AGENTD_WORDS AGENTD_RECURSIVE R"re(\s)re" AGENTD_WORDS AGENTD_EVERYTHING AGENTD_WORD_END,
     Verdict::kDeny, kEverything},
    {"remove-everything",
     AGENTD_WORD R"re(rm\s)re" AGENTD_WORDS AGENTD_EVERYTHING R"re(\s)re" AGENTD_WORDS AGENTD_RECURSIVE
                 R"re(|--no-preserve-root)re",
     Verdict::kDeny, kEverything},
    {"remove-everything",
     AGENTD_WORD R"re(find\s+(?:-[LHP]\s+)*(?:/|~/?|\$\{?HOME\}?/?)\s[^;&|\n]*)re"
                 R"re(-(?:delete|exec(?:dir)?\s+rm)(?:\s|$))re",
     Verdict::kDeny, kEverything},
    {"open-everything",
     AGENTD_WORD R"re((?:chmod|chown|chgrp)\s)re" AGENTD_WORDS AGENTD_RECURSIVE
                 R"re(\s)re" AGENTD_WORDS AGENTD_EVERYTHING AGENTD_WORD_END,
     Verdict::kAsk, "it would change the permissions of the system or the home directory"},
    {"overwrite-disk",
     AGENTD_WORD R"re((?:mkfs(?:\.\w+)?|wipefs|blkdiscard)\s)re"
                 R"re(|(?:of=|>\s*)/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/))re"
                 R"re(|(?:shred|cp|mv|tee)\s[^;&|\n]*/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/))re",
     Verdict::kDeny, "it would overwrite a disk"},
    {"fork-bomb", R"re(:\s*\(\s*\)\s*\{\s*:\s*\|\s*:)re", Verdict::kDeny, "it would fill the machine with processes"},
    {"run-download",
     AGENTD_WORD AGENTD_FETCHERS R"re(\s[^;\n]*\|&?\s*)re" AGENTD_WRAPPERS AGENTD_SHELLS AGENTD_WORD_END,
     Verdict::kDeny, kDownload},
    {"run-download",
     AGENTD_WORD R"re((?:(?:ba|z|da|k|fi)?sh|eval|source|\.|python[0-9.]*|perl)\s+)re"
                 R"re((?:-\w+\s+)*(?:<\s*)?(?:<\(|\$\(|`)\s*)re" AGENTD_FETCHERS R"re(\s)re",
     Verdict::kDeny, kDownload},
    {"run-encoded",
     R"re((?:base64\s+(?:-\w+\s+)*(?:-d|-D|--decode)|xxd\s+-r|openssl\s+(?:enc|base64)\s)re"
     R"re([^;|\n]*-d)[^;\n]*\|&?\s*)re" AGENTD_WRAPPERS AGENTD_SHELLS AGENTD_WORD_END,
     Verdict::kDeny, "it would run an encoded command that cannot be checked"},
    {"run-encoded",
     AGENTD_WORD R"re((?:(?:ba|z|da|k)?sh\s+-c|eval|source|\.)\s+)re"
                 R"re((?:<\(|\$\(|`)[^;\n]*(?:base64\s+(?:-\w+\s+)*(?:-d|-D|--decode)|xxd\s+-r))re",
     Verdict::kDeny, "it would run an encoded command that cannot be checked"},
    {"git-hooks-path", R"re(core\.(?:hooksPath|fsmonitor|sshCommand)(?:[\s=]|$))re", Verdict::kAsk,
     "it changes which programs git runs automatically"},
};

constexpr const char* kProtected[] = {"~/.ssh/**",
                                      "~/.agent/**",
                                      "$AGENTD_HOME/**",
                                      "~/.gnupg/**",
                                      "~/.aws/**",
                                      "~/.kube/**",
                                      "**/.git/hooks/**",
                                      "**/.git/config",
                                      "**/.agent/hooks/**",
                                      "~/.bashrc",
                                      "~/.bash_profile",
                                      "~/.bash_login",
                                      "~/.bash_logout",
                                      "~/.bash_aliases",
                                      "~/.profile",
                                      "~/.zshrc",
                                      "~/.zshenv",
                                      "~/.zprofile",
                                      "~/.zlogin",
                                      "~/.zlogout",
                                      "~/.kshrc",
                                      "~/.cshrc",
                                      "~/.tcshrc",
                                      "~/.login",
                                      "~/.inputrc",
                                      "~/.config/fish/**",
                                      "~/.config/autostart/**",
                                      "~/.gitconfig",
                                      "~/.config/git/**",
                                      "~/.config/systemd/**",
                                      "~/.netrc",
                                      "~/.npmrc",
                                      "~/.pypirc",
                                      "/etc/**",
                                      "~/.docker/config.json",
                                      "**/.claude/settings*.json",
                                      "/var/spool/cron/**",
                                      "/boot/**"};

constexpr const char* kKeys[] = {"~/.ssh/**",          "~/.gnupg/**",    "~/.aws/credentials",
                                 "~/.netrc",           "~/.kube/config", "~/.docker/config.json",
                                 "~/.git-credentials", "/etc/shadow",    "/etc/sudoers"};

}  // namespace

agentd::Result<std::vector<Rule>> default_rules() {
  std::vector<Rule> out;
  for (const CommandRule& from : kCommands) {
    Rule rule;
    rule.name = from.name;
    AGENTD_TRY(agentd::Regex expression, agentd::Regex::compile(from.command));
    rule.input.emplace_back("command", std::move(expression));
    rule.action = from.action;
    rule.reason = from.reason;
    out.push_back(std::move(rule));
  }
  // The expressions above also match text that no shell would read as a command; this rule checks the paths.
  Rule removal;
  removal.name = "remove-everything";
  removal.everything = true;
  removal.reason = kEverything;
  out.push_back(std::move(removal));
  Rule written;
  written.name = "protected-files";
  written.path.assign(std::begin(kProtected), std::end(kProtected));
  written.writes_only = true;
  written.reason = "an agent must not change keys, start-up files and hooks";
  out.push_back(std::move(written));
  Rule named;
  named.name = "private-keys";
  named.path.assign(std::begin(kKeys), std::end(kKeys));
  named.action = Verdict::kAsk;
  named.reason = "it names a file that holds keys";
  out.push_back(std::move(named));
  return out;
}

}  // namespace guardrail
