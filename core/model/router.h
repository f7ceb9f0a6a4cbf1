// SPDX-License-Identifier: Apache-2.0
#pragma once
// router.h - one provider in front of several: which of them answers is said by the model's name.
//
// "vendor/name" is asked for at that vendor, a name alone at the conversation's own. So nothing
// leaves that vendor unless somebody has written another one's name.
//
// Threading: thread-safe when its providers are.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/model/provider.h"

namespace agentd {

// The part of a model's name in front of its first slash when that is one of the providers, and the
// rest; else an empty provider and the whole name. "openrouter/anthropic/claude-x" is openrouter's
// model "anthropic/claude-x".
struct ModelRoute {
  std::string provider, model;
};
ModelRoute route_of(std::string_view model, const std::set<std::string>& providers);

class ModelRouter final : public ModelProvider {
 public:
  // Makes a provider at its first use; its error is that of each request there.
  using Make = std::function<Result<std::unique_ptr<ModelProvider>>(const std::string& provider)>;

  // `providers` are the names that may stand in front of a model's; `own` is the conversation's,
  // one of them.
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
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<ModelProvider>> made_;  // guarded by mutex_
};

}  // namespace agentd
