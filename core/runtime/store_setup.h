// SPDX-License-Identifier: Apache-2.0
#pragma once
// store_setup.h - the store in the home directory. One that was not closed well is looked at first by a process that
// may die of it.
//
// Threading: any thread that may fork.

#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

// `create` false: kNotFound when there is none yet; what may not be written is opened to be read. `alone` ends the
// process's other threads, and is called before the look forks. `appended`: LmdbOptions::appended.
Result<std::unique_ptr<Store>> open_store(
    const std::string& home, bool create, const Clock& clock, const std::function<void()>& alone = [] {},
    std::function<void()> appended = {});

// The file that processes with the store open find each other by. Reading it in one of them would end its locks.
std::string store_lock_file(const std::string& home);

// True if opening the store needs no look now.
bool opens_at_once(const std::string& home);

}  // namespace agentd
