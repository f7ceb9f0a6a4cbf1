// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_consents.h - the servers of the Model Context Protocol that the user has agreed to, and their tools.
//
// One JSON file outside every workspace (mcp_trust.json in the home directory). A server of a repository is keyed by
// its name and the repository's root (TrustStore::repository_key()), and agreed to by the digest of its definition:
// what is started, with which environment, and what it may use; and by those of the repository's files that its command
// names. A tool is agreed to by the digest of its own definition.
//
// Threading: thread-compatible; several processes may use one file.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct McpConsent {
  struct Tool {
    std::string name, digest;  // by the server's own name; SHA-256, hex
  };
  struct File {
    std::string path, digest;  // from the repository's root; SHA-256, hex
    friend bool operator==(const File&, const File&) = default;
  };
  std::string server;
  std::string repository{};  // empty = the user's own server
  std::string definition{};  // SHA-256, hex; empty = nothing but its tools was agreed to, as for a server of the user's
  std::vector<File> files{};                 // of the repository that its command names, as they were
  std::optional<std::vector<Tool>> tools{};  // absent = they were never listed
  std::vector<std::string> held{};           // its tools that wait for consent, as of its last list
  std::int64_t agreed_ms = 0;
};

class McpConsents {
 public:
  static std::string file_of(const std::string& home);
  // A missing file has no entries. kDenied: file or directory is unsafe; kCorrupt: not such a file, with what to do.
  static Result<McpConsents> open(const std::string& file, uid_t user, const Clock& clock);

  const std::vector<McpConsent>& entries() const { return entries_; }
  const McpConsent* find(std::string_view server, std::string_view repository) const;

  // Changes or adds the entry, whose time becomes now; `change` gets it as other processes have left it.
  template <typename Change>
  Result<void> change(const std::string& server, const std::string& repository, Change change) {
    McpConsent fresh{server, repository};
    return change_all([&](std::vector<McpConsent>& all) { change(entry_of(all, fresh)); });
  }
  // The tools that wait; the time of an entry stays. Nothing where there is no entry.
  Result<void> set_held(const std::string& server, const std::string& repository, const std::vector<std::string>& held);
  // Removes the entry. False: there was none.
  Result<bool> forget(const std::string& server, const std::string& repository);

 private:
  static Result<std::vector<McpConsent>> parse(const std::string& text, const std::string& file);
  McpConsent& entry_of(std::vector<McpConsent>& all, const McpConsent& fresh) const;
  Result<void> change_all(const std::function<void(std::vector<McpConsent>&)>& change);

  std::string file_;
  uid_t user_ = 0;
  const Clock* clock_ = nullptr;
  std::vector<McpConsent> entries_;
};

}  // namespace agentd
