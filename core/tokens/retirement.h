// SPDX-License-Identifier: Apache-2.0
#pragma once
// retirement.h - which model follows one that its provider has retired (is_retired of tokens.h). `wall_ms` is
// Clock::wall_ms().
//
// Threading: functions over values.

#include <cstdint>
#include <string>

#include "core/tokens/tokens.h"

namespace agentd {

// The model that is meant where nobody has chosen one: the model itself, or the first of its successors that is not
// retired. The last of a line without a successor stays, and so does a gateway's spelling.
std::string in_service(const ModelTable& table, std::string model, std::int64_t wall_ms);
// The model for requests that name none; empty = the provider has no default.
std::string default_in_service(const ModelTable& table, const std::string& provider, std::int64_t wall_ms);
// The model that writes the summaries of one that ModelTable::find() gave. One that the user's own table names is used
// after its last day, too. Empty = the model itself.
std::string summariser_in_service(const ModelTable& table, const ModelInfo& model, std::int64_t wall_ms);

}  // namespace agentd
