// SPDX-License-Identifier: Apache-2.0
#include "core/trust/sealed_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

TEST(SealedFile, HoldsTheBytesAndTheirDigest) {
  NullLog log;
  const auto sealed = seal("the bytes", "x.so", "", log);
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_EQ(sealed->digest, hex(sha256("the bytes")));
  EXPECT_FALSE(sealed->private_copy);
  const auto bytes = read_fd(sealed->fd.get(), 100, "x.so");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, "the bytes");
}

TEST(SealedFile, CannotBeWrittenGrownShrunkOrUnsealed) {
  NullLog log;
  const auto sealed = seal("the bytes", "x.so", "", log);
  ASSERT_TRUE(sealed);
  const int fd = sealed->fd.get();
  EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd, 1), -1);
  EXPECT_EQ(::ftruncate(fd, 100), -1);
  EXPECT_EQ(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  const UniqueFd again(::open(sealed->path.c_str(), O_RDWR | O_CLOEXEC));
  if (again.valid()) {
    EXPECT_EQ(::pwrite(again.get(), "x", 1, 0), -1);
  }
}

TEST(SealedFile, DoesNotReachChildren) {
  NullLog log;
  const auto sealed = seal("x", "x.so", "", log);
  ASSERT_TRUE(sealed);
  EXPECT_NE(::fcntl(sealed->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(PrivateCopy, IsTheUsersAloneAndReadOnly) {
  const TempDir temp;
  const auto copy = make_private_copy("the bytes", "x.so", temp.file("copies"));
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_TRUE(copy->private_copy);
  EXPECT_EQ(copy->digest, hex(sha256("the bytes")));
  struct stat info {};
  ASSERT_EQ(::stat(copy->path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0500u);
  ASSERT_EQ(::stat(temp.file("copies").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST(PrivateCopy, TwoOfTheSameBytesAreTwoFiles) {
  const TempDir temp;
  const auto first = make_private_copy("x", "x.so", temp.file("copies"));
  const auto second = make_private_copy("x", "x.so", temp.file("copies"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path, second->path);
}

TEST(PrivateCopy, PlaceThatCannotBeMadeIsAnError) {
  const TempDir temp;
  temp.write("file", "x");
  EXPECT_FALSE(make_private_copy("x", "x.so", temp.file("file/copies")));
}

}  // namespace
}  // namespace agentd
