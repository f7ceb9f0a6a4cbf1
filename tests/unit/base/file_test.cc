// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

TEST(ReadFile, GivesTheWholeFile) {
  const TempDir dir;
  const std::string bytes = "a\0b" + std::string(100'000, 'x');
  EXPECT_EQ(*read_file(dir.write("f", bytes), 1u << 20), bytes);
  EXPECT_EQ(*read_file(dir.write("empty", ""), 0), "");
}

TEST(ReadFile, MissingFileIsNotFound) {
  const TempDir dir;
  EXPECT_EQ(read_file(dir.file("none"), 10).error().code, Code::kNotFound);
  EXPECT_EQ(read_file("", 10).error().code, Code::kNotFound);
}

// An open that waits for a writer would hang here.
TEST(ReadFile, FifoIsRefusedAtOnce) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  const auto read = read_file(dir.file("fifo"), 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
  EXPECT_NE(read.error().message.find("not a regular file"), std::string::npos);
}

TEST(ReadFile, DirectoryAndDeviceAreInvalid) {
  const TempDir dir;
  EXPECT_EQ(read_file(dir.path(), 10).error().code, Code::kInvalid);
  EXPECT_EQ(read_file("/dev/zero", 10).error().code, Code::kInvalid);
}

TEST(ReadFile, SizeIsCheckedBeforeAByteIsRead) {
  const TempDir dir;
  const std::string path = dir.write("f", "12345");
  EXPECT_EQ(*read_file(path, 5), "12345");
  const auto over = read_file(path, 4);
  ASSERT_FALSE(over);
  EXPECT_NE(over.error().message.find("5 bytes"), std::string::npos);
  // The hole of a terabyte would need all of the machine's memory.
  ASSERT_EQ(::truncate(path.c_str(), 1ll << 40), 0);
  EXPECT_EQ(read_file(path, 1u << 20).error().code, Code::kInvalid);
}

TEST(ReadFd, StartsAtTheStartWhereverTheDescriptorStands) {
  const TempDir dir;
  UniqueFd fd(::open(dir.write("f", "hello").c_str(), O_RDONLY));
  ASSERT_EQ(::lseek(fd.get(), 3, SEEK_SET), 3);
  EXPECT_EQ(*read_fd(fd.get(), 10, "f"), "hello");
}

TEST(WriteFile, ReplacesTheFileAndLeavesNothingBeside) {
  const TempDir dir;
  const std::string path = dir.write("f", "old");
  ASSERT_TRUE(write_file_atomically(path, "new", 0600));
  EXPECT_EQ(dir.read("f"), "new");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) files += entry.exists() ? 1u : 0u;
  EXPECT_EQ(files, 1u);
}

// Like processes of two containers that share a home and have the same pid.
TEST(WriteFile, WritersOfOneProcessNumberDoNotDisturbEachOther) {
  const TempDir dir;
  const std::string path = dir.file("f");
  std::atomic<int> failed = 0, torn = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        if (!write_file_atomically(path, std::string(20'000, static_cast<char>('a' + i)), 0600)) ++failed;
        const auto text = read_file(path, 1u << 20);
        if (!text || *text != std::string(20'000, text->empty() ? '?' : text->front())) ++torn;
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(WriteFile, ModeIsTheOneAsked) {
  const TempDir dir;
  ASSERT_TRUE(write_file_atomically(dir.file("f"), "x", 0600));
  struct stat info {};
  ASSERT_EQ(::stat(dir.file("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(WriteFile, FailureLeavesTheOldFileWhole) {
  const TempDir dir;
  // A file cannot replace a directory.
  ASSERT_TRUE(make_directories(dir.file("d/full")));
  EXPECT_FALSE(write_file_atomically(dir.file("d"), "new", 0600));
  EXPECT_TRUE(std::filesystem::is_directory(dir.file("d/full")));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) entries += entry.exists() ? 1u : 0u;
  EXPECT_EQ(entries, 1u);
}

TEST(WriteFile, MissingDirectoryIsNotFound) {
  const TempDir dir;
  EXPECT_EQ(write_file_atomically(dir.file("none/f"), "x", 0600).error().code, Code::kNotFound);
}

TEST(WriteAll, PeerThatWentAwayIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  read_end.reset();
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(write_all(write_end.get(), "x"));
  std::signal(SIGPIPE, before);
}

TEST(MakeDirectories, MakesParentsAndIsFineTwice) {
  const TempDir dir;
  ASSERT_TRUE(make_directories(dir.file("a/b/c")));
  ASSERT_TRUE(make_directories(dir.file("a/b/c/")));
  struct stat info {};
  ASSERT_EQ(::stat(dir.file("a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST(MakeDirectories, FileInTheWayIsAnError) {
  const TempDir dir;
  dir.write("f", "x");
  EXPECT_FALSE(make_directories(dir.file("f")));
  EXPECT_FALSE(make_directories(dir.file("f/below")));
  EXPECT_FALSE(make_directories(""));
}

TEST(UniqueFd, ClosesWhatItHeld) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int raw = ends[0];
  UniqueFd first(ends[0]);
  UniqueFd second(ends[1]);
  first = std::move(second);
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  EXPECT_FALSE(second.valid());
  EXPECT_EQ(first.get(), ends[1]);
}

}  // namespace
}  // namespace agentd
