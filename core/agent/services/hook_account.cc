// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/hook_account.h"

namespace agentd {

ModelResult HookAccount::complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                                  Deadline deadline) {
  const std::uint64_t prompt = request.prompt_tokens != 0
                                   ? request.prompt_tokens
                                   : runtime_.corrected(request.model, account_->prompt_of(request));
  auto held = budget_.hold(caller_, account_, {prompt, request.max_output_tokens + request.thinking.room});
  if (!held) {
    ModelError error;
    error.kind = ModelErrorKind::kLimit;
    error.message = held.error().message;
    return error;
  }
  if (!held->bounded_by().empty()) bounded_by_ = held->bounded_by();
  ModelRequest bounded = request;
  bound_answer(bounded, held->answer());
  ModelResult answer = account_->complete(bounded, sink, cancel, deadline);
  held->took(answer ? answer->spent.total() : answer.error().usage.value_or(Usage{}).total());
  return answer;
}

}  // namespace agentd
