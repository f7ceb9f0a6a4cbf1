// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/model_setup.h"

#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/runtime/provider_setup.h"
#include "core/tokens/bpe.h"
#include "core/tokens/retirement.h"

namespace agentd {
namespace {

constexpr std::uint64_t kTableBytesMax = 1u << 20;
constexpr std::int64_t kRetiresSoonDays = 60;

bool said_for_this_run(const Config& config, std::string_view key) {
  return config.candidates(key).back().layer >= Layer::kEnvironment;
}

// True if some model's window depends on it; other betas are ignored here.
bool is_window_beta(const ModelTable& table, const std::string& beta) {
  const std::vector<ModelInfo> models = table.models();
  return std::any_of(models.begin(), models.end(), [&](const ModelInfo& info) { return info.betas.contains(beta); });
}

// A warning about a model's last day; empty = none. `use` names the setting that chooses the model.
std::string retirement_of(const ModelInfo& model, const std::string& name, std::string_view use, std::int64_t wall_ms) {
  const auto days = days_until_retired(model, wall_ms);
  if (!days || *days > kRetiresSoonDays) return {};
  const bool is_gone = is_retired(model, wall_ms);
  const std::string gone = is_gone ? " was retired by its provider on " : " will be retired by its provider on ";
  std::string out = "the model " + one_line(name, 80) + gone + model.retires;
  if (!is_gone) out += " (in " + std::to_string(*days) + (*days == 1 ? " day)" : " days)");
  out += ": choose another with " + std::string(use);
  return model.successor.empty() ? out : out + ", such as " + model.successor;
}

// The same for the models that other settings choose, and the one that the user's table chooses for summaries.
std::vector<std::string> retirements_beside(const ModelTable& table, const Config& config, const ModelInfo& model,
                                            const std::string& name, std::int64_t wall_ms) {
  std::vector<std::pair<std::string, std::string>> named;
  for (const char* const role : {"compaction.model", "agents.model"}) named.emplace_back(role, config.text(role));
  for (const std::string& fallback : config.list("fallback")) named.emplace_back("fallback", fallback);
  if (model.summary_model_is_the_users && config.text("compaction.model").empty())
    named.emplace_back("summary_model in models.yaml", model.summary_model);
  std::vector<std::string> out;
  for (const auto& [role, text] : named) {
    const std::string other = real_model(config, text, "");
    if (other.empty() || other == name) continue;
    std::string told = retirement_of(table.find(other), other, role, wall_ms);
    if (!told.empty()) out.push_back(std::move(told));
  }
  return out;
}

// A warning about an unknown model of a known provider, and the assumptions about it.
std::string assumption_of(const ModelInfo& model, const std::string& name, const std::string& file) {
  return "the model '" + one_line(name, 80) + "' is not in the model table: it is treated as " + model.provider +
         "'s current models are (window " + with_commas(model.window) + " tokens, output " +
         with_commas(model.max_output) + ", thinking " + std::string(name_of(model.thinking)) +
         "); give it an entry in " + file + " if that is wrong";
}

// True if the provider's models may have slashes in their names, as those of most servers and gateways do.
bool has_slashes(const Config& config, const ModelTable& table, const std::string& provider) {
  if (const ProviderRow* const row = find_provider(provider); row == nullptr || !row->plain_names) return true;
  return config.is_set("providers." + provider + ".base_url") || base_url_owner(config, table).provider == provider;
}

// True if an entry is for names that begin like this one, up to its slash.
bool is_of_table(const ModelTable& table, std::string_view to_slash) {
  const std::vector<ModelInfo> models = table.models();
  return std::any_of(models.begin(), models.end(),
                     [&](const ModelInfo& info) { return info.pattern.starts_with(to_slash); });
}

}  // namespace

std::string misspelt_provider(const ModelTable& table, const Config& config, std::string_view own,
                              const std::string& model) {
  const std::size_t slash = model.find('/');
  std::set<std::string> names = provider_names(config);
  names.erase(std::string(kScripted));  // it replays a file, so no model of it is meant
  if (own == kScripted || slash == std::string::npos || slash == 0) return {};
  const std::string name = model.substr(0, slash), asked(own);
  if (names.contains(name) || is_of_table(table, model.substr(0, slash + 1))) return {};
  const std::string meant = nearest(name, {names.begin(), names.end()});
  const bool of_meant = !meant.empty() && table.find(model.substr(slash + 1)).provider == meant;
  if (has_slashes(config, table, asked) && !of_meant) return {};
  return "no provider named '" + one_line(name, 60) + "'" +
         (meant.empty() ? ", so " : ": did you mean '" + meant + "'? ") + asked + " is used for the model '" +
         one_line(model, 80) + "'";
}

std::set<std::string> models_of_settings(const Config& config, const ModelRoute& in_force) {
  std::set<std::string> out{in_force.model};
  for (const auto& [setting, model] : models_beside(config, in_force.provider)) out.insert(model);
  if (const std::string of_agents = config.text("agents.model"); !of_agents.empty())
    out.insert(real_model(config, of_agents, in_force.provider));
  return out;
}

std::string model_table_file(const std::string& home) { return home + "/models.yaml"; }

Result<ModelTable> load_model_table(const std::string& home, const Config& config) {
  ModelTable table = ModelTable::embedded();
  const std::string file = model_table_file(home);
  Result<std::string> text = read_file(file, kTableBytesMax);
  if (!text && text.error().code != Code::kNotFound) return Error{Code::kInvalid, text.error().message};
  if (text) AGENTD_TRY_VOID(table.overlay(*text, file));
  table.activate(config.list("providers.anthropic.betas"));
  return table;
}

Result<BudgetPolicy> budget_of(const Config& config, const ModelInfo& model) {
  BudgetPolicy all;
  all.checkpoint_at = config.fraction("compaction.checkpoint_at");
  const std::uint64_t percent = config.whole("lifecycle.checkpoint_threshold_percent");
  if (percent != 0) all.checkpoint_at = static_cast<double>(percent) / 100;
  all.compact_at = config.fraction("compaction.compact_at");
  all.force_at = config.fraction("compaction.force_at");
  all.keep_percent = static_cast<std::uint32_t>(config.whole("compaction.keep_percent"));
  all.output_reserve = config.whole("compaction.output_reserve");
  ModelInfo own = model;
  if (said_for_this_run(config, "compaction.checkpoint_at") ||
      said_for_this_run(config, "lifecycle.checkpoint_threshold_percent"))
    own.checkpoint_at.reset();
  if (said_for_this_run(config, "compaction.compact_at")) own.compact_at.reset();
  if (said_for_this_run(config, "compaction.force_at")) own.force_at.reset();
  if (said_for_this_run(config, "compaction.output_reserve")) own.output_reserve.reset();
  const BudgetPolicy out = all.of(own);
  if (out.force_at < out.compact_at)
    return Error{Code::kInvalid,
                 model.origin + ": for '" + model.pattern + "' force_at is below compact_at: set both in the entry"};
  return out;
}

ThinkingWish thinking_wish(const Config& config) {
  const std::string effort = config.text("effort");
  return {config.whole("thinking_tokens"), effort == "default" ? std::string() : effort};
}

std::unique_ptr<TokenEstimator> make_estimator(const Config& config, const ModelInfo& model) {
  const std::string counter = config.text("tokens.counter");
  if (counter == "simple" || (counter == "auto" && model.encoding.empty())) return std::make_unique<SimpleEstimator>();
  const Bpe* const bpe = Bpe::find(model.encoding);
  return std::make_unique<BpeEstimator>(bpe == nullptr ? Bpe::cl100k_base() : *bpe);
}

std::vector<std::string> model_warnings(const ModelTable& table, const Config& config, const ModelRoute& in_force,
                                        const std::string& home, std::int64_t wall_ms) {
  std::vector<std::string> out;
  // The scripted provider has no model, so no window to check.
  if (config.text("provider") == kScripted) return out;
  const std::string& name = in_force.model;
  const ModelInfo model = table.find(name);
  const std::string gone = retirement_of(model, name, "--model", wall_ms);
  if (!gone.empty()) out.push_back(gone);
  for (const std::string& each : models_of_settings(config, in_force))
    if (std::string told = misspelt_provider(table, config, in_force.provider, each); !told.empty())
      out.push_back(std::move(told));
  for (std::string& told : retirements_beside(table, config, model, name, wall_ms)) out.push_back(std::move(told));
  if (const std::string note = thinking_note(model, name, thinking_wish(config)); !note.empty()) out.push_back(note);
  if (config.whole("context_window") != 0) return out;
  if (model.assumed) out.push_back(assumption_of(model, name, model_table_file(home)));
  if (!table.knows(name))
    out.push_back("the model '" + one_line(name, 80) + "' is not in the model table: a window of " +
                  with_commas(model.window) + " tokens is assumed; set context_window, or give it an entry in " +
                  model_table_file(home));
  for (const std::string& beta : config.list("providers.anthropic.betas"))
    if (is_window_beta(table, beta) && !model.betas.contains(beta))
      out.push_back("the beta " + one_line(beta, 80) + " is sent, but does not widen the window of " +
                    one_line(name, 80) + ": it stays at " + with_commas(model.window) + " tokens");
  return out;
}

}  // namespace agentd
