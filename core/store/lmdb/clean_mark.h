// SPDX-License-Identifier: Apache-2.0
#pragma once
// clean_mark.h - tells whether data.mdb is unchanged since a process closed it normally.
//
// The mark names the file, its size, its times and its newest transaction. A process that wrote makes it when it closes
// the store. Every other change leaves the mark wrong: a killed process, a power cut, an editor, a copy, a disk that
// lost a write. It costs no sync: a lost mark only causes a check.
//
// Threading: pure functions on the file system.

#include <string>

#include "core/base/result.h"

namespace agentd {

// The current content for the mark. kCorrupt, kNotFound: there is no such file.
Result<std::string> file_state(const std::string& directory);
bool is_marked_clean(const std::string& directory);
// Best effort: a mark that cannot be written is not an error.
void mark_clean(const std::string& directory, const std::string& state);

// True if any process, including this one, has the store open: the file has changed since the last mark, and was
// checked when it was opened.
bool is_open_somewhere(const std::string& directory);

}  // namespace agentd
