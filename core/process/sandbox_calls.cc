// SPDX-License-Identifier: Apache-2.0
#include "core/process/sandbox_calls.h"

namespace agentd {
namespace {

constexpr const char* kMemory[] = {"brk",     "get_mempolicy", "membarrier", "mincore",   "mlock",
                                   "mlock2",  "mmap",          "mprotect",   "mremap",    "msync",
                                   "munlock", "munmap",        "pkey_alloc", "pkey_free", "pkey_mprotect"};
constexpr const char* kThreads[] = {"arch_prctl",
                                    "exit",
                                    "exit_group",
                                    "getcpu",
                                    "gettid",
                                    "restart_syscall",
                                    "rseq",
                                    "sched_get_priority_max",
                                    "sched_get_priority_min",
                                    "sched_getaffinity",
                                    "sched_getattr",
                                    "sched_getparam",
                                    "sched_getscheduler",
                                    "sched_rr_get_interval",
                                    "sched_yield",
                                    "set_robust_list",
                                    "set_tid_address"};
constexpr const char* kItself[] = {"capget",    "getegid",   "geteuid",   "getgid",      "getgroups", "getpgid",
                                   "getpgrp",   "getpid",    "getppid",   "getpriority", "getrandom", "getresgid",
                                   "getresuid", "getrlimit", "getrusage", "getsid",      "getuid",    "ioprio_get",
                                   "sysinfo",   "umask",     "uname"};
constexpr const char* kSignals[] = {"pause",        "rt_sigaction",  "rt_sigpending",   "rt_sigprocmask",
                                    "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack",
                                    "signalfd",     "signalfd4"};
constexpr const char* kTime[] = {
    "alarm",         "clock_getres",  "clock_gettime",  "clock_nanosleep", "getitimer",       "gettimeofday",
    "nanosleep",     "setitimer",     "time",           "timer_create",    "timer_delete",    "timer_getoverrun",
    "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime", "times"};
// Landlock decides on the paths.
constexpr const char* kFiles[] = {"access",     "chdir",     "close",      "close_range", "dup",        "dup2",
                                  "dup3",       "faccessat", "faccessat2", "fadvise64",   "fchdir",     "fstat",
                                  "fstatfs",    "getcwd",    "getdents",   "getdents64",  "lseek",      "lstat",
                                  "newfstatat", "pread64",   "preadv",     "preadv2",     "pwrite64",   "pwritev",
                                  "pwritev2",   "read",      "readahead",  "readlink",    "readlinkat", "readv",
                                  "sendfile",   "stat",      "statfs",     "statx",       "write",      "writev"};
constexpr const char* kEvents[] = {"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
                                   "epoll_wait",   "eventfd",       "eventfd2",  "getpeername", "getsockname",
                                   "getsockopt",   "pipe",          "pipe2",     "poll",        "ppoll",
                                   "pselect6",     "recvfrom",      "select",    "shutdown"};
// Besides locks: attributes hold bytes of a file that Landlock does not guard.
constexpr const char* kFilesReadOrWrite[] = {"fgetxattr", "flistxattr", "flock",     "getxattr",
                                             "lgetxattr", "listxattr",  "llistxattr"};
constexpr const char* kFilesWrite[] = {
    "copy_file_range", "fallocate", "fchmod",   "fchown",    "fdatasync", "fremovexattr", "fsetxattr",
    "fsync",           "ftruncate", "link",     "linkat",    "mkdir",     "mkdirat",      "mknod",
    "mknodat",         "rename",    "renameat", "renameat2", "rmdir",     "symlink",      "symlinkat",
    "sync_file_range", "syncfs",    "truncate", "unlink",    "unlinkat"};
constexpr const char* kNetwork[] = {"accept", "accept4",  "bind",     "connect",
                                    "listen", "recvmmsg", "sendmmsg", "setsockopt"};
constexpr const char* kNetworkOrProcesses[] = {"recvmsg", "sendmsg", "splice"};
constexpr const char* kProcesses[] = {"execve", "execveat", "fork",  "pidfd_open", "setpgid",
                                      "setsid", "vfork",    "wait4", "waitid"};

constexpr CallGroup kOpen[] = {
    {"always", kMemory},
    {"always", kThreads},
    {"always", kItself},
    {"always", kSignals},
    {"always", kTime},
    {"always", kFiles},
    {"always", kEvents},
    {"files:read, files:write", kFilesReadOrWrite},
    {"files:write", kFilesWrite},
    {"network", kNetwork},
    {"network, processes", kNetworkOrProcesses},
    {"processes", kProcesses},
};

constexpr const char* kOlderWay[] = {"clone3", "futex_waitv"};

}  // namespace

std::span<const CallGroup> open_calls() { return kOpen; }
std::span<const char* const> calls_with_an_older_way() { return kOlderWay; }

}  // namespace agentd
