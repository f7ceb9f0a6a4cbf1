// SPDX-License-Identifier: Apache-2.0
#pragma once
// ids.h - ULIDs: 48 bits of milliseconds, 80 of randomness, sortable, 26 characters of Crockford base 32.
//
// Source: the ULID specification (github.com/ulid/spec).
// Threading: values are immutable; IdSource is thread-safe.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace agentd {

class Ulid {
 public:
  static constexpr std::size_t kTextBytes = 26;
  Ulid() = default;
  explicit Ulid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // kInvalid for anything but 26 characters of the alphabet, in either case.
  static Result<Ulid> parse(std::string_view text);

  std::string text() const;
  // The same bytes as a UUID of version 8, which overwrites six bits of the id.
  std::string uuid() const;
  // A UUID for a numbered part of this id: its last six bytes are the number's.
  std::string uuid(std::uint64_t number) const;
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  std::uint64_t time_ms() const;
  auto operator<=>(const Ulid&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

// Makes ids that grow: within one millisecond the random part counts up.
class IdSource {
 public:
  using Random = std::function<void(std::uint8_t* out, std::size_t bytes)>;
  // `clock` must outlive the source. Randomness comes from the kernel unless `random` is given.
  explicit IdSource(const Clock& clock, Random random = {});
  Ulid next();

 private:
  const Clock& clock_;
  const Random random_;
  Mutex mutex_;
  std::array<std::uint8_t, 16> last_ GUARDED_BY(mutex_){};
};

}  // namespace agentd
