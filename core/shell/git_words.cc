// SPDX-License-Identifier: Apache-2.0
#include "core/shell/git_words.h"

#include <algorithm>
#include <cctype>

namespace agentd::shell {
namespace {

using Views = std::vector<std::string_view>;

bool is_one_of(std::string_view word, const Views& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Settings that name no program. No list of the others is complete, since a command reads settings of its own.
bool is_harmless_setting(std::string_view setting) {
  static const Views sections{"advice", "color", "column", "i18n", "init", "user", "author", "committer", "status"};
  static const Views names{"branch.autosetupmerge",
                           "branch.autosetuprebase",
                           "branch.sort",
                           "commit.gpgsign",
                           "commit.verbose",
                           "core.abbrev",
                           "core.autocrlf",
                           "core.bare",
                           "core.commentchar",
                           "core.compression",
                           "core.eol",
                           "core.filemode",
                           "core.ignorecase",
                           "core.longpaths",
                           "core.precomposeunicode",
                           "core.quotepath",
                           "core.safecrlf",
                           "core.sharedrepository",
                           "core.symlinks",
                           "core.whitespace",
                           "diff.algorithm",
                           "diff.colormoved",
                           "diff.context",
                           "diff.mnemonicprefix",
                           "diff.noprefix",
                           "diff.renamelimit",
                           "diff.renames",
                           "fetch.prune",
                           "gc.auto",
                           "grep.linenumber",
                           "http.lowspeedlimit",
                           "http.lowspeedtime",
                           "http.postbuffer",
                           "http.sslverify",
                           "http.version",
                           "log.date",
                           "log.decorate",
                           "log.follow",
                           "merge.conflictstyle",
                           "merge.ff",
                           "merge.log",
                           "merge.renamelimit",
                           "merge.renames",
                           "pack.threads",
                           "pack.windowmemory",
                           "protocol.file.allow",
                           "protocol.version",
                           "pull.ff",
                           "pull.rebase",
                           "push.default",
                           "push.followtags",
                           "rebase.autosquash",
                           "rebase.autostash",
                           "rerere.enabled",
                           "safe.directory",
                           "submodule.recurse",
                           "tag.gpgsign",
                           "tag.sort",
                           "versionsort.suffix"};
  std::string key(setting.substr(0, setting.find('=')));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  if (key.find(kUnknownPart) != std::string::npos) return false;
  return is_one_of(key, names) || is_one_of(std::string_view(key).substr(0, key.find('.')), sections);
}

// A command, the options that take a program, and the words by which it runs one.
struct Runner {
  std::string_view command;
  Views options{};             // in full; Git takes shorter ones, too
  std::string_view letters{};  // of short options
  std::string_view valued{};   // letters that end a group of short options, because the rest is a value
  Views words{};               // its own commands
};

const Runner* find_runner(std::string_view command) {
  static const std::vector<Runner> rows{
      {"archive", {"--exec"}},
      {"bisect", {}, "", "", {"run", "visualize", "view"}},
      {"clone", {"--upload-pack", "--config"}, "uc", "ojb"},
      {"difftool", {"--extcmd"}, "x", "t"},
      {"fetch", {"--upload-pack"}, "", "oj"},
      {"fetch-pack", {"--upload-pack", "--exec"}},
      {"grep", {"--open-files-in-pager"}, "O", "ABCefm"},
      {"ls-remote", {"--upload-pack", "--exec"}},
      {"pull", {"--upload-pack"}, "", "osXSj"},
      {"push", {"--receive-pack", "--exec"}, "", "o"},
      {"rebase", {"--exec"}, "x", "CsSX"},
      {"send-email", {"--smtp-server", "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"}},
      {"send-pack", {"--receive-pack", "--exec"}},
      {"submodule", {}, "", "", {"foreach"}},
  };
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Runner& each) { return each.command == command; });
  return found == rows.end() ? nullptr : &*found;
}

// Commands that run programs of their arguments whatever their options are.
bool always_runs(std::string_view command) {
  static const Views names{"filter-branch", "for-each-repo", "instaweb", "merge-index", "remote-ext",
                           "shell",         "web--browse",   "daemon",   "cvsserver",   "http-backend"};
  return is_one_of(command, names) || command.find("--") != std::string_view::npos;
}

bool takes_program(const Runner& runner, const std::string& word) {
  if (word.starts_with("--")) {
    const std::string name = word.substr(0, word.find('='));
    return name.size() > 2 && std::any_of(runner.options.begin(), runner.options.end(),
                                          [&](std::string_view option) { return option.starts_with(name); });
  }
  for (const char letter : word.substr(1)) {
    if (runner.letters.find(letter) != std::string_view::npos) return true;
    if (runner.valued.find(letter) != std::string_view::npos) return false;
  }
  return false;
}

std::string doubt_of_command(const Runner& runner, const std::vector<ShellWord>& words, std::size_t begin) {
  const std::string name = "git " + std::string(runner.command);
  bool first = true;  // of its operands
  for (std::size_t i = begin; i < words.size() && !words[i].is("--"); ++i) {
    const ShellWord& word = words[i];
    if (word.splits || word.text.starts_with(kUnknownPart) || (word.text.starts_with('-') && !word.known())) {
      // A branch or an address in a value is usual elsewhere.
      const bool open = runner.command == "rebase" || runner.command == "difftool" || (!runner.words.empty() && first);
      if (open) return name + " depends on a value, which may be an option that runs a program";
    }
    if (word.text.starts_with('-') && word.text.size() > 1) {
      if (takes_program(runner, word.text)) return name + " runs a program by " + word.text;
      continue;
    }
    if (first && is_one_of(word.text, runner.words)) return name + " " + word.text + " runs a program";
    first = false;
  }
  return {};
}

}  // namespace

std::string doubt_of_git(const std::vector<ShellWord>& words) {
  static const Views valued{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"};
  const char* const kValue = "git depends on a value, which may be an option in front of its command";
  std::size_t at = 1;
  for (; at < words.size() && words[at].text.starts_with('-'); ++at) {
    const std::string& text = words[at].text;
    if (text == "-c") {
      if (++at >= words.size()) return {};
      if (!is_harmless_setting(words[at].text) || words[at].splits)
        return "a setting of git may name a program: " + words[at].text.substr(0, words[at].text.find('='));
    } else if (text.starts_with("--config-env")) {
      return "a setting of git depends on a variable";
    } else if (text.starts_with("--exec-path=")) {
      return "git gets its commands from a directory of its own: " + text;
    } else if (is_one_of(text, valued)) {
      ++at;
    }
    if (at < words.size() && words[at].splits) return kValue;
  }
  if (at >= words.size()) return {};
  if (words[at].splits || words[at].text.starts_with(kUnknownPart)) return kValue;
  if (!words[at].known()) return {};  // rules take it for any command that begins so
  const std::string& command = words[at].text;
  if (always_runs(command)) return "git " + command + " runs a program";
  const Runner* const runner = find_runner(command);
  return runner == nullptr ? std::string() : doubt_of_command(*runner, words, at + 1);
}

std::string_view git_command_of(std::string_view program) {
  static const Views names{"add",          "am",           "apply",       "archive",  "bisect",      "blame",
                           "branch",       "bundle",       "cat-file",    "checkout", "cherry-pick", "clean",
                           "clone",        "commit",       "commit-tree", "config",   "describe",    "diff",
                           "difftool",     "fast-export",  "fast-import", "fetch",    "fetch-pack",  "filter-branch",
                           "format-patch", "fsck",         "gc",          "grep",     "hash-object", "init",
                           "log",          "ls-files",     "ls-remote",   "ls-tree",  "merge",       "mergetool",
                           "mv",           "notes",        "prune",       "pull",     "push",        "range-diff",
                           "read-tree",    "rebase",       "reflog",      "remote",   "repack",      "replace",
                           "reset",        "restore",      "revert",      "rev-list", "rev-parse",   "rm",
                           "send-email",   "send-pack",    "shortlog",    "show",     "show-ref",    "sparse-checkout",
                           "stash",        "status",       "submodule",   "subtree",  "switch",      "symbolic-ref",
                           "tag",          "update-index", "update-ref",  "worktree", "write-tree"};
  const std::string_view base = program.substr(program.rfind('/') + 1);  // npos + 1 = 0
  constexpr std::string_view kPrefix = "git-";
  if (!base.starts_with(kPrefix)) return {};
  const std::string_view command = base.substr(kPrefix.size());
  return is_one_of(command, names) ? command : std::string_view();
}

}  // namespace agentd::shell
