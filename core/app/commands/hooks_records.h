// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_records.h - the conversation that a command about past hooks reads.
//
// Threading: one thread.

#include <memory>
#include <string>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/base/ids.h"
#include "core/store/store.h"

namespace agentd::app {

struct RecordsHere {
  std::unique_ptr<Store> store;
  Ulid id;
};
// The conversation with that id or unique prefix; the newest of this project for an empty text.
Result<RecordsHere, Failure> records_here(const App& app, const std::string& conversation);

}  // namespace agentd::app
