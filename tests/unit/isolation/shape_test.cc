// SPDX-License-Identifier: Apache-2.0
// The table of shapes against the headers themselves: every address of every record that crosses.
#include "core/isolation/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/unit/isolation/sample_records.h"

namespace agentd {
namespace {

struct ParsedMember {
  std::string name, type;
  std::size_t offset = 0;
  std::string note;  // the comment behind it
};
struct ParsedRecord {
  std::string name;
  std::size_t bytes = 0;
  std::vector<ParsedMember> members;
  std::string problem;
};

// Records that never cross: tables of functions, what holds them, and what is written by hand.
const std::set<std::string> kStay{
    "agentd_str",         "agentd_list",      "agentd_live",           "agentd_call",     "agentd_hook",
    "agentd_core",        "agentd_plugin",    "agentd_negotiate",      "agentd_tool",     "agentd_tools",
    "agentd_store",       "agentd_compactor", "agentd_thread_factory", "agentd_field",    "agentd_json",
    "agentd_tasks",       "agentd_workspace", "agentd_process",        "agentd_services", "agentd_provide",
    "agentd_service_row", "agentd_registry"};

struct Width {
  std::size_t bytes, align;
};

std::optional<Width> width_of(const std::string& type) {
  static const std::map<std::string, Width> known{
      {"uint16_t", {2, 2}},    {"uint32_t", {4, 4}},     {"int32_t", {4, 4}},      {"uint64_t", {8, 8}},
      {"int64_t", {8, 8}},     {"agentd_token", {8, 8}}, {"agentd_conv", {8, 8}},  {"agentd_thread", {8, 8}},
      {"agentd_str", {16, 8}}, {"agentd_list", {16, 8}}, {"agentd_action", {8, 4}}};
  if (type.ends_with("*")) return Width{8, 8};
  const auto found = known.find(type);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::string trimmed(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "uint64_t first, last" with what stands behind it.
void add_members(ParsedRecord& record, const std::string& statement, const std::string& note) {
  const std::string text = trimmed(statement);
  const std::size_t star = text.find('*');
  const bool is_const = text.starts_with("const ");
  const std::size_t end = star != std::string::npos ? star + 1 : text.find(' ');
  const std::string type = is_const ? text.substr(6, end - 6) : text.substr(0, end);
  const std::optional<Width> width = width_of(type);
  if (!width || text.find('(') != std::string::npos) {
    record.problem = "the member \"" + text + "\" is not understood";
    return;
  }
  for (std::size_t at = end; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::size_t offset = (record.bytes + width->align - 1) / width->align * width->align;
    record.members.push_back({trimmed(text.substr(at, comma - at)), type, offset, note});
    record.bytes = offset + width->bytes;
    at = comma + 1;
  }
}

ParsedRecord parse_record(const std::string& name, const std::string& body) {
  ParsedRecord record;
  record.name = name;
  std::string statement;
  for (std::size_t at = 0; at < body.size();) {
    if (body.compare(at, 2, "/*") == 0) {
      at = body.find("*/", at) + 2;
    } else if (body[at] == ';') {
      add_members(record, statement, body.substr(at, body.find('\n', at) - at));
      statement.clear();
      ++at;
    } else {
      statement += body[at++];
    }
  }
  record.bytes = (record.bytes + 7) / 8 * 8;
  return record;
}

void parse_header(const std::string& text, std::map<std::string, ParsedRecord>& out) {
  static const std::string begin = "typedef struct ";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::size_t brace = text.find('{', at);
    const std::string name = trimmed(text.substr(at, brace - at));
    const std::size_t end = text.find("\n}", brace);
    if (!kStay.contains(name)) out[name] = parse_record(name, text.substr(brace + 1, end - brace - 1));
  }
}

const std::map<std::string, ParsedRecord>& records() {
  static const std::map<std::string, ParsedRecord> all = [] {
    std::map<std::string, ParsedRecord> out;
    for (const auto& each :
         std::filesystem::recursive_directory_iterator(AGENTD_SOURCE_DIR "/plugin-api/include/agentd"))
      if (each.path().extension() == ".h") parse_header(read_file(each.path().string(), 1 << 20).value_or(""), out);
    return out;
  }();
  return all;
}

const Shape* shape_named(const std::string& name) {
  for (const Shape* each : all_shapes())
    if (each->name == name) return each;
  return nullptr;
}

std::optional<Shape::Kind> kind_of(const std::string& type) {
  if (type == "agentd_str") return Shape::Kind::kText;
  if (type == "agentd_list") return Shape::Kind::kList;
  if (type.ends_with("*")) return Shape::Kind::kPointer;
  return std::nullopt;
}

const Shape::Member* member_at(const Shape& shape, std::size_t offset) {
  for (const Shape::Member& each : shape.members)
    if (each.offset == offset) return &each;
  return nullptr;
}

// The headers say what a list holds in the comment behind it.
std::string what_it_holds(const ParsedMember& member, const Shape& of) {
  const std::string name(of.name);
  if (member.type == "agentd_list")
    return member.note.find("/* " + name) != std::string::npos ? "" : "the comment names another record";
  return member.type == name + "*" ? "" : "it points to another record";
}

TEST(Shape, EveryRecordOfTheHeadersThatCrossesHasOne) {
  ASSERT_GT(records().size(), 40u);
  for (const auto& [name, record] : records())
    EXPECT_NE(shape_named(name), nullptr)
        << name << " has no shape: add one to shape_tables.cc, or name it in kStay when it never crosses";
}

TEST(Shape, EveryShapeIsOfARecordOfTheHeaders) {
  for (const Shape* shape : all_shapes())
    EXPECT_TRUE(shape == &shapes::text || records().contains(std::string(shape->name))) << shape->name;
}

TEST(Shape, HasEveryAddressOfItsRecordAndNoOther) {
  for (const auto& [name, record] : records()) {
    SCOPED_TRACE(name);
    ASSERT_EQ(record.problem, "");
    const Shape* const shape = shape_named(name);
    ASSERT_NE(shape, nullptr);
    EXPECT_EQ(shape->bytes, record.bytes) << "the record and the test disagree about its size";
    std::size_t addresses = 0;
    for (const ParsedMember& member : record.members) {
      const std::optional<Shape::Kind> kind = kind_of(member.type);
      const Shape::Member* const row = member_at(*shape, member.offset);
      EXPECT_EQ(row != nullptr, kind.has_value()) << member.name;
      if (row == nullptr || !kind) continue;
      ++addresses;
      EXPECT_EQ(row->kind, *kind) << member.name;
      if (*kind == Shape::Kind::kText) continue;
      ASSERT_NE(row->of, nullptr) << member.name;
      EXPECT_EQ(what_it_holds(member, *row->of), "") << member.name;
    }
    EXPECT_EQ(addresses, shape->members.size());
  }
}

TEST(Shape, OfASizedRecordBeginsWithItsSize) {
  for (const Shape* shape : all_shapes()) {
    if (shape == &shapes::text) continue;
    ASSERT_TRUE(shape->sized) << shape->name;
    const auto found = records().find(std::string(shape->name));
    ASSERT_NE(found, records().end());
    const ParsedMember& first = found->second.members.front();
    EXPECT_TRUE(first.type == "agentd_action" || (first.name == "size" && first.type == "uint32_t")) << shape->name;
  }
}

void expect_payload(std::uint32_t event, std::string_view record, std::size_t bytes) {
  const Shape* const shape = payload_shape(event);
  ASSERT_NE(shape, nullptr) << event;
  EXPECT_EQ(shape->name, record);
  EXPECT_EQ(shape->bytes, bytes);
}

TEST(Shape, OfEveryPayloadIsThatOfItsRecord) {
#define AGENTD_CHECK_EVENT(NAME, event, id, payload) expect_payload(id, #payload, sizeof(payload));
  AGENTD_EVENT_LIST(AGENTD_CHECK_EVENT)
#undef AGENTD_CHECK_EVENT
  EXPECT_EQ(payload_shape(AGENTD_EVENT_CREATE)->name, "agentd_create_info");
  EXPECT_EQ(payload_shape(AGENTD_EVENT_LOAD_STATE)->name, "agentd_create_info");
  EXPECT_EQ(payload_shape(AGENTD_EVENT_TOOL_INVOKE)->name, "agentd_tool_call");
  EXPECT_EQ(payload_shape(AGENTD_EVENT_SERVICE_CALL)->name, "agentd_service_call");
}

TEST(Shape, IsNoneForEventsWithoutAPayload) {
  for (const std::uint32_t event : {0u, 63u, 64u, static_cast<std::uint32_t>(AGENTD_EVENT_DESTROY),
                                    static_cast<std::uint32_t>(AGENTD_EVENT_SAVE_STATE),
                                    static_cast<std::uint32_t>(AGENTD_EVENT_THIRD_PARTY), 0xffffffffu})
    EXPECT_EQ(payload_shape(event), nullptr) << event;
}

TEST(Shape, OfAnActionGoesByItsKind) {
  EXPECT_EQ(action_shape(AGENTD_ACT_REPLACE_MESSAGES).bytes, sizeof(agentd_act_replace));
  EXPECT_EQ(action_shape(AGENTD_ACT_TOOL_RESULT).bytes, sizeof(agentd_act_tool_result));
#define AGENTD_IS_KNOWN(NAME, ...) EXPECT_GT(action_shape(AGENTD_ACT_##NAME).bytes, sizeof(agentd_action)) << #NAME;
  AGENTD_ACTION_LIST(AGENTD_IS_KNOWN)
#undef AGENTD_IS_KNOWN
#define AGENTD_ONE(...) +1
  for (const std::uint32_t kind : {0u, 1u AGENTD_ACTION_LIST(AGENTD_ONE), 0xffffffffu})
#undef AGENTD_ONE
    EXPECT_EQ(action_shape(kind).bytes, sizeof(agentd_action)) << kind;
}

// Every op's shape names each address of the two records, so that none of another process comes
// through.
TEST(Shape, OfEveryServiceHasAllAddressesOfItsRecords) {
  unsigned found = 0;
  for (std::uint32_t op = 0; op < 100; ++op) {
    const Shape* const args = args_shape(op, AGENTD_ACT_BLOCK);
    const Shape* const reply = reply_shape(op);
    ASSERT_EQ(args == nullptr, reply == nullptr) << op;
    if (args == nullptr) continue;
    ++found;
    EXPECT_EQ(args->bytes, sizeof(ServiceArgs));
    EXPECT_EQ(reply->bytes, sizeof(ServiceReply));
    for (std::size_t at :
         {offsetof(ServiceArgs, text), offsetof(ServiceArgs, text) + 16, offsetof(ServiceArgs, text) + 32,
          offsetof(ServiceArgs, list), offsetof(ServiceArgs, record), offsetof(ServiceArgs, record) + 8})
      EXPECT_NE(member_at(*args, at), nullptr) << op << " " << at;
    for (std::size_t at : {offsetof(ServiceReply, text), offsetof(ServiceReply, list), offsetof(ServiceReply, record)})
      EXPECT_NE(member_at(*reply, at), nullptr) << op << " " << at;
  }
  EXPECT_EQ(found, 44u);
}

TEST(Shape, IsNoneForServicesThatDoNotExist) {
  for (const std::uint32_t op : {0u, 7u, 99u, 0xffffffffu}) {
    EXPECT_EQ(args_shape(op, 0), nullptr);
    EXPECT_EQ(reply_shape(op), nullptr);
  }
}

TEST(Shape, OfTheStartOfAWorkerHasAllItsTextsAndLists) {
  EXPECT_EQ(boot_args_shape().bytes, sizeof(BootArgs));
  EXPECT_EQ(boot_args_shape().members.size(), 5u);
  EXPECT_EQ(boot_reply_shape().bytes, sizeof(BootReply));
  EXPECT_EQ(boot_reply_shape().members.size(), 5u);
}

}  // namespace
}  // namespace agentd
