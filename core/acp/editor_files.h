// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_files.h - files of the workspace whose text in the editor is not saved.
//
// Everything is read and written by agentd itself, which alone enforces its limits. For a file of which the editor has
// said that its text there is another one, that text is what is read; a change of it goes to the disk, and then to the
// editor. The editor has all rights of its user, so it is asked by a path without links, and never while a command of
// the session runs, which could put a link there.
// Source: agentclientprotocol.com, "File System".
//
// Threading: thread-safe; reading and writing may wait for the editor.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/acp/updates.h"
#include "core/acp/wire.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/process/workspace.h"

namespace agentd::acp {

// The files of a session that are not saved.
class UnsavedFiles {
 public:
  // All outlive it. `commands_run`: called on any thread.
  UnsavedFiles(Wire& wire, const ClientAbilities& abilities, const Clock& clock, std::function<bool()> commands_run)
      : wire_(wire), abilities_(abilities), clock_(clock), commands_run_(std::move(commands_run)) {}

  void set_session(std::string id);
  // The editor has said so of that file, an absolute path.
  void add(const std::string& path);
  // The text that the editor has for it, where it is another one than `saved`, the bytes of the file; line ends and a
  // byte order mark make no difference.
  std::optional<std::string> text(const std::string& path, std::string_view saved);
  // The editor gets a text that was written to the file.
  void tell(const std::string& path, std::string_view text);
  // False: text() has none.
  bool may_ask(const std::string& path) const;
  // Sentences for the person since the last call.
  std::vector<std::string> take_notices();

 private:
  Wire& wire_;
  const ClientAbilities& abilities_;
  const Clock& clock_;
  const std::function<bool()> commands_run_;
  mutable Mutex mutex_;
  std::string session_ GUARDED_BY(mutex_);
  std::set<std::string> files_ GUARDED_BY(mutex_);  // paths without links
  std::vector<std::string> notices_ GUARDED_BY(mutex_);
};

// `files`, with the texts of the editor in place of what is saved.
std::shared_ptr<Workspace> with_unsaved(std::shared_ptr<Workspace> files, std::shared_ptr<UnsavedFiles> unsaved);

}  // namespace agentd::acp
