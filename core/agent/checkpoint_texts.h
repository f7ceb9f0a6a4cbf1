// SPDX-License-Identifier: Apache-2.0
#pragma once
// checkpoint_texts.h - the model that writes the texts of checkpoints: the one that writes summaries.
//
// Threading: as CheckpointTexts; `services` outlives it.

#include <memory>

#include "core/agent/agent.h"
#include "core/agent/checkpoints.h"

namespace agentd {

// kDenied: the model is another vendor's than the conversation's, and no setting names it
// (ModelSettings::summary_model).
std::unique_ptr<CheckpointTexts> model_checkpoint_texts(AgentServices& services, ModelSettings settings);

}  // namespace agentd
