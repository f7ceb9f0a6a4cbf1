// SPDX-License-Identifier: Apache-2.0
// Somebody swaps files, directories and links while hooks are read: what runs is what was approved.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/trust/hook_directories.h"
#include "core/trust/sealed_file.h"
#include "core/trust/trust_store.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 16384;

// A twentieth of the swaps; all of them with TORTURE set.
std::uint64_t swaps_wanted() {
  const char* torture = std::getenv("TORTURE");
  return torture == nullptr || *torture == '\0' ? 5'000 : 100'000;
}

std::string program(char filling) { return "#!/bin/sh\n#" + std::string(kBytes, filling) + "\n"; }
const std::string& good() {
  static const std::string text = program('g');
  return text;
}
const std::string& evil() {
  static const std::string text = program('e');
  return text;
}

void overwrite(const std::string& path, const std::string& bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  for (std::size_t at = 0; fd.valid() && at < bytes.size(); at += 4096)
    (void)!::pwrite(fd.get(), bytes.data() + at, std::min<std::size_t>(4096, bytes.size() - at),
                    static_cast<off_t>(at));
}

class Race : public ::testing::Test {
 protected:
  Race() {
    for (const char* name : {"home", "home/hooks", "home/evil-hooks", "stock"})
      fs::create_directories(temp_.file(name));
    write("home/hooks/guard", good());
    write("home/evil-hooks/guard", evil());
  }
  std::string at(const std::string& name) const { return temp_.file(name); }
  void write(const std::string& name, const std::string& bytes) const {
    temp_.write(name, bytes);
    ::chmod(at(name).c_str(), 0755);
  }
  void exchange(const char* a, const char* b) const {
    (void)!::renameat2(AT_FDCWD, at(a).c_str(), AT_FDCWD, at(b).c_str(), RENAME_EXCHANGE);
  }

  // One of the ways to put other bytes where the approved ones were, and back.
  void swap(std::uint64_t turn) const {
    switch (turn % 6) {
      case 0:  // another file of that name
        exchange("home/hooks/guard", "home/evil-hooks/guard");
        break;
      case 1:  // another directory
        exchange("home/hooks", "home/evil-hooks");
        break;
      case 2:  // a link instead of the file
        (void)!::symlink("../evil-hooks/guard", at("stock/link").c_str());
        exchange("home/hooks/guard", "stock/link");
        exchange("home/hooks/guard", "stock/link");
        break;
      case 3:  // a link instead of the directory
        (void)!::symlink("evil-hooks", at("stock/directory").c_str());
        exchange("home/hooks", "stock/directory");
        exchange("home/hooks", "stock/directory");
        break;
      case 4:  // a second name for the evil bytes
        ::unlink(at("stock/hard").c_str());
        (void)!::link(at("home/evil-hooks/guard").c_str(), at("stock/hard").c_str());
        (void)!::rename(at("stock/hard").c_str(), at("home/hooks/guard").c_str());
        break;
      case 5:  // in place, page by page
        ::unlink(at("home/hooks/guard").c_str());
        write("home/hooks/guard", good());
        overwrite(at("home/hooks/guard"), evil());
        overwrite(at("home/hooks/guard"), good());
        break;
    }
  }

  void start() {
    racer_ = std::thread([this] {
      while (!over_) {
        swap(swaps_.load());
        ++swaps_;
      }
    });
  }
  void stop() {
    over_ = true;
    racer_.join();
  }

  testing::TempDir temp_;
  std::atomic<std::uint64_t> swaps_{0};
  std::atomic<bool> over_{false};
  std::thread racer_;
};

// What the host does with a hook: the bytes that would run, or nothing when they may not.
std::string load(const std::string& directory, TrustStore& store, const std::string& path) {
  NullLog log;
  const std::vector<HookDirectory> directories{{directory, Precedence::kProject}};
  HookScan scan = scan_hook_directories(directories, {}, ::geteuid());
  if (scan.files.size() != 1) return {};
  const auto bytes = read_fd(scan.files[0].fd.get(), 1u << 20, path);
  if (!bytes) return {};
  const auto sealed = seal(*bytes, path, "", log);
  if (!sealed) return {};
  TrustEntry asked;
  asked.name = scan.files[0].name;
  asked.path = path;
  asked.digest = sealed->digest;
  if (!consent(&store, asked, Precedence::kProject, {}).runs) return {};
  // Read again from where it would be executed, as the kernel does.
  return read_fd(sealed->fd.get(), 1u << 20, path).value_or("unreadable");
}

TEST_F(Race, NoUnapprovedByteRunsWhateverIsSwapped) {
  SystemClock clock;
  const std::string path = at("home/hooks/guard");
  auto store = TrustStore::open(at("trust.json"), ::geteuid(), clock);
  ASSERT_TRUE(store) << store.error().message;
  TrustEntry approved;
  approved.name = "project/guard";
  approved.path = path;
  approved.digest = hex(sha256(good()));
  ASSERT_TRUE(store->record(approved));
  std::uint64_t ran = 0, refused = 0, unapproved = 0;
  start();
  while (swaps_ < swaps_wanted()) {
    const std::string bytes = load(at("home/hooks"), *store, path);
    if (bytes.empty())
      ++refused;
    else if (bytes == good())
      ++ran;
    else
      ++unapproved;
  }
  stop();
  EXPECT_EQ(unapproved, 0u);
  // Both happened, so that the race was one.
  EXPECT_GT(ran, 0u);
  EXPECT_GT(refused, 0u);
  std::printf("%llu swaps: %llu ran as approved, %llu refused, %llu unapproved\n",
              static_cast<unsigned long long>(swaps_.load()), static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(unapproved));
}

// Who hashes by name and then runs by name is caught by the same racer: it does bite.
TEST_F(Race, TheRacerBeatsWhoReadsTwice) {
  const std::string path = at("home/hooks/guard"), approved = hex(sha256(good()));
  std::uint64_t beaten = 0;
  start();
  while (beaten == 0 && swaps_ < 2'000'000) {
    if (hex(sha256(read_file(path, 1u << 20).value_or(""))) != approved) continue;
    const std::uint64_t before = swaps_;
    while (swaps_ == before) std::this_thread::yield();
    const std::string bytes = read_file(path, 1u << 20).value_or(good());
    if (bytes != good()) ++beaten;
  }
  stop();
  EXPECT_GT(beaten, 0u);
}

}  // namespace
}  // namespace agentd
