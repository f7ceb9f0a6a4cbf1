// SPDX-License-Identifier: Apache-2.0
#include "core/process/confine.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace agentd {
namespace {

// The descriptor of a listener, 0, or -1 with errno.
long load(FilterProgram program, unsigned flags) {
  static_assert(sizeof(FilterInstruction) == sizeof(sock_filter));
  // The kernel only reads it.
  const sock_fprog all{static_cast<unsigned short>(program.size()),
                       const_cast<sock_filter*>(reinterpret_cast<const sock_filter*>(program.data()))};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
}

}  // namespace

int load_filter(FilterProgram program) { return load(program, SECCOMP_FILTER_FLAG_TSYNC) == 0 ? 0 : errno; }

int load_asking_filter(FilterProgram program, UniqueFd* questions) {
  const auto with_answer = [&](std::uint32_t answer) {
    std::vector<FilterInstruction> own(program.begin(), program.end());
    for (FilterInstruction& each : own)
      if (each.code == (BPF_RET | BPF_K) && each.value == (SECCOMP_RET_ERRNO | kAskKeeper)) each.value = answer;
    return own;
  };
  const long loaded = load(with_answer(SECCOMP_RET_USER_NOTIF), SECCOMP_FILTER_FLAG_NEW_LISTENER);
  if (loaded >= 0) *questions = UniqueFd(static_cast<int>(loaded));
  if (loaded >= 0 || (errno != EBUSY && errno != EINVAL)) return loaded >= 0 ? 0 : errno;
  return load(with_answer(SECCOMP_RET_ERRNO | EPERM), 0) == 0 ? 0 : errno;
}

bool drop_privileges() {
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each)
    (void)::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);  // without CAP_SETPCAP none can be gained either
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

}  // namespace agentd
