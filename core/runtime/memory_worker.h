// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory_worker.h - what earlier sessions left to distil, on a thread of its own while a person works: the first step
// of those that were killed, which needs no model, and the second step of one.
//
// Threading: one thread starts and stops it.

#include <memory>

#include "core/base/cancel.h"
#include "core/base/thread.h"
#include "core/runtime/runtime.h"

namespace agentd {

class MemoryWorker {
 public:
  // Null where there is nothing to do: conversations are not saved, or no plugin offers it. No model is asked with
  // memory.refine off, or by the provider `scripted` unless the settings of the bundled plugin name one, since the
  // answers of a script are meant for others. The runtime outlives it. REQUIRES: its hooks are loaded.
  static std::unique_ptr<MemoryWorker> start(Runtime& runtime);
  // Cancels the job, which the next start takes up again, and waits for the thread.
  ~MemoryWorker();
  MemoryWorker(const MemoryWorker&) = delete;
  MemoryWorker& operator=(const MemoryWorker&) = delete;

 private:
  MemoryWorker(Runtime& runtime, bool asks_model);

  const CancelToken cancel_;
  Thread thread_;
};

}  // namespace agentd
