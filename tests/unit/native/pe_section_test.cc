// SPDX-License-Identifier: Apache-2.0
#include "core/native/pe_section.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/native/elf_note.h"
#include "core/native/manifest.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

void put_number(std::string& out, std::size_t at, std::uint64_t value, std::size_t bytes) {
  if (out.size() < at + bytes) out.resize(at + bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) out[at + i] = static_cast<char>(value >> (8 * i));
}

constexpr std::size_t kStart = 0x80, kTable = kStart + 24 + 16, kOwn = kTable + 40, kTextAt = 0x200;

// A DLL with the sections .text and .agentd; the text lies at 0x200.
std::string pe(const std::string& text, unsigned machine = 0x8664) {
  std::string out = "MZ";
  put_number(out, 0x3c, kStart, 4);
  put_number(out, kStart, 0x4550, 4);  // PE\0\0
  put_number(out, kStart + 4, machine, 2);
  put_number(out, kStart + 6, 2, 2);        // sections
  put_number(out, kStart + 20, 16, 2);      // bytes of the optional header
  put_number(out, kStart + 22, 0x2022, 2);  // a DLL
  put_number(out, kOwn, 0, 8);
  out.replace(kTable, 5, ".text");
  out.replace(kOwn, 7, ".agentd");
  put_number(out, kOwn + 8, text.size() + 1, 4);    // in memory
  put_number(out, kOwn + 16, text.size() + 20, 4);  // in the file, padded
  put_number(out, kOwn + 20, kTextAt, 4);
  out.resize(kTextAt, '\0');
  return out + text + std::string(20, '\0');
}

ModuleScan scan_pe(const std::string& bytes) {
  auto out = scan_module(MemoryBytes(bytes));
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *out : ModuleScan();
}

std::string refusal(const std::string& bytes) {
  const auto out = scan_module(MemoryBytes(bytes));
  EXPECT_FALSE(out);
  return out ? "" : out.error().message;
}

TEST(PeSection, GivesTheManifestAndSaysWhatTheModuleIs) {
  const ModuleScan found = scan_pe(pe(R"({"id":"w"})"));
  EXPECT_EQ(found.manifest, R"({"id":"w"})");
  EXPECT_EQ(found.obstacle, "is a module for Windows (x86-64); this agentd loads ELF modules: rebuild it for Linux");
}

TEST(PeSection, NamesTheMachine) {
  EXPECT_NE(scan_pe(pe("{}", 0xaa64)).obstacle.find("(AArch64)"), std::string::npos);
  EXPECT_NE(scan_pe(pe("{}", 0x014c)).obstacle.find("(x86 (32 bit))"), std::string::npos);
  EXPECT_NE(scan_pe(pe("{}", 0x1234)).obstacle.find("(machine number 4660)"), std::string::npos);
}

TEST(PeSection, WithoutItsSizeInMemoryTheTextEndsAtItsNul) {
  std::string bytes = pe("{}");
  put_number(bytes, kOwn + 8, 0, 4);
  EXPECT_EQ(scan_pe(bytes).manifest, "{}");
}

TEST(PeSection, ATextWithoutItsNulEndsWithTheSection) {
  std::string bytes = pe("{\"a\":1}trailing");
  put_number(bytes, kOwn + 8, 7, 4);
  EXPECT_EQ(scan_pe(bytes).manifest, "{\"a\":1}");
}

TEST(PeSection, ModuleWithoutTheSectionHasNoManifest) {
  std::string bytes = pe("{}");
  bytes.replace(kOwn, 7, ".rdata\0");
  EXPECT_FALSE(scan_pe(bytes).manifest);
  EXPECT_NE(scan_pe(bytes).obstacle, "");
}

TEST(PeSection, ALongerNameIsAnotherSection) {
  std::string bytes = pe("{}");
  bytes[kOwn + 7] = 'x';
  EXPECT_FALSE(scan_pe(bytes).manifest);
}

TEST(PeSection, ASectionBeyondTheFileHasNoManifest) {
  for (const auto& [at, value] : std::vector<std::pair<std::size_t, std::uint64_t>>{
           {16, 0xffffffff}, {16, 4096}, {20, 0xffffffff}, {20, kTextAt + 60}}) {
    std::string bytes = pe("{}");
    put_number(bytes, kOwn + 8, 0, 4);
    put_number(bytes, kOwn + at, value, 4);
    EXPECT_FALSE(scan_pe(bytes).manifest) << at << " " << value;
  }
}

TEST(PeSection, ATextThatNobodyWroteByHandIsNoManifest) {
  EXPECT_TRUE(scan_pe(pe(std::string(kManifestBytesMax - 1, 'x'))).manifest);
  EXPECT_FALSE(scan_pe(pe(std::string(kManifestBytesMax, 'x'))).manifest);
}

TEST(PeSection, AnEmptyTextIsNoManifest) { EXPECT_FALSE(scan_pe(pe("")).manifest); }

TEST(PeSection, SectionsBeyondTheLimitOfWindowsAreNotLookedAt) {
  std::string bytes = pe("{}");
  put_number(bytes, kStart + 20, 16, 2);
  put_number(bytes, kStart + 6, 0xffff, 2);
  EXPECT_EQ(scan_pe(bytes).manifest, "{}");
  const std::string header = bytes.substr(kOwn, 40);
  std::string many = bytes.substr(0, kTable) + std::string(96 * 40, 's') + header + std::string(64, '\0');
  EXPECT_FALSE(scan_pe(many).manifest);
}

TEST(PeSection, AProgramIsNoSharedLibrary) {
  std::string bytes = pe("{}");
  put_number(bytes, kStart + 22, 0x0022, 2);
  EXPECT_EQ(refusal(bytes), "is a Windows program, not a shared library: link it with -shared");
}

TEST(PeSection, BytesWithTheMagicAloneAreNoLibrary) {
  EXPECT_EQ(refusal("MZ and a letter from home"), "is not a shared library despite its name");
  std::string bytes = pe("{}");
  bytes[kStart] = 'N';  // an older kind of Windows file
  EXPECT_EQ(refusal(bytes), "is not a shared library despite its name");
}

TEST(PeSection, AHeaderBeyondTheFileIsCutOff) {
  EXPECT_EQ(refusal(pe("{}").substr(0, kStart + 23)), "is truncated: copy the file again");
  std::string bytes = pe("{}");
  put_number(bytes, 0x3c, 0xffffffff, 4);
  EXPECT_EQ(refusal(bytes), "is truncated: copy the file again");
}

TEST(PeSection, EveryTruncationIsAnsweredAndOnlyTheWholeTextIsAManifest) {
  const std::string whole = pe(R"({"id":"w"})");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // A copy of its own, so that a sanitizer sees a read beyond its end.
    const std::vector<char> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto found = scan_module(MemoryBytes({bytes.data(), bytes.size()}));
    if (found && found->manifest) {
      EXPECT_EQ(*found->manifest, R"({"id":"w"})");
    }
  }
}

TEST(PeSection, RandomMutationsAreAnswered) {
  constexpr std::uint32_t kSeed = 20260101;
  std::mt19937 random(kSeed);
  const std::string seed = pe(R"({"id":"w"})");
  std::size_t survived = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::vector<char> bytes(seed.begin(), seed.end());
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    bytes.resize(bytes.size() - random() % 16);
    const auto found = scan_module(MemoryBytes({bytes.data(), bytes.size()}));
    if (found && found->manifest) ++survived;
  }
  EXPECT_GT(survived, 1'000u);
}

// ---- modules that a compiler for Windows made

class WindowsModule : public ::testing::TestWithParam<const char*> {
 protected:
  // They are there when the compiler was there at configure time.
  void SetUp() override {
    const std::string path = std::string(AGENTD_WINDOWS_HOOKS) + "/hello_" + GetParam() + ".dll";
    bytes_ = read_file(path, 16u << 20).value_or("");
    if (!bytes_.empty()) return;
    ASSERT_EQ(std::getenv("CI"), nullptr) << "no x86_64-w64-mingw32-g++, and CI is set";
    GTEST_SKIP() << "no x86_64-w64-mingw32-g++";
  }
  std::string bytes_;
};

TEST_P(WindowsModule, CarriesAManifestThatParses) {
  const ModuleScan found = scan_pe(bytes_);
  ASSERT_TRUE(found.manifest);
  const auto manifest = parse_manifest(*found.manifest);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->id, "org.example.hello");
  EXPECT_EQ(manifest->abi_major, 1u);
  EXPECT_EQ(manifest->events, (std::vector<std::string>{"before_tool_call", "agent_stop"}));
}

TEST_P(WindowsModule, IsListedWithItsIdAndAVerdict) {
  HostFixture fixture("");
  fixture.put("hello.dll", bytes_);
  const auto hooks = describe_hooks(fixture.options);
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks[0].name, "hello");
  ASSERT_TRUE(hooks[0].manifest);
  EXPECT_EQ(hooks[0].manifest->id, "org.example.hello");
  EXPECT_EQ(hooks[0].manifest->version, "1.0.0");
  EXPECT_EQ(hooks[0].obstacle, hooks[0].path +
                                   " is a module for Windows (x86-64); this agentd loads ELF modules: "
                                   "rebuild it for Linux");
}

TEST_P(WindowsModule, IsAProblemForARunAndNothingIsLoaded) {
  HostFixture fixture("");
  fixture.put("hello.dll", bytes_);
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_NE(fixture.host->problems()[0].message.find("is a module for Windows"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Languages, WindowsModule, ::testing::Values("c", "cpp"),
                         [](const auto& each) { return std::string(each.param); });

TEST(WindowsGuard, ThatCannotBeLoadedIsABrokenGuard) {
  HostFixture fixture("");
  fixture.put("guard.dll", pe(R"({"id":"org.example.guard","version":"1.0.0","abi":"1.0",)"
                              R"("events":["before_tool_call"],"capabilities":["gate"]})"));
  fixture.load();
  ASSERT_EQ(fixture.host->broken_guards().size(), 1u);
  EXPECT_EQ(fixture.host->broken_guards()[0].events, std::vector<std::string>{"before_tool_call"});
}

}  // namespace
}  // namespace agentd
