// SPDX-License-Identifier: Apache-2.0
#pragma once
// ground.h - a directory in which generated commands do no harm. SHELL_STUB is the path of shell_stub.
//
// Threading: thread-compatible.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

// All programs but the wrappers are stubs.
class Ground {
 public:
  Ground() {
    std::string name = (std::filesystem::temp_directory_path() / "shell.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    root_ = name;
    std::filesystem::create_directories(bin());
    std::filesystem::create_directories(work() + "/bin");
    for (const char* stub : {"alpha", "beta", "gamma", "delta", "git", "rm", "cat", "echo"})
      std::filesystem::create_symlink(SHELL_STUB, bin() + "/" + stub);
    for (const char* stub : {"alpha", "beta", "gamma", "git", "rm"})
      std::filesystem::create_symlink(SHELL_STUB, work() + "/bin/" + stub);
    for (const char* real : {"env", "timeout", "nice", "xargs", "find", "stdbuf", "setsid", "sh", "bash", "taskset",
                             "prlimit", "setarch", "uclampset", "flock"})
      for (const char* place : {"/usr/bin/", "/bin/"})
        if (std::filesystem::exists(std::string(place) + real) && !std::filesystem::exists(bin() + "/" + real))
          std::filesystem::create_symlink(std::string(place) + real, bin() + "/" + real);
    std::ofstream(work() + "/gamma") << "";
    std::ofstream(work() + "/script") << "delta\n";
  }
  ~Ground() {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  std::string bin() const { return root_ + "/bin"; }
  std::string work() const { return root_ + "/work"; }

 private:
  std::string root_;
};
