// SPDX-License-Identifier: Apache-2.0
#pragma once
// clean_mark.h - whether data.mdb is just what a process has left that ended well.
//
// The mark names the file, its size, its times and its newest transaction. A process that wrote
// makes it when it closes the store, so every other way in which the file can have come about
// leaves the mark wrong: a process that was killed, a power cut, an editor, a copy, a disk that
// lost a write. It costs no sync: a mark that is lost only means that somebody looks.
//
// Threading: pure functions on the file system.

#include <string>

#include "core/base/result.h"

namespace agentd {

// What the mark would have to say now. kCorrupt, kNotFound: there is no such file.
Result<std::string> file_state(const std::string& directory);
bool is_marked_clean(const std::string& directory);
// As good as it goes: what cannot be written is no error.
void mark_clean(const std::string& directory, const std::string& state);

// Another process has the store open, or this one: it has changed since the last mark, and it was
// looked at then.
bool is_open_somewhere(const std::string& directory);

}  // namespace agentd
