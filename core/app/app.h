// SPDX-License-Identifier: Apache-2.0
#pragma once
// app.h - the program as a value: its words, its surroundings, and which command they name.
//
// Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/app/options.h"
#include "core/app/terminal.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/config/config.h"
#include "core/runtime/surroundings.h"

namespace agentd::app {

// The program's surroundings; tests provide their own.
struct Surroundings : ProcessSurroundings {
  std::string cwd;  // empty: it no longer exists
  int input = 0;    // descriptor of standard input
  bool input_tty = false;
};

class App {
 public:
  App(Surroundings surroundings, Output& out, Output& err)
      : surroundings_(std::move(surroundings)), out_(out), err_(err) {}

  // Runs the command given by the words (without the program's name). Returns the exit code.
  int main(const std::vector<std::string>& words);

  Output& out() { return out_; }
  Output& err() { return err_; }
  const Clock& clock() const { return clock_; }
  const Surroundings& surroundings() const { return surroundings_; }

  // The current directory. kNotFound: it no longer exists.
  Result<std::string> directory() const;
  // AGENTD_HOME, else .agent in HOME. kInvalid when neither is set.
  Result<std::string> home() const;
  // The active configuration. The first call prints its warnings.
  Result<Config> config(const Arguments& arguments) const;
  // A text of the user for the store, with placeholders of its secrets where secrets.scrub_input is on.
  Result<std::string> pass_text(const Arguments& arguments, std::string text) const;

  // Prints "agentd: MESSAGE" and returns the code.
  int fail(int code, std::string_view message);

 private:
  int dispatch(const std::vector<std::string>& words);
  int group(const std::string& name, const std::vector<std::string>& words);
  int run(const CommandSpec& command, const std::vector<std::string>& words);
  int help(const std::vector<std::string>& words);
  int print(std::string_view text);

  const Surroundings surroundings_;
  Output& out_;
  Output& err_;
  const SystemClock clock_;
  mutable bool warned_ = false;
};

// Reads a descriptor to its end. kInvalid if it has more than `bytes_max`.
Result<std::string> read_all(int fd, std::size_t bytes_max);

}  // namespace agentd::app
