// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/json.h"
#include "core/hooks/event.h"
#include "core/hooks/json_slices.h"
#include "core/hooks/payload_bytes.h"

namespace agentd {
namespace {

constexpr std::uint64_t kLimitMadeUp = 100'000;  // limit of a gauge of which only the percent is known
constexpr std::size_t kShownMax = 60;            // bytes of a value shown in an error
// The start of every text of payload_json(). Its spaces are content and stay; those of a hand-written text are layout.
constexpr std::string_view kCanonicalStart = R"({"v":1,"id":")";

struct Node {
  JsonView view;
  std::string_view raw;
};

struct Member {
  std::string_view key;
  Node node;
};

std::vector<Member> members_of(const Node& object) {
  const std::vector<std::string_view> slices = json_slices(object.raw);
  std::vector<Member> members(std::min(slices.size(), object.view.size()));
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = {object.view.key_at(i), {object.view.at(i), slices[i]}};
  return members;
}

const Node* find(const std::vector<Member>& members, std::string_view key) {
  for (const Member& member : members)
    if (member.key == key) return &member.node;
  return nullptr;
}

template <typename Value>
void put(char* at, Value value) {
  std::memcpy(at, &value, sizeof(value));
}

void put_number(char* at, std::uint8_t width, std::uint64_t number) {
  if (width == 2)
    put(at, static_cast<std::uint16_t>(number));
  else if (width == 4)
    put(at, static_cast<std::uint32_t>(number));
  else
    put(at, number);
}

std::uint64_t largest(std::uint8_t width) {
  return width == 2   ? std::numeric_limits<std::uint16_t>::max()
         : width == 4 ? std::numeric_limits<std::uint32_t>::max()
                      : std::numeric_limits<std::uint64_t>::max();
}

std::optional<std::uint64_t> whole_number(JsonView view) {
  const std::uint64_t number = view.uint_or(0);
  return number == view.uint_or(1) ? std::optional(number) : std::nullopt;
}

char* new_record(Arena& arena, std::uint32_t size, std::uint32_t count = 1) {
  const std::size_t bytes = std::size_t{size} * count;
  auto* const at = static_cast<char*>(arena.allocate(bytes, 8));
  std::memset(at, 0, bytes);
  for (std::uint32_t i = 0; i < count; ++i) put(at + std::size_t{size} * i, size);
  return at;
}

// The record behind the pointer at `slot`, made if there is none. The memory is the arena's.
char* record_behind(Arena& arena, char* slot, const PayloadTable& table) {
  char* behind = member_at<char*>(slot, 0);
  if (behind == nullptr) {
    behind = new_record(arena, table.size);
    put(slot, behind);
  }
  return behind;
}

Error invalid(std::string text) { return {Code::kInvalid, std::move(text)}; }

class PayloadReader {
 public:
  PayloadReader(Arena& arena, std::uint32_t event, std::string_view name, bool verbatim)
      : arena_(arena), event_bit_(event_bit(event)), name_(name), verbatim_(verbatim) {}

  Result<void> read(const Node& root, const PayloadTable& table, agentd_envelope* envelope, char* payload) {
    envelope_ = envelope;
    const std::vector<Member> members = members_of(root);
    auto* const head = reinterpret_cast<char*>(envelope);
    AGENTD_TRY_VOID(fields(envelope_table(), head, members));
    AGENTD_TRY_VOID(fields(table, payload, members));
    AGENTD_TRY_VOID(hook(members));
    const std::vector<Known> known{{envelope_table(), head}, {table, payload}, {hook_key(), nullptr}};
    AGENTD_TRY_VOID(check_keys(members, known));
    AGENTD_TRY_VOID(settle_window(members));
    give_head(table, head, payload);
    return {};
  }

 private:
  struct Known {
    const PayloadTable& table;
    const char* record;  // null = has every field
  };
  struct Step {
    std::string_view key;
    std::size_t index = 0;  // of a list, when there is no key
  };
  // The current path in the object, for errors.
  class Stepped {
   public:
    Stepped(std::vector<Step>& path, Step step) : path_(path) { path_.push_back(step); }
    ~Stepped() { path_.pop_back(); }
    Stepped(const Stepped&) = delete;
    Stepped& operator=(const Stepped&) = delete;

   private:
    std::vector<Step>& path_;
  };

  std::string path() const {
    std::string text;
    for (const Step& step : path_) {
      if (step.key.empty())
        text += "[" + std::to_string(step.index) + "]";
      else
        text.append(text.empty() ? "" : ".").append(step.key);
    }
    return text;
  }
  Error wrong(std::string_view must_be, const Node& node) const {
    return invalid("the payload's \"" + path() + "\" must be " + std::string(must_be) + ", not " +
                   one_line(node.view.text(), kShownMax));
  }
  Error contradiction(std::string_view other) const {
    return invalid("the payload's \"" + path() + "\" and \"" + std::string(other) +
                   "\" contradict each other: leave one out, or make them agree");
  }

  // ---- keys

  static const PayloadTable& hook_key() {
    static constexpr PayloadField kFields[] = {{.key = kHookKey}};
    static constexpr PayloadTable kTable{.fields = kFields};
    return kTable;
  }

  void names_in(const PayloadTable& table, const char* record, std::vector<std::string>& names) const {
    for (const PayloadField& field : table.fields) {
      if ((field.except & event_bit_) != 0) continue;
      if (record != nullptr && !has_field(table, field, record)) continue;
      if (field.key.empty())
        names_in(*field.table, nullptr, names);
      else
        names.emplace_back(field.key);
    }
  }

  Result<void> check_keys(const std::vector<Member>& members, const std::vector<Known>& known) const {
    std::vector<std::string> names;
    for (const Known& each : known) names_in(each.table, each.record, names);
    const std::string where = path_.empty() ? std::string(name_) : "the payload's \"" + path() + "\"";
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string_view key = members[i].key;
      if (find(members, key) != &members[i].node)
        return invalid(where + " repeats the key \"" + std::string(key) + "\"");
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      const std::string near = did_you_mean(key, names);
      return invalid(where + " has no key \"" + one_line(key, kShownMax) + "\"" +
                     (near.empty() ? ": its keys are " + joined(names) : near));
    }
    return {};
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
  }

  // ---- objects

  Result<void> object(const PayloadTable& table, char* record, const Node& node) {
    if (!node.view.is_object()) return wrong("an object", node);
    const std::vector<Member> members = members_of(node);
    AGENTD_TRY_VOID(fields(table, record, members));
    return check_keys(members, {{table, record}});
  }

  // Fields are in an order that reads variant tags first.
  Result<void> fields(const PayloadTable& table, char* record, const std::vector<Member>& members) {
    for (const PayloadField& field : table.fields) {
      if ((field.except & event_bit_) != 0 || !has_field(table, field, record)) continue;
      if (field.key.empty()) {
        AGENTD_TRY_VOID(beside(field, record, members));
        continue;
      }
      if (field.kind == FieldKind::kContent) {
        AGENTD_TRY_VOID(content(record, members, *(&field + 1)->table));
        continue;
      }
      const Node* const node = find(members, field.key);
      if (node == nullptr) {
        assume(field, record);
        continue;
      }
      const Stepped step(path_, {field.key});
      AGENTD_TRY_VOID(value(field, record, *node));
    }
    return {};
  }

  void assume(const PayloadField& field, char* record) const {
    char* const at = record + field.offset;
    if (field.initial == 0 || (field.initial_except & event_bit_) != 0 || told_.contains(at)) return;
    put_number(at, field.kind == FieldKind::kBool ? std::uint8_t{4} : field.width, field.initial);
  }

  // Reads the keys of another record, or of a part of this one, from this object's members.
  Result<void> beside(const PayloadField& field, char* record, const std::vector<Member>& members) {
    if (field.kind == FieldKind::kPart) return fields(*field.table, record, members);
    if (field.presence != Presence::kAlways) {
      std::vector<std::string> names;
      names_in(*field.table, nullptr, names);
      const auto has = [&](const std::string& name) { return find(members, name) != nullptr; };
      if (std::none_of(names.begin(), names.end(), has)) return {};
    }
    return fields(*field.table, record_behind(arena_, record + field.offset, *field.table), members);
  }

  Result<void> hook(const std::vector<Member>& members) {
    const Node* const node = find(members, kHookKey);
    if (node == nullptr) return {};
    HookKeys keys;
    const Stepped step(path_, {kHookKey});
    AGENTD_TRY_VOID(object(hook_table(), reinterpret_cast<char*>(&keys), *node));
    envelope_->attempt = keys.attempt;
    return {};
  }

  // ---- values

  Result<void> value(const PayloadField& field, char* record, const Node& node) {
    char* const at = record + field.offset;
    switch (field.kind) {
      case FieldKind::kText:
        return text(at, node);
      case FieldKind::kJson:
        return json(field, at, node);
      case FieldKind::kNumber:
        return number(at, field.width, largest(field.width), 1, node);
      case FieldKind::kSigned:
        return signed_number(at, node);
      case FieldKind::kBool:
        return boolean(at, node);
      case FieldKind::kFlag:
        return flag(field, at, node);
      case FieldKind::kName:
        return name(field, at, node);
      case FieldKind::kMilliseconds:
        return number(at, 8, largest(8) / kNsPerMs, kNsPerMs, node);
      case FieldKind::kDollars:
        return scaled(at, 8, 1e9, 9e9, node);
      case FieldKind::kFraction:
        return scaled(at, 4, 1e3, 4294967.295, node);
      case FieldKind::kTexts:
        return texts(at, node);
      case FieldKind::kMoreBlocks:
        return {};  // content() reads it
      case FieldKind::kRecords:
        return records(*field.table, at, node);
      case FieldKind::kRecord:
      case FieldKind::kJoined:
        if (node.view.is_null()) return {};
        return object(*field.table, record_behind(arena_, at, *field.table), node);
      case FieldKind::kPart:
        if (node.view.is_null() && field.presence != Presence::kAlways) return {};
        return object(*field.table, record, node);
      case FieldKind::kVersion:
        return node.view.int_or(0) == 1 ? Result<void>() : wrong("1", node);
      case FieldKind::kEventName:
        return {};  // known before reading
      case FieldKind::kPercent:
        return percent(record, node);
      case FieldKind::kWindowUsed:
        return window_used(node);
      case FieldKind::kContent:
        return {};
      case FieldKind::kSummaryMark:
        return summary_mark(at, node);
    }
    return {};
  }

  // Records that a member was set; if it was set before, `same` tells whether to the same value. Members of lists have
  // only one key.
  Result<void> tell(const char* at, bool same) {
    if (lists_ > 0) return {};
    const auto [known, fresh] = told_.try_emplace(at, path());
    if (!fresh && !same) return contradiction(known->second);
    return {};
  }

  Result<void> text(char* at, const Node& node) {
    if (!node.view.is_string()) return wrong("a text", node);
    const std::string_view text = node.view.string_or("");
    AGENTD_TRY_VOID(tell(at, view_of(member_at<agentd_str>(at, 0)) == text));
    put(at, arena_.copy(text));
    return {};
  }

  Result<void> json(const PayloadField& field, char* at, const Node& node) {
    const std::string text = json_source(field, node);
    const std::string_view known = view_of(member_at<agentd_str>(at, 0));
    AGENTD_TRY_VOID(tell(at, known == text || same_json(known, text)));
    if (known.empty()) put(at, arena_.copy(text));
    return {};
  }
  static bool same_json(std::string_view a, std::string_view b) {
    const auto first = JsonDocument::parse(a), second = JsonDocument::parse(b);
    return first && second && first->root().text() == second->root().text();
  }
  // The record's text: text that is not JSON was written as a string.
  std::string json_source(const PayloadField& field, const Node& node) const {
    if (node.view.is_null() && field.presence == Presence::kAlways) return {};
    const std::string_view raw = verbatim_ ? node.raw : json_trimmed(node.raw);
    if (!node.view.is_string()) return std::string(raw);
    const std::string_view inside = node.view.string_or("");
    JsonWriter again;
    again.string(inside);
    const bool foreign = !inside.empty() && !JsonDocument::parse(inside) && again.text() == raw;
    return std::string(foreign ? inside : raw);
  }

  Result<void> number(char* at, std::uint8_t width, std::uint64_t max, std::uint64_t scale, const Node& node) {
    const std::optional<std::uint64_t> told = whole_number(node.view);
    if (!told || *told > max) return wrong("a whole number from 0 to " + std::to_string(max), node);
    char before[8];
    std::memcpy(before, at, width);
    put_number(at, width, *told * scale);
    return tell(at, std::memcmp(before, at, width) == 0);
  }

  Result<void> signed_number(char* at, const Node& node) {
    const std::int64_t told = node.view.int_or(0);
    if (told != node.view.int_or(1)) return wrong("a whole number", node);
    put(at, told);
    return {};
  }

  Result<void> scaled(char* at, std::uint8_t width, double scale, double max, const Node& node) {
    const double told = node.view.number_or(-1);
    if (!(told >= 0 && told <= max)) return wrong("a number from 0", node);
    put_number(at, width, static_cast<std::uint64_t>(std::llround(told * scale)));
    return {};
  }

  Result<void> boolean(char* at, const Node& node) {
    if (!node.view.is_bool()) return wrong("true or false", node);
    const std::uint32_t told = node.view.bool_or(false) ? 1 : 0;
    AGENTD_TRY_VOID(tell(at, member_at<std::uint32_t>(at, 0) == told));
    put(at, told);
    return {};
  }

  Result<void> flag(const PayloadField& field, char* at, const Node& node) {
    if (!node.view.is_bool()) return wrong("true or false", node);
    if (!node.view.bool_or(false)) return {};
    const std::uint64_t flags = field.width == 2 ? member_at<std::uint16_t>(at, 0) : member_at<std::uint32_t>(at, 0);
    put_number(at, field.width, flags | field.bit);
    return {};
  }

  Result<void> name(const PayloadField& field, char* at, const Node& node) {
    const std::string_view told = node.view.string_or("");
    const FieldNames& names = *field.names;
    std::string known;
    for (std::size_t i = 0; i < names.names.size(); ++i) {
      if (names.names[i].empty()) continue;
      if (names.names[i] == told) {
        put_number(at, field.width, i);
        return {};
      }
      known.append(known.empty() ? "" : ", ").append(names.names[i]);
    }
    if (told != names.otherwise) return wrong("one of " + known, node);
    // A number without a name.
    put_number(at, field.width, names.names[0].empty() ? 0 : largest(field.width));
    return {};
  }

  Result<void> texts(char* at, const Node& node) {
    if (!node.view.is_array()) return wrong("a list of texts", node);
    const auto count = static_cast<std::uint32_t>(node.view.size());
    auto* const first =
        static_cast<agentd_str*>(arena_.allocate(std::size_t{count} * sizeof(agentd_str), alignof(agentd_str)));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!node.view.at(i).is_string()) return wrong("a list of texts", node);
      first[i] = arena_.copy(node.view.at(i).string_or(""));
    }
    put(at, agentd_list{first, count, sizeof(agentd_str)});
    return {};
  }

  Result<void> records(const PayloadTable& table, char* at, const Node& node) {
    if (!node.view.is_array()) return wrong("a list", node);
    const std::vector<std::string_view> slices = json_slices(node.raw);
    const auto count = static_cast<std::uint32_t>(slices.size());
    char* const first = new_record(arena_, table.size, count);
    ++lists_;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Stepped step(path_, {{}, i});
      AGENTD_TRY_VOID(object(table, first + std::size_t{table.size} * i, {node.view.at(i), slices[i]}));
    }
    --lists_;
    put(at, agentd_list{first, count, table.size});
    return {};
  }

  // ---- computed values

  // `content` and `blocks` of a message.
  Result<void> content(char* message, const std::vector<Member>& members, const PayloadTable& block) {
    char* const at = message + offsetof(agentd_message, blocks);
    const Node* const told = find(members, "content");
    const Node* const blocks = find(members, "blocks");
    if (blocks != nullptr) {
      const Stepped step(path_, {"blocks"});
      AGENTD_TRY_VOID(records(block, at, *blocks));
    }
    if (told == nullptr) return {};
    const Stepped step(path_, {"content"});
    if (!told->view.is_string()) return wrong("a text", *told);
    const std::string_view text = told->view.string_or("");
    if (blocks != nullptr)
      return joined_texts(member_at<agentd_list>(at, 0)) == text ? Result<void>() : contradiction("blocks");
    char* const only = new_record(arena_, sizeof(agentd_block));
    put(only + offsetof(agentd_block, kind), std::uint16_t{AGENTD_BLOCK_TEXT});
    put(only + offsetof(agentd_block, text), arena_.copy(text));
    put(at, agentd_list{only, text.empty() ? 0u : 1u, sizeof(agentd_block)});
    return {};
  }
  static std::string joined_texts(const agentd_list& blocks) {
    std::string text;
    for_each_element(blocks, sizeof(agentd_block), [&](const char* at) {
      const auto kind = member_at<std::uint16_t>(at, offsetof(agentd_block, kind));
      if (kind != AGENTD_BLOCK_TEXT && kind != AGENTD_BLOCK_TOOL_RESULT) return;
      if (!text.empty()) text += "\n\n";
      text += view_of(member_at<agentd_str>(at, offsetof(agentd_block, text)));
    });
    return text;
  }

  Result<void> summary_mark(char* role, const Node& node) {
    if (!node.view.is_bool()) return wrong("true or false", node);
    if (!node.view.bool_or(false)) return {};
    if (member_at<std::uint16_t>(role, 0) == AGENTD_ROLE_ASSISTANT) return contradiction("role");
    put(role, std::uint16_t{AGENTD_ROLE_SUMMARY});
    return {};
  }

  // Computes `used`, or `limit`, if that is not given.
  Result<void> percent(char* gauge, const Node& node) {
    if (node.view.is_null()) return {};
    const double told = node.view.number_or(-1);
    if (!(told >= 0)) return wrong("a number from 0", node);
    char* const used_at = gauge + offsetof(agentd_gauge, used);
    char* const limit_at = gauge + offsetof(agentd_gauge, limit);
    const bool has_used = told_.contains(used_at), has_limit = told_.contains(limit_at);
    auto used = static_cast<double>(member_at<std::uint64_t>(used_at, 0));
    auto limit = static_cast<double>(member_at<std::uint64_t>(limit_at, 0));
    if (has_used && has_limit) return is_percent(told, used, limit) ? Result<void>() : contradiction(used_path());
    if (!has_limit) limit = has_used && told > 0 ? used * 100.0 / told : double{kLimitMadeUp};
    if (!has_used) used = told * limit / 100.0;
    if (!(limit < 1e18 && used < 1e18)) return wrong("a percentage within range", node);
    put(limit_at, static_cast<std::uint64_t>(std::llround(limit)));
    put(used_at, static_cast<std::uint64_t>(std::llround(used)));
    return {};
  }
  // True if `told` is the written percentage, or roughly that by hand.
  static bool is_percent(double told, double used, double limit) {
    if (limit == 0) return false;
    const double written = std::round(used * 10000.0 / limit) / 100.0;
    return told == written || std::abs(told - written) < 0.5;
  }
  std::string used_path() const {
    const std::string mine = path();
    return mine.substr(0, mine.rfind('.') + 1) + "used";
  }

  Result<void> window_used(const Node& node) {
    window_used_ = whole_number(node.view);
    if (!window_used_) return wrong("a whole number from 0", node);
    window_path_ = path();
    return {};
  }
  // usage.current_context_window is the gauge's `used`: it makes a gauge if there is none.
  Result<void> settle_window(const std::vector<Member>& members) {
    if (!window_used_) return {};
    const Node* const told = find(members, "context");
    if (envelope_->context == nullptr) {
      if (*window_used_ == 0) return {};
      if (told != nullptr) return window_contradiction();
      make_gauge(members);
      return {};
    }
    if (told->view["used"].exists() || told->view["percent"].is_number())
      return envelope_->context->used == *window_used_ ? Result<void>() : window_contradiction();
    auto* const gauge = reinterpret_cast<agentd_gauge*>(new_record(arena_, sizeof(agentd_gauge)));
    *gauge = *envelope_->context;
    gauge->used = *window_used_;
    envelope_->context = gauge;
    return {};
  }
  Error window_contradiction() const {
    return invalid("the payload's \"" + window_path_ +
                   "\" and \"context.used\" contradict each other: leave one out, or make them agree");
  }
  void make_gauge(const std::vector<Member>& members) {
    auto* const gauge = reinterpret_cast<agentd_gauge*>(new_record(arena_, sizeof(agentd_gauge)));
    gauge->source = AGENTD_GAUGE_ESTIMATE;
    gauge->used = *window_used_;
    gauge->limit = find(members, "usage")->view["max_context_window"].uint_or(0);
    envelope_->context = gauge;
  }

  // Copies the envelope's members that the payload repeats.
  static void give_head(const PayloadTable& table, const char* head, char* payload) {
    using Kind = HeadMember::Kind;
    for (const HeadMember& each : table.head) {
      const char* const from = head + each.to;
      char* const to = payload + each.from;
      switch (each.kind) {
        case Kind::kText:
        case Kind::kTextAlways:
          std::memcpy(to, from, sizeof(agentd_str));
          break;
        case Kind::kNumber:
        case Kind::kNumberAlways:
          std::memcpy(to, from, sizeof(std::uint32_t));
          break;
        case Kind::kLongNumber:
          std::memcpy(to, from, sizeof(std::uint64_t));
          break;
        case Kind::kPointer:
          std::memcpy(to, from, sizeof(const void*));
          break;
        case Kind::kVia:
          if (char* const behind = member_at<char*>(to, 0)) give_head(*each.table, head, behind);
          break;
      }
    }
  }

  Arena& arena_;
  const std::uint64_t event_bit_;
  const std::string_view name_;
  const bool verbatim_;
  agentd_envelope* envelope_ = nullptr;
  std::vector<Step> path_;
  std::map<const char*, std::string> told_;  // members outside of lists, and the key that set them
  int lists_ = 0;
  std::optional<std::uint64_t> window_used_;
  std::string window_path_;
};

Result<std::uint32_t> event_of(JsonView root, std::uint32_t expected) {
  const JsonView told = root["event"];
  const EventTraits* const wanted = find_event(expected);
  if (!told.exists()) {
    if (wanted == nullptr) return invalid("the payload has no key \"event\", which names its event");
    return expected;
  }
  const EventTraits* const found = find_event(told.string_or(""));
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const EventTraits& each : all_events()) names.emplace_back(each.name);
    return invalid("the payload's \"event\" is not an event: " + one_line(told.text(), kShownMax) +
                   did_you_mean(told.string_or(""), names));
  }
  if (wanted != nullptr && wanted != found)
    return invalid("the payload is one of " + std::string(found->name) + ", not of " + std::string(wanted->name));
  return found->id;
}

// The member for `target`, in the record or behind one of its pointers; null if there is none.
char* find_text(Arena& arena, const PayloadTable& table, char* record, std::uint32_t target) {
  for (const PayloadField& field : table.fields) {
    if (field.text_target == target) return record + field.offset;
    if (field.kind == FieldKind::kPart) {
      if (char* const found = find_text(arena, *field.table, record, target)) return found;
    }
    if (field.kind != FieldKind::kRecord) continue;
    for (const PayloadField& inner : field.table->fields)
      if (inner.text_target == target) return record_behind(arena, record + field.offset, *field.table) + inner.offset;
  }
  return nullptr;
}

}  // namespace

Result<PayloadRecord> PayloadRecord::from_json(std::string_view canonical_json, std::uint32_t event) {
  auto document = JsonDocument::parse(canonical_json);
  if (!document) return document.error().with_context("reading a payload");
  if (!document->root().is_object()) return invalid("a payload is one JSON object");
  auto which = event_of(document->root(), event);
  if (!which) return which.error();
  const PayloadTable& table = *payload_table(*which);
  PayloadRecord made(*which, std::make_unique<Arena>());
  made.envelope_ = reinterpret_cast<agentd_envelope*>(new_record(*made.arena_, sizeof(agentd_envelope)));
  made.payload_ = new_record(*made.arena_, table.size);
  PayloadReader reader(*made.arena_, *which, find_event(*which)->name, canonical_json.starts_with(kCanonicalStart));
  AGENTD_TRY_VOID(reader.read({document->root(), canonical_json}, table, made.envelope_, made.payload_));
  return made;
}

Result<void> PayloadRecord::rewrite(std::uint32_t target, std::string_view text) {
  const EventTraits* const traits = find_event(event_);
  if (target == AGENTD_TEXT_DEFAULT) target = traits->text_target;
  if (target == 0 || target != traits->text_target)
    return invalid(std::string(traits->name) + " has no such text to rewrite");
  char* const at = find_text(*arena_, *payload_table(event_), payload_, target);
  if (at == nullptr) return invalid("the payload of " + std::string(traits->name) + " has no such text to rewrite");
  put(at, arena_->copy(text));
  return {};
}

}  // namespace agentd
