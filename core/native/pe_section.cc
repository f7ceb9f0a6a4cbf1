// SPDX-License-Identifier: Apache-2.0
#include "core/native/pe_section.h"

#include <algorithm>
#include <array>

namespace agentd {
namespace {

constexpr std::uint64_t kStartAt = 0x3c;  // offset of the PE header's offset
constexpr std::size_t kHeaderBytes = 24;  // "PE\0\0" and the COFF header
constexpr std::size_t kSectionBytes = 40;
constexpr std::uint32_t kSectionsMax = 96;  // the limit of Windows' loader
constexpr std::uint16_t kIsDll = 0x2000;
constexpr std::string_view kSection(".agentd\0", 8);

std::string pe_machine_name(std::uint16_t machine) {
  switch (machine) {
    case 0x014c:
      return "x86 (32 bit)";
    case 0x01c4:
      return "ARM (32 bit)";
    case 0x8664:
      return "x86-64";
    case 0xaa64:
      return "AArch64";
  }
  return "machine number " + std::to_string(machine);
}

// The text of one section, up to its NUL or the section's end.
std::optional<std::string> read_text(const ModuleBytes& bytes, std::span<const char> section) {
  const std::uint32_t in_memory = u32_at(section, 8), in_file = u32_at(section, 16);
  // Linkers pad the size in the file; linkers that record no size in memory write 0.
  const std::uint32_t size = in_memory == 0 ? in_file : std::min(in_memory, in_file);
  const std::uint64_t offset = u32_at(section, 20);
  if (size > kManifestBytesMax || offset > bytes.size() || size > bytes.size() - offset) return {};
  std::string text(size, '\0');
  if (!bytes.read(offset, text)) return {};
  text.resize(until_nul(text).size());
  if (text.empty()) return {};
  return text;
}

std::optional<std::string> find_section(const ModuleBytes& bytes, std::uint64_t table, std::uint32_t count) {
  std::array<char, kSectionBytes> section{};
  for (std::uint32_t i = 0; i < std::min(count, kSectionsMax); ++i) {
    if (!bytes.read(table + std::uint64_t{i} * kSectionBytes, section)) return {};
    if (std::string_view(section.data(), kSection.size()) == kSection) return read_text(bytes, section);
  }
  return {};
}

}  // namespace

Result<ModuleScan> scan_pe(const ModuleBytes& bytes) {
  const Error none{Code::kInvalid, "is not a shared library despite its name"};
  std::array<char, kHeaderBytes> header{};
  if (!bytes.read(kStartAt, std::span(header).first(4))) return none;
  const std::uint64_t start = u32_at(header, 0);
  if (!bytes.read(start, header)) return Error{Code::kInvalid, "is truncated: copy the file again"};
  if (std::string_view(header.data(), 4) != std::string_view("PE\0\0", 4)) return none;
  if ((u16_at(header, 22) & kIsDll) == 0)
    return Error{Code::kInvalid, "is a Windows program, not a shared library: link it with -shared"};
  ModuleScan out;
  out.obstacle = "is a module for Windows (" + pe_machine_name(u16_at(header, 4)) +
                 "); this agentd loads ELF modules: rebuild it for Linux";
  out.manifest = find_section(bytes, start + kHeaderBytes + u16_at(header, 20), u16_at(header, 6));
  return out;
}

}  // namespace agentd
