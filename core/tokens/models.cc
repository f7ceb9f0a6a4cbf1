// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/codec/json.h"
#include "core/tokens/model_entries.h"
#include "core/tokens/spelling.h"
#include "core/tokens/tokens.h"
#include "embedded_models.h"

namespace agentd {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '.' ? '-' : c;  // gateways write claude-sonnet-4.5 for claude-sonnet-4-5
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A number of the pattern must not be the beginning of a longer one: "gpt-4-1" does not start "gpt-4-1106".
bool starts(std::string_view pattern, std::string_view name) {
  if (name.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (folded(pattern[i]) != folded(name[i])) return false;
  return name.size() == pattern.size() || !is_digit(pattern.back()) || !is_digit(name[pattern.size()]);
}

// True if the rest of the name makes it another version: "claude-opus-5" is not "claude-opus-5-7", but it is
// "claude-opus-5-20270101" and "claude-opus-5-0".
bool goes_on_as_a_version(std::string_view pattern, std::string_view name) {
  if (pattern.empty() || !is_digit(pattern.back())) return false;
  std::string_view rest = name.substr(pattern.size());
  if (rest.empty() || folded(rest.front()) != '-') return false;
  rest.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < rest.size() && is_digit(rest[digits])) ++digits;
  const bool ends = digits == rest.size() || !is_letter(rest[digits]);
  return digits != 0 && digits <= 2 && ends && rest.substr(0, digits) != "0";
}

// A user's entry applies to every name that it begins.
bool fits(std::string_view pattern, bool users, std::string_view name) {
  return starts(pattern, name) && (users || !goes_on_as_a_version(pattern, name));
}

std::vector<std::string> texts_of(JsonView list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.emplace_back(list.at(i).string_or({}));
  return out;
}

// Absent for an invalid price.
std::optional<Rates> read_rates(JsonView from) {
  const auto price = [&](std::string_view key) { return parse_price(from[key].text()); };
  const auto input = price("input"), output = price("output");
  if (!input || !output) return std::nullopt;
  Rates out{*input, *output};
  out.cache_read = price("cache_read").value_or(*input);
  out.cache_write = price("cache_write").value_or(*input);
  out.cache_write_long = price("cache_write_long").value_or(out.cache_write);
  return out;
}

std::optional<Prices> read_prices(JsonView from) {
  const auto rates = read_rates(from);
  if (!rates) return std::nullopt;
  Prices out{*rates};
  const JsonView tiers = from["tiers"];
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto tier = read_rates(tiers.at(i));
    if (!tier) return std::nullopt;
    out.tiers.push_back({tiers.at(i)["above"].uint_or(0), *tier});
  }
  return out;
}

// True for text that may follow a model's own name: a date, a revision, the alias of its newest revision. "gpt-4o-mini"
// is another model than "gpt-4o".
bool is_revision(std::string_view rest) {
  constexpr std::string_view kWords[] = {"-latest", "-preview", "-exp"};
  if (rest.empty() || rest.front() == '@' || rest.front() == ':') return true;
  for (const std::string_view word : kWords)
    if (rest.starts_with(word)) return is_revision(rest.substr(word.size()));
  rest.remove_prefix(1);
  if (rest.starts_with('v')) rest.remove_prefix(1);
  return !rest.empty() &&
         std::all_of(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == '-' || c == ':' || c == '.'; });
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
  for (std::size_t i = 0; i < betas.size(); ++i) out.betas[std::string(betas.key_at(i))] = betas.at(i).uint_or(0);
  out.thinking = parse_thinking_kind(from["thinking"].string_or({})).value_or(otherwise.thinking);
  out.efforts = texts_of(from["efforts"]);
  out.default_effort = std::string(from["default_effort"].string_or({}));
  out.thinking_off = std::string(from["thinking_off"].string_or({}));
  out.sampling = from["sampling"].bool_or(true);
  if (const JsonView inputs = from["inputs"]; inputs.is_array()) {
    const std::vector<std::string> names = texts_of(inputs);
    out.images = std::find(names.begin(), names.end(), "image") != names.end();
    out.documents = std::find(names.begin(), names.end(), "pdf") != names.end();
  }
  out.retires = std::string(from["retires"].string_or({}));
  out.successor = std::string(from["successor"].string_or({}));
  out.assumed = from["assumed"].bool_or(false);
  out.metered = from["metered"].bool_or(true);
  if (const JsonView prices = from["prices"]; prices.exists()) {
    out.prices = read_prices(prices);
    if (!out.prices) return Error{Code::kInvalid, "the prices of " + out.pattern + " are invalid"};
  }
  if (out.pattern.empty() || out.window == 0)
    return Error{Code::kInvalid, "a model of the table needs a pattern and a window"};
  return out;
}

// The widest window of the active betas applies.
void open_window(ModelInfo& info, const std::vector<std::string>& active) {
  for (const auto& [name, window] : info.betas) {
    if (window <= info.window || std::find(active.begin(), active.end(), name) == active.end()) continue;
    info.window = window;
    info.beta = name;
  }
}

// The summariser's name as this model's provider knows it. With a gateway's spelling the model itself summarises.
std::string summariser_for(const ModelInfo& info, std::string_view name) {
  return spelt_alike(info, name, info.summary_model);
}

constexpr std::string_view kThinkingNames[] = {"none", "budget", "adaptive", "always"};

}  // namespace

std::string spelt_alike(const ModelInfo& info, std::string_view name, const std::string& other) {
  constexpr std::string_view kGoogle = "models/";
  if (starts(info.pattern, name) || other.empty()) return other;
  const bool google = name.starts_with(kGoogle) && starts(info.pattern, name.substr(kGoogle.size()));
  return google ? std::string(kGoogle) + other : std::string();
}

std::string_view name_of(ThinkingKind kind) { return kThinkingNames[static_cast<std::size_t>(kind)]; }

std::optional<ThinkingKind> parse_thinking_kind(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kThinkingNames); ++i)
    if (kThinkingNames[i] == name) return static_cast<ThinkingKind>(i);
  return std::nullopt;
}

std::string_view bare_model_name(std::string_view model) {
  std::string_view name = model;
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name = name.substr(slash + 1);
  // "us.", "anthropic." and "openai:" are words; a part with a digit belongs to the name.
  for (;;) {
    const std::size_t at = name.find_first_of(".:");
    const std::string_view word = name.substr(0, at);
    if (at == std::string_view::npos || at + 1 == name.size() || std::any_of(word.begin(), word.end(), is_digit)) break;
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
  base.thinking = parse_thinking_kind(otherwise["thinking"].string_or({})).value_or(base.thinking);
  const JsonView defaults = document.root()["defaults"];
  for (std::size_t i = 0; i < defaults.size(); ++i)
    table.defaults_.emplace(defaults.key_at(i), defaults.at(i).string_or({}));
  table.thinking_back_ = texts_of(document.root()["thinking_back"]);
  const JsonView models = document.root()["models"];
  for (std::size_t i = 0; i < models.size(); ++i) {
    AGENTD_TRY(ModelInfo info, read_model(models.at(i), base));
    table.models_.push_back(std::move(info));
  }
  return table;
}

// models.json has a line for each entry; what is above them is read now.
ModelTable ModelTable::embedded() {
  constexpr std::string_view kModels = "  \"models\"", kRow = "    {\"pattern\": \"";
  std::string_view rest = kEmbeddedModels;
  std::string head;
  std::vector<Row> rows;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with(kRow)) {
      const std::string_view pattern = line.substr(kRow.size());
      rows.push_back({pattern.substr(0, pattern.find('"')), line.substr(0, line.rfind('}') + 1)});
    } else if (rows.empty() && !line.starts_with(kModels)) {
      head += line;
    }
  }
  head.back() = '}';  // instead of the comma before the models
  auto table = parse(head);
  AGENTD_ASSERT(table.has_value());
  table->rows_ = std::move(rows);
  return std::move(*table);
}

ModelInfo ModelTable::read(const Row& row) const {
  const auto json = JsonDocument::parse(row.json);
  AGENTD_ASSERT(json.has_value());
  auto info = read_model(json->root(), otherwise_);
  AGENTD_ASSERT(info.has_value());
  return std::move(*info);
}

void ModelTable::read_rows() {
  for (const Row& row : rows_) models_.push_back(read(row));
  rows_.clear();
}

std::vector<ModelInfo> ModelTable::models() const {
  ModelTable all = *this;
  all.read_rows();
  return std::move(all.models_);
}

Result<void> ModelTable::overlay(std::string_view yaml, std::string_view file) {
  AGENTD_TRY(const ModelEntries entries, read_model_entries(yaml, file));
  read_rows();  // their own defaults are those of the embedded table
  entries.otherwise.apply(otherwise_);
  otherwise_.window = otherwise_.base_window;
  for (const ModelEntries::Entry& entry : entries.models) {
    const auto same = [&](const ModelInfo& info) {
      return info.pattern.size() == entry.pattern.size() && starts(info.pattern, entry.pattern);
    };
    auto found = std::find_if(models_.begin(), models_.end(), same);
    if (found == models_.end()) {
      ModelInfo fresh = match(entry.pattern).value_or(otherwise_);
      fresh.summary_model = summariser_for(fresh, entry.pattern);
      fresh.pattern = entry.pattern;
      fresh.assumed = false;
      if (!fresh.prices_are_the_users) fresh.prices.reset();
      found = models_.insert(models_.end(), std::move(fresh));
    }
    entry.apply(*found);
    found->window = found->base_window;
  }
  return {};
}

ModelTable::Best ModelTable::best(std::string_view name) const {
  Best out;
  std::size_t longest = 0;
  for (const ModelInfo& info : models_)
    if (info.pattern.size() > longest && fits(info.pattern, !info.origin.empty(), name)) {
      longest = info.pattern.size();
      out.info = &info;
    }
  for (const Row& row : rows_)
    if (row.pattern.size() > longest && fits(row.pattern, false, name)) {
      longest = row.pattern.size();
      out.row = &row;
    }
  return out;
}

// The full name overrides its bare form, and a longer pattern a shorter one.
std::optional<ModelInfo> ModelTable::match(std::string_view model) const {
  for (const std::string_view name : {model, bare_model_name(model)}) {
    const Best found = best(name);
    if (found.row != nullptr) return read(*found.row);
    if (found.info != nullptr) return *found.info;
  }
  return std::nullopt;
}

// A family's later versions want what the earlier ones wanted.
bool ModelTable::wants_thinking_back(std::string_view model) const {
  const std::string_view bare = bare_model_name(model);
  return std::any_of(thinking_back_.begin(), thinking_back_.end(),
                     [&](const std::string& family) { return starts(family, model) || starts(family, bare); });
}

std::optional<Prices> ModelTable::prices_of(std::string_view provider, std::string_view model) const {
  const std::optional<ModelInfo> found = match(model);
  if (!found) return otherwise_.prices;
  if (!found->prices) return std::nullopt;
  if (found->prices_are_the_users) return found->prices;
  const std::string_view name = starts(found->pattern, model) ? model : bare_model_name(model);
  const bool own = found->provider == provider && is_revision(name.substr(found->pattern.size()));
  return own ? found->prices : std::nullopt;
}

std::string ModelTable::default_of(const std::string& provider) const {
  const auto found = defaults_.find(provider);
  return found == defaults_.end() ? std::string() : found->second;
}

ModelInfo ModelTable::find(std::string_view model) const {
  std::optional<ModelInfo> found = match(model);
  ModelInfo out = found ? *found : otherwise_;
  if (!out.thinking_back && wants_thinking_back(model)) out.thinking_back = true;
  if (!found) return out;
  open_window(out, active_);
  out.summary_model = summariser_for(out, model);
  return out;
}

}  // namespace agentd
