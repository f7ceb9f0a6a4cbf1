// SPDX-License-Identifier: Apache-2.0
#include "core/validate/rules.h"

#include <cctype>

#include "core/base/result.h"

namespace agentd::validation {
namespace {

constexpr RuleSpec kRules[] = {
    {101, "it is a shared library of this machine", "The dynamic linker loads nothing else.",
     "build it with -shared -fPIC for this machine"},
    {102, "it exports agentd_hook_entry_v1 and nothing else",
     "Another symbol may replace one with the same name in another module.",
     "link with -Wl,--version-script=hook.map and build with -fvisibility=hidden"},
    {103, "it needs no symbol of the host", "agentd exports none: the module cannot be loaded.",
     "use only call->core and the services to reach the host"},
    {104, "it has a manifest that can be read",
     "Without it the module cannot be identified before it runs, so it is refused.",
     "use AGENTD_MANIFEST or AGENTD_HOOK, or ship NAME.hook.json next to it"},
    {105, "its manifest asks for what this agentd has", "A missing service or ABI version prevents loading.",
     "update agentd, or ask for less"},
    {106, "every library that it needs is found",
     "A library that is missing on another machine prevents loading there.",
     "link it statically, or install the library"},
    {107, "it has no RPATH or RUNPATH", "It would load libraries from directories that were not checked.",
     "link without -rpath (CMake: CMAKE_SKIP_RPATH)", true},
    {108, "its stack is not executable", "Loading it would make the stack of the whole program executable.",
     "link with -Wl,-z,noexecstack"},
    {109, "its code is not relocated in place", "Text relocations need pages that are writable and executable.",
     "compile with -fPIC"},
    {110, "no segment is writable and executable", "Attackers look for such pages.",
     "drop the linker script that merges segments"},
    {111, "it needs no static TLS",
     "Static TLS is a small pool: after some such modules the next one cannot be loaded.",
     "compile without -ftls-model=initial-exec", true, true},
    {112, "it is hardened with RELRO", "Otherwise its table of functions stays writable.",
     "link with -Wl,-z,relro -Wl,-z,now", true},
    {113, "none of its symbols is unique in the process",
     "STB_GNU_UNIQUE symbols are shared by all copies of the module, so that a reload runs old "
     "code.",
     "compile with -fno-gnu-unique or -fvisibility=hidden", true, true},
    {114, "this agentd knows the capabilities in its manifest",
     "A misspelt name opens nothing, so the intended capability stays closed in a worker.",
     "fix the name, or update agentd", true},

    {201, "it can be loaded", "The dynamic linker or a constructor of the module refuses.",
     "fix what the message names; constructors should do nothing"},
    {202, "its entry returns a valid plugin record",
     "The host refuses a record with impossible sizes, texts, rows or numbers.",
     "fill agentd_plugin as hook_abi.h says; set size to sizeof(agentd_plugin)"},
    {203, "its entry is pure: it returns the same answer twice",
     "A host may call it any number of times, also only to scan.",
     "return static storage, and change nothing in the entry"},
    {204, "a scanner may call its entry",
     "With AGENTD_NEGOTIATE_SCAN_ONLY no instance follows: the entry may not open, start or print anything.",
     "do all work in create()"},
    {205, "it declines a host of another major ABI with a reason",
     "Otherwise users see a status number instead of a reason.",
     "compare host_abi_min and host_abi_max, set io->error and return AGENTD_E_UNSUPPORTED", true},
    {206, "this agentd knows its events and flags", "Optional rows that a host does not know are skipped.",
     "update agentd", true},
    {207, "its manifest lists the events that it subscribes to",
     "Users see the manifest's events, and a broken guard blocks only those.",
     "list the events of all rows under \"events\" in the manifest"},
    {208, "manifest and record agree in id, version and concurrency",
     "Users read and trust the manifest; the host refuses another id.",
     "write both from one definition, as AGENTD_HOOK does"},
    {209, "an instance can be made", "Without one there is no hook.",
     "fix what the message names; pass its configuration with --config JSON if it needs one"},
    {210, "an instance can be ended", "Anything that it still does afterwards is out of control.",
     "free everything in destroy() and return AGENTD_OK"},

    {301, "it leaves no descriptor open", "A host that reloads would run out of them.",
     "close in destroy() what create() or a hook opened; use O_CLOEXEC", false, true},
    {302, "it leaves no thread running", "Its code would continue to run without its instance.",
     "join threads in destroy(), or use agentd.tasks/1", false, true},
    {303, "it leaves signals alone", "Handlers and masks belong to the program: otherwise Ctrl-C stops working.",
     "set no handlers and block no signals on the host's threads", false, true},
    {304, "it leaves the working directory and the umask alone", "They belong to the whole process.",
     "use absolute paths, and openat() with modes of your own", false, true},
    {305, "it leaves the locale alone", "Otherwise numbers are printed and read differently everywhere.",
     "use newlocale() and the _l functions", false, true},
    {306, "it leaves the environment alone",
     "setenv() is not thread-safe, and changes the environment of all commands.",
     "pass an environment to the process that you start", false, true},
    {307, "it leaves floating point alone", "Modes such as flush-to-zero change arithmetic in the entire process.",
     "link without -Ofast and -ffast-math; restore what fesetround() changed", false, true},
    {308, "it leaves resource limits alone", "They apply to the entire process.", "call no setrlimit()", false, true},
    {309, "it prints nothing", "Standard output belongs to the agent's answer.", "use call->core->log", false, true},
    {310, "the process ends normally after it",
     "Exit handlers and static destructors run after the instance has ended.",
     "register no atexit() handlers; keep statics trivial", false, true},

    {401, "it answers its events, and writes into no payload", "The host's data is borrowed and read-only.",
     "copy what you want to change; answer with emit()"},
    {402, "it returns only actions that the event allows",
     "Other actions are ignored and unknown statuses count as failures.",
     "see 'agentd hooks contract EVENT' for the allowed actions"},
    {403, "it accepts records that are longer than it knows",
     "A newer host sends longer records, and lists with a larger stride.",
     "step by stride, read no further than your own sizeof, and do not compare sizes for equality"},
    {404, "it accepts empty payloads", "Texts, lists and pointers may be absent.",
     "check len, count and NULL before you read"},
    {405, "it accepts values that it does not know", "Enumerations of the host are open: a newer one sends new values.",
     "give every switch a default"},
    {406, "it accepts texts of a megabyte, without terminator and in no encoding",
     "Tool output and user input may have any bytes.", "use the length, not a NUL; check UTF-8 where you need it"},
    {407, "it keeps no pointer beyond the call", "The host's data is gone after the call has returned.",
     "copy what you need later"},
    {408, "it emits nothing after a call has returned", "The token is stale; the answer is lost.",
     "return AGENTD_PENDING when the answer comes later"},
    {409, "it completes what it leaves pending",
     "A pending call blocks its event until the deadline, and its guard then fails closed.",
     "call core->complete() on every path"},
    {410, "it returns when it is cancelled",
     "A hook that ignores the cancel word makes Ctrl-C slow, and its instance is abandoned.",
     "read live->cancel while you wait or loop"},
    {411, "it returns when the deadline has passed", "An event waits until the deadline and no longer.",
     "read live->deadline_ns while you wait or loop"},
    {412, "it works without its optional services",
     "The user may grant nothing: tables are NULL, interfaces are absent.",
     "check for NULL, or list the service under \"requires\""},
    {413, "it accepts refusals of the host", "emit() may fail, memory may be short.",
     "check what core's functions return"},
    {414, "its services take any JSON, and answer with JSON or an error",
     "A caller may be another plugin of any version; a result that is not valid JSON is an error for the caller.",
     "check the type of what you read; emit SERVICE_RESULT with one JSON value of at most 1 MiB, or call core->fail() "
     "and return an error"},

    {501, "it needs no more memory with every call", "A long session would use up all memory.",
     "free what a call has allocated; bound caches"},
    {502, "it frees everything when its instance ends", "A host that reloads a hook would grow with every reload.",
     "free everything in destroy()", false, true},

    {601, "its state stays the same when it is saved, loaded and saved again",
     "A reload would lose or change its state.", "write the state from what load_state() reads, in a fixed order"},
    {602, "it accepts any bytes as a state", "Earlier and later versions write other states.",
     "check the state like any input; return an error, or start without it"},
    {603, "it supports calls at the same time", "It is AGENTD_CONCURRENT: calls come from several threads at once.",
     "protect what calls share, or declare AGENTD_SERIAL"},
    {604, "two instances do not disturb each other",
     "A process may have two hosts, and a reload makes the new instance before the old one ends.",
     "keep state in `self`, not in globals", false, true},

    {701, "in a worker it answers as in the process", "Isolation must not change what a hook does.",
     "depend only on the call: no globals of the host, no files of its process"},
    {702, "a worker runs it with what its manifest asks for",
     "The sandbox closes everything that is not named under \"capabilities\".",
     "name its needs in the manifest: \"files:read\", \"network\", \"processes\""},
};

struct Group {
  std::uint16_t first;
  std::string_view name, about;
};
constexpr Group kGroups[] = {
    {100, "File", "Read from the file; nothing of it runs."},
    {200, "Load", "The module is loaded and asked for its record."},
    {300, "Process", "Changes that it leaves behind in the process, from before the load to after destroy()."},
    {400, "Contract",
     "Every event that it subscribes to is fired with sample payloads, in read-only memory of their own,\neach record "
     "and text right before an inaccessible page."},
    {500, "Memory", "Up to a thousand calls and up to fifty instances, as time permits."},
    {600, "State", "save_state() and load_state(), and parallel calls."},
    {700, "Isolation", "The same events in this process and in a worker."},
};

std::string mark_of(const RuleSpec& rule) {
  if (!rule.warns && !rule.in_process) return {};
  return std::string(" (") + (rule.warns ? "warning" : "") + (rule.warns && rule.in_process ? ", " : "") +
         (rule.in_process ? "in-process" : "") + ")";
}

}  // namespace

std::span<const RuleSpec> all_rules() { return kRules; }

const RuleSpec& rule(std::uint16_t number) {
  for (const RuleSpec& each : kRules)
    if (each.number == number) return each;
  AGENTD_ASSERT(false && "no such rule");
  return kRules[0];
}

std::string rule_name(std::uint16_t number) { return "A" + std::to_string(number); }

std::vector<std::uint16_t> rules_named(std::string_view text) {
  std::vector<std::uint16_t> out;
  if (text.size() < 2 || std::toupper(static_cast<unsigned char>(text[0])) != 'A') return out;
  text.remove_prefix(1);
  while (!text.empty() && (text.back() == 'x' || text.back() == 'X')) text.remove_suffix(1);
  if (text.empty()) return out;
  for (const RuleSpec& each : kRules)
    if (std::to_string(each.number).starts_with(text)) out.push_back(each.number);
  return out;
}

std::string rules_reference() {
  std::string out =
      "# Rules for hook modules\n\n`agentd hooks validate FILE.so` checks a module against these rules, each check in "
      "a process of its own. A broken\nrule is reported with its number; most are failures, some are warnings. A hook "
      "is checked for the place where agentd\nwould run it, by default a worker process. Rules marked *in-process* "
      "matter only in agentd's own process and are\nchecked with `--isolation in-process`. This page is made from the "
      "table that the program itself uses\n(`core/validate/rules.cc`); a test compares the two.\n";
  for (const Group& group : kGroups) {
    out += "\n## A" + std::to_string(group.first / 100) + "xx: " + std::string(group.name) + "\n\n" +
           std::string(group.about) + "\n";
    for (const RuleSpec& each : kRules) {
      if (each.number / 100 != group.first / 100) continue;
      out += "\n### " + rule_name(each.number) + mark_of(each) + "\n\nA module is fine when " +
             std::string(each.title) + ".\n\n" + std::string(each.why) + "\n\nTo fix it: " + std::string(each.remedy) +
             ".\n";
    }
  }
  return out;
}

}  // namespace agentd::validation
