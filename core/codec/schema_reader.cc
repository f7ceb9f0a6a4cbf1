// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema_reader.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

#include "core/base/bytes.h"
#include "core/codec/ecma_regex.h"

namespace agentd {
namespace {

using rapidjson::Value;

constexpr std::size_t kShownBytesMax = 200;

// Annotations: they do not affect validity. Their values are not checked, except for the three that later lines name.
constexpr std::string_view kTold[] = {"title",           "description",      "$comment",      "default",
                                      "examples",        "readOnly",         "writeOnly",     "format",
                                      "contentEncoding", "contentMediaType", "contentSchema", "deprecated"};
constexpr std::string_view kDrafts[] = {
    "json-schema.org/schema",          "json-schema.org/draft-04/schema",      "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema", "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema"};

const Value* member(const Value& object, std::string_view name) {
  const auto found =
      object.FindMember(Value(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
  return found == object.MemberEnd() ? nullptr : &found->value;
}

// A name such as "a/b" as a step of a JSON pointer (RFC 6901).
std::string step(std::string_view name) {
  std::string out = "/";
  for (const char c : name) c == '~' ? out += "~0" : c == '/' ? out += "~1" : out += c;
  return out;
}

// The reverse of step(); nothing for a "~" or a "%" with an invalid continuation.
std::optional<std::string> unescaped(std::string_view text, char sign) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != sign) {
      out += text[i];
      continue;
    }
    if (sign == '~') {
      if (++i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
      out += text[i] == '0' ? '~' : '/';
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// A deep copy: RapidJSON's own would borrow strings from the document, whose text holds them.
Value copied(const Value& from, rapidjson::Document::AllocatorType& memory) {
  if (from.IsString()) return Value(from.GetString(), from.GetStringLength(), memory);
  Value out(from.GetType());
  if (from.IsArray()) {
    out.Reserve(from.Size(), memory);
    for (const Value& each : from.GetArray()) out.PushBack(copied(each, memory), memory);
  } else if (from.IsObject()) {
    for (const auto& each : from.GetObject())
      out.AddMember(copied(each.name, memory), copied(each.value, memory), memory);
  } else {
    out.CopyFrom(from, memory);
  }
  return out;
}

class Reader {
 public:
  Reader() : made_(std::make_unique<SchemaNodes>()) {}

  Result<std::unique_ptr<const SchemaNodes>> read(const Value& schema) {
    static_cast<Value&>(made_->document) = copied(schema, made_->document.GetAllocator());
    for (const char* const key : {"$id", "id"})
      if (const Value* const id = schema.IsObject() ? member(made_->document, key) : nullptr;
          id != nullptr && id->IsString())
        name_ = text_of(*id).substr(0, text_of(*id).find('#'));
    AGENTD_TRY_VOID(schema_at(made_->document, {}, 0, false));
    for (const Reference& each : references_) AGENTD_TRY_VOID(resolve(each));
    for (const SchemaNode& node : made_->nodes) AGENTD_TRY_VOID(levels(node, 0));
    return std::unique_ptr<const SchemaNodes>(std::move(made_));
  }

 private:
  // The place of a keyword.
  struct Spot {
    SchemaNode& node;
    const Value& around;  // the schema
    std::string_view key;
    std::string place;  // of the keyword
    int depth;
    bool apart;  // below an $id of its own
  };
  struct Reference {
    SchemaNode* node;
    std::string to, place;  // to: the text after "#"
  };
  using Handler = Result<void> (Reader::*)(const Spot&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler read;
  };

  static Error wrong(const std::string& place, const std::string& what) {
    return {Code::kInvalid, (place.empty() ? std::string() : "at " + shown_in_message(place) + ": ") + what};
  }
  static Error wrong(const Spot& spot, const std::string& what) { return wrong(spot.place, what); }
  static std::string text(const Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return shown_in_message({buffer.GetString(), buffer.GetSize()});
  }
  static Error not_a(const Spot& spot, const char* what, const Value& value) {
    return wrong(spot, std::string("must be ") + what + ", not " + text(value));
  }

  Result<const SchemaNode*> schema_at(const Value& from, const std::string& place, int depth, bool apart) {
    SchemaNode& node = made_->nodes.emplace_back();
    nodes_.emplace(&from, &node);
    places_.emplace(&node, place);
    node.source = &from;
    node.name = place.substr(std::min(place.rfind('/') + 1, place.size()));
    if (from.IsBool()) return &node;
    if (!from.IsObject()) return wrong(place, "a schema must be an object or a boolean, not " + text(from));
    if (depth > kSchemaLevelsMax)
      return wrong(place, "the schema has more than " + std::to_string(kSchemaLevelsMax) + " levels");
    AGENTD_TRY_VOID(names_differ(from, place));
    // The outermost $id is the schema's name; references below another $id are relative to that.
    for (const char* const name : {"$id", "id"})
      if (const Value* const id = member(from, name); id != nullptr && id->IsString() && depth > 0)
        apart = apart || !text_of(*id).starts_with('#');
    std::size_t rules = 0;
    for (const auto& each : from.GetObject()) {
      const std::string_view key = text_of(each.name);
      AGENTD_TRY(const bool rule, keyword({node, from, key, place + step(key), depth + 1, apart}, each.value, place));
      rules += rule ? 1 : 0;
    }
    node.is_reference = rules == 1 && member(from, "$ref") != nullptr;
    return &node;
  }

  static Result<void> names_differ(const Value& object, const std::string& place) {
    std::set<std::string_view> seen;
    for (const auto& each : object.GetObject())
      if (!seen.insert(text_of(each.name)).second)
        return wrong(place, "'" + shown_in_message(text_of(each.name)) + "' is repeated");
    return {};
  }

  // True if the keyword is a rule for values.
  Result<bool> keyword(const Spot& spot, const Value& value, const std::string& place) {
    if (std::find(std::begin(kTold), std::end(kTold), spot.key) != std::end(kTold)) return false;
    for (const auto& [names, is_rule] :
         {std::pair(std::span<const Keyword>(kNames), false), std::pair(std::span<const Keyword>(kRules), true)})
      for (const Keyword& each : names)
        if (each.name == spot.key) {
          AGENTD_TRY_VOID((this->*each.read)(spot, value));
          return is_rule;
        }
    return wrong(place, "the keyword '" + shown_in_message(spot.key) + "' is not supported");
  }

  // ---- names ----

  Result<void> draft(const Spot& spot, const Value& value) {
    std::string_view name = value.IsString() ? text_of(value) : std::string_view();
    for (const std::string_view scheme : {"http://", "https://"})
      if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
    if (name.ends_with('#')) name.remove_suffix(1);
    if (std::find(std::begin(kDrafts), std::end(kDrafts), name) == std::end(kDrafts))
      return wrong(spot, text(value) + " is not a supported draft: use 4, 6, 7, 2019-09 or 2020-12");
    return {};
  }

  Result<void> identity(const Spot& spot, const Value& value) {
    if (!value.IsString()) return not_a(spot, "a text", value);
    const std::string_view name = text_of(value);
    return name.size() > 1 && name.starts_with('#') ? named(spot, name.substr(1)) : Result<void>();
  }

  Result<void> anchor(const Spot& spot, const Value& value) {
    if (!value.IsString() || value.GetStringLength() == 0) return not_a(spot, "a name", value);
    return named(spot, text_of(value));
  }

  Result<void> named(const Spot& spot, std::string_view name) {
    if (spot.apart) return wrong(spot, "a name below an $id of its own is not supported");
    if (!anchors_.emplace(name, &spot.node).second)
      return wrong(spot, "the name '" + shown_in_message(name) + "' is already the name of another schema");
    return {};
  }

  Result<void> definitions(const Spot& spot, const Value& value) {
    return each_named(spot, value, [](std::string_view, const SchemaNode*) -> Result<void> { return {}; });
  }

  // ---- pieces ----

  Result<const SchemaNode*> below(const Spot& spot, const Value& value, const std::string& more = {}) {
    return schema_at(value, spot.place + more, spot.depth, spot.apart);
  }

  template <typename Take>
  Result<void> each_named(const Spot& spot, const Value& value, Take take) {
    if (!value.IsObject()) return not_a(spot, "an object of schemas", value);
    AGENTD_TRY_VOID(names_differ(value, spot.place));
    for (const auto& each : value.GetObject()) {
      const std::string_view name = text_of(each.name);
      AGENTD_TRY(const SchemaNode* const made, below(spot, each.value, step(name)));
      AGENTD_TRY_VOID(take(name, made));
    }
    return {};
  }

  Result<std::vector<const SchemaNode*>> schemas(const Spot& spot, const Value& value) {
    if (!value.IsArray() || value.Empty()) return not_a(spot, "a non-empty list of schemas", value);
    std::vector<const SchemaNode*> out;
    for (const Value& each : value.GetArray()) {
      AGENTD_TRY(const SchemaNode* const made, below(spot, each, "/" + std::to_string(out.size())));
      out.push_back(made);
    }
    return out;
  }

  static Result<SchemaNode::Names> texts(const Spot& spot, const Value& value) {
    SchemaNode::Names out;
    if (!value.IsArray()) return not_a(spot, "a list of names", value);
    for (const Value& each : value.GetArray()) {
      if (!each.IsString()) return not_a(spot, "a list of names", value);
      out.push_back(text_of(each));
    }
    return out;
  }

  // ---- rules of every value ----

  Result<void> reference(const Spot& spot, const Value& value) {
    if (!value.IsString()) return not_a(spot, "a text", value);
    std::string_view to = text_of(value);
    if (!name_.empty() && to.starts_with(name_) && (to.size() == name_.size() || to[name_.size()] == '#')) {
      to.remove_prefix(name_.size());
    } else if (!to.starts_with('#')) {
      return wrong(spot, text(value) +
                             " is not a place in this schema such as \"#/$defs/x\"; "
                             "other documents are not fetched");
    }
    if (spot.apart) return wrong(spot, "a reference below an $id of its own is not supported");
    references_.push_back({&spot.node, std::string(to.substr(to.empty() ? 0 : 1)), spot.place});
    return {};
  }

  Result<void> type(const Spot& spot, const Value& value) {
    const std::span<const Value> all =
        value.IsArray() ? std::span(value.Begin(), value.Size()) : std::span<const Value>(&value, 1);
    if (all.empty()) return not_a(spot, "a type or a non-empty list of types", value);
    for (const Value& each : all) {
      const auto* const found = each.IsString() ? std::find(std::begin(kTypeNames), std::end(kTypeNames), text_of(each))
                                                : std::end(kTypeNames);
      if (found == std::end(kTypeNames))
        return wrong(spot, text(each) + " must be null, boolean, object, array, number, integer or string");
      spot.node.types |= 1u << (found - std::begin(kTypeNames));
    }
    return {};
  }

  Result<void> enumeration(const Spot& spot, const Value& value) {
    if (!value.IsArray() || value.Empty()) return not_a(spot, "a non-empty list of values", value);
    spot.node.values = &value;
    return {};
  }

  Result<void> constant(const Spot& spot, const Value& value) {
    spot.node.value = &value;
    return {};
  }

  template <std::vector<const SchemaNode*> SchemaNode::*kList>
  Result<void> list(const Spot& spot, const Value& value) {
    AGENTD_TRY(spot.node.*kList, schemas(spot, value));
    return {};
  }

  template <const SchemaNode* SchemaNode::*kOne>
  Result<void> schema(const Spot& spot, const Value& value) {
    AGENTD_TRY(spot.node.*kOne, below(spot, value));
    return {};
  }

  // ---- numbers ----

  template <bool kUpper>
  Result<void> bound(const Spot& spot, const Value& value) {
    if (!value.IsNumber()) return not_a(spot, "a number", value);
    const Value* const open = member(spot.around, kUpper ? "exclusiveMaximum" : "exclusiveMinimum");
    // In draft 4 the exclusive form is a boolean that changes this one.
    const bool is_open = open != nullptr && open->IsTrue();
    spot.node.bounds.push_back({number_of(value), kUpper, is_open, spot.key});
    return {};
  }

  template <bool kUpper>
  Result<void> open_bound(const Spot& spot, const Value& value) {
    if (value.IsNumber()) {
      spot.node.bounds.push_back({number_of(value), kUpper, true, spot.key});
      return {};
    }
    if (!value.IsBool()) return not_a(spot, "a number (or, as in draft 4, a boolean)", value);
    constexpr std::string_view kOther = kUpper ? "maximum" : "minimum";
    if (member(spot.around, kOther) == nullptr)
      return wrong(spot, "a boolean needs '" + std::string(kOther) + "' in the same schema");
    return {};
  }

  Result<void> multiple(const Spot& spot, const Value& value) {
    if (!value.IsNumber() || number_of(value) <= 0) return not_a(spot, "a number above 0", value);
    spot.node.unit = decimal_of(value);
    return {};
  }

  // ---- counts ----

  template <SchemaNode::Count SchemaNode::*kCount, std::uint64_t SchemaNode::Count::*kEnd>
  Result<void> count(const Spot& spot, const Value& value) {
    if (!value.IsNumber() || !is_whole(value) || number_of(value) < 0)
      return not_a(spot, "a whole number from 0", value);
    const long double most = static_cast<long double>(SchemaNode::kAny);
    spot.node.*kCount.*kEnd = static_cast<std::uint64_t>(std::min(number_of(value), most));
    return {};
  }

  // ---- texts ----

  Result<Regex> expression(const std::string& place, std::string_view pattern) {
    auto made = compile_ecma(pattern);
    if (made) return made;
    return Error{made.error().code, wrong(place, made.error().message).message};
  }

  Result<void> pattern(const Spot& spot, const Value& value) {
    if (!value.IsString()) return not_a(spot, "an expression", value);
    AGENTD_TRY(Regex made, expression(spot.place, text_of(value)));
    spot.node.pattern.emplace(std::move(made));
    return {};
  }

  // ---- arrays ----

  Result<void> unique(const Spot& spot, const Value& value) {
    if (!value.IsBool()) return not_a(spot, "a boolean", value);
    spot.node.unique = value.GetBool();
    return {};
  }

  Result<void> items(const Spot& spot, const Value& value) {
    if (!value.IsArray()) return schema<&SchemaNode::rest>(spot, value);
    if (member(spot.around, "prefixItems") != nullptr)
      return wrong(spot, "a list of schemas cannot be combined with 'prefixItems'");
    if (value.Empty()) return {};
    return list<&SchemaNode::first>(spot, value);
  }

  // It has no effect unless items is a list, but must be a schema in any case.
  Result<void> more_items(const Spot& spot, const Value& value) {
    const Value* const before = member(spot.around, "items");
    AGENTD_TRY(const SchemaNode* const made, below(spot, value));
    if (before != nullptr && before->IsArray()) spot.node.rest = made;
    return {};
  }

  // ---- objects ----

  Result<void> required(const Spot& spot, const Value& value) {
    AGENTD_TRY(spot.node.required, texts(spot, value));
    return {};
  }

  Result<void> properties(const Spot& spot, const Value& value) {
    return each_named(spot, value, [&](std::string_view name, const SchemaNode* made) -> Result<void> {
      spot.node.properties.emplace(name, made);
      return {};
    });
  }

  Result<void> patterns(const Spot& spot, const Value& value) {
    return each_named(spot, value, [&](std::string_view name, const SchemaNode* made) -> Result<void> {
      AGENTD_TRY(Regex expression_of, expression(spot.place, name));
      spot.node.patterns.push_back({std::move(expression_of), made});
      return {};
    });
  }

  Result<void> dependent_names(const Spot& spot, const Value& value) {
    if (!value.IsObject()) return not_a(spot, "an object of lists of names", value);
    AGENTD_TRY_VOID(names_differ(value, spot.place));
    for (const auto& each : value.GetObject()) {
      AGENTD_TRY(SchemaNode::Names names, texts(spot, each.value));
      spot.node.dependents.push_back({text_of(each.name), spot.key, std::move(names), nullptr});
    }
    return {};
  }

  Result<void> dependent_schemas(const Spot& spot, const Value& value) {
    return each_named(spot, value, [&](std::string_view name, const SchemaNode* made) -> Result<void> {
      spot.node.dependents.push_back({name, spot.key, {}, made});
      return {};
    });
  }

  // Up to draft 7 one keyword was both.
  Result<void> dependencies(const Spot& spot, const Value& value) {
    if (!value.IsObject()) return not_a(spot, "an object of schemas or lists of names", value);
    AGENTD_TRY_VOID(names_differ(value, spot.place));
    for (const auto& each : value.GetObject()) {
      SchemaNode::Dependent made{text_of(each.name), spot.key, {}, nullptr};
      if (each.value.IsArray()) {
        AGENTD_TRY(made.names, texts(spot, each.value));
      } else {
        AGENTD_TRY(made.schema, below(spot, each.value, step(made.name)));
      }
      spot.node.dependents.push_back(std::move(made));
    }
    return {};
  }

  // ---- references ----

  Result<void> resolve(const Reference& from) {
    const std::optional<std::string> decoded = unescaped(from.to, '%');
    const SchemaNode* found = nullptr;
    if (decoded && (decoded->empty() || decoded->front() == '/')) {
      const Value* const value = value_at(*decoded);
      const auto known = nodes_.find(value);
      if (value != nullptr && known != nodes_.end()) found = known->second;
    } else if (decoded) {
      const auto known = anchors_.find(*decoded);
      if (known != anchors_.end()) found = known->second;
    }
    if (found == nullptr)
      return wrong(from.place, "\"#" + shown_in_message(from.to) + "\" does not name a schema in this schema");
    from.node->reference = found;
    return {};
  }

  const Value* value_at(std::string_view pointer) const {
    const Value* at = &made_->document;
    while (!pointer.empty() && at != nullptr) {
      const std::string_view part = pointer.substr(1, pointer.find('/', 1) - 1);
      pointer.remove_prefix(part.size() + 1);
      const std::optional<std::string> name = unescaped(part, '~');
      if (!name) return nullptr;
      if (at->IsObject()) {
        at = member(*at, *name);
        continue;
      }
      rapidjson::SizeType index = 0;
      const char* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data(), end, index);
      const bool is_index = at->IsArray() && read.ec == std::errc() && read.ptr == end &&
                            (part == "0" || part.front() != '0') && index < at->Size();
      at = is_index ? &(*at)[index] : nullptr;
    }
    return at;
  }

  // The number of schemas that follow this one for the same value.
  Result<int> levels(const SchemaNode& node, int above) {
    constexpr int kHere = -1;
    if (above > kSchemaLevelsMax) return too_many(node);
    const auto [known, is_new] = levels_.try_emplace(&node, kHere);
    if (!is_new && known->second == kHere)
      return wrong(places_[&node], "the references of this schema lead back to itself for the same value");
    if (!is_new) return known->second;
    int most = 0;
    std::vector<const SchemaNode*> next = {node.reference, node.none, node.condition, node.then, node.otherwise};
    for (const auto* const list_of : {&node.all, &node.any, &node.one})
      next.insert(next.end(), list_of->begin(), list_of->end());
    for (const SchemaNode::Dependent& each : node.dependents) next.push_back(each.schema);
    for (const SchemaNode* const each : next) {
      if (each == nullptr) continue;
      AGENTD_TRY(const int behind, levels(*each, above + 1));
      most = std::max(most, behind + 1);
    }
    if (most > kSchemaLevelsMax) return too_many(node);
    levels_[&node] = most;
    return most;
  }

  Error too_many(const SchemaNode& node) {
    return wrong(places_[&node],
                 "more than " + std::to_string(kSchemaLevelsMax) + " schemas follow one another for the same value");
  }

  static const std::array<Keyword, 6> kNames;
  static const std::array<Keyword, 38> kRules;

  std::unique_ptr<SchemaNodes> made_;
  std::string_view name_;  // the outermost $id
  std::unordered_map<const Value*, const SchemaNode*> nodes_;
  std::unordered_map<const SchemaNode*, std::string> places_;
  std::unordered_map<std::string, const SchemaNode*> anchors_;
  std::unordered_map<const SchemaNode*, int> levels_;
  std::vector<Reference> references_;
};

using Node = SchemaNode;

const std::array<Reader::Keyword, 6> Reader::kNames = {{
    {"$schema", &Reader::draft},
    {"$id", &Reader::identity},
    {"id", &Reader::identity},
    {"$anchor", &Reader::anchor},
    {"$defs", &Reader::definitions},
    {"definitions", &Reader::definitions},
}};

const std::array<Reader::Keyword, 38> Reader::kRules = {{
    {"$ref", &Reader::reference},
    {"type", &Reader::type},
    {"enum", &Reader::enumeration},
    {"const", &Reader::constant},
    {"allOf", &Reader::list<&Node::all>},
    {"anyOf", &Reader::list<&Node::any>},
    {"oneOf", &Reader::list<&Node::one>},
    {"not", &Reader::schema<&Node::none>},
    {"if", &Reader::schema<&Node::condition>},
    {"then", &Reader::schema<&Node::then>},
    {"else", &Reader::schema<&Node::otherwise>},
    {"minimum", &Reader::bound<false>},
    {"maximum", &Reader::bound<true>},
    {"exclusiveMinimum", &Reader::open_bound<false>},
    {"exclusiveMaximum", &Reader::open_bound<true>},
    {"multipleOf", &Reader::multiple},
    {"minLength", &Reader::count<&Node::characters, &Node::Count::least>},
    {"maxLength", &Reader::count<&Node::characters, &Node::Count::most>},
    {"pattern", &Reader::pattern},
    {"minItems", &Reader::count<&Node::elements, &Node::Count::least>},
    {"maxItems", &Reader::count<&Node::elements, &Node::Count::most>},
    {"uniqueItems", &Reader::unique},
    {"prefixItems", &Reader::list<&Node::first>},
    {"items", &Reader::items},
    {"additionalItems", &Reader::more_items},
    {"contains", &Reader::schema<&Node::contained>},
    {"minContains", &Reader::count<&Node::contains, &Node::Count::least>},
    {"maxContains", &Reader::count<&Node::contains, &Node::Count::most>},
    {"minProperties", &Reader::count<&Node::members, &Node::Count::least>},
    {"maxProperties", &Reader::count<&Node::members, &Node::Count::most>},
    {"required", &Reader::required},
    {"properties", &Reader::properties},
    {"patternProperties", &Reader::patterns},
    {"additionalProperties", &Reader::schema<&Node::additional>},
    {"propertyNames", &Reader::schema<&Node::names>},
    {"dependentRequired", &Reader::dependent_names},
    {"dependentSchemas", &Reader::dependent_schemas},
    {"dependencies", &Reader::dependencies},
}};

}  // namespace

std::string shown_in_message(std::string_view text) { return one_line(text, kShownBytesMax); }

Result<std::unique_ptr<const SchemaNodes>> read_schema(const Value& schema) { return Reader().read(schema); }

}  // namespace agentd
