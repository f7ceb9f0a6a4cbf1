// SPDX-License-Identifier: Apache-2.0
#include "core/validate/rules.h"

#include <cctype>

#include "core/base/result.h"

namespace agentd::validation {
namespace {

constexpr RuleSpec kRules[] = {
    {101, "it is a shared library of this machine", "The dynamic linker takes nothing else.",
     "build it with -shared -fPIC for this machine"},
    {102, "it exports agentd_hook_entry_v1 and nothing else",
     "Another symbol may take the place of one of the same name in another module.",
     "link with -Wl,--version-script=hook.map and build with -fvisibility=hidden"},
    {103, "it needs no symbol of the host", "agentd exports none: the module cannot be loaded.",
     "reach the host through call->core and the services alone"},
    {104, "it has a manifest that can be read",
     "Without it nobody can tell what the module is before it runs, and it is refused.",
     "use AGENTD_MANIFEST or AGENTD_HOOK, or ship NAME.hook.json beside it"},
    {105, "its manifest asks for what this agentd has",
     "A service or an ABI that is not there keeps it from being loaded.", "update agentd, or ask for less"},
    {106, "every library that it needs is found",
     "A library that is missing on another machine keeps it from being loaded there.",
     "link it statically, or install the library"},
    {107, "it has no RPATH or RUNPATH", "It would take libraries from directories that nobody has looked at.",
     "link without -rpath (CMake: CMAKE_SKIP_RPATH)", true},
    {108, "its stack is not executable", "Loading it would make the stack of the whole program executable.",
     "link with -Wl,-z,noexecstack"},
    {109, "its code is not relocated in place", "Text relocations need pages that are writable and executable.",
     "compile with -fPIC"},
    {110, "no segment is writable and executable", "Such pages are what an attacker looks for.",
     "drop the linker script that merges segments"},
    {111, "it needs no static TLS",
     "Static TLS is a small pool: after some such modules the next one cannot be loaded.",
     "compile without -ftls-model=initial-exec", true, true},
    {112, "it is hardened with RELRO", "Its table of functions stays writable.", "link with -Wl,-z,relro -Wl,-z,now",
     true},
    {113, "no symbol of it is unique to the whole process",
     "STB_GNU_UNIQUE symbols are shared by all copies of the module, so that a reload runs old "
     "code.",
     "compile with -fno-gnu-unique or -fvisibility=hidden", true, true},
    {114, "this agentd knows the capabilities in its manifest",
     "A name that is misspelt opens nothing, and what it was to open stays closed in a worker.",
     "mend the name, or update agentd", true},

    {201, "it can be loaded", "The dynamic linker or a constructor of the module refuses.",
     "mend what the sentence names; constructors should do nothing"},
    {202, "its entry hands out a plugin record that makes sense",
     "The host refuses a record whose sizes, texts, rows or numbers cannot be.",
     "fill agentd_plugin as hook_abi.h says; set size to sizeof(agentd_plugin)"},
    {203, "its entry is pure: twice the same answer", "A host may ask as often as it likes, also only to look.",
     "hand out static storage, and change nothing in the entry"},
    {204, "a scanner may ask its entry",
     "With AGENTD_NEGOTIATE_SCAN_ONLY no instance follows: nothing may be opened, started or "
     "printed.",
     "do all work in create()"},
    {205, "it declines a host of another major ABI with a reason",
     "Otherwise users read a status number instead of a sentence.",
     "compare host_abi_min and host_abi_max, set io->error and return AGENTD_E_UNSUPPORTED", true},
    {206, "this agentd knows its events and flags", "Optional rows that a host does not know are skipped.",
     "update agentd", true},
    {207, "its manifest lists the events that it subscribes to",
     "Users see the manifest's; and a guard that is broken blocks those events alone.",
     "give \"events\" in the manifest the names of all rows"},
    {208, "manifest and record agree in id, version and concurrency",
     "The manifest is what users read and trust; the host refuses another id.",
     "write both from one definition, as AGENTD_HOOK does"},
    {209, "an instance can be made", "Without one there is no hook.",
     "mend what the sentence says; give its settings with --config JSON if it needs some"},
    {210, "an instance can be ended", "What it still does afterwards nobody looks after.",
     "free everything in destroy() and answer AGENTD_OK"},

    {301, "it leaves no descriptor open", "A host that reloads would run out of them.",
     "close in destroy() what create() or a hook opened; use O_CLOEXEC", false, true},
    {302, "it leaves no thread running", "Its code would run on while the instance is gone.",
     "join threads in destroy(), or use agentd.tasks/1", false, true},
    {303, "it leaves signals alone", "Handlers and masks belong to the program: Ctrl-C would stop working.",
     "set no handlers and block no signals on the host's threads", false, true},
    {304, "it leaves the working directory and the umask alone", "They belong to the whole process.",
     "use absolute paths, and openat() with modes of your own", false, true},
    {305, "it leaves the locale alone", "Numbers would be printed and read another way everywhere.",
     "use newlocale() and the _l functions", false, true},
    {306, "it leaves the environment alone", "setenv() is no thread-safe call, and changes what all commands get.",
     "pass an environment to the process that you start", false, true},
    {307, "it leaves floating point alone", "Modes such as flush-to-zero change everybody's arithmetic.",
     "link without -Ofast and -ffast-math; restore what fesetround() changed", false, true},
    {308, "it leaves resource limits alone", "They hold for the whole process.", "call no setrlimit()", false, true},
    {309, "it prints nothing", "Standard output belongs to the agent's answer.", "use call->core->log", false, true},
    {310, "the process ends well after it", "Exit handlers and static destructors run when the instance is gone.",
     "register no atexit() handlers; keep statics trivial", false, true},

    {401, "it answers its events, and writes into no payload", "What the host gives is borrowed and read-only.",
     "copy what you want to change; answer with emit()"},
    {402, "it answers only what the event allows", "Other actions are ignored and unknown statuses count as failures.",
     "see 'agentd hooks contract EVENT' for what may be answered"},
    {403, "it takes records that are longer than it knows",
     "A newer host sends longer records, and lists with a larger stride.",
     "step by stride, read no further than your own sizeof, and do not compare sizes for equality"},
    {404, "it takes empty payloads", "Texts, lists and pointers may be absent.",
     "look at len, count and NULL before you read"},
    {405, "it takes values that it does not know", "Enumerations of the host are open: a newer one sends new values.",
     "give every switch a way out"},
    {406, "it takes texts of a megabyte, without end mark and in no encoding",
     "Tool output and user input are whatever they are.", "use the length, not a NUL; check UTF-8 where you need it"},
    {407, "it keeps no pointer beyond the call", "What the host gave is gone when the call has returned.",
     "copy what you need later"},
    {408, "it says nothing after a call has returned", "The token is stale; the answer is lost.",
     "return AGENTD_PENDING when the answer comes later"},
    {409, "it completes what it leaves pending",
     "A pending call blocks its event until the deadline, and its guard then fails closed.",
     "call core->complete() on every path"},
    {410, "it gives up when it is told to",
     "A cancel word that nobody reads makes Ctrl-C slow and ends with the instance abandoned.",
     "read live->cancel while you wait or loop"},
    {411, "it returns when the deadline has passed", "An event waits for it as long as it may, and no longer.",
     "read live->deadline_ns while you wait or loop"},
    {412, "it lives without what it merely wants",
     "The user may grant nothing: tables are NULL, interfaces are absent.",
     "look at NULL, or list the service under \"requires\""},
    {413, "it takes refusals of the host", "emit() may fail, memory may be short.",
     "look at what core's functions return"},

    {501, "it needs no more memory with every call", "A long session would eat the machine.",
     "free what a call has made; bound caches"},
    {502, "it gives everything back when its instance ends", "A host that reloads a hook would grow with every reload.",
     "free everything in destroy()", false, true},

    {601, "its state survives: saved, loaded and saved again it is the same",
     "A reload would lose or bend what it knows.", "write the state from what load_state() reads, in a fixed order"},
    {602, "it takes any bytes for a state", "Versions before and after write other states.",
     "check the state like any input; answer an error, or begin afresh"},
    {603, "it bears calls at the same time", "It says AGENTD_CONCURRENT: calls come from several threads at once.",
     "guard what calls share, or say AGENTD_SERIAL"},
    {604, "two instances do not disturb each other",
     "Two hosts may live in one process, and a reload makes the new one before the old one ends.",
     "keep state in `self`, not in globals", false, true},

    {701, "in a worker it answers as in the process", "Isolation must not change what a hook does.",
     "depend on nothing but the call: no globals of the host, no files of its process"},
    {702, "a worker runs it with what its manifest asks for",
     "The sandbox closes what is not named under \"capabilities\".",
     "name in the manifest what it needs: \"files:read\", \"network\", \"processes\""},
};

struct Group {
  std::uint16_t first;
  std::string_view name, about;
};
constexpr Group kGroups[] = {
    {100, "File", "Read from the file; nothing of it runs."},
    {200, "Load", "The module is loaded and asked for its record."},
    {300, "Process", "What it leaves behind in the process, from before the load to after destroy()."},
    {400, "Contract",
     "Every event that it subscribes to is fired with sample payloads. They lie in memory of their "
     "own, "
     "read-only,\neach record and text right before a page that cannot be read."},
    {500, "Memory", "Up to a thousand calls, and up to fifty instances: as many as there is time for."},
    {600, "State", "save_state() and load_state(), and calls at the same time."},
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
      "# Rules for hook modules\n\n"
      "`agentd hooks validate FILE.so` checks a module by these rules, each check in a process of "
      "its own. A "
      "rule\nthat is broken is told with its number; most are failures, some are warnings. A hook "
      "is judged for the "
      "place in which\nagentd would run it: a worker process by default. Rules that are marked "
      "*in-process* matter in "
      "agentd's own process alone\nand are judged with `--isolation in-process`. This page is "
      "printed from the table "
      "that the program itself uses\n(`core/validate/rules.cc`); a test compares the two.\n";
  for (const Group& group : kGroups) {
    out += "\n## A" + std::to_string(group.first / 100) + "xx: " + std::string(group.name) + "\n\n" +
           std::string(group.about) + "\n";
    for (const RuleSpec& each : kRules) {
      if (each.number / 100 != group.first / 100) continue;
      out += "\n### " + rule_name(each.number) + mark_of(each) + "\n\nA module is fine when " +
             std::string(each.title) + ".\n\n" + std::string(each.why) + "\n\nTo mend it: " + std::string(each.remedy) +
             ".\n";
    }
  }
  return out;
}

}  // namespace agentd::validation
