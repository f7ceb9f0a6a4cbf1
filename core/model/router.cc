// SPDX-License-Identifier: Apache-2.0
#include "core/model/router.h"

#include <utility>

namespace agentd {

ModelRoute route_of(std::string_view model, const std::set<std::string>& providers) {
  const std::size_t slash = model.find('/');
  if (slash != std::string_view::npos && slash + 1 < model.size())
    if (const std::string provider(model.substr(0, slash)); providers.contains(provider))
      return {provider, std::string(model.substr(slash + 1))};
  return {{}, std::string(model)};
}

ModelRouter::ModelRouter(std::set<std::string> providers, std::string own, Make make)
    : providers_(std::move(providers)), own_(std::move(own)), make_(std::move(make)) {}

ModelRoute ModelRouter::route(std::string_view model) const {
  ModelRoute out = route_of(model, providers_);
  if (out.provider.empty()) out.provider = own_;
  return out;
}

Result<ModelProvider*> ModelRouter::find(const std::string& provider) const {
  const MutexLock lock(mutex_);
  const auto known = made_.find(provider);
  if (known != made_.end()) return known->second.get();
  AGENTD_TRY(std::unique_ptr<ModelProvider> made, make_(provider));
  return made_.emplace(provider, std::move(made)).first->second.get();
}

std::string_view ModelRouter::api() const {
  const auto provider = find(own_);
  return provider ? (*provider)->api() : std::string_view();
}

Origin ModelRouter::origin_of(std::string_view model) const {
  const ModelRoute to = route(model);
  const auto provider = find(to.provider);
  return {to.provider, provider ? std::string((*provider)->api()) : std::string(), to.model};
}

ModelResult ModelRouter::complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                                  Deadline deadline) {
  ModelRoute to = route(request.model);
  const auto provider = find(to.provider);
  if (!provider) {
    ModelError error;
    error.kind = ModelErrorKind::kInvalid;
    error.message = provider.error().message;
    return error;
  }
  ModelRequest routed = request;
  routed.model = std::move(to.model);
  return (*provider)->complete(routed, sink, cancel, deadline);
}

}  // namespace agentd
