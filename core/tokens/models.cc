// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json.h"
#include "core/tokens/tokens.h"
#include "embedded_models.h"

namespace agentd {
namespace {

Result<ModelInfo> read_model(JsonView from, const ModelInfo& otherwise) {
  ModelInfo out = otherwise;
  out.pattern = std::string(from["pattern"].string_or({}));
  out.provider = std::string(from["provider"].string_or({}));
  out.window = from["window"].uint_or(otherwise.window);
  out.max_output = from["max_output"].uint_or(otherwise.max_output);
  out.summary_model = std::string(from["summary_model"].string_or({}));
  out.beta = std::string(from["beta"].string_or({}));
  out.beta_window = from["beta_window"].uint_or(0);
  if (out.pattern.empty() || out.window == 0)
    return Error{Code::kInvalid, "a model of the table needs a pattern and a window"};
  return out;
}

}  // namespace

Result<ModelTable> ModelTable::parse(std::string_view json) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  const JsonView models = document.root()["models"];
  ModelTable table;
  for (std::size_t i = 0; i < models.size(); ++i) {
    AGENTD_TRY(ModelInfo info, read_model(models.at(i), ModelInfo{}));
    table.models_.push_back(std::move(info));
  }
  return table;
}

ModelTable ModelTable::embedded() {
  auto table = parse(kEmbeddedModels);
  AGENTD_ASSERT(table.has_value());
  return std::move(*table);
}

bool ModelTable::knows(std::string_view model) const {
  for (const ModelInfo& info : models_)
    if (model.starts_with(info.pattern)) return true;
  return false;
}

ModelInfo ModelTable::find(std::string_view model) const {
  const ModelInfo* best = nullptr;
  for (const ModelInfo& info : models_)
    if (model.starts_with(info.pattern) && (best == nullptr || info.pattern.size() > best->pattern.size()))
      best = &info;
  return best == nullptr ? ModelInfo{} : *best;
}

}  // namespace agentd
