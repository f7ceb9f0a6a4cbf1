// SPDX-License-Identifier: Apache-2.0
#include "core/shell/wrappers.h"

#include <algorithm>

#include "core/shell/reading.h"

namespace agentd::shell {
namespace {

const std::vector<Wrapper>& wrappers() {
  // Options as GNU coreutils, findutils, util-linux, procps and sudo have them; what another make of a program reads
  // differently is not here.
  static const std::vector<Wrapper> rows{
      {"env", true, "", "u", {}, {"--unset"}, 0, true},
      {"command", true, "pvV", "", {}, {}},
      {"builtin", true, "", "", {}, {}},
      {"exec", true, "", "", {}, {}},
      {"nohup", true, "", "", {}, {}},
      {"nice", true, "0123456789", "n", {}, {"--adjustment"}},
      {"time", true, "p", "", {}, {}},
      {"timeout", true, "v", "ks", {"--foreground", "--preserve-status", "--verbose"}, {"--kill-after", "--signal"}, 1},
      {"stdbuf", true, "", "ioe", {}, {"--input", "--output", "--error"}},
      {"setsid", true, "cfw", "", {"--ctty", "--fork", "--wait"}, {}},
      {"ionice", true, "t", "cn", {"--ignore"}, {"--class", "--classdata"}},
      {"sudo",
       false,
       "nEHS",
       "ugp",
       {"--non-interactive", "--preserve-env", "--set-home", "--stdin"},
       {"--user", "--group", "--prompt"},
       0,
       true},
      {"doas", false, "n", "u", {}, {}},
      {"xargs",
       false,
       "0rtxpo",
       "nPILdsEa",
       {"--null", "--no-run-if-empty", "--verbose", "--exit", "--interactive", "--open-tty"},
       {"--max-args", "--max-procs", "--max-chars", "--delimiter", "--arg-file"}},
      {"watch",
       false,
       "bcegtdx",
       "n",
       {"--beep", "--color", "--errexit", "--chgexit", "--no-title", "--exec"},
       {"--interval"}},
      {"busybox", true, "", "", {}, {}},
      {"toybox", true, "", "", {}, {}},
  };
  return rows;
}

constexpr std::string_view kLaunchers[] = {"chroot",
                                           "unshare",
                                           "nsenter",
                                           "flock",
                                           "script",
                                           "strace",
                                           "ltrace",
                                           "gdb",
                                           "parallel",
                                           "su",
                                           "runuser",
                                           "pkexec",
                                           "systemd-run",
                                           "chrt",
                                           "taskset",
                                           "numactl",
                                           "prlimit",
                                           "unbuffer",
                                           "tmux",
                                           "screen",
                                           "at",
                                           "batch",
                                           "setarch",
                                           "linux32",
                                           "linux64",
                                           "i386",
                                           "x86_64",
                                           "setpriv",
                                           "capsh",
                                           "torsocks",
                                           "torify",
                                           "proxychains",
                                           "faketime",
                                           "fakeroot",
                                           "memusage",
                                           "sotruss",
                                           "coreutils",
                                           "uclampset",
                                           "sshpass",
                                           "fakechroot",
                                           "proot",
                                           "schroot",
                                           "systemd-inhibit",
                                           "systemd-cat",
                                           "systemd-nspawn",
                                           "cgexec",
                                           "hyperfine",
                                           "rr",
                                           "gdbserver",
                                           "sem",
                                           "dtach",
                                           "abduco",
                                           "nq",
                                           "tsp",
                                           "timelimit",
                                           "watchexec",
                                           "nodemon",
                                           "logsave",
                                           "dotenv",
                                           "direnv",
                                           "genv",
                                           "gnice",
                                           "gnohup",
                                           "gstdbuf",
                                           "gtime",
                                           "gtimeout",
                                           "gxargs",
                                           "gfind",
                                           "xterm",
                                           "posh",
                                           "yash",
                                           "lksh",
                                           "oksh",
                                           "elvish",
                                           "osh",
                                           "hush",
                                           "mpirun",
                                           "mpiexec",
                                           "srun",
                                           "pasta",
                                           "s6-setuidgid",
                                           "s6-envdir",
                                           "with-contenv",
                                           "retry",
                                           "tsocks",
                                           "aa-exec",
                                           "minijail0",
                                           "sandbox-exec",
                                           "jexec",
                                           "lxc-attach",
                                           "lxc-execute",
                                           "pidproxy",
                                           "catatonit",
                                           "chronic",
                                           "ifne",
                                           "entr",
                                           "xvfb-run",
                                           "catchsegv",
                                           "valgrind",
                                           "perf",
                                           "rlwrap",
                                           "daemon",
                                           "daemonize",
                                           "run-parts",
                                           "gosu",
                                           "su-exec",
                                           "tini",
                                           "dumb-init",
                                           "firejail",
                                           "bwrap",
                                           "choom",
                                           "eatmydata",
                                           "cpulimit",
                                           "trickle",
                                           "nsjail",
                                           "chpst",
                                           "envdir",
                                           "setuidgid",
                                           "envuidgid",
                                           "softlimit",
                                           "runcon",
                                           "sg",
                                           "newgrp",
                                           "proxychains4",
                                           "start-stop-daemon",
                                           "dbus-run-session",
                                           "dbus-launch",
                                           "ssh-agent",
                                           "crontab",
                                           "setlock",
                                           "with-lock-ex",
                                           "expect",
                                           "csh",
                                           "tcsh",
                                           "fish",
                                           "pwsh",
                                           "zsh",
                                           "ksh",
                                           "mksh",
                                           "ksh93",
                                           "rbash",
                                           "rc",
                                           "es",
                                           "nu",
                                           "xonsh"};

bool is_listed(std::string_view word, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

class Options {
 public:
  Options(const Wrapper& wrapper, const std::vector<ShellWord>& words) : wrapper_(wrapper), words_(words) {}

  Unwrapped read() {
    at_ = 1;
    while (doubt_.empty() && at_ < words_.size()) {
      const ShellWord& word = words_[at_];
      if (!word.known()) {
        fail("depends on a value in front of its command");
      } else if (word.is("--")) {
        ++at_;
        break;
      } else if (word.text.starts_with("--")) {
        read_long(word.text);
      } else if (word.text.starts_with('-')) {
        read_letters(word.text);
      } else {
        break;
      }
    }
    for (std::size_t i = 0; doubt_.empty() && i < wrapper_.operands; ++i) operand();
    while (doubt_.empty() && wrapper_.assigns && at_ < words_.size() && assignment(words_[at_].text)) ++at_;
    out_.begin = std::min(at_, words_.size());
    out_.doubt = std::move(doubt_);
    return std::move(out_);
  }

 private:
  void fail(const std::string& why) {
    if (doubt_.empty()) doubt_ = std::string(wrapper_.name) + " " + why;
  }

  void operand() {
    if (at_ >= words_.size()) return;
    if (!words_[at_].known()) fail("depends on a value in front of its command");
    ++at_;
  }

  void read_long(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = std::string_view(text).substr(0, equals);
    if (is_listed(name, wrapper_.long_flags)) {
      ++at_;
      if (name == "--exec") out_.directly = true;
    } else if (is_listed(name, wrapper_.long_valued)) {
      ++at_;
      if (equals == std::string::npos)
        value({}, name);
      else
        value(text.substr(equals + 1), name);
    } else {
      fail("has an option that is not known: " + text);
    }
  }

  void read_letters(const std::string& text) {
    if (text.size() == 1) return fail("has an option that is not known: -");
    for (std::size_t i = 1; i < text.size(); ++i) {
      const char letter = text[i];
      if (wrapper_.valued.find(letter) != std::string_view::npos) {
        ++at_;
        value(text.substr(i + 1), text.substr(i, 1));
        return;
      }
      if (wrapper_.flags.find(letter) == std::string_view::npos)
        return fail("has an option that is not known: " + text);
      out_.looks_up = out_.looks_up || (wrapper_.name == "command" && letter != 'p');
      out_.directly = out_.directly || (wrapper_.name == "watch" && letter == 'x');
    }
    ++at_;
  }

  // `given`: empty = it is the next word.
  void value(std::string given, std::string_view option) {
    if (given.empty()) {
      if (at_ >= words_.size()) return;
      if (!words_[at_].known()) return fail("depends on a value in front of its command");
      given = words_[at_++].text;
    }
    if (wrapper_.name == "xargs" && option == "I") out_.replaced = given;
    if (wrapper_.name == "env" && (option == "u" || option == "--unset") && !is_local(given))
      out_.set.push_back({given, {}, false});
  }

  bool assignment(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t unknown = text.find(kUnknownPart);
    if (unknown < equals) {
      if (wrapper_.assigns) fail("depends on a value in front of its command");
      return false;
    }
    if (equals == std::string::npos) return false;
    out_.set.push_back({text.substr(0, equals), {text.substr(equals + 1)}});
    if (words_[at_].splits) fail("depends on a value in front of its command");
    return true;
  }

  const Wrapper& wrapper_;
  const std::vector<ShellWord>& words_;
  Unwrapped out_;
  std::string doubt_;
  std::size_t at_ = 0;
};

}  // namespace

const Wrapper* find_wrapper(std::string_view program) {
  for (const Wrapper& each : wrappers())
    if (each.name == program) return &each;
  return nullptr;
}

bool is_launcher(std::string_view program) {
  return std::find(std::begin(kLaunchers), std::end(kLaunchers), program) != std::end(kLaunchers) ||
         program.starts_with("ld-linux") || program.starts_with("ld.so") || program.starts_with("ld-musl");
}

Unwrapped unwrap(const Wrapper& wrapper, const std::vector<ShellWord>& words) { return Options(wrapper, words).read(); }

}  // namespace agentd::shell
