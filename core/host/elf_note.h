// SPDX-License-Identifier: Apache-2.0
#pragma once
// elf_note.h - the manifest of a hook module, read out of its bytes; no byte of the module runs.
//
// Where it is: ELF note "agentd" type 1, found through the program headers or, if a linker made none,
// through the section headers; the section .agentd of a PE file. Every offset and length in the file
// is taken for hostile: any bytes give an answer.
//
// Threading: pure functions; FileBytes is thread-compatible.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// Bytes at random, from memory or from a file.
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
  // What keeps the file from being loaded here whatever its manifest says: "is built for AArch64, ...".
  // Empty = nothing.
  std::string obstacle;
  std::optional<std::string> manifest;  // JSON text as it is in the file
};

// kInvalid: the file is no shared library; the message ends the sentence "FILE ...".
Result<ModuleScan> scan_module(const ModuleBytes& bytes);

}  // namespace agentd
