// SPDX-License-Identifier: Apache-2.0
#pragma once
// script_copy.h - runs approved bytes of a script whose interpreter needs a real file.
//
// Node, Bun and Deno resolve the real path of their script, and a sealed memory file has none. Such a script gets a
// private file for one run, in a fresh directory that only the user can enter, under the original's name, so that its
// ending still tells its type. Where agentd's home cannot be written, the directory is among the temporary files.
// Only the file itself was approved: the copy cannot import files next to the original.
//
// Threading: place() is thread-safe; ScriptCopy is thread-compatible.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// True if the first line names one of those interpreters, directly or through env.
bool wants_real_file(std::string_view script);

// The file of one run; the destructor removes it and its directory.
class ScriptCopy {
 public:
  explicit ScriptCopy(std::string directory) : directory_(std::move(directory)) {}
  ScriptCopy(ScriptCopy&& other) noexcept
      : path(std::move(other.path)), directory_(std::exchange(other.directory_, {})) {}
  ScriptCopy& operator=(ScriptCopy&&) = delete;
  ~ScriptCopy();

  std::string path;

 private:
  std::string directory_;
};

class PrivateScript {
 public:
  // `original` is the path whose name the copy keeps, and whose nearest package.json gives its "type" ("module").
  // `private_directory` is made with mode 0700. Copies that earlier processes left there for more than a day are
  // removed.
  PrivateScript(std::string bytes, std::string original, std::string private_directory);

  // On error neither the private directory nor the temporary files had a place; the error is that of the private
  // directory.
  Result<ScriptCopy> place() const;
  // Where copies are made.
  const std::string& directory() const { return private_directory_; }

 private:
  Result<ScriptCopy> place_in_private_directory() const;
  Result<ScriptCopy> place_in(const std::string& parent) const;

  const std::string bytes_, original_, private_directory_;
  std::string kind_;  // of the package.json beside the copy
};

}  // namespace agentd
