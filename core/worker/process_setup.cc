// SPDX-License-Identifier: Apache-2.0
#include "core/worker/process_setup.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/process/sandbox.h"
#include "core/worker/host_line.h"
#include "core/worker/table_state.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AGENTD_WORKER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AGENTD_WORKER_SANITIZED 1
#endif
#endif

namespace agentd::worker {
namespace {

constexpr rlim_t kDescriptorsMax = 256;
// Address space beyond the allocatable memory: code, and reservations of allocators and language runtimes (Go: 600
// MiB).
constexpr rlim_t kReservedBytesMax = rlim_t{1} << 30;
// Each malloc arena reserves 64 MiB of it.
constexpr int kArenasMax = 4;

#if defined(AGENTD_WORKER_SANITIZED)
// Shadow memory is many times the plugin's memory, and needs terabytes of addresses.
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// Signals sent to a complete control group or to all processes of a name are meant for the host, which ends its
// workers: a worker that obeyed first would look like a crashed plugin.
constexpr int kSignalsOfTheHost[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

extern "C" void leave_it_to_the_host(int) {}

// Child processes of the plugin obey these signals: exec resets a handler, but a plain fork keeps it.
void obey_again() {
  for (const int number : kSignalsOfTheHost) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == leave_it_to_the_host) ::signal(number, SIG_DFL);
  }
}

// An ignored signal stays ignored in programs that the plugin starts; a handler does not.
void leave_signals_to_the_host() {
  struct sigaction action {};
  action.sa_handler = leave_it_to_the_host;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int number : kSignalsOfTheHost) ::sigaction(number, &action, nullptr);
  (void)::pthread_atfork(nullptr, nullptr, obey_again);
}

// Resets the host's signal handling, except that a broken pipe remains an error instead of ending the process, as for
// an in-process plugin.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // SIGKILL and SIGSTOP refuse
  leave_signals_to_the_host();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size is likewise an error
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool limit(__rlimit_resource which, rlim_t most) {
  rlimit now{};
  if (::getrlimit(which, &now) != 0) return false;
  const rlim_t wanted = std::min(most, now.rlim_max);
  now = {wanted, wanted};
  return ::setrlimit(which, &now) == 0;
}

// 0 if unknown.
rlim_t mapped_bytes() {
  char text[256] = "";
  const UniqueFd statm(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (!statm.valid() || ::read(statm.get(), text, sizeof text - 1) <= 0) return 0;
  const unsigned long pages = std::strtoul(text, nullptr, 10);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// Limits allocations, and also addresses: shared mappings and pages made read-only do not count as allocated. The
// window is mapped already and does not count.
bool limit_memory(rlim_t most) {
  ::mallopt(M_ARENA_MAX, kArenasMax);
  const rlim_t mapped = mapped_bytes();
  return mapped != 0 && limit(RLIMIT_DATA, most) && limit(RLIMIT_AS, mapped + most + kReservedBytesMax);
}

std::vector<std::string> texts_of(const agentd_list& list) {
  std::vector<std::string> out;
  const auto* const texts = static_cast<const agentd_str*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i) out.emplace_back(text_of(texts[i]));
  return out;
}

SandboxRules open_for(const std::vector<std::string>& capabilities) {
  const auto has = [&](std::string_view name) {
    return std::find(capabilities.begin(), capabilities.end(), name) != capabilities.end();
  };
  SandboxRules rules;
  rules.network = has("network");
  rules.processes = has("processes");
  rules.files_read = has("files:read");
  rules.files_write = has("files:write");
  return rules;
}

SandboxRules rules_of(const BootArgs& args) {
  SandboxRules rules = open_for(texts_of(args.capabilities));
  rules.off = args.unconfined != 0;
  rules.readable = texts_of(args.readable);
  rules.writable = texts_of(args.writable);
  rules.reopened = {kWorkerModuleFd};  // it is loaded by its name in /proc
  return rules;
}

[[noreturn]] void on_terminate() noexcept {
  if (std::current_exception() == nullptr) std::abort();
  try {
    throw;
  } catch (const std::exception& error) {
    end_by_exception(error.what());
  } catch (...) {
    end_by_exception("of an unknown type");
  }
}

}  // namespace

void settle_process(pid_t parent, int last_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (parent != 0 && ::getppid() != parent) ::_exit(kExitProtocol);  // it ended before it was watched
  reset_signals();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0);
  limit(RLIMIT_CORE, 0);
  ::close_range(static_cast<unsigned>(last_fd) + 1, ~0u, 0);
  ::umask(077);
}

SandboxRules open_for(std::string_view capabilities) {
  std::vector<std::string> names;
  for (std::string_view rest = capabilities; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  SandboxRules rules = open_for(names);
  rules.off = capabilities == "off";
  return rules;
}

void end_by_exception(std::string_view what) noexcept {
  (void)write_all(STDERR_FILENO, "an exception left a function of the hook: " + one_line(what, 1000) + "\n");
  std::abort();
}

// A plugin's unwinder may have to call this program's own, which must have been used once before, or it aborts
// silently.
void report_exceptions() {
  std::set_terminate(on_terminate);
  (void)::_Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

Result<std::string> confine_process(const BootArgs& args, std::optional<SandboxGround>& ground) {
  std::string missing;
  if (kLimitsMemory && args.memory_bytes_max != 0 && !limit_memory(args.memory_bytes_max))
    missing = "memory is not limited: setrlimit is refused or /proc cannot be read";
  (void)limit(RLIMIT_NOFILE, kDescriptorsMax);
  const SandboxRules rules = rules_of(args);
  // Files can be in memory too.
  if (!rules.off && !rules.files_write) (void)limit(RLIMIT_FSIZE, 0);
  AGENTD_TRY(const std::string also, ground ? ground->finish(rules) : enter_sandbox(rules));
  if (!missing.empty() && !also.empty()) missing += "; ";
  return missing + also;
}

}  // namespace agentd::worker
