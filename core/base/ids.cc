// SPDX-License-Identifier: Apache-2.0
#include "core/base/ids.h"

#include <sys/random.h>

#include <algorithm>

#include "core/base/mutex.h"

namespace agentd {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

int value_of(char c) {
  if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const auto at = kAlphabet.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

void kernel_random(std::uint8_t* out, std::size_t bytes) {
  AGENTD_ASSERT(::getrandom(out, bytes, 0) == static_cast<ssize_t>(bytes));
}

}  // namespace

Result<Ulid> Ulid::parse(std::string_view text) {
  const Error bad{Code::kInvalid, "'" + std::string(text.substr(0, 64)) +
                                      "' is not an id: expected 26 characters such as 01J9ZQ2V8M4T0C7X5R3N6K1B2D"};
  if (text.size() != kTextBytes || value_of(text[0]) > 7) return bad;
  // 26 digits of 5 bits hold 130 bits; the first digit carries only 3.
  std::array<std::uint8_t, 16> bytes{};
  unsigned pending = 0;
  int bits = -2;
  std::size_t at = 0;
  for (const char c : text) {
    const int digit = value_of(c);
    if (digit < 0) return bad;
    pending = (pending << 5) | static_cast<unsigned>(digit);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = static_cast<std::uint8_t>(pending >> bits);
      pending &= (1u << bits) - 1;
    }
  }
  return Ulid(bytes);
}

namespace {

std::string uuid_text(std::array<std::uint8_t, 16> bytes) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x80);  // version 8: a custom layout (RFC 9562)
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace

std::string Ulid::uuid() const { return uuid_text(bytes_); }

std::string Ulid::uuid(std::uint64_t number) const {
  auto bytes = bytes_;
  for (std::size_t i = bytes.size(); i-- > 10; number >>= 8) bytes[i] = static_cast<std::uint8_t>(number);
  return uuid_text(bytes);
}

std::string Ulid::text() const {
  std::string out;
  out.reserve(kTextBytes);
  unsigned pending = 0;
  int bits = 2;
  for (const std::uint8_t byte : bytes_) {
    pending = (pending << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out.push_back(kAlphabet[(pending >> bits) & 31u]);
      pending &= (1u << bits) - 1;
    }
  }
  return out;
}

std::uint64_t Ulid::time_ms() const {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 6; ++i) out = (out << 8) | bytes_[i];
  return out;
}

IdSource::IdSource(const Clock& clock, Random random)
    : clock_(clock), random_(random ? std::move(random) : Random(kernel_random)) {}

Ulid IdSource::next() {
  const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(clock_.wall_ms(), 0));
  const MutexLock lock(mutex_);
  if (now > Ulid(last_).time_ms()) {
    for (std::size_t i = 0; i < 6; ++i) last_[i] = static_cast<std::uint8_t>(now >> (8 * (5 - i)));
    random_(last_.data() + 6, 10);
    return Ulid(last_);
  }
  for (std::size_t i = 16; i-- > 6;)
    if (++last_[i] != 0) break;
  return Ulid(last_);
}

}  // namespace agentd
