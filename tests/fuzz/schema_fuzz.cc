// SPDX-License-Identifier: Apache-2.0
// A JSON Schema and a value as any bytes, one line each: the schema is refused with a sentence, or every
// value gets a verdict, and the opposite schema the opposite one.
#include <string>

#include "core/codec/schema.h"
#include "tests/fuzz/target.h"

namespace {

using agentd::JsonDocument;
using agentd::JsonSchema;

constexpr std::string_view kNoVerdict = "the value cannot be checked: ";

bool is_verdict(const agentd::Result<void>& checked) {
  if (checked) return true;
  if (checked.error().message.starts_with(kNoVerdict)) return false;
  agentd::fuzz::require(checked.error().message.find(" breaks \"") != std::string::npos, "a mistake names its rule");
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = agentd::fuzz::view(data, size);
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto schema = JsonDocument::parse(bytes.substr(0, line));
  const auto value = JsonDocument::parse(bytes.substr(line + 1));
  if (!schema || !value) return 0;
  const auto made = JsonSchema::read(schema->root());
  agentd::fuzz::require(made || !made.error().message.empty(), "a refusal has its sentence");
  if (!made) return 0;
  ++agentd::fuzz::got_through;
  const auto checked = made->check(value->root());
  // A reference from the root would mean another schema below "not".
  if (!is_verdict(checked) || bytes.substr(0, line).find("$ref") != std::string_view::npos ||
      bytes.substr(0, line).find("$id") != std::string_view::npos)
    return 0;
  const auto opposite = JsonDocument::parse(R"({"not":)" + std::string(bytes.substr(0, line)) + "}");
  const auto other = opposite ? JsonSchema::read(opposite->root()) : JsonSchema::read({});
  if (!other) return 0;  // one level too many
  const auto again = other->check(value->root());
  agentd::fuzz::require(!is_verdict(again) || again.has_value() != checked.has_value(), "not is not");
  return 0;
}
