// SPDX-License-Identifier: Apache-2.0
// JSON Schema against the tests that its authors publish, where a Debian package provides them: json-schema-test-suite
// (drafts 4 to 7), libtest-json-schema-acceptance-perl (up to 2020-12).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/codec/schema.h"
#include "tests/support/required.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

// Groups whose schemas are refused when they are read. A schema that was read must decide as the suite does, except for
// those that `differ`.
struct LeftOut {
  const char* file;    // without .json
  const char* groups;  // the beginning of their description; "" = all of the file
  const char* reason;
  bool differ = false;
};

constexpr const char* kRemote = "leads to another document, and none is fetched";
constexpr const char* kOwnId = "resolves references against an $id below the root";
constexpr const char* kUnknown = "has a keyword that no draft knows";
constexpr const char* kDynamic = "has $dynamicRef or $recursiveRef";
constexpr const char* kUnevaluated = "has unevaluatedItems or unevaluatedProperties";
constexpr const char* kTold = "is said to be an annotation by the later drafts, and is one here";
constexpr LeftOut kLeftOut[] = {
    {"anchor", "Location-independent identifier with", kOwnId},
    {"anchor", "invalid anchors", kRemote},
    {"anchor", "same $anchor with different base uri", kOwnId},
    {"content", "", kTold, true},
    {"cross-draft", "", kRemote},
    {"definitions", "", kRemote},
    {"defs", "", kRemote},
    {"dynamicRef", "", kDynamic},
    {"ecmascript-regex", "ECMA 262 regex non-compliance", kTold, true},
    {"ecmascript-regex", "\\a is not an ECMA 262 control escape", kRemote},
    {"enum", "empty enum", "has an enum that nothing fits, which is taken for a mistake"},
    {"format", "", kTold, true},
    {"format-assertion", "", "has a $schema of its own"},
    {"id", "", kRemote},
    {"not", "collect annotations inside a 'not'", kUnevaluated},
    {"recursiveRef", "", kDynamic},
    {"ref", "$id must be resolved against nearest parent", kOwnId},
    {"ref", "id must be resolved against nearest parent", kOwnId},
    {"ref", "$ref prevents a sibling", kOwnId},
    {"ref", "$ref with $recursiveAnchor", kDynamic},
    {"ref", "Location-independent identifier with", kOwnId},
    {"ref", "Recursive references between schemas", kOwnId},
    {"ref", "URN base URI with", kOwnId},
    {"ref", "URN ref with nested pointer ref", kOwnId},
    {"ref", "escaped pointer ref", kUnknown},
    {"ref", "order of evaluation", kOwnId},
    {"ref", "ref creates new scope", kUnevaluated},
    {"ref", "ref overrides any sibling keywords", "until draft 7 what stands beside a $ref is skipped", true},
    {"ref", "ref to else", kOwnId},
    {"ref", "ref to if", kOwnId},
    {"ref", "ref to then", kOwnId},
    {"ref", "ref with absolute-path-reference", kOwnId},
    {"ref", "refs with relative uris and defs", kOwnId},
    {"ref", "relative refs with absolute uris and defs", kOwnId},
    {"ref", "remote ref, containing refs itself", kRemote},
    {"ref", "simple URN base URI", kOwnId},
    {"refOfUnknownKeyword", "", kUnknown},
    {"refRemote", "", kRemote},
    {"unevaluatedItems", "", kUnevaluated},
    {"unevaluatedProperties", "", kUnevaluated},
    {"unknownKeyword", "", kUnknown},
    {"vocabulary", "", "has a $schema of its own"},
    {"zeroTerminatedFloats", "", "1.0 was no integer until draft 4; here it is one, as in all later drafts", true},
};

const LeftOut* left_out(std::string_view file, std::string_view group) {
  const auto* const found = std::find_if(std::begin(kLeftOut), std::end(kLeftOut), [&](const LeftOut& each) {
    return file == each.file && group.starts_with(each.groups);
  });
  return found == std::end(kLeftOut) ? nullptr : found;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Tally {
  int passed = 0, left_out = 0;
  std::set<const LeftOut*> needed;
};

void hold(const std::string& file, JsonView group, Tally& tally) {
  const std::string what(group["description"].string_or(""));
  const LeftOut* const why_not = left_out(file, what);
  const auto schema = JsonSchema::read(group["schema"]);
  for (std::size_t i = 0; i < group["tests"].size(); ++i) {
    const JsonView test = group["tests"].at(i);
    const auto checked = schema ? schema->check(test["data"]) : Result<void>(schema.error());
    const bool right = schema && checked.has_value() == test["valid"].bool_or(false);
    if (right)
      ++tally.passed;
    else if (why_not != nullptr && (!schema || why_not->differ))
      ++tally.left_out, tally.needed.insert(why_not);
    else
      ADD_FAILURE() << file << ": " << what << ": " << test["description"].string_or("") << ": "
                    << (checked ? "fits" : checked.error().message) << "; schema " << group["schema"].text();
  }
}

void hold_all(const fs::path& folder, Tally& tally) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto document = JsonDocument::parse(bytes_of(entry.path()));
    ASSERT_TRUE(document) << entry.path() << ": " << document.error().message;
    for (std::size_t i = 0; i < document->root().size(); ++i)
      hold(entry.path().stem().string(), document->root().at(i), tally);
  }
}

constexpr const char* kSuite = "/usr/share/json-schema-test-suite/tests";
constexpr const char* kNewerSuite = "/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests";

struct Draft {
  const char *suite, *name;
  int least;  // the number that must pass
};
void PrintTo(const Draft& draft, std::ostream* out) { *out << draft.suite << '/' << draft.name; }

class JsonSchemaSuite : public testing::TestWithParam<Draft> {};

TEST_P(JsonSchemaSuite, HoldsWhatTheDraftSays) {
  const fs::path folder = fs::path(GetParam().suite) / GetParam().name;
  if (!fs::is_directory(folder)) AGENTD_TEST_NEEDS_MORE("no package has brought " + folder.string());
  Tally tally;
  hold_all(folder, tally);
  hold_all(folder / "optional", tally);
  RecordProperty("passed", tally.passed);
  RecordProperty("left_out", tally.left_out);
  std::printf("%s: %d pass, %d are left out\n", folder.c_str(), tally.passed, tally.left_out);
  for (const LeftOut* each : tally.needed)
    std::printf("  left out of %s: %s%s (%s)\n", each->file, each->groups, *each->groups ? "..." : "all", each->reason);
  EXPECT_GE(tally.passed, GetParam().least);
}

std::string name_of_draft(const testing::TestParamInfo<Draft>& one) {
  std::string name = one.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + (one.param.suite == kSuite ? "" : "_of_the_newer_suite");
}

INSTANTIATE_TEST_SUITE_P(All, JsonSchemaSuite,
                         testing::Values(Draft{kSuite, "draft4", 320}, Draft{kSuite, "draft6", 430},
                                         Draft{kSuite, "draft7", 400}, Draft{kNewerSuite, "draft4", 600},
                                         Draft{kNewerSuite, "draft6", 800}, Draft{kNewerSuite, "draft7", 880},
                                         Draft{kNewerSuite, "draft2019-09", 1000},
                                         Draft{kNewerSuite, "draft2020-12", 1000}),
                         name_of_draft);

}  // namespace
}  // namespace agentd
