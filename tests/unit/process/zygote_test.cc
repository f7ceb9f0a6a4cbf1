// SPDX-License-Identifier: Apache-2.0
// zygote_test.cc - processes that are forked from a prepared program.
#include "core/process/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <future>
#include <optional>

#include "tests/unit/process/children.h"

namespace agentd {
namespace {

constexpr Milliseconds kTime{20'000};

UniqueFd program_in_memory(const std::string& text) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), text));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string all_of(const UniqueFd& output) {
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(output.get(), buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

std::string line_of(const UniqueFd& output) {
  char buffer[4096];
  const ssize_t got = ::read(output.get(), buffer, sizeof buffer);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

class ZygoteTest : public Children {
 protected:
  static Result<Zygote> start(const std::string& how = "ready", Milliseconds at_most = kTime) {
    return Zygote::start({FORKED_PROGRAM, std::to_string(::getpid()), how}, {"PATH=/usr/bin:/bin"}, Offspring::kAny,
                         at_most);
  }
  static Result<Child> fork(Zygote& zygote, const std::string& wish) {
    const UniqueFd file = program_in_memory(wish);
    const Zygote::Wish wishes[] = {{.arguments = {"the-hook", "behind"}, .pass = {file.get()}}};
    return std::move(zygote.fork(wishes, kTime).at(0));
  }
  static void end(const Child& child) {
    kill_child(child);
    EXPECT_TRUE(reap(child, "it", true));
  }
};

std::string told(int visits, const std::string& wish) {
  return "session own, parent " + std::to_string(::getpid()) + ", signals yes, descriptors 0123, visits " +
         std::to_string(visits) + ", names the-hook behind, wish " + wish + "\n";
}

TEST_F(ZygoteTest, ForksChildrenOfItsParentWithWhatTheyAreGiven) {
  auto zygote = start();
  ASSERT_TRUE(zygote) << zygote.error().message;
  for (const char* const wish : {"one", "two", "three"}) {
    auto child = fork(*zygote, wish);
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_TRUE(is_own_child(child->pid));
    EXPECT_EQ(all_of(child->output), told(1, wish));
    const auto exit = reap(*child, "it", true);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 7);
  }
  end(zygote->take_process());
  EXPECT_FALSE(has_children());
}

TEST_F(ZygoteTest, ForksAsManyAsAreWantedAtOnceEachWithItsOwn) {
  auto zygote = start();
  ASSERT_TRUE(zygote) << zygote.error().message;
  std::vector<UniqueFd> files;
  std::vector<Zygote::Wish> wishes;
  for (std::size_t i = 0; i < Zygote::kWishesMax; ++i) {
    files.push_back(program_in_memory("wish " + std::to_string(i)));
    wishes.push_back({.arguments = {"the-hook", "behind"}, .pass = {files.back().get()}});
  }
  auto children = zygote->fork(wishes, kTime);
  ASSERT_EQ(children.size(), wishes.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    ASSERT_TRUE(children[i]) << children[i].error().message;
    EXPECT_EQ(all_of(children[i]->output), told(1, "wish " + std::to_string(i)));
    EXPECT_TRUE(reap(*children[i], "it", true));
  }
  end(zygote->take_process());
  EXPECT_FALSE(has_children());
}

TEST_F(ZygoteTest, ThatHasEndedFailsAllThatAreWanted) {
  auto zygote = start();
  ASSERT_TRUE(zygote);
  end(zygote->take_process());
  const UniqueFd file = program_in_memory("one");
  const Zygote::Wish wish{.arguments = {"the-hook"}, .pass = {file.get()}};
  const int before = descriptors();
  const std::vector<Zygote::Wish> wishes{wish, wish, wish};
  for (const auto& each : zygote->fork(wishes, kTime)) EXPECT_FALSE(each);
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST_F(ZygoteTest, LeavesNoDescriptorBehind) {
  const int before = descriptors();
  {
    auto zygote = start();
    ASSERT_TRUE(zygote);
    auto child = fork(*zygote, "one");
    ASSERT_TRUE(child);
    end(*child);
    end(zygote->take_process());
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(ZygoteTest, EndsWhenItsHostClosesTheSocketAndItsChildrenDoNot) {
  std::optional<Child> process, child;
  {
    auto zygote = start();
    ASSERT_TRUE(zygote);
    auto forked = fork(*zygote, "stay");
    ASSERT_TRUE(forked);
    child.emplace(std::move(*forked));
    EXPECT_EQ(line_of(child->output), told(1, "stay"));
    process.emplace(zygote->take_process());
  }
  const auto exit = reap(*process, "it", true);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
  EXPECT_TRUE(alive(child->pid));
  end(*child);
}

TEST_F(ZygoteTest, AndItsChildrenEndWithTheThreadThatStartedIt) {
  std::optional<Child> process, child;
  std::thread([&] {
    auto zygote = start();
    ASSERT_TRUE(zygote);
    // Its children belong to the thread that started it, whichever thread requests them.
    std::thread([&] {
      auto forked = fork(*zygote, "stay");
      ASSERT_TRUE(forked);
      child.emplace(std::move(*forked));
      EXPECT_EQ(line_of(child->output), told(1, "stay"));
    }).join();
    process.emplace(zygote->take_process());
  }).join();
  ASSERT_TRUE(process && child);
  const auto exit = reap(*child, "it", true);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_TRUE(reap(*process, "it", true));
}

TEST_F(ZygoteTest, ThatHasEndedIsAnErrorAndNoChild) {
  auto zygote = start();
  ASSERT_TRUE(zygote);
  end(zygote->take_process());
  EXPECT_FALSE(fork(*zygote, "one"));
  EXPECT_FALSE(has_children());
}

TEST_F(ZygoteTest, IsNoneWhenTheProgramIsNoneOrHasThreadsOrTakesTooLong) {
  const int before = descriptors();
  EXPECT_FALSE(Zygote::start({"/bin/true"}, {"PATH=/usr/bin:/bin"}, Offspring::kAny, kTime));
  EXPECT_FALSE(Zygote::start({"/no/such/program"}, {"PATH=/usr/bin:/bin"}, Offspring::kAny, kTime));
  EXPECT_FALSE(start("threads"));
  EXPECT_FALSE(start("slow", Milliseconds(50)));
  EXPECT_FALSE(has_children());
  EXPECT_EQ(descriptors(), before);
}

TEST_F(ZygoteTest, CutsNamesThatAreTooLong) {
  auto zygote = start();
  ASSERT_TRUE(zygote);
  const UniqueFd file = program_in_memory("stay");
  const Zygote::Wish wishes[] = {{.arguments = {std::string(10'000, 'x')}, .pass = {file.get()}}};
  auto children = zygote->fork(wishes, kTime);
  auto& child = children.at(0);
  ASSERT_TRUE(child);
  EXPECT_NE(line_of(child->output).find("names xxx"), std::string::npos);
  EXPECT_TRUE(alive(child->pid));
  end(*child);
  end(zygote->take_process());
}

}  // namespace
}  // namespace agentd
