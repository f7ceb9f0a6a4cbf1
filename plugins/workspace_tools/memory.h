// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory.h - records which files a conversation has read, and their content; its list of tasks.
//
// An edit is based on the text that the model has seen. Hence edit_file requires that this conversation has read the
// file and that it has not changed since. A compaction hides the read text from the model and therefore clears the
// records.
//
// Threading: thread-safe.

#include <agentd/hook_types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "plugins/workspace_tools/todo.h"

namespace workspace_tools {

class Memory {
 public:
  enum class State { kUnread, kChanged, kSame };

  // The directory for relative paths of the conversation, from its events.
  void set_cwd(agentd_conv conversation, std::string_view cwd);
  std::string cwd(agentd_conv conversation) const;
  // Records that the conversation has seen `content`, by reading or writing it.
  void seen(agentd_conv conversation, std::string_view path, std::string_view content);
  // True if the conversation has seen the file at all.
  bool knows(agentd_conv conversation, std::string_view path) const;
  State state(agentd_conv conversation, std::string_view path, std::string_view content) const;
  // The conversation's list of tasks; nullopt: this process does not know it.
  void set_todos(agentd_conv conversation, std::vector<Todo> todos);
  std::optional<std::vector<Todo>> todos(agentd_conv conversation) const;
  void forget_files(agentd_conv conversation);
  void forget(agentd_conv conversation);

 private:
  static constexpr std::size_t kFilesMax = 10'000;  // per conversation; then the record starts again
  struct Mark {
    std::size_t hash = 0, bytes = 0;
    bool operator==(const Mark&) const = default;
  };
  struct Conversation {
    std::string cwd;
    std::map<std::string, Mark, std::less<>> files;
    std::optional<std::vector<Todo>> todos;
  };
  static Mark mark_of(std::string_view content);

  mutable agentd::Mutex mutex_;
  std::map<agentd_conv, Conversation> conversations_ GUARDED_BY(mutex_);
};

}  // namespace workspace_tools
