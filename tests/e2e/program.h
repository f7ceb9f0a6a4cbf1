// SPDX-License-Identifier: Apache-2.0
#pragma once
// program.h - the built program in a home of its own: no network, no keys, nothing of the user's.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {

struct Finished {
  int code = -1;  // exit code; 128 + signal when one ended it
  std::string out, err;
};

// A program that runs. Killed when it is dropped before it was waited for.
class Running {
 public:
  Running(pid_t pid, std::string out_path, std::string err_path, int input = -1)
      : pid_(pid), out_path_(std::move(out_path)), err_path_(std::move(err_path)), input_(input) {}
  ~Running();
  Running(Running&& other) noexcept;
  Running& operator=(Running&&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  Finished wait();
  // What was written so far.
  std::string out() const;
  std::string err() const;
  // Waits until the text stands in the output; false after ten seconds.
  bool wait_for_out(const std::string& text) const;
  bool wait_for_err(const std::string& text) const;

 private:
  pid_t pid_;
  std::string out_path_, err_path_;
  int input_;
};

class Program {
 public:
  Program();
  const std::string& home() const { return home_; }
  const std::string& project() const { return project_; }
  const TempDir& directory() const { return directory_; }

  // "NAME=VALUE", in the place of an earlier one.
  void set(const std::string& variable);
  // The program inherits a SIGCHLD that is ignored.
  void ignore_child_signals() { ignores_children_ = true; }
  // The program is started by another one: its path and the words before the program's own path.
  void start_by(std::vector<std::string> launcher) { launcher_ = std::move(launcher); }
  // The program is started with these of 0 to 2 closed, as bits: 1 << 1 is standard output.
  void close_descriptors(unsigned which) { closed_ = which; }
  // The program writes its standard output there; -1 = to a file, as usual.
  void set_output(int fd) { output_ = fd; }
  // The program reads its standard input from there; -1 = from a file, as usual.
  void set_input(int fd) { input_ = fd; }
  void set_home(std::string home) { home_ = std::move(home); }
  void set_project(std::string project) { project_ = std::move(project); }
  // Writes config.yaml of the home.
  void config(const std::string& yaml) const;
  // Writes a script and gives its path.
  std::string script(const std::string& yaml);
  // A file of the project.
  std::string file(const std::string& name, const std::string& text) const;
  // Copies a module into hooks of the home.
  void drop_hook(const std::string& module) const;

  Finished run(const std::vector<std::string>& words, const std::string& input = {});
  Running start(const std::vector<std::string>& words, const std::string& input = {});
  // The same on a terminal of its own; what it shows comes as `out`. Each input is sent when the
  // text before it has been shown, in whatever style, and not before `pause` is over: {"> ", "hello\n"}. `early` is
  // typed before the program has shown anything. Where the input is kHangUp, the terminal is closed; kTerminate: the
  // program gets SIGTERM.
  static constexpr const char* kHangUp = "(the terminal is closed)";
  static constexpr const char* kTerminate = "(SIGTERM comes)";
  Finished on_terminal(const std::vector<std::string>& words,
                       const std::vector<std::pair<std::string, std::string>>& dialogue,
                       std::chrono::milliseconds pause = {}, const std::string& early = {});

  // The newest conversation of the store; empty when there is none.
  std::string newest();
  // The types of its records in order: "genesis settings run_begin user_message ...".
  std::string record_types(const std::string& id);

 private:
  std::vector<std::string> full_environment() const;

  TempDir directory_;
  std::string home_ = directory_.file("home"), project_ = directory_.file("project");
  std::vector<std::string> environment_, launcher_;
  int runs_ = 0;
  unsigned closed_ = 0;
  int output_ = -1, input_ = -1;
  bool ignores_children_ = false;
};

bool has(const std::string& text, const std::string& part);
bool exists(const std::string& path);

// Every line of the text is one JSON object; the test fails where it is not.
std::vector<JsonDocument> json_lines(const std::string& text);

}  // namespace agentd::testing
