// SPDX-License-Identifier: Apache-2.0
#pragma once
// shape_tables.h - the table of shapes by name, also for files of this room that build other shapes from them.
//
// Threading: immutable data.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/workspace.h>

#include "core/isolation/shape.h"

namespace agentd::shapes {

// Every record that crosses to a worker. The lists are next to the records in the headers of the ABI; a test walks
// every record for addresses left behind.
#define AGENTD_SHAPE_LIST(X)  \
  AGENTD_CONTROL_RECORDS(X)   \
  AGENTD_EVENT_RECORDS(X)     \
  AGENTD_ACTION_RECORDS(X)    \
  AGENTD_SERVICE_RECORDS(X)   \
  AGENTD_WORKSPACE_RECORDS(X) \
  AGENTD_PROCESS_RECORDS(X)   \
  AGENTD_PROVIDE_RECORDS(X)

extern const Shape text;  // agentd_str
#define AGENTD_SHAPE_DECLARE(name, ...) extern const Shape name;
AGENTD_SHAPE_LIST(AGENTD_SHAPE_DECLARE)
#undef AGENTD_SHAPE_DECLARE

// Finds a shape by the record's type.
template <typename Record>
constexpr const Shape* kShapeOf = nullptr;
#define AGENTD_SHAPE_BY_TYPE(name, ...) \
  template <>                           \
  inline constexpr const Shape* kShapeOf<agentd_##name> = &name;
AGENTD_SHAPE_LIST(AGENTD_SHAPE_BY_TYPE)
#undef AGENTD_SHAPE_BY_TYPE

}  // namespace agentd::shapes
