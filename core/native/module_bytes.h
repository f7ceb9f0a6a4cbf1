// SPDX-License-Identifier: Apache-2.0
#pragma once
// module_bytes.h - the bytes of a module file at random, and what a scan of them finds.
//
// The scanners of ELF and of PE files read through it: every offset and length in a file is taken
// for hostile.
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
  // Fills `out` from `offset`; false when not all of it lies in the file.
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

// Reads what is asked for and nothing else; the head of the file is read once.
class FileBytes final : public ModuleBytes {
 public:
  // The descriptor is borrowed; `size` is that of the file.
  FileBytes(int fd, std::uint64_t size);
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t offset, std::span<char> out) const override;

 private:
  int fd_;
  std::uint64_t size_;
  std::string head_;
};

struct ModuleScan {
  // What keeps the file from being loaded here whatever its manifest says: "is built for AArch64,
  // ...". Empty = nothing.
  std::string obstacle;
  std::optional<std::string> manifest;  // JSON text as it is in the file
};

constexpr std::uint64_t kManifestBytesMax = 1u << 18;  // a text that large is no manifest

// Little-endian numbers out of a piece that was read whole.
std::uint64_t little_endian(std::span<const char> piece, std::size_t at, std::size_t bytes);
inline std::uint16_t u16_at(std::span<const char> piece, std::size_t at) {
  return static_cast<std::uint16_t>(little_endian(piece, at, 2));
}
inline std::uint32_t u32_at(std::span<const char> piece, std::size_t at) {
  return static_cast<std::uint32_t>(little_endian(piece, at, 4));
}

inline std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace agentd
