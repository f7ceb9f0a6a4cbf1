// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory.h - which files a conversation has read, and as what.
//
// An edit is made from what the model has seen. So edit_file wants that this conversation has read
// the file, and that the file is still what was read. A compaction hides what was read from the
// model: the marks go with it.
//
// Threading: thread-safe.

#include <agentd/hook_types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace workspace_tools {

class Memory {
 public:
  enum class State { kUnread, kChanged, kSame };

  // The directory that relative paths of the conversation start at, as events tell it.
  void set_cwd(agentd_conv conversation, std::string_view cwd);
  std::string cwd(agentd_conv conversation) const;
  // The conversation has seen `content`, by reading or by writing it.
  void seen(agentd_conv conversation, std::string_view path, std::string_view content);
  State state(agentd_conv conversation, std::string_view path, std::string_view content) const;
  void forget_files(agentd_conv conversation);
  void forget(agentd_conv conversation);

 private:
  static constexpr std::size_t kFilesMax = 10'000;  // of a conversation; then it begins anew
  struct Mark {
    std::size_t hash = 0, bytes = 0;
    bool operator==(const Mark&) const = default;
  };
  struct Conversation {
    std::string cwd;
    std::map<std::string, Mark, std::less<>> files;
  };
  static Mark mark_of(std::string_view content);

  mutable std::mutex mutex_;
  std::map<agentd_conv, Conversation> conversations_;
};

}  // namespace workspace_tools
