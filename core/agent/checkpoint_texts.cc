// SPDX-License-Identifier: Apache-2.0
#include "core/agent/checkpoint_texts.h"

#include <utility>

#include "core/agent/loading.h"
#include "core/agent/services/services.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

class ModelTexts final : public CheckpointTexts {
 public:
  ModelTexts(const RuntimeResources& runtime, ModelSettings settings)
      : runtime_(runtime), settings_(std::move(settings)) {}

  Result<Written> write(const Wanted& wanted, const CancelToken& cancel) override {
    // Words that went to one vendor go to another one only if the user says so.
    if (settings_.summary_model.empty() && wanted.info.provider != settings_.provider)
      return Error{Code::kDenied, "the conversation was with " + one_line(wanted.info.provider, 80) +
                                      ", and compaction.model names no model for its summary"};
    const RuntimeParts& parts = runtime_.parts();
    AGENTD_TRY(const SummarySource source, load_summary_source(parts.store, wanted.conversation, wanted.rows,
                                                               wanted.origins, wanted.count, runtime_.row_count()));
    SummaryRequest request;
    request.conversation_id = wanted.info.id;
    request.model = runtime_.summary_model({}, settings_);
    AGENTD_TRY(request.prompt, parts.own_prompts.compaction_prompt(wanted.info.id, {}));
    request.messages = source.messages();
    request.origins = &source.origins;
    request.max_summary_tokens = settings_.summary_tokens;
    request.window = runtime_.model_info(request.model, settings_).window;
    request.scale = runtime_.factors().of(request.model, settings_.model);
    const Usage& before = wanted.info.usage;
    const auto account = runtime_.open_account({{}, wanted.info.id, {before.total(), before.cost_nano_usd}});
    Summariser summariser(parts, *account, cancel, {});
    auto text = summariser.summarise(request);
    account->flush();
    if (!text) return text.error();
    return Written{std::move(*text), request.model, summariser.spent()};
  }

 private:
  const RuntimeResources& runtime_;
  const ModelSettings settings_;
};

}  // namespace

std::unique_ptr<CheckpointTexts> model_checkpoint_texts(AgentServices& services, ModelSettings settings) {
  return std::make_unique<ModelTexts>(services.runtime(), std::move(settings));
}

}  // namespace agentd
