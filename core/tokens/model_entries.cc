// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/model_entries.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/yaml.h"

namespace agentd {
namespace {

constexpr std::uint64_t kTokensMax = 1'000'000'000'000;
constexpr double kFractionMin = 0.01;
constexpr std::size_t kShownBytes = 60;
constexpr std::size_t kModelsMax = 10'000;

using Entry = ModelEntries::Entry;
using Kind = YamlNode::Kind;

struct WholeKey {
  std::string_view name;
  std::optional<std::uint64_t> Entry::*field;
  std::uint64_t low;
};
constexpr WholeKey kWholeKeys[] = {{"window", &Entry::window, 1},
                                   {"max_output", &Entry::max_output, 1},
                                   {"output_reserve", &Entry::output_reserve, 0}};
struct FractionKey {
  std::string_view name;
  std::optional<double> Entry::*field;
};
constexpr FractionKey kFractionKeys[] = {
    {"checkpoint_at", &Entry::checkpoint_at}, {"compact_at", &Entry::compact_at}, {"force_at", &Entry::force_at}};
struct TextKey {
  std::string_view name;
  std::optional<std::string> Entry::*field;
};
constexpr TextKey kTextKeys[] = {{"provider", &Entry::provider},
                                 {"summary_model", &Entry::summary_model},
                                 {"default_effort", &Entry::default_effort},
                                 {"thinking_off", &Entry::thinking_off},
                                 {"successor", &Entry::successor}};

template <typename Keys>
auto find_key(const Keys& keys, std::string_view name) {
  const auto found = std::find_if(std::begin(keys), std::end(keys), [&](const auto& key) { return key.name == name; });
  return found == std::end(keys) ? nullptr : &*found;
}

template <typename T>
bool read_number(const std::string& text, T& out) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && stop == text.data() + text.size();
}

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return (node.quoted ? "\"" : "'") + one_line(node.scalar, kShownBytes) + (node.quoted ? "\"" : "'");
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a section";
  }
  return {};
}

class EntryReader {
 public:
  explicit EntryReader(std::string_view file) : file_(file) {}

  Result<ModelEntries> read(const YamlNode& root) {
    ModelEntries out;
    if (root.kind == Kind::kNull) return out;
    if (root.kind != Kind::kMap) return wrong(root, "a model table", "a section of 'key: value' lines");
    for (const auto& [name, value] : root.members) {
      if (name == "default") {
        AGENTD_TRY(out.otherwise, read_entry(value, false));
      } else if (name == "models") {
        AGENTD_TRY(out.models, read_models(value));
      } else {
        return unknown(name, value, {"default", "models"});
      }
    }
    return out;
  }

 private:
  Error at(const YamlNode& node, const std::string& text) const {
    return {Code::kInvalid,
            std::string(file_) + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) + ": " + text};
  }
  Error wrong(const YamlNode& node, std::string_view name, std::string_view type) const {
    return at(node, std::string(name) + " must be " + std::string(type) + ", not " + shown(node));
  }
  Error unknown(const std::string& name, const YamlNode& node, const std::vector<std::string>& names) const {
    return at(node, "unknown key '" + one_line(name, kShownBytes) + "'" + did_you_mean(name, names));
  }

  Result<std::vector<Entry>> read_models(const YamlNode& node) const {
    std::vector<Entry> out;
    if (node.kind == Kind::kNull) return out;
    if (node.kind != Kind::kList || node.items.size() > kModelsMax)
      return wrong(node, "models", "a list of entries that begin with '- pattern: NAME'");
    for (const YamlNode& item : node.items) {
      AGENTD_TRY(Entry entry, read_entry(item, true));
      for (const Entry& other : out)
        if (other.pattern == entry.pattern)
          return at(item, "the pattern '" + one_line(entry.pattern, kShownBytes) + "' is repeated");
      out.push_back(std::move(entry));
    }
    return out;
  }

  Result<Entry> read_entry(const YamlNode& node, bool with_pattern) const {
    Entry out;
    if (node.kind == Kind::kNull && !with_pattern) return out;
    if (node.kind != Kind::kMap) return wrong(node, with_pattern ? "a model" : "default", "a section");
    out.origin = std::string(file_) + ":" + std::to_string(node.line);
    for (const auto& [name, value] : node.members) {
      if (value.kind == Kind::kNull) continue;  // "key:" alone sets nothing
      AGENTD_TRY_VOID(read_member(out, name, value, with_pattern));
    }
    if (with_pattern && out.pattern.empty()) return at(node, "a model needs a 'pattern': the beginning of its name");
    if (out.compact_at && out.force_at && *out.force_at < *out.compact_at)
      return at(node, "force_at is below compact_at: raise it, or lower compact_at");
    return out;
  }

  Result<void> read_member(Entry& out, const std::string& name, const YamlNode& value, bool with_pattern) const {
    if (const WholeKey* const key = find_key(kWholeKeys, name)) {
      AGENTD_TRY(out.*(key->field), whole(name, value, key->low));
    } else if (const FractionKey* const fraction_key = find_key(kFractionKeys, name)) {
      AGENTD_TRY(out.*(fraction_key->field), fraction(name, value));
    } else if (const TextKey* const text_key = find_key(kTextKeys, name)) {
      AGENTD_TRY(out.*(text_key->field), text(name, value));
    } else if (name == "pattern" && with_pattern) {
      AGENTD_TRY(out.pattern, text(name, value));
    } else if (name == "encoding") {
      AGENTD_TRY(out.encoding, encoding(value));
    } else if (name == "betas") {
      AGENTD_TRY(out.betas, betas(value));
    } else if (name == "thinking") {
      AGENTD_TRY(out.thinking, thinking(value));
    } else if (name == "efforts") {
      AGENTD_TRY(out.efforts, texts(name, value));
    } else if (name == "thinking_back") {
      AGENTD_TRY(out.thinking_back, yes_or_no(name, value));
    } else if (name == "sampling") {
      AGENTD_TRY(out.sampling, yes_or_no(name, value));
    } else if (name == "inputs") {
      AGENTD_TRY_VOID(inputs(out, value));
    } else if (name == "prices") {
      AGENTD_TRY(out.prices, prices(value));
    } else if (name == "retires") {
      AGENTD_TRY(out.retires, date(name, value));
    } else {
      return unknown(name, value, names_of(with_pattern));
    }
    return {};
  }

  static std::vector<std::string> names_of(bool with_pattern) {
    std::vector<std::string> out{"encoding", "betas",   "thinking", "thinking_back", "efforts",
                                 "sampling", "retires", "prices",   "inputs"};
    if (with_pattern) out.emplace_back("pattern");
    for (const WholeKey& key : kWholeKeys) out.emplace_back(key.name);
    for (const FractionKey& key : kFractionKeys) out.emplace_back(key.name);
    for (const TextKey& key : kTextKeys) out.emplace_back(key.name);
    return out;
  }

  Result<std::uint64_t> whole(std::string_view name, const YamlNode& node, std::uint64_t low) const {
    std::uint64_t value = 0;
    if (node.kind != Kind::kScalar || node.quoted || !read_number(node.scalar, value) || value < low ||
        value > kTokensMax)
      return wrong(node, name, "a whole number from " + std::to_string(low) + " (tokens)");
    return value;
  }

  Result<double> fraction(std::string_view name, const YamlNode& node) const {
    double value = 0;
    if (node.kind != Kind::kScalar || node.quoted || !read_number(node.scalar, value) ||
        !(value >= kFractionMin && value <= 1))
      return wrong(node, name, "a number from 0.01 to 1");
    return value;
  }

  Result<std::string> text(std::string_view name, const YamlNode& node) const {
    if (node.kind != Kind::kScalar || node.scalar.empty()) return wrong(node, name, "a text");
    return node.scalar;
  }

  Result<std::string> encoding(const YamlNode& node) const {
    if (node.scalar == "none") return std::string();
    if (node.scalar == "cl100k_base" || node.scalar == "o200k_base") return node.scalar;
    return wrong(node, "encoding", "one of cl100k_base, o200k_base, none");
  }

  Result<ThinkingKind> thinking(const YamlNode& node) const {
    if (const auto kind = parse_thinking_kind(node.scalar)) return *kind;
    return wrong(node, "thinking", "one of none, budget, adaptive, always");
  }

  Result<std::vector<std::string>> texts(std::string_view name, const YamlNode& node) const {
    if (node.kind != Kind::kList) return wrong(node, name, "a list of words");
    std::vector<std::string> out;
    for (const YamlNode& item : node.items) {
      AGENTD_TRY(out.emplace_back(), text(name, item));
    }
    return out;
  }

  // The blocks that a message may contain besides text.
  Result<void> inputs(Entry& out, const YamlNode& node) const {
    AGENTD_TRY(const std::vector<std::string> names, texts("inputs", node));
    out.images = out.documents = false;
    for (const std::string& name : names) {
      if (name != "image" && name != "pdf") return wrong(node, "inputs", "a list of image and pdf");
      (name == "image" ? out.images : out.documents) = true;
    }
    return {};
  }

  Result<bool> yes_or_no(std::string_view name, const YamlNode& node) const {
    if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
    return wrong(node, name, "true or false");
  }

  Result<std::string> date(std::string_view name, const YamlNode& node) const {
    if (is_date(node.scalar)) return node.scalar;
    return wrong(node, name, "a date like 2027-01-31");
  }

  // Prices such as "input: 2.5", in dollars per million tokens. Cache tokens cost as much as input unless named.
  Result<Rates> rates(const YamlNode& node, bool tier, std::uint64_t& above) const {
    if (node.kind != Kind::kMap) return wrong(node, tier ? "a tier" : "prices", "a section");
    std::map<std::string, std::uint64_t> said;
    for (const auto& [name, value] : node.members) {
      const std::vector<std::string> names{"input", "output", "cache_read", "cache_write", "cache_write_long"};
      if (tier && name == "above") {
        AGENTD_TRY(above, whole(name, value, 1));
      } else if (std::find(names.begin(), names.end(), name) != names.end()) {
        const auto price = value.kind == Kind::kScalar && !value.quoted ? parse_price(value.scalar) : std::nullopt;
        if (!price) return wrong(value, name, "US dollars per million tokens, like 2.5");
        said[name] = *price;
      } else if (tier || name != "tiers") {
        std::vector<std::string> all = names;
        all.emplace_back(tier ? "above" : "tiers");
        return unknown(name, value, all);
      }
    }
    if (!said.contains("input") || !said.contains("output"))
      return at(node, "prices need 'input' and 'output': US dollars per million tokens");
    const auto value_of = [&](const char* name, std::uint64_t otherwise) {
      const auto found = said.find(name);
      return found == said.end() ? otherwise : found->second;
    };
    Rates out{said["input"], said["output"]};
    out.cache_read = value_of("cache_read", out.input);
    out.cache_write = value_of("cache_write", out.input);
    out.cache_write_long = value_of("cache_write_long", out.cache_write);
    return out;
  }

  Result<Prices> prices(const YamlNode& node) const {
    std::uint64_t above = 0;
    Prices out;
    AGENTD_TRY(out.rates, rates(node, false, above));
    for (const auto& [name, value] : node.members) {
      if (name != "tiers") continue;
      if (value.kind != Kind::kList) return wrong(value, name, "a list of sections with 'above'");
      for (const YamlNode& item : value.items) {
        const std::uint64_t before = above;
        above = 0;
        AGENTD_TRY(const Rates tier, rates(item, true, above));
        if (above <= before) return at(item, "a tier needs 'above': more tokens than the tier before");
        out.tiers.push_back({above, tier});
      }
    }
    return out;
  }

  Result<std::map<std::string, std::uint64_t>> betas(const YamlNode& node) const {
    std::map<std::string, std::uint64_t> out;
    if (node.kind != Kind::kMap) return wrong(node, "betas", "a section of 'NAME: WINDOW' lines");
    for (const auto& [name, value] : node.members) {
      AGENTD_TRY(out[name], whole(name, value, 1));
    }
    return out;
  }

  const std::string_view file_;
};

template <typename From, typename To>
void take(const std::optional<From>& from, To& to) {
  if (from) to = *from;
}

}  // namespace

void ModelEntries::Entry::apply(ModelInfo& to) const {
  take(provider, to.provider);
  take(summary_model, to.summary_model);
  to.summary_model_is_the_users |= summary_model.has_value();
  take(encoding, to.encoding);
  take(default_effort, to.default_effort);
  take(thinking_off, to.thinking_off);
  take(successor, to.successor);
  take(retires, to.retires);
  take(thinking, to.thinking);
  take(efforts, to.efforts);
  take(thinking_back, to.thinking_back);
  take(sampling, to.sampling);
  take(images, to.images);
  take(documents, to.documents);
  take(window, to.base_window);
  take(max_output, to.max_output);
  take(output_reserve, to.output_reserve);
  take(checkpoint_at, to.checkpoint_at);
  take(compact_at, to.compact_at);
  take(force_at, to.force_at);
  for (const auto& [name, opened] : betas) to.betas[name] = opened;
  if (prices) {
    to.prices = prices;
    to.prices_are_the_users = true;
  }
  if (origin.empty()) return;
  to.origin = origin;
  to.assumed = false;
}

Result<ModelEntries> read_model_entries(std::string_view yaml, std::string_view file) {
  AGENTD_TRY(const YamlNode root, parse_yaml(yaml, file));
  return EntryReader(file).read(root);
}

}  // namespace agentd
