// SPDX-License-Identifier: Apache-2.0
#pragma once
// thread_annotations.h - which lock guards what, in words that clang checks (-Wthread-safety).
//
// A field says who guards it, a function what it needs or does: an access without the lock is then an error of the
// compiler. Other compilers see nothing. What the words mean: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
//
// A lambda is a function of its own to the analysis: waiting is a loop without a predicate, and a lambda that runs
// under the lock of the function around it says so with Mutex::assert_held().
//
// Threading: for the compiler alone.

#if defined(__clang__)
#define AGENTD_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define AGENTD_THREAD_ATTRIBUTE(...)
#endif

// On a class: its objects are locks; an object holds one for as long as it lives.
#define CAPABILITY(name) AGENTD_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY AGENTD_THREAD_ATTRIBUTE(scoped_lockable)

// On a field: it, or what it points to, is touched with the lock alone.
#define GUARDED_BY(lock) AGENTD_THREAD_ATTRIBUTE(guarded_by(lock))
#define PT_GUARDED_BY(lock) AGENTD_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// On a function: its caller holds the lock; its caller does not.
#define REQUIRES(...) AGENTD_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) AGENTD_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) AGENTD_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// On a function: it locks, or unlocks; it locks when it returns `result`.
#define ACQUIRE(...) AGENTD_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) AGENTD_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) AGENTD_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) AGENTD_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) AGENTD_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))

// On a function that ends the program unless the lock is held.
#define ASSERT_CAPABILITY(lock) AGENTD_THREAD_ATTRIBUTE(assert_capability(lock))

// On a function that returns a lock.
#define RETURN_CAPABILITY(lock) AGENTD_THREAD_ATTRIBUTE(lock_returned(lock))

// On a function that the analysis cannot follow. A comment there has the reason; the tree has at most three.
#define NO_THREAD_SAFETY_ANALYSIS AGENTD_THREAD_ATTRIBUTE(no_thread_safety_analysis)
