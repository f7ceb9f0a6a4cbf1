// SPDX-License-Identifier: Apache-2.0
#include "core/trust/recipe_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kRecipeBytesMax = 1u << 20;
constexpr std::size_t kRecipeFilesMax = 1024;  // per directory

}  // namespace

std::vector<std::string> recipe_files(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code failed;
  std::filesystem::directory_iterator files(directory, failed);
  for (std::size_t seen = 0; !failed && files != std::filesystem::directory_iterator() && seen < kRecipeFilesMax;
       files.increment(failed), ++seen) {
    std::string name = files->path().filename().string();
    if (name.ends_with(".md") && name.size() > 3 && name.front() != '.') out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> read_recipe_file(const std::string& directory, const std::string& file, uid_t user) {
  const std::string path = directory + "/" + file;
  if (has_control_character(file))
    return Error{Code::kInvalid, path + " has a control character in its name and is not a recipe: rename it"};
  struct stat info {};
  // A missing file is kNotFound, even if the path to it is unsafe.
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Error{Code::kNotFound, "there is no file " + path};
    return Error{Code::kDenied, path + " cannot be read: " + std::string(std::strerror(errno))};
  }
  AGENTD_TRY(const UniqueFd opened, open_safe_directory(directory, user));
  AGENTD_TRY(const SafeFile safe, open_safe_file(opened.get(), file, path, user));
  return read_fd(safe.fd.get(), kRecipeBytesMax, path);
}

std::string project_recipe_name(std::string_view file) {
  if (file.ends_with(".md")) file.remove_suffix(3);
  return "project/recipes/" + std::string(file);
}

Result<Untrusted> why_untrusted(const std::string& directory, const std::string& file, std::string_view bytes,
                                const std::string& project_root, const std::string& trust_file, uid_t user,
                                const Clock& clock) {
  const std::string path = directory + "/" + file;
  std::error_code failed;
  const auto canonical = std::filesystem::canonical(path, failed);
  TrustEntry entry;
  entry.name = project_recipe_name(file);
  entry.path = failed ? path : canonical.string();
  entry.digest = hex(sha256(bytes));
  AGENTD_TRY(entry.repository, TrustStore::repository_key(project_root));
  auto store = TrustStore::open(trust_file, user, clock);
  const Consent given = consent(store ? &*store : nullptr, entry, Precedence::kProject, ConsentRules{false, false});
  if (given.runs) return Untrusted{};
  return Untrusted{path + " comes with the project and is not used, since " + given.why_not,
                   store && store->judge(entry) == Trust::kChanged};
}

}  // namespace agentd
