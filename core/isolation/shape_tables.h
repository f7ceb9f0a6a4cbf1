// SPDX-License-Identifier: Apache-2.0
#pragma once
// shape_tables.h - the table of shapes by name, also for files of this room that build other shapes from them.
//
// Threading: immutable data.

#include "core/isolation/shape.h"

namespace agentd::shapes {

// A row of the table below, in the order of the headers of the ABI.
// clang-format off
#define AGENTD_SHAPE_LIST(X)                                                                       \
  X(text)                                                                                          \
  X(create_info) X(gauge) X(usage) X(envelope) X(block) X(message) X(recollection)                 \
      X(session_start) X(session_end) X(user_message) X(turn) X(tool_info) X(model_call)           \
          X(model_delta) X(model_response) X(tool_result) X(tool_call) X(agent_stop)               \
              X(context_threshold) X(before_compaction) X(after_compaction) X(clear) X(subagent)   \
                  X(agent_error) X(notification) X(action) X(act_text) X(act_compact) X(part)      \
                      X(act_replace) X(act_set) X(act_permission) X(act_recipe) X(act_tool_result) \
                          X(compact_options) X(compact_source) X(compact_result) X(thread_options) \
                              X(reply) X(kv) X(kv_op) X(conv_info) X(conv_query) X(file_entry)     \
                                  X(process_options) X(process_result)
// clang-format on

#define AGENTD_SHAPE_DECLARE(name) extern const Shape name;
AGENTD_SHAPE_LIST(AGENTD_SHAPE_DECLARE)
#undef AGENTD_SHAPE_DECLARE

}  // namespace agentd::shapes
