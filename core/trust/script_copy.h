// SPDX-License-Identifier: Apache-2.0
#pragma once
// script_copy.h - a script whose interpreter wants a real file, run from approved bytes all the
// same.
//
// Node, Bun and Deno ask for the real path of what they run, and a sealed memory file has none.
// Such a script gets a file of its own for the length of one run: under a name that is made up for
// the run, in a directory that only the user can enter, with the file's own name, so that its
// ending still says what it is. Where agentd's home cannot be written, that directory lies among the
// temporary files. Only the file itself was approved: what lies beside the original
// cannot be imported from the copy.
//
// Threading: place() is thread-safe; ScriptCopy is thread-compatible.

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// Whether the first line names one of those interpreters, itself or by env.
bool wants_real_file(std::string_view script);

// The file of one run; removed with its directory when the run is over.
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
  // `original` is the file's path: its name is kept, and so is what the nearest package.json above
  // it says of its kind ("type": "module"). `private_directory` is made with mode 0700. What
  // earlier processes left there for more than a day is removed.
  PrivateScript(std::string bytes, std::string original, std::string private_directory);

  // The error is that of the private directory: neither there nor among the temporary files was a place.
  Result<ScriptCopy> place() const;

 private:
  Result<ScriptCopy> place_in_private_directory() const;
  Result<ScriptCopy> place_in(const std::string& parent) const;

  const std::string bytes_, original_, private_directory_;
  std::string kind_;  // of the package.json beside the copy
};

}  // namespace agentd
