// SPDX-License-Identifier: Apache-2.0
#pragma once
// app_support.h - the program as a value in a test: words in, text and exit code out.
//
// Threading: thread-compatible.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {

// A descriptor in memory that remembers what was written.
class Sink {
 public:
  Sink() : fd_(::memfd_create("sink", MFD_CLOEXEC)) {}
  int fd() const { return fd_.get(); }
  std::string text() const { return read_fd(fd_.get(), 64u << 20, "sink").value_or("?"); }

 private:
  UniqueFd fd_;
};

struct Ran {
  int code = -1;
  std::string out, err;
};

class TestApp {
 public:
  std::map<std::string, std::string> environment;
  TempDir directory;
  std::string home = directory.file("home");
  std::string etc = directory.file("etc");
  bool no_cwd = false;  // the current directory was removed

  Ran run(const std::vector<std::string>& words) const {
    Sink out_sink, err_sink;
    Ran ran;
    {
      app::Output out(out_sink.fd(), false, false), err(err_sink.fd(), false, false);
      app::App app(surroundings(), out, err);
      ran.code = app.main(words);
    }
    ran.out = out_sink.text();
    ran.err = err_sink.text();
    return ran;
  }

  app::Surroundings surroundings() const {
    app::Surroundings out;
    out.environment = [values = environment, home_path = home](const std::string& name) -> std::optional<std::string> {
      if (name == "AGENTD_HOME") return home_path;
      const auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    out.cwd = no_cwd ? "" : directory.path();
    out.system_directory = etc;
    out.input = -1;
    return out;
  }

  // Writes the user's or the system's configuration.
  void user_config(const std::string& text) const { write(home, text); }
  void system_config(const std::string& text) const { write(etc, text); }

 private:
  static void write(const std::string& directory, const std::string& text) {
    AGENTD_ASSERT(make_directories(directory));
    AGENTD_ASSERT(write_file_atomically(directory + "/config.yaml", text, 0600));
  }
};

}  // namespace agentd::testing
