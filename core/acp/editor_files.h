// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_files.h - files of the workspace whose text in the editor is not saved.
//
// Everything is read and written by agentd itself, which alone enforces its limits. For a file of which the editor has
// said that its text there is another one, that text is what is read; a change of it goes to the disk, and then to the
// editor. The editor has all rights of its user, and a command could put a link in the way, so it is not asked while a
// command of one of its sessions runs. Commands of other processes are not seen.
// Source: agentclientprotocol.com, "File System".
//
// Threading: thread-safe; reading and writing may wait for the editor.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/acp/updates.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/process/process_host.h"
#include "core/process/workspace.h"
#include "core/rpc/wire.h"

namespace agentd::acp {

// The commands of all sessions of an editor. Threading: thread-safe.
class CommandHosts {
 public:
  void add(const std::shared_ptr<ProcessHost>& host);
  bool any_runs() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<ProcessHost>> hosts_ GUARDED_BY(mutex_);
};

// The files of a session that are not saved.
class UnsavedFiles {
 public:
  // All outlive it.
  UnsavedFiles(RpcWire& wire, const ClientAbilities& abilities, const Clock& clock, const CommandHosts& commands)
      : wire_(wire), abilities_(abilities), clock_(clock), commands_(commands) {}

  void set_session(std::string id);
  // Ends the questions of a run.
  void set_cancel(const CancelToken& cancel);
  // The editor has said so of that file, an absolute path.
  void add(const std::string& path);

  // False: the editor has said nothing of that file.
  bool is_named(const std::string& path) const;
  struct View {
    enum class State : std::uint8_t {
      kSaved,
      kUnknown,  // the editor could not be asked
      kUnsaved
    };
    State state = State::kUnknown;
    std::string text{};  // of kUnsaved
  };
  // `saved`: the bytes of the file. Line ends and a byte order mark make no other text.
  View look(const std::string& path, std::string_view saved);
  // The editor gets a text that was written to the file. An empty one: it cannot get it.
  void tell(const std::string& path, std::optional<std::string_view> text);
  // The saved text was read although the editor may have another one.
  void note_read(const std::string& path);

  // Sentences for the person since the last call.
  std::vector<std::string> take_notices();

 private:
  RpcWire::Patience patience() const;

  RpcWire& wire_;
  const ClientAbilities& abilities_;
  const Clock& clock_;
  const CommandHosts& commands_;
  mutable Mutex mutex_;
  std::string session_ GUARDED_BY(mutex_);
  CancelToken cancel_ GUARDED_BY(mutex_);
  bool silent_ GUARDED_BY(mutex_) = false;  // a question was not answered in time: no more are asked until add()
  std::map<std::string, std::string> files_ GUARDED_BY(mutex_);  // the editor's paths, by those without links
  std::vector<std::string> notices_ GUARDED_BY(mutex_);
};

// `files`, with the texts of the editor in place of what is saved.
std::shared_ptr<Workspace> with_unsaved(std::shared_ptr<Workspace> files, std::shared_ptr<UnsavedFiles> unsaved);

}  // namespace agentd::acp
