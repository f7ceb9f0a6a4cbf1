// SPDX-License-Identifier: Apache-2.0
#include "core/native/elf_note.h"

#include <agentd/hook_abi.h>

#include <algorithm>
#include <array>

#include "core/native/pe_section.h"

namespace agentd {
namespace {

constexpr std::uint64_t kNoteBytesMax = 1u << 20;  // of one segment or section
constexpr std::uint32_t kHeadersMax = 4096;        // limit for program and section headers

constexpr std::uint32_t kSegmentNote = 4;  // PT_NOTE
constexpr std::uint32_t kSectionNote = 7;  // SHT_NOTE
constexpr std::uint16_t kTypeShared = 3;   // ET_DYN

#if defined(__x86_64__)
constexpr std::uint16_t kOwnMachine = 62;
constexpr bool kOwnIs64 = true;
#elif defined(__aarch64__)
constexpr std::uint16_t kOwnMachine = 183;
constexpr bool kOwnIs64 = true;
#elif defined(__i386__)
constexpr std::uint16_t kOwnMachine = 3;
constexpr bool kOwnIs64 = false;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::uint16_t kOwnMachine = 243;
constexpr bool kOwnIs64 = true;
#else
#error "name this machine's ELF number here"
#endif

std::string elf_machine_name(std::uint16_t machine) {
  switch (machine) {
    case 3:
      return "x86 (32 bit)";
    case 40:
      return "ARM (32 bit)";
    case 62:
      return "x86-64";
    case 183:
      return "AArch64";
    case 243:
      return "RISC-V";
  }
  return "machine number " + std::to_string(machine);
}

std::size_t padded(std::size_t bytes, std::size_t align) { return (bytes + align - 1) & ~(align - 1); }

// Finds the manifest in the notes of one segment.
std::optional<std::string> find_note(std::string_view notes, std::size_t align) {
  constexpr std::string_view kOwner(AGENTD_NOTE_OWNER, sizeof(AGENTD_NOTE_OWNER));
  while (notes.size() >= 12) {
    const std::size_t name_bytes = u32_at(notes, 0), text_bytes = u32_at(notes, 4);
    const std::uint32_t type = u32_at(notes, 8);
    const std::size_t text_at = padded(12 + name_bytes, align);
    if (text_at > notes.size() || text_bytes > notes.size() - text_at) return {};
    if (type == AGENTD_NOTE_TYPE && notes.substr(12, name_bytes) == kOwner)
      return std::string(until_nul(notes.substr(text_at, text_bytes)));
    notes.remove_prefix(std::min(notes.size(), text_at + padded(text_bytes, align)));
  }
  return {};
}

// The layout of the header tables in each of the two ELF classes.
struct Layout {
  std::size_t word, header_bytes;
  std::size_t phoff, shoff, phentsize, shentsize;  // in the file header; counts follow their sizes
  std::size_t ph_bytes, ph_offset, ph_filesz, ph_align;
  std::size_t sh_bytes, sh_offset, sh_size, sh_align;
};
constexpr Layout kLayout64{8, 64, 32, 40, 54, 58, 56, 8, 32, 48, 64, 24, 32, 48};
constexpr Layout kLayout32{4, 52, 28, 32, 42, 46, 32, 4, 16, 28, 40, 16, 20, 32};

class Elf {
 public:
  Elf(const ModuleBytes& bytes, std::span<const char> header, const Layout& layout)
      : bytes_(bytes), header_(header), layout_(layout) {}

  std::optional<std::string> by_segments() const {
    return search(table(layout_.phoff, layout_.phentsize, layout_.ph_bytes), kSegmentNote, 0, layout_.ph_offset,
                  layout_.ph_filesz, layout_.ph_align);
  }
  std::optional<std::string> by_sections() const {
    return search(table(layout_.shoff, layout_.shentsize, layout_.sh_bytes), kSectionNote, 4, layout_.sh_offset,
                  layout_.sh_size, layout_.sh_align);
  }
  // True if everything that the program headers map is in the file.
  bool is_whole() const {
    const Table headers = table(layout_.phoff, layout_.phentsize, layout_.ph_bytes);
    if (headers.count == 0) return false;
    std::array<char, 64> piece{};
    const std::span<char> entry(piece.data(), layout_.ph_bytes);
    for (std::uint32_t i = 0; i < headers.count; ++i) {
      if (!bytes_.read(headers.offset + std::uint64_t{i} * headers.entry_bytes, entry)) return false;
      const std::uint64_t offset = word(entry, layout_.ph_offset);
      const std::uint64_t size = word(entry, layout_.ph_filesz);
      constexpr std::uint32_t kSegmentLoad = 1;
      if (u32_at(entry, 0) != kSegmentLoad) continue;
      if (offset > bytes_.size() || size > bytes_.size() - offset) return false;
    }
    return true;
  }

 private:
  struct Table {
    std::uint64_t offset = 0;
    std::uint32_t count = 0;
    std::uint32_t entry_bytes = 0;
  };

  std::uint64_t word(std::span<const char> piece, std::size_t at) const {
    return little_endian(piece, at, layout_.word);
  }

  Table table(std::size_t offset_at, std::size_t entry_size_at, std::size_t least_bytes) const {
    Table out{word(header_, offset_at), u16_at(header_, entry_size_at + 2), u16_at(header_, entry_size_at)};
    if (out.entry_bytes < least_bytes || out.offset > bytes_.size()) out.count = 0;
    out.count = std::min(out.count, kHeadersMax);
    return out;
  }

  std::optional<std::string> search(const Table& headers, std::uint32_t wanted, std::size_t type_at,
                                    std::size_t offset_at, std::size_t size_at, std::size_t align_at) const {
    std::array<char, 64> piece{};
    const std::span<char> entry(piece.data(), std::max(size_at, align_at) + layout_.word);
    for (std::uint32_t i = 0; i < headers.count; ++i) {
      if (!bytes_.read(headers.offset + std::uint64_t{i} * headers.entry_bytes, entry)) return {};
      if (u32_at(entry, type_at) != wanted) continue;
      const std::size_t align = word(entry, align_at) == 8 ? 8 : 4;
      if (auto found = read_notes(word(entry, offset_at), word(entry, size_at), align)) return found;
    }
    return {};
  }

  std::optional<std::string> read_notes(std::uint64_t offset, std::uint64_t size, std::size_t align) const {
    if (size > kNoteBytesMax || offset > bytes_.size() || size > bytes_.size() - offset) return {};
    std::string notes(static_cast<std::size_t>(size), '\0');
    if (!bytes_.read(offset, notes)) return {};
    return find_note(notes, align);
  }

  const ModuleBytes& bytes_;
  std::span<const char> header_;
  const Layout& layout_;
};

Result<ModuleScan> scan_elf(const ModuleBytes& bytes) {
  std::array<char, 64> header{};
  const bool is64 = bytes.read(0, std::span(header).first(5)) && header[4] == 2;
  const Layout& layout = is64 ? kLayout64 : kLayout32;
  if (!bytes.read(0, std::span(header).first(layout.header_bytes)))
    return Error{Code::kInvalid, "is truncated: copy the file again"};
  ModuleScan out;
  if (header[5] != 1) {
    out.obstacle = "is built for a big-endian machine: rebuild it for " + elf_machine_name(kOwnMachine);
    return out;
  }
  if (u16_at(header, 16) != kTypeShared)
    return Error{Code::kInvalid, "is an ELF file but not a shared library: link it with -shared"};
  const Elf elf(bytes, header, layout);
  out.manifest = elf.by_segments();
  if (!out.manifest) out.manifest = elf.by_sections();
  const std::uint16_t machine = u16_at(header, 18);
  if (machine != kOwnMachine || is64 != kOwnIs64)
    out.obstacle = "is built for " + elf_machine_name(machine) + ": rebuild it for " + elf_machine_name(kOwnMachine);
  else if (!elf.is_whole())
    out.obstacle = "is truncated: copy the file again";
  return out;
}

}  // namespace

Result<ModuleScan> scan_module(const ModuleBytes& bytes) {
  std::array<char, 4> magic{};
  if (bytes.size() == 0) return Error{Code::kInvalid, "is empty: copy the file again"};
  const bool long_enough = bytes.read(0, magic);
  if (long_enough && std::string_view(magic.data(), 4) ==
                         "\x7f"
                         "ELF") {
    auto out = scan_elf(bytes);
    if (out && out->manifest && out->manifest->size() > kManifestBytesMax) out->manifest.reset();
    return out;
  }
  if (long_enough && std::string_view(magic.data(), 2) == "MZ") return scan_pe(bytes);
  return Error{Code::kInvalid, "is not a shared library despite its name"};
}

}  // namespace agentd
