// SPDX-License-Identifier: Apache-2.0
#include "core/agent/answer_schema.h"

#include "core/codec/canonical_json.h"

namespace agentd {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr int kDepthMax = 500;
constexpr std::string_view kFence = "```";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The text between "```json" and "```" if there is nothing else.
std::string_view without_fence(std::string_view text) {
  text = trimmed(text);
  const std::size_t line = text.find('\n');
  if (!text.starts_with(kFence) || !text.ends_with(kFence) || line == std::string_view::npos ||
      text.size() < line + 1 + kFence.size())
    return text;
  return trimmed(text.substr(line + 1, text.size() - kFence.size() - line - 1));
}

}  // namespace

Result<AnswerSchema> AnswerSchema::read(std::string_view json) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  if (!document.root().is_object()) return Error{Code::kInvalid, "a JSON Schema is a JSON object"};
  AGENTD_TRY(JsonSchema schema, JsonSchema::read(document.root()));
  return AnswerSchema(document.root().text(), std::move(schema));
}

std::string AnswerSchema::words() const {
  return "Your last answer is read by a program. It must be one JSON value that fits this JSON Schema, and nothing "
         "else, without a fence around it:\n" +
         json_;
}

Result<std::string> AnswerSchema::value_of(std::string_view answer) const {
  const std::string_view text = without_fence(answer);
  if (text.empty()) return Error{Code::kInvalid, "it is empty"};
  auto document = JsonDocument::parse(text);
  if (!document) return Error{Code::kInvalid, "it is not one JSON value: " + document.error().message};
  AGENTD_TRY_VOID(schema_.check(document->root()));
  // In the one form in which every reader reads it.
  const std::string head = "{\"v\":";
  CanonicalJsonLimits limits;
  limits.bytes = std::size_t{64} << 20;
  limits.depth = kDepthMax;
  const auto canonical = canonical_object(head + std::string(text) + "}", limits);
  if (!canonical) return Error{Code::kInvalid, "it " + canonical.error().message};
  return canonical->substr(head.size(), canonical->size() - head.size() - 1);
}

std::string AnswerSchema::correction(const Error& why) {
  return "Your answer does not fit the JSON Schema that it is held to: " + why.message +
         ". Answer again with one JSON value that fits it, and nothing else.";
}

}  // namespace agentd
