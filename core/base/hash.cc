// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"

// The low-level calls skip OpenSSL's start-up, which would cost more than the sums themselves.
#define OPENSSL_API_COMPAT 0x10100000L
#include <openssl/sha.h>

#include <boost/crc.hpp>
#if defined(__x86_64__)
#include <nmmintrin.h>

#include <cstring>
#endif

#include "core/base/bytes.h"

namespace agentd {
namespace {

std::uint32_t crc32c_anywhere(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

#if defined(__x86_64__)
// SSE 4.2, which the first processors of the architecture do not have.
__attribute__((target("sse4.2"))) std::uint32_t crc32c_x86(std::string_view bytes) {
  std::uint64_t sum = 0xFFFFFFFF;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    sum = _mm_crc32_u64(sum, word);
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<std::uint8_t>(byte));
  return ~rest;
}
#endif

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;

Sha256& Sha256::add(std::string_view bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::add(const Digest& digest) {
  SHA256_Update(&state_->context, digest.data(), digest.size());
  return *this;
}

Digest Sha256::finish() {
  Digest out{};
  SHA256_Final(out.data(), &state_->context);
  return out;
}

Digest sha256(std::string_view bytes) { return Sha256().add(bytes).finish(); }

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  constexpr std::size_t kBlock = 64;
  std::string inner(kBlock, '\x36'), outer(kBlock, '\x5c');
  const Digest long_key = key.size() > kBlock ? sha256(key) : Digest{};
  if (key.size() > kBlock) key = {reinterpret_cast<const char*>(long_key.data()), long_key.size()};
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  return Sha256().add(outer).add(Sha256().add(inner).add(bytes).finish()).finish();
}

std::string hex(const Digest& digest) { return hex(std::span<const std::uint8_t>(digest)); }

std::uint32_t crc32c(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_x86(bytes);
#endif
  return crc32c_anywhere(bytes);
}

}  // namespace agentd
