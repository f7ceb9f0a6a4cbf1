// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "core/base/bytes.h"
#include "core/hooks/dispatcher.h"
#include "core/native/elf_note.h"
#include "core/validate/checks.h"
#include "core/validate/process_state.h"

namespace agentd::validation {
namespace {

constexpr std::string_view kEntry = AGENTD_ENTRY_SYMBOL;

void judge(std::vector<RuleResult>& out, std::uint16_t number, bool fine, std::string good, std::string bad,
           bool warns = false) {
  const Finding broken = warns ? Finding::kWarn : Finding::kFail;
  out.push_back({number, fine ? Finding::kOk : broken, fine ? std::move(good) : std::move(bad)});
}

std::string some(const std::vector<std::string>& names) {
  const std::size_t shown = std::min<std::size_t>(names.size(), 5);
  std::string out = join({names.data(), shown}, ", ");
  return names.size() > shown ? out + " and " + std::to_string(names.size() - shown) + " more" : out;
}

Result<ModuleEntry> entry_of(const Subject& subject) {
  return open_module(UniqueFd(subject.sealed.fd.get()), subject.sealed.path);
}

struct Asked {
  agentd_negotiate io{};
  agentd_status status = AGENTD_OK;
};

Asked ask(ModuleEntry entry, std::uint32_t flags, std::uint32_t host_min, std::uint32_t host_max) {
  Asked out;
  out.io.size = sizeof out.io;
  out.io.flags = flags;
  out.io.host_abi_min = host_min;
  out.io.host_abi_max = host_max;
  out.status = entry.call(&out.io);
  return out;
}

Asked ask(ModuleEntry entry, std::uint32_t flags = 0) {
  return ask(entry, flags, AGENTD_ABI_MAJOR << 16, AGENTD_ABI_NEWEST);
}

// The bytes of the record that this host knows.
std::string bytes_of(const agentd_plugin* plugin) {
  if (plugin == nullptr) return {};
  const std::size_t bytes = std::min<std::size_t>(plugin->size, sizeof *plugin);
  return {reinterpret_cast<const char*>(plugin), bytes};
}

void check_libraries(const Subject& subject, Reporter& out) {
  out.begin(106, "looking for its libraries");
  const auto facts = read_elf(subject.bytes);
  if (!facts) return out.skip(106, facts.error().message);
  for (const std::string& name : facts->needed)
    if (::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      const char* const why = ::dlerror();
      return out.broken(106, name + " is not found here: " + (why == nullptr ? "" : why));
    }
  out.ok(106, facts->needed.empty() ? "it needs none" : some(facts->needed));
}

void check_purity(const Subject& subject, ModuleEntry entry, Reporter& out) {
  out.begin(203, "asking its entry twice");
  const Asked first = ask(entry), second = ask(entry);
  const bool same = first.status == second.status && first.io.plugin == second.io.plugin &&
                    first.io.abi == second.io.abi && bytes_of(first.io.plugin) == bytes_of(second.io.plugin);
  same ? out.ok(203, "twice the same record") : out.broken(203, "it answered differently the second time");
  out.begin(204, "asking its entry as a scanner");
  const ProcessState before = ProcessState::take();
  const Asked scan = ask(entry, AGENTD_NEGOTIATE_SCAN_ONLY);
  const ProcessState after = ProcessState::take();
  std::string left;
  if (!added(before.descriptors, after.descriptors).empty()) left = "it opened a descriptor";
  if (!added(before.threads, after.threads).empty()) left = "it started a thread";
  if (scan.status == AGENTD_OK && bytes_of(scan.io.plugin) != bytes_of(first.io.plugin))
    left = "it returned another record";
  if (scan.status != AGENTD_OK) left = "it answered with status " + std::to_string(scan.status);
  left.empty() ? out.ok(204, "it did nothing else") : out.broken(204, left);
  (void)subject;
}

void check_foreign_host(ModuleEntry entry, Reporter& out) {
  out.begin(205, "asking it as a host of another ABI");
  for (const std::uint32_t major : {AGENTD_ABI_MAJOR + 1, 0u}) {
    const Asked foreign = ask(entry, 0, major << 16, major << 16);
    const std::string who = "a host of ABI " + std::to_string(major) + ".0";
    if (foreign.status == AGENTD_OK) return out.broken(205, "it did not decline " + who);
    if (foreign.io.error.ptr == nullptr || foreign.io.error.len == 0)
      return out.broken(205, "it declined " + who + " without a reason");
  }
  out.ok(205, "it declines with a reason");
}

void compare_manifest(const Subject& subject, const PluginRecord& record, Reporter& out) {
  std::vector<std::string> missing, names;
  for (const agentd_hook& row : record.rows) names.push_back(event_name(row.event));
  const auto& listed = subject.manifest.events;
  for (const std::string& name : names)
    if (std::find(listed.begin(), listed.end(), name) == listed.end()) missing.push_back(name);
  std::vector<std::string> extra = added(names, listed);
  if (listed.empty() && !missing.empty())
    out.warn(207, "the manifest lists no events; it subscribes to " + some(missing));
  else if (!missing.empty())
    out.broken(207, "not in the manifest: " + some(missing));
  else if (!extra.empty())
    out.warn(207, "the manifest lists events that it does not subscribe to: " + some(extra));
  else
    out.ok(207, listed.empty() ? "no events" : some(listed));
  const std::string_view concurrency = kConcurrencyNames[record.plugin.concurrency];
  const auto differs = [](const std::string& what, std::string_view ours, std::string_view manifest) {
    return what + " " + std::string(ours) + ", in the manifest " + std::string(manifest);
  };
  if (record.id != subject.manifest.id)
    out.broken(208, differs("its id is", record.id, subject.manifest.id));
  else if (record.version != subject.manifest.version)
    out.broken(208, differs("its version is", record.version, subject.manifest.version));
  else if (!subject.manifest.concurrency.empty() && subject.manifest.concurrency != concurrency)
    out.broken(208, differs("it is", concurrency, subject.manifest.concurrency));
  else
    out.ok(208, record.id + " " + record.version + ", " + std::string(concurrency));
}

void check_record(const Subject& subject, Reporter& out) {
  out.begin(201, "loading it");
  const auto entry = entry_of(subject);
  if (!entry) return out.broken(201, "it " + entry.error().message);
  out.ok(201, "loaded");
  out.begin(202, "asking its entry");
  const auto record = read_plugin(*entry);
  if (!record) return out.broken(202, "it " + record.error().message);
  out.ok(202, counted(record->rows.size(), "subscription"));
  check_purity(subject, *entry, out);
  check_foreign_host(*entry, out);
  record->notes.empty() ? out.ok(206, "all of them") : out.broken(206, join(record->notes, "; "));
  compare_manifest(subject, *record, out);
  out.rest();
}

void check_life(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  if (const auto loaded = stage.load(); !loaded) return out.skip(209, "the module cannot be loaded");
  out.begin(209, "create()");
  Instance instance(stage);
  if (const auto made = instance.create(); !made) return out.broken(209, "create() refused: " + made.error().message);
  out.ok(209, "made");
  out.begin(210, "destroy()");
  const auto ended = instance.destroy();
  ended ? out.ok(210, "ended") : out.broken(210, "destroy() failed: " + ended.error().message);
  out.rest();
}

// Why the file is not a library that can be loaded here; completes "FILE ...". Empty = it is one.
std::string why_no_module(const Subject& subject, const Result<ElfFacts>& facts) {
  const auto scan = scan_module(MemoryBytes(subject.bytes));
  if (!scan) return scan.error().message;
  if (!scan->obstacle.empty()) return scan->obstacle;
  if (!facts) return facts.error().message;
  return facts->program ? "is a program, not a shared library: link it with -shared, or check it as an executable hook "
                          "with 'agentd hooks test'"
                        : std::string();
}

agentd_status AGENTD_CALL quiet(void*, const agentd_call*) noexcept { return AGENTD_OK; }

}  // namespace

std::string event_name(std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  return traits == nullptr ? std::to_string(event) : std::string(traits->name);
}

void warm_up(Stage& stage) {
  Subscription row;
  row.event = AGENTD_EVENT_TURN_START;
  row.fn = quiet;
  row.name = row.plugin = "warm";
  const Snapshot snapshot({row}, {}, stage.clock);
  const SlotLease slot(stage.tokens);
  Dispatch event;
  event.event = row.event;
  event.deadline_ns = Deadline::after(stage.clock, Milliseconds(10'000)).at_ns;
  (void)dispatch(snapshot, *slot, event);
}

std::unique_ptr<Instance> instance_for(Stage& stage, Reporter& out, std::uint16_t number, Instance::Options options) {
  out.begin(number, "create()");
  auto instance = std::make_unique<Instance>(stage, options);
  const auto made = instance->create();
  if (made) return instance;
  out.skip(number, "no instance could be made: " + made.error().message);
  return nullptr;
}

std::vector<RuleResult> lint(const Subject& subject) {
  std::vector<RuleResult> out;
  const auto facts = read_elf(subject.bytes);
  const std::string no_module = why_no_module(subject, facts);
  judge(out, 101, no_module.empty(), "ELF, 64 bits", "it " + no_module);
  if (!no_module.empty()) return out;
  std::vector<std::string> extra = facts->exported;
  std::erase(extra, std::string(kEntry));
  if (extra.size() == facts->exported.size())
    out.push_back({102, Finding::kFail, "it does not export " + std::string(kEntry)});
  else if (!extra.empty())
    out.push_back({102, Finding::kWarn, "it exports more: " + some(extra)});
  else
    out.push_back({102, Finding::kOk, std::string(kEntry)});
  std::vector<std::string> hosts;
  for (const std::string& name : facts->undefined)
    if (name.starts_with("agentd_") || name.find("6agentd") != std::string::npos) hosts.push_back(name);
  judge(out, 103, hosts.empty(), "none", "it needs " + some(hosts));
  judge(out, 107, facts->runpaths.empty(), "none", "it looks for libraries in " + some(facts->runpaths), true);
  judge(out, 108, !facts->executable_stack, "not executable", "PT_GNU_STACK asks for an executable one");
  judge(out, 109, !facts->text_relocations, "none", "it has text relocations");
  judge(out, 110, !facts->writable_code, "none", "a segment is writable and executable");
  judge(out, 111, !facts->static_tls, "none", "DF_STATIC_TLS is set", true);
  judge(out, 112, facts->relro, facts->versions.empty() ? "RELRO" : "RELRO; needs " + some(facts->versions),
        "it has no RELRO segment", true);
  judge(out, 113, facts->unique.empty(), "none", "unique: " + some(facts->unique), true);
  return out;
}

std::vector<Check> load_checks() {
  return {{{106}, false, check_libraries},
          {{201, 202, 203, 204, 205, 206, 207, 208}, false, check_record},
          {{209, 210}, false, check_life}};
}

}  // namespace agentd::validation
