// SPDX-License-Identifier: Apache-2.0
#pragma once
// workspace.h - the files below the workspace roots, and no others.
//
// Every access goes through openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS on a root's descriptor: "..",
// symbolic links that lead out and races cannot leave it. No path is compared as text.
//
// Threading: thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/process/command_cage.h"

namespace agentd {

struct FileEntry {
  enum class Kind { kRegular, kDirectory, kSymlink, kOther };
  Kind kind = Kind::kRegular;
  std::string path;  // relative to the directory that was listed
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

struct FileListing {
  std::vector<FileEntry> entries;
  bool more = false;
};

class Workspace {
 public:
  virtual ~Workspace() = default;
  virtual const std::vector<std::string>& roots() const = 0;
  // Paths are absolute, or relative to the first root. kNotFound, also below a root that has been removed; kDenied
  // outside the roots and for hidden files; kInvalid for a directory, FIFO or device, or a NUL in the path.
  virtual Result<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                                   std::uint64_t* total) const = 0;
  // Writes a new file, syncs and renames it; keeps the mode of an existing file and makes parents. Other names of the
  // file (hard links) keep the old bytes. kDenied for kept paths and for a file that this user may not write.
  virtual Result<void> write(const std::string& path, std::string_view bytes) = 0;
  // kConflict when the file's bytes are no longer `expected`.
  virtual Result<void> replace(const std::string& path, std::string_view expected, std::string_view bytes) = 0;
  // Depth first, names in byte order, links reported but not followed; depth 0 = no limit.
  virtual Result<FileListing> list(const std::string& path, std::uint32_t depth, std::uint32_t limit) const = 0;

  // Around the commands that work in these files; null = nothing: they run with the user's rights.
  const std::shared_ptr<CommandCage>& cage() const { return cage_; }
  // REQUIRES: nobody uses it yet.
  void set_cage(std::shared_ptr<CommandCage> cage) { cage_ = std::move(cage); }

 private:
  std::shared_ptr<CommandCage> cage_;
};

// `roots`: absolute directories; relative paths start at the first. `kept`: absolute paths of files and directories
// that may be read but not changed, nor anything in them, by whatever path. `hidden`: files that may not even be read.
// They need not exist yet. `kept_now`: further kept ones, asked for each change and on several threads; empty = none.
Result<std::unique_ptr<Workspace>> open_workspace(std::vector<std::string> roots, std::vector<std::string> kept = {},
                                                  std::vector<std::string> hidden = {},
                                                  std::function<std::vector<std::string>()> kept_now = {});

}  // namespace agentd
