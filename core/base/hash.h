// SPDX-License-Identifier: Apache-2.0
#pragma once
// hash.h - SHA-256 (OpenSSL) for identity, CRC-32C (the processor's instruction, else Boost) against accidents.
//
// Threading: pure functions; Sha256 is thread-compatible.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentd {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256& add(std::string_view bytes);
  Sha256& add(const Digest& digest);
  // Returns the sum; the object must not be used after it.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::string_view bytes);
// The keyed sum of RFC 2104 over SHA-256.
Digest hmac_sha256(std::string_view key, std::string_view bytes);
// 64 lower-case digits.
std::string hex(const Digest& digest);
// The Castagnoli polynomial, as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace agentd
