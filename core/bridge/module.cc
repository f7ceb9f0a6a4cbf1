// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/module.h"

#include <boost/dll/shared_library.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "core/base/bytes.h"
#include "core/base/linker.h"
#include "core/base/mutex.h"
#include "core/bridge/record.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::size_t kPluginFirstBytes = 88;  // sizeof(agentd_plugin) in release 1.0
constexpr std::size_t kTextBytesMax = 256;     // of an id or a version
constexpr std::uint32_t kRowsMax = 1024;
constexpr std::uint16_t kKnownFlags =
    AGENTD_HOOK_OPTIONAL | AGENTD_HOOK_OBSERVES | AGENTD_HOOK_GATES | AGENTD_HOOK_REDACTS;
constexpr std::uint64_t kKnownWants = AGENTD_WANTS_MESSAGES;

// A plugin linked with -Ofast turns denormals off for the thread that loads it; everyone else's arithmetic must not
// change.
class FloatingPointGuard {
 public:
#if defined(__SSE__)
  FloatingPointGuard() : saved_(_mm_getcsr()) {}
  ~FloatingPointGuard() { _mm_setcsr(saved_); }

 private:
  const unsigned saved_;
#endif
};

struct LoadedModule {
  boost::dll::shared_library library;
  // Kept open: glibc identifies a loaded library by its name, so /proc/self/fd/7 must never name another one.
  UniqueFd fd;
};

// Keeps the module for the life of the process. The list is leaked on purpose: its destructor would unmap code that
// other threads and exit handlers may still run.
const LoadedModule& keep(LoadedModule module) {
  static Mutex mutex;
  static auto* const modules = new std::vector<std::unique_ptr<LoadedModule>>();
  const MutexLock lock(mutex);
  modules->push_back(std::make_unique<LoadedModule>(std::move(module)));
  return *modules->back();
}

// Extracts the dynamic linker's message from the library's: "...: load() failed (dlerror system message:
// /proc/self/fd/5: undefined symbol: x): Bad file descriptor". There is no bad descriptor.
std::string linker_message(std::string what, const std::string& path) {
  constexpr std::string_view kBefore = "(dlerror system message: ";
  const std::size_t start = what.find(kBefore);
  if (start != std::string::npos) {
    what.erase(0, start + kBefore.size());
    if (const std::size_t end = what.rfind("): "); end != std::string::npos) what.resize(end);
  }
  for (std::size_t at = what.find(path); at != std::string::npos; at = what.find(path))
    what.erase(at, path.size() + (what.compare(at + path.size(), 2, ": ") == 0 ? 2 : 0));
  return one_line(what, 1000);
}

// The only place that calls Boost.DLL, which may throw.
Result<LoadedModule> load(UniqueFd fd, const std::string& path) {
  try {
    const FloatingPointGuard guard;
    LoadedModule module;
    module.library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    module.fd = std::move(fd);
    return module;
  } catch (const std::exception& error) {
    return Error{Code::kInvalid, "cannot be loaded: " + linker_message(error.what(), path)};
  } catch (...) {
    return Error{Code::kInvalid, "cannot be loaded: one of its constructors threw"};
  }
}

Result<ModuleEntry> entry_of(const LoadedModule& module) {
  try {
    if (!module.library.has(AGENTD_ENTRY_SYMBOL))
      return Error{Code::kInvalid, "is not a hook: it does not export " AGENTD_ENTRY_SYMBOL};
    return ModuleEntry{
        &module.library.get<agentd_status AGENTD_CALL(agentd_negotiate*) AGENTD_NOEXCEPT>(AGENTD_ENTRY_SYMBOL)};
  } catch (const std::exception& error) {
    return Error{Code::kInvalid, std::string("cannot be loaded: ") + error.what()};
  }
}

std::string abi_text(std::uint32_t abi) { return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff); }

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

// Reads a text in the plugin's static storage.
bool read_text(const agentd_str& from, std::string& out) {
  if (from.ptr == nullptr || from.len == 0 || from.len > kTextBytesMax) return false;
  out.assign(from.ptr, from.len);
  return is_utf8(out) && out == one_line(out, kTextBytesMax);
}

Result<const agentd_plugin*> negotiate(ModuleEntry entry, std::uint32_t flags) {
  agentd_negotiate io{};
  io.size = sizeof(io);
  io.flags = flags;
  io.host_abi_min = AGENTD_ABI_MAJOR << 16;
  io.host_abi_max = AGENTD_ABI_NEWEST;
  const agentd_status status = entry.call(&io);
  if (io.magic != AGENTD_MAGIC && (status == AGENTD_OK || io.magic != 0))
    return invalid("is not an agentd hook: its entry returned the magic number " + std::to_string(io.magic) +
                   "; rebuild it with hook_abi.h");
  if (status != AGENTD_OK) {
    std::string why = "it gave no reason (status " + std::to_string(status) + ")";
    if (io.error.ptr != nullptr && io.error.len != 0)
      why = one_line({io.error.ptr, std::min<std::size_t>(io.error.len, 1000)}, 1000);
    return invalid("refuses to load: " + why);
  }
  if ((io.abi >> 16) != AGENTD_ABI_MAJOR)
    return invalid("is built for hook ABI " + abi_text(io.abi) + ", this agentd has " + abi_text(AGENTD_ABI_NEWEST) +
                   ": rebuild the hook with this agentd's headers");
  if (io.plugin == nullptr) return invalid("returned no plugin record: its entry must set io->plugin");
  return io.plugin;
}

// Empty if the host knows everything that the row uses.
std::string unknown_part(const agentd_hook& row) {
  if (find_event(row.event) == nullptr) return "the event " + std::to_string(row.event);
  if ((row.flags & ~kKnownFlags) != 0) return "the row flags " + std::to_string(row.flags);
  if ((row.wants & ~kKnownWants) != 0) return "the wants of event " + std::to_string(row.event);
  return "";
}

Result<void> read_rows(const agentd_list& list, PluginRecord& out) {
  if (list.count == 0) return {};
  if (list.first == nullptr || list.count > kRowsMax || list.stride < sizeof(agentd_hook) ||
      list.stride > kRecordBytesMax || list.stride % 8 != 0)
    return invalid("has an impossible list of subscriptions (" + std::to_string(list.count) + " rows of " +
                   std::to_string(list.stride) + " bytes)");
  const auto* at = static_cast<const char*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i, at += list.stride) {
    agentd_hook row{};
    std::memcpy(&row, at, sizeof(row));
    const std::string unknown = unknown_part(row);
    if (!unknown.empty() && (row.flags & AGENTD_HOOK_OPTIONAL) != 0) {
      out.notes.push_back("the optional row " + std::to_string(i) + " is skipped, this agentd does not know " +
                          unknown);
      continue;
    }
    if (!unknown.empty()) return invalid("needs a newer agentd: this one does not know " + unknown);
    if (row.fn == nullptr) return invalid("has no function for the event " + std::string(find_event(row.event)->name));
    out.rows.push_back(row);
  }
  return {};
}

}  // namespace

Result<ModuleEntry> open_module(UniqueFd fd, const std::string& path) {
  const LinkerTurn turn;  // the linker finds the entry, too
  auto module = load(std::move(fd), path);
  if (!module) return module.error();
  return entry_of(keep(std::move(*module)));
}

Result<PluginRecord> read_plugin(ModuleEntry entry, std::uint32_t flags) {
  AGENTD_TRY(const agentd_plugin* const raw, negotiate(entry, flags));
  auto plugin = normalise<agentd_plugin>(raw, kPluginFirstBytes, "its plugin record");
  if (!plugin && plugin.error().code == Code::kConflict)
    return invalid("needs a newer agentd: " + plugin.error().message);
  if (!plugin) return invalid("is broken: " + plugin.error().message + "; set size to sizeof(agentd_plugin)");
  PluginRecord out;
  out.plugin = *plugin;
  if (!read_text(plugin->id, out.id)) return invalid("has no usable id in its plugin record");
  if (!read_text(plugin->version, out.version)) return invalid("has no usable version in its plugin record");
  if (plugin->create == nullptr) return invalid("has no create function in its plugin record");
  if (plugin->concurrency > AGENTD_CONCURRENT)
    return invalid("asks for the unknown concurrency " + std::to_string(plugin->concurrency) +
                   ": use AGENTD_SERIAL, AGENTD_PER_CONVERSATION or AGENTD_CONCURRENT");
  AGENTD_TRY_VOID(read_rows(plugin->hooks, out));
  return out;
}

}  // namespace agentd
