// SPDX-License-Identifier: Apache-2.0
#include "core/native/elf_note.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd {
namespace {

void put(std::string& out, std::size_t at, std::uint64_t value, std::size_t bytes) {
  if (out.size() < at + bytes) out.resize(at + bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) out[at + i] = static_cast<char>(value >> (8 * i));
}

std::string note(const std::string& owner, std::uint32_t type, const std::string& text, std::size_t align = 4) {
  const auto pad = [&](std::string& to) { to.resize((to.size() + align - 1) & ~(align - 1), '\0'); };
  std::string out;
  put(out, 0, owner.size() + 1, 4);
  put(out, 4, text.size() + 1, 4);
  put(out, 8, type, 4);
  out += owner + '\0';
  pad(out);
  out += text + '\0';
  pad(out);
  return out;
}

#if defined(__aarch64__)
constexpr unsigned kMachine64 = 183;
#else
constexpr unsigned kMachine64 = 62;
#endif

// A 64-bit shared library with one header of each kind asked for; the notes lie at 0x100.
std::string elf64(const std::string& notes, bool segment, bool section, std::uint64_t align = 4) {
  std::string out(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  put(out, 16, 3, 2);  // ET_DYN
  put(out, 18, kMachine64, 2);
  put(out, 32, 64, 8);  // phoff
  put(out, 54, 56, 2);
  put(out, 56, segment ? 2 : 1, 2);
  put(out, 64, 1, 4);  // PT_LOAD over everything
  put(out, 64 + 32, 0x100 + notes.size(), 8);
  put(out, 120, 4, 4);  // PT_NOTE
  put(out, 120 + 8, 0x100, 8);
  put(out, 120 + 32, notes.size(), 8);
  put(out, 120 + 48, align, 8);
  if (section) {
    put(out, 40, 176, 8);  // shoff
    put(out, 58, 64, 2);
    put(out, 60, 1, 2);
    put(out, 176 + 4, 7, 4);  // SHT_NOTE
    put(out, 176 + 24, 0x100, 8);
    put(out, 176 + 32, notes.size(), 8);
    put(out, 176 + 48, align, 8);
  }
  out.resize(0x100, '\0');
  return out + notes;
}

std::string elf32(const std::string& notes) {
  std::string out(
      "\x7f"
      "ELF\x01\x01\x01",
      7);
  put(out, 16, 3, 2);
  put(out, 18, 3, 2);
  put(out, 28, 52, 4);
  put(out, 42, 32, 2);
  put(out, 44, 1, 2);
  put(out, 52, 4, 4);
  put(out, 52 + 4, 0x100, 4);
  put(out, 52 + 16, notes.size(), 4);
  put(out, 52 + 28, 4, 4);
  out.resize(0x100, '\0');
  return out + notes;
}

ModuleScan scan(const std::string& bytes) {
  auto out = scan_module(MemoryBytes(bytes));
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *out : ModuleScan();
}

std::string file_bytes(const std::string& name) {
  std::ifstream in(std::string(AGENTD_BROKEN_HOOKS) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ModuleScan, FindsTheManifestThroughTheProgramHeaders) {
  const ModuleScan found = scan(elf64(note("agentd", 1, "{\"id\":\"x\"}"), true, false));
  ASSERT_TRUE(found.manifest);
  EXPECT_EQ(*found.manifest, "{\"id\":\"x\"}");
  EXPECT_EQ(found.obstacle, "");
}

TEST(ModuleScan, FindsTheManifestThroughTheSectionHeaders) {
  const ModuleScan found = scan(elf64(note("agentd", 1, "{}"), false, true));
  ASSERT_TRUE(found.manifest);
  EXPECT_EQ(*found.manifest, "{}");
}

TEST(ModuleScan, FindsTheManifestBehindOtherNotes) {
  const std::string notes =
      note("GNU", 3, "abcde") + note("agentd", 2, "no") + note("agentx", 1, "no") + note("agentd", 1, "yes");
  EXPECT_EQ(scan(elf64(notes, true, false)).manifest, "yes");
}

TEST(ModuleScan, HonoursTheAlignmentOfEight) {
  const std::string notes = note("GNU", 5, "abcdefgh1", 8) + note("agentd", 1, "yes", 8);
  EXPECT_EQ(scan(elf64(notes, true, false, 8)).manifest, "yes");
}

TEST(ModuleScan, ReadsTheManifestOfA32BitModuleAndNamesItsMachine) {
  const ModuleScan found = scan(elf32(note("agentd", 1, "{}")));
  EXPECT_EQ(found.manifest, "{}");
  EXPECT_NE(found.obstacle.find("is built for x86 (32 bit)"), std::string::npos) << found.obstacle;
}

TEST(ModuleScan, ModuleWithoutANoteHasNoManifest) { EXPECT_FALSE(scan(file_bytes("no_manifest.so")).manifest); }

TEST(ModuleScan, FileAndMemoryGiveTheSameManifest) {
  const std::string bytes = file_bytes("good.so");
  const std::string path = std::string(AGENTD_BROKEN_HOOKS) + "/good.so";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto from_file = scan_module(FileBytes(fd.get(), bytes.size()));
  ASSERT_TRUE(from_file);
  ASSERT_TRUE(from_file->manifest);
  EXPECT_EQ(from_file->manifest, scan(bytes).manifest);
  EXPECT_NE(from_file->manifest->find("org.agentd.test.good"), std::string::npos);
}

TEST(ModuleScan, ExecutableIsNoSharedLibrary) {
  std::string bytes = elf64(note("agentd", 1, "{}"), true, false);
  bytes[16] = 2;  // ET_EXEC
  const auto found = scan_module(MemoryBytes(bytes));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("-shared"), std::string::npos);
}

TEST(ModuleScan, SegmentBeyondTheFileIsCutOff) {
  const std::string bytes = elf64(note("agentd", 1, "{}"), true, false);
  EXPECT_NE(scan(bytes.substr(0, bytes.size() - 1)).obstacle.find("truncated"), std::string::npos);
}

TEST(ModuleScan, NoteWithALengthBeyondItsSegmentIsNone) {
  std::string notes = note("agentd", 1, "{}");
  put(notes, 4, 0xfffffff0u, 4);
  EXPECT_FALSE(scan(elf64(notes, true, false)).manifest);
  notes = note("agentd", 1, "{}");
  put(notes, 0, 0xffffffffu, 4);
  EXPECT_FALSE(scan(elf64(notes, true, false)).manifest);
}

TEST(ModuleScan, EveryTruncationIsAnswered) {
  for (const std::string& whole : {elf64(note("agentd", 1, "{}"), true, true), elf32(note("agentd", 1, "{}")),
                                   file_bytes("good.so").substr(0, 4096)})
    for (std::size_t length = 0; length < whole.size(); ++length) {
      // A copy of its own, so that a sanitizer sees a read beyond its end.
      const std::vector<char> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      (void)scan_module(MemoryBytes({bytes.data(), bytes.size()}));
    }
}

TEST(ModuleScan, RandomMutationsAreAnswered) {
  constexpr std::uint32_t kSeed = 20260101;
  std::mt19937 random(kSeed);
  const std::vector<std::string> seeds{elf64(note("agentd", 1, "{\"id\":\"x\"}"), true, true),
                                       elf32(note("agentd", 1, "{}"))};
  std::size_t survived = 0;
  for (int round = 0; round < 60'000; ++round) {
    const std::string& seed = seeds[static_cast<std::size_t>(round) % seeds.size()];
    std::vector<char> bytes(seed.begin(), seed.end());
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    bytes.resize(bytes.size() - random() % 16);
    const auto found = scan_module(MemoryBytes({bytes.data(), bytes.size()}));
    if (found && found->manifest) ++survived;
  }
  // The walk is worth something only if it gets past the first checks often.
  EXPECT_GT(survived, 1'000u);
}

}  // namespace
}  // namespace agentd
