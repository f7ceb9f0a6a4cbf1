// SPDX-License-Identifier: Apache-2.0
#pragma once
// for_ever.h - memory that is leaked on purpose, since a thread that cannot be stopped may still
// read it.
//
// The list of it is reachable until the process ends, so that a leak checker knows that it is
// meant.
//
// Threading: thread-safe.

#include <memory>

namespace agentd {

// Nothing happens for null.
void keep_for_ever(std::shared_ptr<const void> what);

}  // namespace agentd
