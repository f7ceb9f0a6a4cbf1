// SPDX-License-Identifier: Apache-2.0
#pragma once
// bubblewrap.h - the words with which bubblewrap makes the view of a cage. Options of version 0.8.0 and older.
//
// It mounts only what exists, parents before what is in them, and never a placeholder: nothing is left behind in the
// directories that it shows.
//
// Threading: pure functions on the file system.

#include <map>
#include <string>
#include <vector>

#include "core/cage/identity.h"

namespace agentd::cage {

struct View {
  std::vector<std::string> readable, writable;
  std::vector<std::string> guarded;  // below a writable one: not writable
  std::vector<std::string> hidden;   // below a readable or writable one: empty
  std::string home;                  // an empty directory that cannot be written, but for what is shown in it
  std::string scratch;               // shown as /tmp
  bool shares_network = false;
  std::map<std::string, Identity> known;  // of writable and guarded paths that were checked before
};

struct Invocation {
  std::vector<std::string> argv;  // up to the command's own words
  std::string words;              // each with a NUL behind it, to be read from a descriptor, so that no limit of a
                                  // command line cuts them; bubblewrap closes it
  std::vector<Noted> noted;       // what the view has to show where commands can write
};
// Where the view shows the helper: made last, in a directory that no command can write, so that no mount can stand for
// it. It has to need no file of the view: it is linked statically.
inline constexpr const char* kHelperPlace = "/.agentd-cage";
// `words_fd`: the number that the descriptor has in the started process.
Invocation bubblewrap_words(const std::string& program, const View& view, const std::string& cwd, int words_fd,
                            const std::string& helper);

// Paths to guard in at most kGuardedMax mounts: the time that bubblewrap takes grows with the square of their number
// (300 mounts cost half a second), and it refuses more than 9,000 words. Beyond that the directory `modules` of a Git
// directory takes the place of all paths in it: commands can commit in no submodule then. `git`: the Git directories.
inline constexpr std::size_t kGuardedMax = 200;
std::vector<std::string> few_guarded(std::vector<std::string> paths, const std::vector<std::string>& git);

// The words of a trial, in which all can be read: with the options that a cage uses.
std::vector<std::string> bubblewrap_probe(const std::string& program, const std::string& helper);

}  // namespace agentd::cage
