// SPDX-License-Identifier: Apache-2.0
#include "core/cage/hints.h"

#include <algorithm>

#include "core/process/command_cage.h"

namespace agentd::cage {
namespace {

enum class Topic : unsigned char {
  kNetwork,
  kLocalSockets,
  kSocketsOfPython,
  kGitSettings,
  kSigning,
  kModules,
  kGuardedMount,
  kElsewhere
};

// Some texts are in many an output that is about something else.
constexpr bool kAfterARefusal = true;

struct Sign {
  std::string_view text;
  Topic topic;
  bool needs_refusal = false;  // the output has a permission that was denied, too
};

constexpr Sign kSigns[] = {
    // Texts of resolvers and sockets: the C library, curl, git, Node, Python, Go, Rust, Java, wget.
    {"ould not resolve host", Topic::kNetwork},
    {"unable to resolve host", Topic::kNetwork},
    {"Temporary failure in name resolution", Topic::kNetwork},
    {"Name or service not known", Topic::kNetwork},
    {"failed to lookup address information", Topic::kNetwork},
    {"Network is unreachable", Topic::kNetwork},
    {"network is unreachable", Topic::kNetwork},
    {"ENETUNREACH", Topic::kNetwork},
    {"EAI_AGAIN", Topic::kNetwork},
    {"ENOTFOUND", Topic::kNetwork},
    {"getaddrinfo", Topic::kNetwork},
    {"dial tcp", Topic::kNetwork},
    {"no such host", Topic::kNetwork},
    {"UnknownHostException", Topic::kNetwork},
    {"ould not connect to server", Topic::kNetwork},
    {"ouldn't connect to server", Topic::kNetwork},
    {"Failed to establish a new connection", Topic::kNetwork},
    // Python; at the floor it says so of other sockets, too.
    {"_socket.socket.__init__", Topic::kSocketsOfPython},
    {"connect to the agent", Topic::kLocalSockets},
    {"connect to the gpg-agent", Topic::kLocalSockets},
    {"failed to start agent", Topic::kLocalSockets},
    // Node, Go, tmux, Postgres and others.
    {"AF_UNIX", Topic::kLocalSockets, kAfterARefusal},
    {"listen EACCES: permission denied /", Topic::kLocalSockets},
    {"connect EACCES /", Topic::kLocalSockets},
    {"dial unix", Topic::kLocalSockets, kAfterARefusal},
    {"listen unix", Topic::kLocalSockets, kAfterARefusal},
    {"nix socket", Topic::kLocalSockets, kAfterARefusal},
    {"nix-domain socket", Topic::kLocalSockets, kAfterARefusal},
    {"nix domain socket", Topic::kLocalSockets, kAfterARefusal},
    {"error connecting to ", Topic::kLocalSockets, kAfterARefusal},
    {"error creating ", Topic::kLocalSockets, kAfterARefusal},
    {"could not lock config file", Topic::kGitSettings},
    {"could not write config file", Topic::kGitSettings},
    {"failed to sign the data", Topic::kSigning},
    {"failed to write commit object", Topic::kSigning},
    {"unable to sign the tag", Topic::kSigning},
    {"Device or resource busy", Topic::kGuardedMount},
    {"Read-only file system", Topic::kModules},
    {"Read-only file system", Topic::kElsewhere},
    {"EROFS", Topic::kElsewhere},
};

bool is_on(Topic topic, const CageFacts& facts) {
  switch (topic) {
    case Topic::kNetwork:
      return facts.network_off || facts.by_proxy;
    case Topic::kLocalSockets:
      return facts.local_sockets != CageFacts::LocalSockets::kOpen;
    case Topic::kSocketsOfPython:
      return facts.local_sockets == CageFacts::LocalSockets::kClosed;
    case Topic::kModules:
      return facts.modules_closed;
    case Topic::kGuardedMount:
      return facts.has_mounts;
    case Topic::kElsewhere:
      return !facts.modules_closed;
    default:
      return true;
  }
}

std::string remark_of(Topic topic, const CageFacts& facts) {
  switch (topic) {
    case Topic::kNetwork:
      if (facts.network_off)
        return "network is off for commands; 'sandbox.network: [HOST]' in your settings would allow a host";
      return "commands have network through the proxy in HTTP_PROXY alone, and only to the hosts in sandbox.network; "
             "programs that use no proxy have none";
    case Topic::kLocalSockets:
    case Topic::kSocketsOfPython:
      if (facts.local_sockets == CageFacts::LocalSockets::kNever)
        return "commands have no local sockets (AF_UNIX) in the layer landlock; in the layer bubblewrap "
               "'sandbox.local_sockets: true' in your settings would allow them";
      return "commands have no local sockets (AF_UNIX); 'sandbox.local_sockets: true' in your settings would allow "
             "them, also to programs outside of the sandbox that listen in the directories of commands";
    case Topic::kGitSettings:
      return "the settings of Git do not change in the sandbox, because they can name programs: run such a command "
             "('git config', 'git remote add', 'git push -u') in your own terminal";
    case Topic::kSigning:
      return "nothing is signed in the sandbox, because keys stay outside: commit without -S, and sign in your own "
             "terminal by 'git commit --amend -S --no-edit'";
    case Topic::kModules:
      return "this repository has more submodules than the sandbox can guard one by one, so the directory .git/modules "
             "is read-only for commands: commit in submodules in your own terminal";
    case Topic::kGuardedMount:
      return "a guarded path, such as the '.git' of a worktree, cannot be moved or removed in the sandbox, nor can the "
             "directories around it: run such a command ('git worktree remove') in your own terminal";
    case Topic::kElsewhere:
      return "commands write in the workspace (but for guarded paths), in /tmp and in their cache; 'sandbox.writable: "
             "[DIR]' in your settings opens another directory";
  }
  return {};
}

bool has_refusal(std::string_view output) {
  return output.find("ermission denied") != std::string_view::npos || output.find("EACCES") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> hints_for(const CageFacts& facts, std::string_view output) {
  std::vector<std::string> out;
  output.remove_prefix(output.size() - std::min(output.size(), CagedCommand::kOutputTail));
  for (const auto& [text, topic, needs_refusal] : kSigns) {
    if (!is_on(topic, facts) || output.find(text) == std::string_view::npos) continue;
    if (needs_refusal && !has_refusal(output)) continue;
    const bool is_general = topic == Topic::kGuardedMount || topic == Topic::kElsewhere;
    if (is_general && !out.empty()) continue;  // another one says more
    std::string remark = remark_of(topic, facts);
    if (std::find(out.begin(), out.end(), remark) == out.end()) out.push_back(std::move(remark));
  }
  return out;
}

}  // namespace agentd::cage
