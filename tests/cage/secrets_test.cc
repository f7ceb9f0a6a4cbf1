// SPDX-License-Identifier: Apache-2.0
// secrets_test.cc - keys in directories that commands may use: bubblewrap hides them, Landlock leaves them out of
// caches and says which setting is the cause elsewhere.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cage/each_layer.h"

namespace agentd::testing {
namespace {

class Secrets : public CageTest {
 protected:
  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = stage_.home() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
};

TEST_P(Secrets, ACacheThatHoldsOneIsReadWithoutIt) {
  put(".gem/credentials", kCanary);
  put(".gem/ruby/3.1.0/gems/rake/rake.rb", "code");
  const Ran ran = run("cat ~/.gem/ruby/3.1.0/gems/rake/rake.rb; cat ~/.gem/credentials");
  EXPECT_TRUE(ran.output.starts_with("code\n")) << ran.output;
  EXPECT_EQ(ran.output.find(kCanary), std::string::npos) << ran.output;
}

// The one is in a directory of tools, behind a link.
TEST_P(Secrets, OneBehindALinkIsLeftOut) {
  put(".local/lib/token", kCanary);
  put(".local/lib/code", "code");
  std::filesystem::remove(stage_.home() + "/.npmrc");
  std::filesystem::create_symlink(".local/lib/token", stage_.home() + "/.npmrc");
  const Ran ran = run("cat ~/.local/lib/code; cat ~/.local/lib/token ~/.npmrc");
  EXPECT_TRUE(ran.output.starts_with("code\n")) << ran.output;
  EXPECT_EQ(ran.output.find(kCanary), std::string::npos) << ran.output;
}

// Bubblewrap hides it instead.
TEST_P(Secrets, LandlockNamesTheSettingThatOpensOne) {
  cage::CageSettings readable = stage_.settings(), writable = stage_.settings(), root = stage_.settings();
  readable.readable = {stage_.home()};
  writable.writable = {stage_.home()};
  root.roots.push_back(stage_.home());
  for (const auto& [settings, text] :
       {std::pair{readable, "name directories in sandbox.readable that do not contain it"},
        std::pair{writable, "name directories in sandbox.writable that do not contain it"},
        std::pair{root, "work in a directory below"}}) {
    const Ran ran = run("true", settings);
    EXPECT_EQ(ran.code, alone() ? -1 : 0) << ran.output;
    if (!alone()) continue;
    EXPECT_NE(ran.output.find(text), std::string::npos) << ran.output;
  }
}

// Landlock alone runs nothing there.
TEST_P(Secrets, AreHiddenWhereTheHomeIsTheWorkspace) {
  std::string all;
  for (const char* const name : {".config/rclone/rclone.conf",
                                 ".config/sops/age/keys.txt",
                                 ".config/containers/auth.json",
                                 ".kaggle/kaggle.json",
                                 ".config/composer/auth.json",
                                 ".composer/auth.json",
                                 ".huggingface/token",
                                 ".cache/huggingface/token",
                                 ".s3cfg",
                                 ".boto",
                                 ".databrickscfg",
                                 ".oci/config",
                                 ".fly/config.yml",
                                 ".pki/nssdb/key4.db",
                                 ".tsh/keys/k",
                                 ".step/secrets",
                                 ".local/share/kwalletd/kdewallet.kwl",
                                 ".vercel/auth.json",
                                 ".local/share/com.vercel.cli/auth.json",
                                 ".subversion/auth/svn.simple/a",
                                 ".psql_history",
                                 ".mysql_history",
                                 ".sqlite_history",
                                 ".irb_history",
                                 ".rediscli_history",
                                 ".viminfo",
                                 ".local/share/fish/fish_history",
                                 ".local/share/atuin/history.db",
                                 ".Xauthority",
                                 ".config/Signal/config.json",
                                 ".ethereum/keystore/k",
                                 ".bitcoin/wallet.dat",
                                 ".m2/settings-security.xml",
                                 ".ansible/galaxy_token",
                                 ".ssh/id_ed25519",
                                 ".netrc"}) {
    put(name, kCanary);
    all += " ~/" + std::string(name);
  }
  put("notes", "of the workspace");
  cage::CageSettings settings = stage_.settings();
  settings.roots.push_back(stage_.home());
  const Ran ran = run("cat ~/notes; for f in" + all + "; do grep -q . $f 2>/dev/null && echo read $f; done", settings);
  EXPECT_EQ(ran.code == -1, alone()) << ran.output;
  EXPECT_EQ(ran.output == "of the workspace\n", !alone()) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Layers, Secrets, each_layer(), name_of_layer);

}  // namespace
}  // namespace agentd::testing
