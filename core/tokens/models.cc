// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/codec/json.h"
#include "core/tokens/model_entries.h"
#include "core/tokens/tokens.h"
#include "embedded_models.h"

namespace agentd {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '.' ? '-' : c;  // claude-sonnet-4.5 is what a gateway makes of claude-sonnet-4-5
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number of the pattern is not the beginning of a longer one: "gpt-4-1" does not start
// "gpt-4-1106".
bool starts(std::string_view pattern, std::string_view name) {
  if (name.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (folded(pattern[i]) != folded(name[i])) return false;
  return name.size() == pattern.size() || !is_digit(pattern.back()) ||
         !is_digit(name[pattern.size()]);
}

Result<ModelInfo> read_model(JsonView from, const ModelInfo& otherwise) {
  ModelInfo out = otherwise;
  out.pattern = std::string(from["pattern"].string_or({}));
  out.provider = std::string(from["provider"].string_or({}));
  out.base_window = out.window = from["window"].uint_or(otherwise.window);
  out.max_output = from["max_output"].uint_or(otherwise.max_output);
  out.summary_model = std::string(from["summary_model"].string_or({}));
  out.encoding = std::string(from["encoding"].string_or({}));
  const JsonView betas = from["betas"];
  for (std::size_t i = 0; i < betas.size(); ++i)
    out.betas[std::string(betas.key_at(i))] = betas.at(i).uint_or(0);
  if (out.pattern.empty() || out.window == 0)
    return Error{Code::kInvalid, "a model of the table needs a pattern and a window"};
  return out;
}

// Of several active betas the widest window counts.
void open_window(ModelInfo& info, const std::vector<std::string>& active) {
  for (const auto& [name, window] : info.betas) {
    if (window <= info.window || std::find(active.begin(), active.end(), name) == active.end())
      continue;
    info.window = window;
    info.beta = name;
  }
}

// The summariser's name as this model's provider would know it. A gateway's own spelling is not
// guessed: there the model itself summarises.
std::string summariser_for(const ModelInfo& info, std::string_view name) {
  constexpr std::string_view kGoogle = "models/";
  if (starts(info.pattern, name) || info.summary_model.empty()) return info.summary_model;
  const bool google =
      name.starts_with(kGoogle) && starts(info.pattern, name.substr(kGoogle.size()));
  return google ? std::string(kGoogle) + info.summary_model : std::string();
}

}  // namespace

std::string_view bare_model_name(std::string_view model) {
  std::string_view name = model;
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name = name.substr(slash + 1);
  // "us.", "anthropic." and "openai:" are words; what holds a digit is part of the name.
  for (;;) {
    const std::size_t at = name.find_first_of(".:");
    const std::string_view word = name.substr(0, at);
    if (at == std::string_view::npos || at + 1 == name.size() ||
        std::any_of(word.begin(), word.end(), is_digit))
      break;
    name = name.substr(at + 1);
  }
  return name.empty() ? model : name;
}

Result<ModelTable> ModelTable::parse(std::string_view json) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  ModelTable table;
  const JsonView otherwise = document.root()["default"];
  ModelInfo& base = table.otherwise_;
  base.base_window = base.window = otherwise["window"].uint_or(base.window);
  base.max_output = otherwise["max_output"].uint_or(base.max_output);
  const JsonView models = document.root()["models"];
  for (std::size_t i = 0; i < models.size(); ++i) {
    AGENTD_TRY(ModelInfo info, read_model(models.at(i), base));
    table.models_.push_back(std::move(info));
  }
  return table;
}

ModelTable ModelTable::embedded() {
  auto table = parse(kEmbeddedModels);
  AGENTD_ASSERT(table.has_value());
  return std::move(*table);
}

Result<void> ModelTable::overlay(std::string_view yaml, std::string_view file) {
  AGENTD_TRY(const ModelEntries entries, read_model_entries(yaml, file));
  entries.otherwise.apply(otherwise_);
  otherwise_.window = otherwise_.base_window;
  for (const ModelEntries::Entry& entry : entries.models) {
    const auto same = [&](const ModelInfo& info) {
      return info.pattern.size() == entry.pattern.size() && starts(info.pattern, entry.pattern);
    };
    auto found = std::find_if(models_.begin(), models_.end(), same);
    if (found == models_.end()) {
      const ModelInfo* const like = match(entry.pattern);
      ModelInfo fresh = like == nullptr ? otherwise_ : *like;
      fresh.summary_model = summariser_for(fresh, entry.pattern);
      fresh.pattern = entry.pattern;
      found = models_.insert(models_.end(), std::move(fresh));
    }
    entry.apply(*found);
    found->window = found->base_window;
  }
  return {};
}

// The name as it stands beats what is left of it, and a longer pattern a shorter one.
const ModelInfo* ModelTable::match(std::string_view model) const {
  for (const std::string_view name : {model, bare_model_name(model)}) {
    const ModelInfo* best = nullptr;
    for (const ModelInfo& info : models_)
      if (starts(info.pattern, name) &&
          (best == nullptr || info.pattern.size() > best->pattern.size()))
        best = &info;
    if (best != nullptr) return best;
  }
  return nullptr;
}

ModelInfo ModelTable::find(std::string_view model) const {
  const ModelInfo* const found = match(model);
  if (found == nullptr) return otherwise_;
  ModelInfo out = *found;
  open_window(out, active_);
  out.summary_model = summariser_for(out, model);
  return out;
}

}  // namespace agentd
