// SPDX-License-Identifier: Apache-2.0
#pragma once
// router.h - one provider in front of several; the model's name selects which one answers.
//
// "vendor/name" goes to that vendor, a name alone to the conversation's own. So nothing is sent to another vendor
// unless its name was written.
//
// Threading: thread-safe when its providers are.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/model/provider.h"

namespace agentd {

// The part of a model's name before its first slash when that is one of the providers, and the rest; otherwise an empty
// provider and the complete name. "openrouter/anthropic/claude-x" is openrouter's model "anthropic/claude-x".
struct ModelRoute {
  std::string provider, model;
};
ModelRoute route_of(std::string_view model, const std::set<std::string>& providers);

class ModelRouter final : public ModelProvider {
 public:
  // Makes a provider on first use; its error is returned by each request to it.
  using Make = std::function<Result<std::unique_ptr<ModelProvider>>(const std::string& provider)>;

  // `providers` are the names allowed before a model's; `own`, one of them, is the conversation's.
  ModelRouter(std::set<std::string> providers, std::string own, Make make);

  std::string_view name() const override { return own_; }
  std::string_view api() const override;
  Origin origin_of(std::string_view model) const override;
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override;

 private:
  Result<ModelProvider*> find(const std::string& provider) const;
  ModelRoute route(std::string_view model) const;

  const std::set<std::string> providers_;
  const std::string own_;
  const Make make_;
  mutable Mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<ModelProvider>> made_ GUARDED_BY(mutex_);
};

}  // namespace agentd
