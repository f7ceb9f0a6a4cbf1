// SPDX-License-Identifier: Apache-2.0
#include "core/cage/layers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/cage/bubblewrap.h"
#include "core/cage/orders.h"
#include "core/process/landlock.h"
#include "core/process/process.h"

namespace agentd::cage {
namespace {

constexpr Milliseconds kProbeTime{10'000};

LayerState missing(std::string why, std::string cure) { return {false, {}, std::move(why), std::move(cure)}; }

LayerState without_helper() {
  return missing("its program agentd-cage is missing", "install it next to agentd, or in ../libexec/agentd");
}

// The number in a file of /proc/sys; -1 = there is none.
long setting(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[32] = {};  // such a file says that it has no bytes
  if (!fd.valid() || ::read(fd.get(), text, sizeof text - 1) <= 0) return -1;
  return std::strtol(text, nullptr, 10);
}

bool in_container() { return ::access("/.dockerenv", F_OK) == 0 || ::access("/run/.containerenv", F_OK) == 0; }

Result<UniqueFd> file_of(const Orders& orders) {
  UniqueFd out(::memfd_create("orders", MFD_CLOEXEC));
  if (!out.valid()) return errno_error("keeping the orders of a trial", errno);
  AGENTD_TRY_VOID(write_all(out.get(), text_of(orders)));
  return out;
}

struct Trial {
  bool ran = false;
  std::string output;  // the number of the process that keeps the command
};

// A command in the layer, with the helper as it is used.
Trial try_out(std::vector<std::string> words, const std::string& helper, bool apart) {
  Orders orders;
  orders.apart = apart;
  orders.readable = {"/"};
  orders.sockets = apart ? CagedCalls::Sockets::kAll : CagedCalls::Sockets::kNone;
  const auto file = file_of(orders);
  if (!file) return {false, file.error().message};
  for (const std::string& word :
       {helper, std::to_string(kOrdersFd), std::string("/bin/sh"), std::string("-c"), std::string("echo $PPID")})
    words.push_back(word);
  const SystemClock clock;
  ProcessRequest request;
  request.argv = std::move(words);
  request.output_bytes_max = 4096;
  request.pass = {file->get()};
  const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, kProbeTime));
  if (!ran) return {false, ran.error().message};
  Trial out{ran->exit_code == 0, ran->output};
  while (out.output.ends_with('\n')) out.output.pop_back();
  return out;
}

LayerState without_seccomp(const std::string& said) {
  return missing("seccomp cannot be used: " + said,
                 "use a kernel with CONFIG_SECCOMP_FILTER; in a container: --security-opt seccomp=unconfined");
}

// Why bubblewrap failed, by what is known to stop it.
LayerState explain(std::string_view output) {
  const std::string said = one_line(output, 200);
  if (said.find("agentd-cage: seccomp") != std::string::npos) return without_seccomp(said);
  if (setting("/proc/sys/user/max_user_namespaces") == 0)
    return missing("user namespaces are disabled (user.max_user_namespaces is 0)",
                   "sudo sysctl user.max_user_namespaces=10000");
  if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
    return missing("user namespaces are disabled (kernel.unprivileged_userns_clone is 0)",
                   "sudo sysctl kernel.unprivileged_userns_clone=1");
  if (in_container())
    return missing("this container does not allow namespaces: " + said,
                   "start it with '--security-opt seccomp=unconfined --security-opt apparmor=unconfined', or rely on "
                   "Landlock");
  if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
    return missing("AppArmor keeps user namespaces for named programs: " + said,
                   "add the profile bwrap-userns-restrict (Ubuntu: apt install apparmor-profiles, then sudo ln -s "
                   "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and sudo apparmor_parser "
                   "-r /etc/apparmor.d/bwrap-userns-restrict), or rely on Landlock");
  return missing("it fails: " + said, "run 'bwrap --unshare-all --ro-bind / / true' to see why");
}

LayerState probe_bubblewrap(const std::string& helper) {
  if (helper.empty()) return without_helper();
  const std::string program = bubblewrap_program();
  if (program.empty())
    return missing("it is not installed", "install the package bubblewrap (Debian, Ubuntu, Fedora: bubblewrap)");
  const Trial trial = try_out(bubblewrap_probe(program, helper), helper, true);
  if (!trial.ran) return explain(trial.output);
  // The helper is the first process of its namespace.
  if (trial.output != "1" && !trial.output.ends_with("\n1"))
    return missing(program + " ends without an error, but makes no sandbox", "install the package bubblewrap again");
  return {true, program, {}, {}};
}

std::string landlock_facts(long version) {
  std::string out = "Landlock version " + std::to_string(version) + " and seccomp";
  if (version < 6) out += "; commands can send signals to your other processes (guarded since Linux 6.12)";
  return out;
}

LayerState probe_landlock(const std::string& helper) {
  if (helper.empty()) return without_helper();
  const long version = landlock_version();
  const int why = errno;
  if (version < 1 && why == EOPNOTSUPP)
    return missing("Landlock is disabled at boot", "add landlock to the kernel's parameter lsm=, and boot again");
  if (version < 1 && why == ENOSYS)
    return missing("this kernel has no Landlock", "use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK");
  if (version < 1)
    return missing("a filter around this process refuses Landlock: " + std::string(std::strerror(why)),
                   "in a container: use a runtime whose seccomp profile knows Landlock, or --security-opt "
                   "seccomp=unconfined");
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
    return missing("this kernel has no seccomp", "use a kernel with CONFIG_SECCOMP_FILTER");
  const Trial trial = try_out({}, helper, false);
  const std::string said = one_line(trial.output, 200);
  if (!trial.ran && said.find("agentd-cage: seccomp") != std::string::npos) return without_seccomp(said);
  if (!trial.ran) return missing("it fails: " + said, "run 'agentd sandbox run --layer landlock -- true' to see why");
  if (said.empty()) return missing(helper + " ends without an error, but runs nothing", "install agentd again");
  return {true, landlock_facts(version), {}, {}};
}

}  // namespace

std::string_view name_of(Layer layer) { return layer == Layer::kBubblewrap ? "bubblewrap" : "landlock"; }

std::optional<Layer> Layers::best() const {
  if (bubblewrap.holds) return Layer::kBubblewrap;
  if (landlock.holds) return Layer::kLandlock;
  return std::nullopt;
}

std::string bubblewrap_program() {
  for (const char* const path : {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

Layers probe_now(const std::string& helper) { return {probe_bubblewrap(helper), probe_landlock(helper)}; }

const Layers& probe(const std::string& helper) {
  static Mutex mutex;
  static std::optional<Layers> known;
  const MutexLock lock(mutex);
  if (!known) known = probe_now(helper);
  return *known;
}

}  // namespace agentd::cage
