// SPDX-License-Identifier: Apache-2.0
// Options of the sanitizers in programs that run other people's modules: a fault ends the process by its own signal, as
// it does in every other build, so that what the host says of it can be compared. The leak detector of gcc 12 faults
// over thread-local memory of modules that were loaded late (intercept_tls_get_addr): it is not told of it, here and
// in CMakePresets.json. Behind a filter of system calls it cannot work, and stays quiet.
#include <sys/prctl.h>

// The sanitizers' libraries look these names up.
#pragma GCC visibility push(default)
extern "C" {
const char* __asan_default_options();
const char* __tsan_default_options();
const char* __ubsan_default_options();
int __lsan_is_turned_off();

const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:abort_on_error=1:"
         "use_sigaltstack=0:detect_stack_use_after_return=1:intercept_tls_get_addr=0";
}
const char* __tsan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:abort_on_error=1";
}
const char* __ubsan_default_options() { return "print_stacktrace=1:abort_on_error=1"; }
// A filter that refuses the question is one, too.
int __lsan_is_turned_off() { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0; }
}
#pragma GCC visibility pop
