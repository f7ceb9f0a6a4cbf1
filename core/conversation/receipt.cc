// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/receipt.h"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/digest_text.h"

namespace agentd {
namespace {

constexpr std::string_view kEffects[] = {"none",    "applied", "conflict", "ignored", "failed",
                                         "blocked", "skipped", "shadow",   "refused"};  // in the order of the values
static_assert(std::size(kEffects) == static_cast<std::size_t>(AnswerEffect::kRefused) + 1);

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::uint32_t small(JsonView value, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(value.uint_or(otherwise));
}

}  // namespace

std::optional<Digest> read_digest(std::string_view text) {
  Digest out{};
  if (text.size() != 2 * out.size()) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return out;
}

std::string_view name_of(AnswerEffect effect) { return kEffects[static_cast<std::size_t>(effect)]; }

AnswerEffect effect_of(std::string_view name) {
  const auto* const found = std::find(std::begin(kEffects), std::end(kEffects), name);
  return found == std::end(kEffects) ? AnswerEffect::kNone : static_cast<AnswerEffect>(found - std::begin(kEffects));
}

std::string write_receipt(const HookReceipt& receipt) {
  JsonWriter out;
  out.begin_object().member("event_id", receipt.event_id).member("event", receipt.event);
  out.member("revision", receipt.revision);
  if (receipt.run != 0) out.member("run", unsigned{receipt.run});
  if (receipt.turn != 0) out.member("turn", unsigned{receipt.turn});
  if (receipt.attempt != 1) out.member("attempt", unsigned{receipt.attempt});
  out.member("hook", receipt.hook).optional("plugin", receipt.plugin);
  out.optional("kind", receipt.kind).optional("bytes_digest", receipt.bytes_digest);
  out.member("payload_digest", hex(receipt.payload_digest));
  if (receipt.payload || receipt.payload_kept) out.member("payload_kept", true);
  out.key("answer").raw(receipt.answer.empty() ? "[]" : receipt.answer);
  out.member("effect", name_of(receipt.effect)).optional("note", receipt.note);
  out.member("duration_us", receipt.duration_us).member("time_ms", receipt.time_ms).end_object();
  return std::string(out.text());
}

Result<HookReceipt> read_receipt(std::string_view json) {
  const auto parsed = JsonDocument::parse(json);
  if (!parsed || !parsed->root().is_object()) return Error{Code::kCorrupt, "a hook's receipt is not a JSON object"};
  const JsonView root = parsed->root();
  const auto digest = read_digest(root["payload_digest"].string_or({}));
  if (!digest) return Error{Code::kCorrupt, "a hook's receipt lacks the digest of its payload"};
  const auto text = [&](std::string_view key) { return std::string(root[key].string_or({})); };
  HookReceipt out;
  out.event_id = text("event_id");
  out.event = text("event");
  out.revision = root["revision"].uint_or(0);
  out.run = small(root["run"], 0);
  out.turn = small(root["turn"], 0);
  out.attempt = small(root["attempt"], 1);
  out.hook = text("hook");
  out.plugin = text("plugin");
  out.kind = text("kind");
  out.bytes_digest = text("bytes_digest");
  out.payload_digest = *digest;
  out.payload_kept = root["payload_kept"].bool_or(false);
  out.answer = root["answer"].is_array() ? root["answer"].text() : "[]";
  out.effect = effect_of(root["effect"].string_or({}));
  out.note = text("note");
  out.duration_us = root["duration_us"].uint_or(0);
  out.time_ms = root["time_ms"].int_or(0);
  return out;
}

}  // namespace agentd
