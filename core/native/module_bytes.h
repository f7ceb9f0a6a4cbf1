// SPDX-License-Identifier: Apache-2.0
#pragma once
// module_bytes.h - random access to a module file, and the result of a scan.
//
// The scanners of ELF and PE files read through it; every offset and length in a file is treated as hostile.
//
// Threading: pure functions; FileBytes is thread-compatible.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace agentd {

class ModuleBytes {
 public:
  virtual ~ModuleBytes() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` from `offset`; false if it is not all within the file.
  virtual bool read(std::uint64_t offset, std::span<char> out) const = 0;
};

class MemoryBytes final : public ModuleBytes {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool read(std::uint64_t offset, std::span<char> out) const override;

 private:
  std::string_view bytes_;
};

// Reads only the requested bytes; the head of the file is read once.
class FileBytes final : public ModuleBytes {
 public:
  // Borrows the descriptor; `size` is the file's.
  FileBytes(int fd, std::uint64_t size);
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t offset, std::span<char> out) const override;

 private:
  int fd_;
  std::uint64_t size_;
  std::string head_;
};

struct ModuleScan {
  // Why the file cannot be loaded here, whatever its manifest says: "is built for AArch64, ...". Empty = no obstacle.
  std::string obstacle;
  std::optional<std::string> manifest;  // JSON text as in the file
};

constexpr std::uint64_t kManifestBytesMax = 1u << 18;  // a larger text is not a manifest

// A little-endian number at `at` in a piece that was read completely.
std::uint64_t little_endian(std::span<const char> piece, std::size_t at, std::size_t bytes);
inline std::uint16_t u16_at(std::span<const char> piece, std::size_t at) {
  return static_cast<std::uint16_t>(little_endian(piece, at, 2));
}
inline std::uint32_t u32_at(std::span<const char> piece, std::size_t at) {
  return static_cast<std::uint32_t>(little_endian(piece, at, 4));
}

inline std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace agentd
