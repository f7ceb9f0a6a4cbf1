// SPDX-License-Identifier: Apache-2.0
#pragma once
// for_ever.h - memory that is leaked on purpose, because a thread that cannot be stopped may still read it.
//
// The list of it stays reachable until the process ends, so that a leak checker does not report it.
//
// Threading: thread-safe.

#include <memory>

namespace agentd {

// Does nothing for null.
void keep_for_ever(std::shared_ptr<const void> what);

}  // namespace agentd
