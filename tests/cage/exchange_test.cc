// SPDX-License-Identifier: Apache-2.0
// exchange_test.cc - a directory is exchanged for a link all the time while commands start: none of them gets to see or
// to write what the link leads to. The control is the same without what agentd has noted.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "core/cage/orders.h"
#include "tests/cage/cage_test.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kCommands = 60;  // in each test, while the flipper runs

bool exchange(const std::string& one, const std::string& other) {
  return ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

// Exchanges two names until its end, when both are as they were.
class Flipper {
 public:
  Flipper(std::string one, std::string other)
      : one_(std::move(one)), other_(std::move(other)), thread_([this] {
          bool flipped = false;
          for (unsigned round = 0; !ends_; ++round) {
            flipped = exchange(one_, other_) != flipped;
            // The state of before is there a little longer: agentd's first check has to pass.
            if (round % 2 == 1) SystemClock().pause(Milliseconds(round % 3));
          }
          if (flipped) (void)exchange(one_, other_);
        }) {}
  ~Flipper() {
    ends_ = true;
    thread_.join();
  }

 private:
  const std::string one_, other_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

// The same cage, behind whose check two names are exchanged: at the worst moment, in each run.
class ExchangedBehind final : public CommandCage {
 public:
  // Without notes the helper is not told what agentd has checked.
  ExchangedBehind(cage::Cage* cage, std::string one, std::string other, bool notes)
      : cage_(cage), one_(std::move(one)), other_(std::move(other)), notes_(notes) {}
  Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string& cwd,
                            const std::vector<std::string>& environment) override {
    AGENTD_TRY(CagedCommand out, cage_->wrap(argv, cwd, environment));
    EXPECT_TRUE(exchange(one_, other_));
    if (notes_) return out;
    AGENTD_TRY(const std::string text, read_fd(out.descriptors.at(0).get(), 1u << 24, "the orders"));
    AGENTD_TRY(cage::Orders orders, cage::parse_orders(text));
    EXPECT_FALSE(orders.noted.empty());
    orders.noted.clear();
    out.descriptors[0] = UniqueFd(::memfd_create("orders", MFD_CLOEXEC));
    AGENTD_TRY_VOID(write_all(out.descriptors[0].get(), text_of(orders)));
    ::lseek(out.descriptors[0].get(), 0, SEEK_SET);
    return out;
  }

 private:
  cage::Cage* const cage_;
  const std::string one_, other_;
  const bool notes_;
};

class Exchange : public InEachLayer {
 protected:
  // Of two roots one is in the other, and is exchanged for a link into the home.
  std::unique_ptr<cage::Cage> with_two_roots() {
    user("mkdir -p w/sub; echo mine > w/sub/own; ln -s '" + stage_.home() + "/.ssh' w/link");
    cage::CageSettings settings = stage_.settings();
    settings.roots = {file("w/sub"), stage_.project()};
    auto out = cage::Cage::make(std::move(settings), GetParam());
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : nullptr;
  }
  // The command has read or written in the home.
  bool has_won(CommandCage* cage) {
    last_ = stage_.run(cage,
                       "for i in $(seq 30); do { read x < w/sub/id_ed25519 && echo $x; echo evil > "
                       "w/sub/authorized_keys; } 2>/dev/null; done; echo ran");
    const bool wrote = ::unlink((stage_.home() + "/.ssh/authorized_keys").c_str()) == 0;
    return wrote || last_.output.find(kCanary) != std::string::npos;
  }
  Ran last_;
};

TEST_P(Exchange, ShowsAndWritesNothingOfTheHome) {
  const auto cage = with_two_roots();
  ASSERT_TRUE(cage);
  {
    const Flipper flipper(file("w/sub"), file("w/link"));
    for (int i = 0; i < kCommands; ++i) ASSERT_FALSE(has_won(cage.get())) << "command " << i;
  }
  const Ran ran = stage_.run(cage.get(), "cat w/sub/own");
  EXPECT_EQ(ran.output, "mine\n") << "the directory is back";
}

// Bubblewrap by itself mounts nothing at a link that leads to nothing in its view.
TEST_P(Exchange, BehindTheCheckStartsNothing) {
  const auto cage = with_two_roots();
  ASSERT_TRUE(cage);
  for (const bool notes : {true, false}) {
    ExchangedBehind behind(cage.get(), file("w/sub"), file("w/link"), notes);
    EXPECT_EQ(has_won(&behind), !notes && GetParam() == cage::Layer::kLandlock) << last_.output;
    EXPECT_EQ(last_.output.find("was exchanged while the sandbox was made") != std::string::npos,
              notes && GetParam() == cage::Layer::kLandlock)
        << last_.output;
    ASSERT_TRUE(exchange(file("w/sub"), file("w/link")));
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Exchange, ::testing::ValuesIn(layers_here()), layer_name);

// What is mounted for a guarded path lands elsewhere, so that the path itself can be written. Landlock alone prevents
// no such change: it is undone.
class ExchangeOfGuarded : public InEachLayer {
 protected:
  void lay_out() {
    user(
        "rm -rf own other link; git init -q own; cd own; echo o > o; git add o; git commit -qm o; cd ..; git add own "
        "2>&1; git commit --allow-empty -qm own; cp -r own other; ln -s other link");
    hooks_ = UniqueFd(::open(file("own/.git/hooks").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  bool has_won(CommandCage* cage) {
    last_ = stage_.run(cage, "for i in $(seq 30); do touch own/.git/hooks/evil link/.git/hooks/evil; done 2>/dev/null");
    return ::unlinkat(hooks_.get(), "evil", 0) == 0;
  }
  UniqueFd hooks_;
  Ran last_;
};

TEST_P(ExchangeOfGuarded, BehindTheCheckStartsNothing) {
  const auto cage = make();
  for (const bool notes : {true, false}) {
    lay_out();
    ExchangedBehind behind(cage.get(), file("own"), file("link"), notes);
    EXPECT_EQ(has_won(&behind), !notes) << last_.output;
    EXPECT_EQ(last_.code == 125, notes);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, ExchangeOfGuarded, ::testing::Values(cage::Layer::kBubblewrap), layer_name);

// ---- a link of the user's into the workspace

class Led : public InEachLayer {};

// The directory of PATH is in the workspace, and a command leads its name elsewhere.
TEST_P(Led, ReadablePlacesShowNothingElse) {
  user("mkdir bin; echo fine > bin/own");
  fs::create_directories(stage_.home() + "/.local");
  fs::create_directory_symlink(file("bin"), stage_.home() + "/.local/bin");
  cage::CageSettings settings = stage_.settings();
  settings.path += ":" + stage_.home() + "/.local/bin";
  const auto cage = cage::Cage::make(std::move(settings), GetParam());
  ASSERT_TRUE(cage) << cage.error().message;
  EXPECT_EQ(stage_.run(cage->get(), "cat ~/.local/bin/own").output, "fine\n") << "the control";
  EXPECT_EQ(stage_.run(cage->get(), "mv bin b; ln -s ~/.ssh bin").code, 0);
  const Ran ran = stage_.run(cage->get(), "cat ~/.local/bin/id_ed25519 bin/id_ed25519; echo ran");
  EXPECT_EQ(ran.output.find(kCanary), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("ran"), std::string::npos) << "the others still run";
}

INSTANTIATE_TEST_SUITE_P(Layers, Led, ::testing::ValuesIn(layers_here()), layer_name);

}  // namespace
}  // namespace agentd::testing
