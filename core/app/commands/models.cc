// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/terminal.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/tokens/retirement.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownModelBytes = 200;

// A model as a run would use it, and the origin of its numbers.
struct Shown {
  ModelInfo info;
  std::uint64_t limit = 0;
  std::string window_from;  // the origin of the window: a beta, context_window; empty = the entry itself
  std::string counter;      // simple, cl100k_base, o200k_base
  bool retired = false;
};

std::string shown(std::string_view text) { return neutral_line(text, kShownModelBytes); }

std::string origin_of(const ModelInfo& info) { return info.origin.empty() ? "built-in" : info.origin; }

Result<Shown> shown_as(const Config& config, ModelInfo info, bool in_use, std::int64_t wall_ms) {
  Shown out;
  out.retired = is_retired(info, wall_ms);
  if (!info.beta.empty()) out.window_from = info.beta;
  if (const std::uint64_t own = config.whole("context_window"); in_use && own != 0) {
    info.window = own;
    out.window_from = "context_window";
  }
  AGENTD_TRY(const BudgetPolicy budget, budget_of(config, info));
  out.limit = make_gauge(budget, info.window, info.max_output, 0, 0).limit;
  out.counter = std::string(make_estimator(config, info)->name());
  out.info = std::move(info);
  return out;
}

void write_rates(JsonWriter& json, const Rates& rates) {
  // US dollars per million tokens; a price is kept in millionths of that.
  const auto price = [&](std::string_view name, std::uint64_t value) {
    json.key(name).real(static_cast<double>(value) / 1e6);
  };
  price("input", rates.input);
  price("output", rates.output);
  price("cache_read", rates.cache_read);
  price("cache_write", rates.cache_write);
  price("cache_write_long", rates.cache_write_long);
}

void write_prices(JsonWriter& json, const Prices& prices) {
  json.key("prices").begin_object();
  write_rates(json, prices.rates);
  if (!prices.tiers.empty()) {
    json.key("tiers").begin_array();
    for (const Prices::Tier& tier : prices.tiers) {
      json.begin_object().member("above", tier.above);
      write_rates(json, tier.rates);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

std::string rates_text(const Rates& rates) {
  return price_text(rates.input) + " in, " + price_text(rates.output) + " out, " + price_text(rates.cache_read) +
         " from the cache";
}

std::string json_of(const Shown& model, const std::string& name) {
  const ModelInfo& info = model.info;
  JsonWriter json;
  json.begin_object().optional("name", name).key("pattern");
  if (info.pattern.empty())
    json.null();
  else
    json.string(info.pattern);
  json.optional("provider", info.provider).member("window", info.window).member("limit", model.limit);
  json.member("max_output", info.max_output).optional("summary_model", info.summary_model);
  json.optional("encoding", info.encoding).member("counter", model.counter);
  json.optional("window_from", model.window_from).key("betas").begin_object();
  for (const auto& [beta, window] : info.betas) json.member(beta, window);
  json.end_object();
  json.member("thinking", name_of(info.thinking)).key("efforts").begin_array();
  for (const std::string& effort : info.efforts) json.string(effort);
  json.end_array().optional("default_effort", info.default_effort);
  if (info.thinking_back) json.member("thinking_back", *info.thinking_back);
  json.member("sampling", info.sampling).optional("retires", info.retires);
  json.member("retired", model.retired);
  json.optional("successor", info.successor).member("assumed", info.assumed);
  if (info.prices) write_prices(json, *info.prices);
  json.member("from", origin_of(info)).end_object();
  return std::string(json.text());
}

std::vector<std::string> cells_of(const Shown& model) {
  const ModelInfo& info = model.info;
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : shown(text); };
  return {info.pattern.empty() ? "(any other)" : shown(info.pattern) + (info.assumed ? " (any other)" : ""),
          or_dash(info.provider),
          with_commas(info.window) + (info.beta.empty() ? "" : "*"),
          with_commas(model.limit),
          with_commas(info.max_output),
          std::string(name_of(info.thinking)),
          or_dash(info.default_effort),
          info.sampling ? "yes" : "no",
          info.prices ? price_text(info.prices->rates.input) : "-",
          info.prices ? price_text(info.prices->rates.output) : "-",
          or_dash(info.retires) + (model.retired ? " (retired)" : ""),
          or_dash(info.summary_model),
          or_dash(info.encoding),
          shown(origin_of(info))};
}

void print_table(Output& out, const std::vector<Shown>& models) {
  const std::vector<Column> columns{{"PATTERN"},
                                    {"PROVIDER", false, true},
                                    {"WINDOW", true},
                                    {"LIMIT", true, true},
                                    {"OUTPUT", true},
                                    {"THINKING", false, true},
                                    {"EFFORT", false, true},
                                    {"SAMPLING", false, true},
                                    {"$/M IN", true},
                                    {"$/M OUT", true},
                                    {"RETIRES"},
                                    {"SUMMARISER", false, true},
                                    {"ENCODING", false, true},
                                    {"FROM", false, true}};
  std::vector<std::vector<std::string>> rows;
  for (const Shown& model : models) rows.push_back(cells_of(model));
  out.print(table_text(columns, rows, out.columns()));
  for (const Shown& model : models)
    if (!model.info.beta.empty()) return out.print("\n* with a beta of providers.anthropic.betas\n");
}

void print_aliases(Output& out, const Config& config, const ModelTable& table) {
  const std::vector<std::string> aliases = config.model_aliases();
  if (!aliases.empty()) out.print("\naliases (models.aliases):\n");
  for (const std::string& alias : aliases)
    out.print("  " + shown(alias) + " = " + shown(real_model(config, alias, "")) +
              (table.knows(alias) ? "  (hides the model of the same name)" : "") + "\n");
}

std::string window_text(const Shown& model) {
  const ModelInfo& info = model.info;
  std::string out = with_commas(info.window) + " tokens";
  if (model.window_from == "context_window") return out + ", set by context_window";
  if (!info.beta.empty())
    return out + ", with the beta " + info.beta + " (" + with_commas(info.base_window) + " without it)";
  for (const auto& [beta, window] : info.betas)
    out += "; " + with_commas(window) + " with " + beta + " in providers.anthropic.betas";
  return out;
}

std::string entry_text(const ModelInfo& info) {
  const std::string origin = " (" + origin_of(info) + ")";
  if (info.pattern.empty()) return "no entry matches: the default for unknown models" + origin;
  if (info.assumed) return "no entry matches: assumed from " + info.provider + "'s current models" + origin;
  return "'" + info.pattern + "'" + origin;
}

std::string effort_text(const ModelInfo& info) {
  std::string out;
  for (const std::string& effort : info.efforts) out += (out.empty() ? "" : ", ") + effort;
  return info.default_effort.empty() ? out : out + "; " + info.default_effort + " by default";
}

void print_one(Output& out, const Shown& model, const std::string& name) {
  const ModelInfo& info = model.info;
  const auto line = [&](std::string label, const std::string& text) {
    label.resize(12, ' ');
    out.print("  " + label + shown(text) + "\n");
  };
  out.print(shown(name) + "\n");
  line("entry", entry_text(info));
  if (!info.provider.empty()) line("provider", info.provider);
  line("window", window_text(model));
  line("limit", with_commas(model.limit) + " tokens for a conversation, " + with_commas(info.window - model.limit) +
                    " are reserved for the answer");
  line("output", with_commas(info.max_output) + " tokens at most");
  line("thinking", std::string(name_of(info.thinking)));
  if (info.thinking_back.value_or(false)) line("", "goes back with each answer");
  if (!info.efforts.empty()) line("efforts", effort_text(info));
  line("sampling", info.sampling ? "temperature and top_p are accepted" : "temperature and top_p are refused");
  if (info.prices) {
    line("prices", rates_text(info.prices->rates) + " per million tokens");
    for (const Prices::Tier& tier : info.prices->tiers)
      line("", "with more than " + with_commas(tier.above) + " in the prompt: " + rates_text(tier.rates));
  } else {
    line("prices", "unknown: set 'prices' in an entry of models.yaml");
  }
  if (!info.retires.empty())
    line(model.retired ? "retired" : "retires",
         info.retires + (info.successor.empty() ? "" : "; " + info.successor + " follows"));
  line("summariser", info.summary_model.empty() ? "the model itself" : info.summary_model);
  line("encoding", info.encoding.empty() ? "unknown" : info.encoding);
  line("counted by", model.counter);
}

}  // namespace

int models_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const Result<ModelTable> table = load_model_table(*home, *config);
  if (!table) return app.fail(kExitUsage, table.error().message);
  const std::int64_t now = app.clock().wall_ms();
  const Result<ModelRoute> route = model_in_force(*config, *table, now);
  const std::string in_force = route ? route->model : std::string();
  const std::string asked = arguments.words().empty() ? std::string() : arguments.words()[0];
  const std::string name = real_model(*config, asked, "");
  std::vector<ModelInfo> wanted;
  if (!name.empty()) {
    wanted.push_back(table->find(name));
    const std::string& provider = wanted.back().provider;
    wanted.back().prices = table->prices_of(provider, name);
  } else {
    for (const ModelInfo& info : table->models()) wanted.push_back(table->find(info.pattern));
    std::stable_partition(wanted.begin(), wanted.end(), [&](const auto& info) { return !is_retired(info, now); });
    wanted.push_back(table->otherwise());
  }
  std::vector<Shown> models;
  for (ModelInfo& info : wanted) {
    info.summary_model = summariser_in_service(*table, info, now);
    Result<Shown> one = shown_as(*config, std::move(info), !name.empty() && name == in_force, now);
    if (!one) return app.fail(kExitUsage, one.error().message);
    models.push_back(std::move(*one));
  }
  if (arguments.has("json"))
    for (const Shown& model : models) app.out().print(json_of(model, name) + "\n");
  else if (!name.empty())
    print_one(app.out(), models[0], name == asked ? name : asked + " = " + name);
  else
    print_table(app.out(), models), print_aliases(app.out(), *config, *table);
  return kExitOk;
}

}  // namespace agentd::app
