// SPDX-License-Identifier: Apache-2.0
// commands.cc - what a simple command runs by its words: wrappers, shells within shells, builtins of the shell.
#include <algorithm>

#include "core/shell/git_words.h"
#include "core/shell/reading.h"
#include "core/shell/wrappers.h"

namespace agentd::shell {
namespace {

// Builtins that run what a value holds, or change what a name means.
constexpr std::string_view kDoubtful[] = {"source", ".",       "trap",    "alias",    "unalias",   "enable",  "hash",
                                          "bind",   "compgen", "compopt", "complete", "fc",        "mapfile", "let",
                                          "shopt",  "declare", "typeset", "local",    "readarray", "jobs",    "coproc"};
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash"};
constexpr std::string_view kSetNames[] = {"pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber"};
// Operators of a test with one and with two operands; not -v and -R, which evaluate the index of NAME[INDEX].
constexpr std::string_view kUnaryTests[] = {"-n", "-z", "-f", "-d", "-e", "-r", "-w", "-x", "-s", "-L", "-h", "-a",
                                            "-b", "-c", "-p", "-S", "-O", "-G", "-u", "-g", "-k", "-t", "-N"};
constexpr std::string_view kBinaryTests[] = {"=",   "==",  "!=",  "<",   ">",   "-eq", "-ne",
                                             "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};
constexpr std::string_view kFindRuns[] = {"-exec", "-execdir", "-ok", "-okdir"};

// It may begin with '-'.
bool may_be_option(const ShellWord& word) {
  return word.text.starts_with('-') || word.text.starts_with(kUnknownPart) || word.splits;
}

// A script there is what a descriptor leads to: /dev/stdin, /proc/self/fd/3, also from a directory above.
bool is_device(std::string_view path) {
  std::string_view before;
  for (std::size_t at = 0, end = 0; at < path.size(); at = end + 1) {
    end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == ".") continue;
    if ((part == "dev" || part == "proc") && (before.empty() || before == "..")) return true;
    before = part;
  }
  return false;
}

class CommandReader {
 public:
  CommandReader(ShellCommand command, Reading& reading, int depth)
      : words_(command.words), reading_(reading), depth_(depth), command_(std::move(command)) {}

  void read() {
    if (words_.empty()) return reading_.add(std::move(command_));
    const ShellWord& first = words_.front();
    if (!reading_.begins(0, depth_)) return;
    if (!first.known()) {
      reading_.doubt("the program's name depends on a value");
      return reading_.add(std::move(command_));
    }
    const std::string name = first.text.substr(first.text.rfind('/') + 1);  // npos + 1 = 0
    const Wrapper* const wrapper = find_wrapper(name);
    if (wrapper != nullptr) return read_wrapper(*wrapper);
    if (holds(kShells, name)) return read_shell();
    if (name == "eval") return read_eval();
    add();
    if (is_reserved(name) && name != "in") return reading_.doubt("'" + name + "' has a meaning of its own in bash");
    if (holds(kDoubtful, name)) return reading_.doubt("'" + name + "' may change what names mean, or run a value");
    if (is_launcher(name)) return reading_.doubt("'" + name + "' runs another program in its own way");
    if (name == "find") return read_find();
    if (name == "git") return read_git();
    if (const std::string_view command = git_command_of(name); !command.empty()) return read_part_of_git(command);
    check_builtin(name);
  }

 private:
  void add() { reading_.add(command_); }

  // Not a file of that name somewhere else, which may do anything.
  bool is_usual() const {
    const std::string& program = words_.front().text;
    const std::size_t slash = program.rfind('/');
    const std::string_view folder = std::string_view(program).substr(0, slash == std::string::npos ? 0 : slash + 1);
    return slash == std::string::npos || folder == "/usr/bin/" || folder == "/bin/";
  }

  // Adds the command that begins at a word; `more`: words follow that are not known.
  void inner(std::size_t begin, bool more, const std::string& replaced = {}) {
    ShellCommand made;
    made.assigned = command_.assigned;
    made.assigned.insert(made.assigned.end(), inherited_.begin(), inherited_.end());
    for (std::size_t i = begin; i < words_.size(); ++i) {
      ShellWord word = words_[i];
      if (!replaced.empty() && word.text.find(replaced) != std::string::npos) {
        word.text = std::string(1, kUnknownPart);
        word.splits = false;
      }
      made.words.push_back(std::move(word));
    }
    if (more) made.words.push_back({std::string(1, kUnknownPart), true, true});
    add_command(std::move(made), reading_, depth_ + 1);
  }

  // The words from one on as one text; false: it is not known.
  bool joined(std::size_t begin, std::string& out) const {
    for (std::size_t i = begin; i < words_.size(); ++i) {
      if (!words_[i].known()) return false;
      out += (i == begin ? "" : " ") + words_[i].text;
    }
    return true;
  }

  void read_wrapper(const Wrapper& wrapper) {
    Unwrapped found = unwrap(wrapper, words_);
    for (const Unwrapped::Variable& each : found.set) {
      reading_.sets(each.name, true, &each.value);
      if (each.stays) inherited_.push_back(each.name);
    }
    const bool runs = found.begin < words_.size() && !found.looks_up;
    command_.wraps = is_usual() && wrapper.transparent && runs && found.doubt.empty();
    add();
    if (!found.doubt.empty()) reading_.doubt(found.doubt);
    if (found.looks_up) return;
    if (wrapper.name == "xargs") {
      if (runs && found.replaced.empty()) return inner(found.begin, true);
      if (runs) return inner(found.begin, false, found.replaced);
      ShellCommand made;
      made.words = {{"echo"}, {std::string(1, kUnknownPart), true, true}};
      return add_command(std::move(made), reading_, depth_ + 1);
    }
    if (!runs) return;
    if (wrapper.name == "watch" && !found.directly) {
      std::string text;
      if (!joined(found.begin, text)) return reading_.doubt("watch runs a text that depends on a value");
      return read_text(text, reading_, depth_ + 1);
    }
    // bash takes what follows "time" as a new command.
    const ShellWord& first = words_[found.begin];
    if (wrapper.name == "time" && (is_reserved(first.text) || first.text.find('=') != std::string::npos ||
                                   first.text.starts_with('-') || words_[found.begin - 1].is("--")))
      reading_.doubt("shells read what follows 'time' differently");
    inner(found.begin, false);
  }

  void read_eval() {
    std::string text;
    const bool known = joined(1, text) && !text.starts_with('-');
    command_.wraps = known;
    add();
    if (!known) return reading_.doubt("eval runs a text that depends on a value");
    read_text(text, reading_, depth_ + 1);
  }

  void read_shell() {
    bool runs_text = false;
    std::size_t at = 1;
    std::string doubt;
    for (; at < words_.size() && doubt.empty(); ++at) {
      const ShellWord& word = words_[at];
      if (!word.known()) {
        doubt = "a shell's arguments depend on a value";
        break;
      }
      // After it shells differ about the word that is the text.
      if (word.is("-") || word.is("+")) doubt = "a shell has the option '" + word.text + "'";
      if (word.is("--norc") || word.is("--noprofile") || word.is("--posix")) continue;
      if (word.is("--") || word.text.size() < 2 || (word.text[0] != '-' && word.text[0] != '+')) break;
      const std::string letters = word.text.substr(1);
      if (word.text[0] == '-' && letters.find_first_not_of("cefuxvo") == std::string::npos) {
        runs_text = runs_text || letters.find('c') != std::string::npos;
        for (const char letter : letters) {
          if (letter != 'o') continue;
          ++at;
          if (at >= words_.size() || !holds(kSetNames, words_[at].text))
            doubt = "a shell has an option that is not known";
        }
      } else {
        doubt = "a shell has an option that is not known: " + word.text;
      }
    }
    if (at < words_.size() && words_[at].is("--")) ++at;
    const bool there = at < words_.size();
    command_.wraps = is_usual() && runs_text && there && doubt.empty();
    add();
    if (!doubt.empty()) return reading_.doubt(doubt);
    if (!runs_text) {
      if (!there || words_[at].is("-")) reading_.doubt("a shell reads its commands from its input");
      if (there && is_device(words_[at].text)) reading_.doubt("a shell reads its commands from a descriptor");
      return;
    }
    if (!there) return;
    if (!words_[at].known()) return reading_.doubt("a shell runs a text that depends on a value");
    read_text(words_[at].text, reading_, depth_ + 1);
  }

  void read_find() {
    for (std::size_t at = 1; at < words_.size(); ++at) {
      const std::string& text = words_[at].text;
      if (words_[at].splits || (!words_[at].known() && may_be_option(words_[at]))) {
        reading_.doubt("find depends on a value, which may be -exec");
        continue;
      }
      if (!holds(kFindRuns, text)) continue;
      ShellCommand made;
      bool closed = false;  // perhaps, by an unknown word that is ";" or "+"
      for (++at; at < words_.size() && !words_[at].is(";"); ++at) {
        ShellWord word = words_[at];
        if (word.is("+") && words_[at - 1].is("{}")) break;
        if (closed && (holds(kFindRuns, word.text) || (!word.known() && may_be_option(word))))
          reading_.doubt("find depends on a value, which may end its command");
        closed = closed || word.splits || word.text.starts_with(kUnknownPart);
        if (word.text.find("{}") != std::string::npos) word.text = std::string(1, kUnknownPart);
        made.words.push_back(std::move(word));
      }
      if (at >= words_.size()) reading_.doubt("a command of find is not closed");
      if (!made.words.empty()) add_command(std::move(made), reading_, depth_ + 1);
    }
  }

  void read_git() {
    if (const std::string doubt = doubt_of_git(words_); !doubt.empty()) reading_.doubt(doubt);
  }

  // git-push is git push, for rules about either.
  void read_part_of_git(std::string_view command) {
    ShellCommand made = command_;
    made.words.front().text = "git";
    made.words.insert(made.words.begin() + 1, {std::string(command)});
    add_command(std::move(made), reading_, depth_ + 1);
  }

  // ---- builtins

  // The names that a builtin sets, from a word on.
  void check_names(std::size_t begin, std::string_view builtin, bool values) {
    for (std::size_t i = begin; i < words_.size(); ++i) {
      const std::string& text = words_[i].text;
      const std::size_t equals = text.find('=');
      const bool sets = !values || equals != std::string::npos;
      std::string name = values ? text.substr(0, equals) : text;
      if (values && sets && name.ends_with('+')) name.pop_back();
      if (!is_name(name) || words_[i].splits) {
        reading_.doubt("'" + std::string(builtin) + "' sets what depends on a value");
        continue;
      }
      const ShellWord value{text.substr(std::min(equals, text.size() - 1) + 1)};
      if (builtin == "export" || sets) reading_.sets(name, builtin == "export", values && sets ? &value : nullptr);
    }
  }

  void check_builtin(const std::string& name) {
    if (name == "export" || name == "readonly") {
      if (words_.size() == 2 && words_[1].is("-p")) return;
      check_names(1, name, true);
    } else if (name == "unset") {
      check_names(words_.size() > 1 && (words_[1].is("-v") || words_[1].is("-f")) ? 2 : 1, name, false);
    } else if (name == "getopts") {
      if (words_.size() > 1 && words_[1].many) reading_.doubt("'getopts' sets what depends on a value");
      check_names(std::min<std::size_t>(2, words_.size()), name, false);
    } else if (name == "read") {
      check_read();
    } else if (name == "printf") {
      if (words_.size() > 1 && (words_[1].text.starts_with("-v") || (!words_[1].known() && may_be_option(words_[1]))))
        reading_.doubt("'printf' may set a variable");
    } else if (name == "set") {
      check_set();
    } else if (name == "wait") {
      for (const ShellWord& word : words_)
        if (may_be_option(word) && (!word.known() || word.text.find('p') != std::string::npos))
          reading_.doubt("'wait' may set a variable");
    } else if (name == "test" || name == "[") {
      check_test();
    }
  }

  void check_read() {
    std::size_t at = 1;
    for (; at < words_.size() && words_[at].text.starts_with('-'); ++at) {
      const std::string& text = words_[at].text;
      if (text == "-r" || text == "-s") continue;
      if (text != "-p" && text != "-rp" && text != "-t" && text != "-n" && text != "-d")
        return reading_.doubt("'read' has an option that is not known");
      ++at;
      if (at < words_.size() && words_[at].many) return reading_.doubt("'read' sets what depends on a value");
    }
    check_names(at, "read", false);
  }

  void check_set() {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const std::string& text = words_[i].text;
      if (!words_[i].known()) return reading_.doubt("'set' depends on a value");
      if (text == "--" || text.empty() || (text[0] != '-' && text[0] != '+')) return;
      if (text.substr(1).find_first_not_of("eufxvCo") != std::string::npos)
        return reading_.doubt("'set' has an option that is not known");
      if (text.ends_with('o') && (++i >= words_.size() || !holds(kSetNames, words_[i].text)))
        return reading_.doubt("'set' has an option that is not known");
    }
  }

  // bash evaluates the index of `-v NAME[INDEX]`. What is an operator depends on the number of operands.
  void check_test() {
    bool known = true;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const ShellWord& word = words_[i];
      if (word.is("-v") || word.is("-R") || word.many) return reading_.doubt("'test' may evaluate a value");
      known = known && word.known();
    }
    const bool bracket = words_.front().text.ends_with('[');
    const std::size_t end = words_.size() - (bracket && words_.back().is("]") ? 1 : 0);
    if (!known && !is_bound_test(1, end)) reading_.doubt("'test' may evaluate a value");
  }

  // Whether the operators of a short test are known words at their places, so that no value is taken for one.
  bool is_bound_test(std::size_t begin, std::size_t end) const {
    switch (end - begin) {
      case 0:
      case 1:
        return true;
      case 2:
        return words_[begin].is("!") || holds(kUnaryTests, words_[begin].text);
      case 3:
        return holds(kBinaryTests, words_[begin + 1].text) ||
               (words_[begin].is("!") && holds(kUnaryTests, words_[begin + 1].text) && !words_[begin + 1].is("-a"));
      default:
        return false;
    }
  }

  const std::vector<ShellWord> words_;
  Reading& reading_;
  const int depth_;
  ShellCommand command_;
  std::vector<std::string> inherited_;  // names that it sets for the command that it runs
};

}  // namespace

void add_command(ShellCommand command, Reading& reading, int depth) {
  CommandReader(std::move(command), reading, depth).read();
}

}  // namespace agentd::shell
