// SPDX-License-Identifier: Apache-2.0
#include "core/cage/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kPublicDepthMax = 4;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool others_may_read(const struct stat& info) {
  const mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  return (info.st_mode & needed) == needed;
}

// Adds what others may read of a directory: as a whole where that is all of it. Returns whether it was.
bool add_public(const std::string& directory, int depth, std::vector<std::string>& out) {
  std::vector<std::string> parts;
  bool whole = true;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(directory, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) continue;
    const bool is_public = others_may_read(info);
    if (is_public && S_ISDIR(info.st_mode) && !entry->is_symlink(failed) && depth > 0) {
      whole = add_public(path, depth - 1, parts) && whole;
      continue;
    }
    whole = whole && is_public;
    if (is_public) parts.push_back(path);
  }
  if (whole)
    out.push_back(directory);
  else
    out.insert(out.end(), parts.begin(), parts.end());
  return whole;
}

void add_existing(std::vector<std::string>& out, std::string path) {
  if (exists(path)) out.push_back(std::move(path));
}

std::vector<std::string> below(const std::string& home, std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  if (home.empty()) return out;
  for (const char* const name : names) add_existing(out, home + "/" + name);
  return out;
}

void add_parts_without(const std::string& place, const std::vector<std::string>& secrets, int depth,
                       std::vector<std::string>& out) {
  const auto contains_one = [&](const std::string& path) {
    return std::any_of(secrets.begin(), secrets.end(), [&](const auto& secret) { return is_below(secret, path); });
  };
  if (!contains_one(place)) return out.push_back(place);
  std::error_code failed;
  if (depth == 0 || !fs::is_directory(place, failed)) return;
  for (auto entry = fs::directory_iterator(place, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (!entry->is_symlink(failed)) add_parts_without(entry->path().string(), secrets, depth - 1, out);
}

}  // namespace

std::vector<std::string> parts_without(const std::vector<std::string>& places,
                                       const std::vector<std::string>& secrets) {
  std::vector<std::string> out;
  for (const std::string& place : places) add_parts_without(place, secrets, kPublicDepthMax, out);
  return out;
}

bool is_below(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::vector<std::string> system_places() {
  std::vector<std::string> out;
  for (const char* const path :
       {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/run/current-system",
        "/run/systemd/resolve/resolv.conf", "/run/systemd/resolve/stub-resolv.conf", "/sys/devices/system",
        "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/var/lib/dpkg", "/var/cache/fontconfig"})
    add_existing(out, path);
  if (::geteuid() == 0)
    (void)add_public("/etc", kPublicDepthMax, out);
  else
    out.emplace_back("/etc");
  return out;
}

std::vector<std::string> tool_places(const std::string& home, std::string_view path) {
  std::vector<std::string> out = below(home, {".gitconfig",
                                              ".config/git/config",
                                              ".config/git/ignore",
                                              ".config/git/attributes",
                                              ".gitignore",
                                              ".gitignore_global",
                                              ".rustup",
                                              ".cargo/bin",
                                              ".cargo/env",
                                              ".cargo/config",
                                              ".cargo/config.toml",
                                              ".nvm",
                                              ".volta",
                                              ".fnm",
                                              ".pyenv",
                                              ".rbenv",
                                              ".nodenv",
                                              ".goenv",
                                              ".jenv",
                                              ".asdf",
                                              ".sdkman",
                                              ".ghcup",
                                              ".opam",
                                              ".juliaup",
                                              ".dotnet",
                                              ".deno/bin",
                                              ".bun/bin",
                                              "go/bin",
                                              ".local/bin",
                                              ".local/lib",
                                              ".local/share/mise",
                                              ".local/share/uv",
                                              ".local/share/pipx",
                                              "miniconda3",
                                              "anaconda3",
                                              ".miniconda3",
                                              "miniforge3"});
  while (!path.empty() && !home.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    std::string directory = fs::path(path.substr(0, end)).lexically_normal().string();
    path.remove_prefix(std::min(end + 1, path.size()));
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    if (!is_below(directory, home) || directory == home || !exists(directory)) continue;
    // A prefix of its own: bin with its lib.
    const std::string prefix = fs::path(directory).parent_path().string();
    const bool own = prefix != home && prefix != home + "/.local" && prefix != home + "/.cargo";
    out.push_back(own && exists(prefix + "/lib") ? prefix : directory);
  }
  return out;
}

std::vector<std::string> cache_places(const std::string& home) {
  return below(home, {".cargo/registry", ".cargo/git",           "go/pkg",         ".npm",
                      ".cache/yarn",     ".cache/node",          ".cache/pnpm",    ".local/share/pnpm",
                      ".yarn/berry",     ".bun/install",         ".cache/deno",    ".cache/pip",
                      ".cache/uv",       ".cache/pypoetry",      ".gradle/caches", ".gradle/wrapper",
                      ".m2/repository",  ".m2/wrapper",          ".ivy2/cache",    ".sbt/boot",
                      ".cache/coursier", ".nuget/packages",      ".gem",           ".bundle/cache",
                      ".cache/composer", ".cache/ms-playwright", ".pub-cache",     ".conan2/p",
                      ".cache/bazelisk"});
}

std::vector<std::string> secret_places(const std::string& home) {
  // clang-format off
  return below(home, {
      // keys of logins and of signatures
      ".ssh", ".gnupg", ".pki", ".netrc", ".authinfo", ".authinfo.gpg", ".Xauthority", ".password-store",
      ".local/share/keyrings", ".local/share/kwalletd", ".config/op", ".config/1Password", ".config/Bitwarden",
      ".config/Bitwarden CLI", ".config/age", ".config/sops", ".step", ".tsh", ".vault-token", ".vault_pass",
      // clouds, clusters and hosters
      ".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".oci", ".fly", ".kube", ".docker",
      ".config/containers/auth.json", ".config/rclone", ".config/doctl", ".config/hcloud", ".config/linode-cli",
      ".terraform.d", ".terraformrc", ".pulumi/credentials.json", ".ansible/galaxy_token", ".vercel",
      ".local/share/com.vercel.cli", ".netlify", ".config/netlify", ".config/.wrangler", ".wrangler/config",
      ".config/ngrok", ".ngrok2", ".config/stripe", ".sentryclirc",
      // repositories and packages
      ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
      ".subversion/auth", ".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".cargo/credentials",
      ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".composer/auth.json",
      ".config/composer/auth.json", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
      ".nuget/NuGet/NuGet.Config", ".kaggle", ".huggingface/token", ".cache/huggingface/token",
      ".cache/huggingface/stored_tokens",
      // databases
      ".pgpass", ".my.cnf", ".mylogin.cnf", ".databrickscfg", ".snowsql", ".snowflake", ".dbt/profiles.yml",
      // browsers, mail, messengers, money
      ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
      ".config/vivaldi", ".config/opera", ".thunderbird", ".config/evolution", ".local/share/evolution",
      ".config/Signal", ".config/Slack", ".config/discord", ".local/share/TelegramDesktop", ".ethereum", ".bitcoin",
      ".electrum",
      // histories
      ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".lesshst", ".psql_history",
      ".mysql_history", ".sqlite_history", ".irb_history", ".rediscli_history", ".viminfo", ".local/state/nvim/shada",
      ".local/share/fish/fish_history", ".local/share/atuin",
      // agents
      ".claude", ".claude.json", ".codex", ".gemini", ".config/anthropic", ".config/openai"});
  // clang-format on
}

std::vector<std::string> guarded_places(const std::string& root, const std::string& home) {
  std::vector<std::string> out;
  for (const char* const name : {".agent",
                                 ".mcp.json",
                                 ".claude",
                                 ".codex",
                                 ".cursor",
                                 ".gemini",
                                 ".vscode",
                                 ".idea",
                                 ".zed",
                                 ".windsurf",
                                 ".continue",
                                 ".kiro",
                                 ".roo",
                                 ".opencode",
                                 "opencode.json",
                                 ".fleet",
                                 ".devcontainer",
                                 ".envrc",
                                 ".aider.conf.yml",
                                 ".hg/hgrc",
                                 ".sl/config",
                                 ".jj/repo/config.toml",
                                 ".helix",
                                 ".qwen",
                                 "crush.json",
                                 ".crush.json",
                                 ".amazonq",
                                 ".vs",
                                 ".factory",
                                 ".run",
                                 ".github/hooks"})
    out.push_back(root + "/" + name);
  if (home.empty() || !is_below(home, root)) return out;
  for (const char* const name : {".bashrc",
                                 ".bash_profile",
                                 ".bash_login",
                                 ".bash_logout",
                                 ".bash_aliases",
                                 ".profile",
                                 ".zshrc",
                                 ".zshenv",
                                 ".zprofile",
                                 ".zlogin",
                                 ".zlogout",
                                 ".inputrc",
                                 ".config/fish",
                                 ".config/autostart",
                                 ".config/systemd",
                                 ".config/git",
                                 ".config/environment.d",
                                 ".gitconfig",
                                 ".pam_environment",
                                 ".xprofile",
                                 ".xinitrc",
                                 ".vimrc",
                                 ".config/nvim",
                                 ".npmrc",
                                 ".cargo/config.toml",
                                 ".cargo/config",
                                 ".local/bin"})
    out.push_back(home + "/" + name);
  return out;
}

}  // namespace agentd::cage
