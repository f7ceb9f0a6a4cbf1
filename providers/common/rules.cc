// SPDX-License-Identifier: Apache-2.0
#include "providers/common/rules.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "providers/common/wire.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 400;

// Some vendors' seals are inside an item that is stored unchanged.
std::string seal_in(std::string_view opaque) {
  if (opaque.starts_with("{"))
    if (const auto item = JsonDocument::parse(opaque))
      if (const std::string_view sealed = item->root()["encrypted_content"].string_or(""); !sealed.empty())
        return std::string(sealed);
  return std::string(opaque);
}

// Unicode's White_Space and the additional characters of Python's str.isspace().
bool is_white(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The unit of four hexadecimal digits at `at`; 0 for anything else.
unsigned unit_at(std::string_view json, std::size_t at) {
  unsigned out = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    if (i >= json.size() || std::isxdigit(static_cast<unsigned char>(json[i])) == 0) return 0;
    const char c = json[i];
    out = out * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return out;
}

}  // namespace

std::function<bool(std::string_view)> foreign_seals(const ModelRequest& request, std::string_view provider) {
  struct Seals {
    std::set<std::string, std::less<>> own, foreign;
  };
  Seals seals;
  for (const agentd_message& row : request.messages) {
    const Origin* const from = request.origins == nullptr ? nullptr : request.origins->of(row.seq);
    if (row.role != AGENTD_ROLE_ASSISTANT) continue;
    const bool foreign = from != nullptr && (from->provider != provider || from->model != request.model);
    for (const agentd_block& block : block_span(row))
      if (!is_media(block) && block.opaque.len != 0)
        (foreign ? seals.foreign : seals.own).insert(seal_in(view_of(block.opaque)));
  }
  // Shared by the copies of one function.
  return [seals = std::make_shared<const Seals>(std::move(seals))](std::string_view seal) {
    return seals->foreign.contains(seal) && !seals->own.contains(seal);
  };
}

std::string breach_sentence(std::string_view provider, const Breaches& broken) {
  const auto found =
      std::find_if(broken.begin(), broken.end(), [](const Breach& breach) { return !breach.rule->of_content; });
  if (found == broken.end()) return {};
  return "the request to " + std::string(provider) + " breaks the rule " + std::string(found->rule->name) + " at " +
         (found->place.empty() ? "the body" : found->place) + ": " + one_line(found->says, kShownBytes) + " (" +
         std::string(found->rule->demand) + "; " + std::string(found->rule->source) + ")";
}

void require_rules(std::string_view provider, const Breaches& broken) {
  const std::string sentence = breach_sentence(provider, broken);
  if (sentence.empty()) return;
  std::fprintf(stderr, "agentd: %s\n", sentence.c_str());
  std::abort();
}

void RuleReader::known_keys(std::size_t rule, JsonView object, std::initializer_list<std::string_view> known,
                            const std::string& place, std::string_view before, std::string_view behind) {
  if (!object.is_object()) return;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string_view key = object.key_at(i);
    if (is_one_of(key, known)) continue;
    const std::string at = place.empty() ? std::string(key) : place + "." + std::string(key);
    broken(rule, at, std::string(before) + at + std::string(behind));
  }
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_plain_name(std::string_view name, std::size_t most) {
  return !name.empty() && name.size() <= most &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
}

bool is_all_white(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    char32_t c = length == 1 ? byte : byte & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    if (!is_white(c)) return false;
    i += length;
  }
  return true;
}

bool is_media_data(std::string_view text) { return !text.empty() && is_base64(text); }

bool is_data_url(std::string_view url, std::initializer_list<std::string_view> media_types) {
  constexpr std::string_view kHead = "data:", kCoding = ";base64,";
  if (!url.starts_with(kHead)) return false;
  const std::size_t comma = url.find(kCoding);
  return comma != std::string_view::npos && is_one_of(url.substr(kHead.size(), comma - kHead.size()), media_types) &&
         is_media_data(url.substr(comma + kCoding.size()));
}

bool is_json_object(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  return document && document->root().is_object();
}

bool has_half_pair(std::string_view json) {
  for (std::size_t at = 0; (at = json.find('\\', at)) != std::string_view::npos;) {
    if (at + 1 >= json.size() || json[at + 1] != 'u') {
      at += 2;
      continue;
    }
    const unsigned unit = unit_at(json, at + 2);
    at += 6;
    if (unit >= 0xDC00 && unit < 0xE000) return true;
    if (unit < 0xD800 || unit >= 0xE000) continue;
    const unsigned second = json.substr(at, 2) == "\\u" ? unit_at(json, at + 2) : 0;
    if (second < 0xDC00 || second >= 0xE000) return true;
    at += 6;
  }
  return false;
}

std::string indexed(std::string_view place, std::size_t index) {
  return std::string(place) + "[" + std::to_string(index) + "]";
}

}  // namespace agentd
