// SPDX-License-Identifier: Apache-2.0
#include "core/validate/lint.h"

#include <agentd/hook_abi.h>
#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

namespace agentd::validation {
namespace {

constexpr std::size_t kSymbolsMax = 1'000'000, kNameBytesMax = 4096;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<ElfFacts> run() {
    if (!take(0, head_) || std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 || head_.e_ident[EI_CLASS] != ELFCLASS64 ||
        head_.e_ident[EI_DATA] != ELFDATA2LSB || head_.e_type != ET_DYN || head_.e_phentsize != sizeof(Elf64_Phdr))
      return Error{Code::kInvalid, "is not a 64-bit ELF shared library"};
    read_segments();
    if (dynamic_.p_filesz == 0) return Error{Code::kInvalid, "has no dynamic section"};
    read_dynamic();
    read_symbols();
    read_versions();
    // Older linkers do not mark programs, which are not modules, and some libraries can be started.
    const bool entry =
        std::find(out_.exported.begin(), out_.exported.end(), AGENTD_ENTRY_SYMBOL) != out_.exported.end();
    if (interpreted_ && !entry) out_.program = true;
    return std::move(out_);
  }

 private:
  template <typename T>
  bool take(std::uint64_t offset, T& out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }

  void read_segments() {
    bool stack = false;
    for (unsigned i = 0; i < head_.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!take(head_.e_phoff + i * sizeof segment, segment)) break;
      if (segment.p_type == PT_LOAD) loads_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
      if (segment.p_type == PT_GNU_RELRO) out_.relro = true;
      if (segment.p_type == PT_INTERP) interpreted_ = true;
      if (segment.p_type == PT_GNU_STACK) {
        stack = true;
        out_.executable_stack = (segment.p_flags & PF_X) != 0;
      }
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0)
        out_.writable_code = true;
    }
    if (!stack) out_.executable_stack = true;  // the kernel's default
  }

  // The file offset of an address.
  std::optional<std::uint64_t> place_of(std::uint64_t address) const {
    for (const Elf64_Phdr& load : loads_)
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    return {};
  }

  std::string name_at(std::uint64_t offset) const {
    const auto table = place_of(tags_.contains(DT_STRTAB) ? tags_.at(DT_STRTAB) : 0);
    if (!table || *table > bytes_.size() || offset > bytes_.size() - *table) return {};
    const std::string_view rest = bytes_.substr(*table + offset, kNameBytesMax);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void read_dynamic() {
    std::vector<std::pair<std::int64_t, std::uint64_t>> named;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!take(dynamic_.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
        named.emplace_back(entry.d_tag, entry.d_un.d_val);
      else
        tags_[entry.d_tag] = entry.d_un.d_val;
    }
    for (const auto& [tag, offset] : named) (tag == DT_NEEDED ? out_.needed : out_.runpaths).push_back(name_at(offset));
    const auto flag = [&](std::int64_t tag, std::uint64_t bit) {
      return tags_.contains(tag) && (tags_.at(tag) & bit) != 0;
    };
    out_.text_relocations = tags_.contains(DT_TEXTREL) || flag(DT_FLAGS, DF_TEXTREL);
    out_.static_tls = flag(DT_FLAGS, DF_STATIC_TLS);
    out_.program = flag(DT_FLAGS_1, DF_1_PIE);
  }

  // The number of dynamic symbols, from the hash tables.
  std::size_t symbol_count() const {
    if (tags_.contains(DT_HASH))
      if (const auto at = place_of(tags_.at(DT_HASH))) {
        Elf64_Word counts[2];
        if (take(*at, counts)) return std::min<std::size_t>(counts[1], kSymbolsMax);
      }
    return gnu_count();
  }

  std::size_t gnu_count() const {
    const auto at = place_of(tags_.contains(DT_GNU_HASH) ? tags_.at(DT_GNU_HASH) : 0);
    Elf64_Word head[4];  // buckets, first symbol, words of the filter, shift
    if (!at || !take(*at, head) || head[0] > kSymbolsMax || head[2] > kSymbolsMax) return 0;
    const std::uint64_t buckets = *at + sizeof head + std::uint64_t{head[2]} * 8;
    const std::uint64_t chains = buckets + std::uint64_t{head[0]} * 4;
    std::uint64_t last = head[1];
    for (Elf64_Word i = 0; i < head[0]; ++i) {
      Elf64_Word first = 0;
      if (take(buckets + std::uint64_t{i} * 4, first)) last = std::max<std::uint64_t>(last, first);
    }
    if (last < head[1] || last > kSymbolsMax) return 0;
    for (Elf64_Word link = 0; last < kSymbolsMax; ++last)
      if (!take(chains + (last - head[1]) * 4, link) || (link & 1) != 0) break;
    return static_cast<std::size_t>(last + 1);
  }

  void read_symbols() {
    const auto table = place_of(tags_.contains(DT_SYMTAB) ? tags_.at(DT_SYMTAB) : 0);
    if (!table) return;
    // A module that exports nothing may have no chain: its undefined symbols precede the first hashed one.
    const std::size_t count = symbol_count();
    for (std::size_t i = 1; i < count; ++i) {
      Elf64_Sym symbol;
      if (!take(*table + i * sizeof symbol, symbol)) break;
      add_symbol(symbol, name_at(symbol.st_name));
    }
  }

  void add_symbol(const Elf64_Sym& symbol, std::string name) {
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    if (name.empty() || binding == STB_LOCAL || ELF64_ST_VISIBILITY(symbol.st_other) == STV_HIDDEN) return;
    if (symbol.st_shndx == SHN_UNDEF) {
      if (binding != STB_WEAK) out_.undefined.push_back(std::move(name));
      return;
    }
    if (symbol.st_shndx == SHN_ABS) return;  // a version name
    if (binding == STB_GNU_UNIQUE) out_.unique.push_back(name);
    out_.exported.push_back(std::move(name));
  }

  static std::vector<int> numbers(std::string_view text) {
    std::vector<int> out;
    while (!text.empty()) {
      int value = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failed != std::errc()) break;
      out.push_back(value);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (!text.empty()) text.remove_prefix(1);
    }
    return out;
  }

  void read_versions() {
    std::map<std::string, std::string> newest;  // "GLIBC" to "2.34"
    std::uint64_t at = place_of(tags_.contains(DT_VERNEED) ? tags_.at(DT_VERNEED) : 0).value_or(0);
    for (int file = 0; at != 0 && file < 1000; ++file) {
      Elf64_Verneed need;
      if (!take(at, need)) break;
      std::uint64_t inner = at + need.vn_aux;
      for (unsigned i = 0; i < need.vn_cnt && i < 1000; ++i) {
        Elf64_Vernaux aux;
        if (!take(inner, aux)) break;
        const std::string name = name_at(aux.vna_name);
        const std::size_t line = name.find('_');
        if (line != std::string::npos) {
          std::string& known = newest[name.substr(0, line)];
          if (known.empty() || numbers(known) < numbers(name.substr(line + 1))) known = name.substr(line + 1);
        }
        if (aux.vna_next == 0) break;
        inner += aux.vna_next;
      }
      if (need.vn_next == 0) break;
      at += need.vn_next;
    }
    for (const auto& [family, version] : newest)
      if (!numbers(version).empty()) out_.versions.push_back(family + "_" + version);
  }

  std::string_view bytes_;
  Elf64_Ehdr head_{};
  Elf64_Phdr dynamic_{};
  bool interpreted_ = false;
  std::vector<Elf64_Phdr> loads_;
  std::map<std::int64_t, std::uint64_t> tags_;
  ElfFacts out_;
};

}  // namespace

Result<ElfFacts> read_elf(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace agentd::validation
