// SPDX-License-Identifier: Apache-2.0
#pragma once
// client_terms.h - whether the daemon would do for a command exactly what the command would do by itself.
//
// Both sides work out the same terms and compare them: the program, what it sees of the files, and a keyed sum over
// every setting and key, and over how the process is confined. Values are never sent.
//
// Threading: thread-safe functions; own_terms() reads /proc.

#include <cstdint>
#include <map>
#include <string>

#include "core/config/config.h"

namespace agentd::serve {

struct ClientTerms {
  std::string version, build;   // of the program; `build` names its file on this machine
  std::string mount_namespace;  // as /proc/self/ns/mnt names it
  std::uint32_t umask = 0;
  std::string settings;  // 64 digits: HMAC-SHA-256 under the daemon's own token
  // The same, shorter, of each part of it: "SSL_CERT_FILE", "permissions", "hooks" ...; they name a difference, and
  // decide nothing.
  std::map<std::string, std::string> parts{};
};

// The terms of this process. `home`: that of agentd, whose table of models counts; `hooks`: they are asked. `settings`
// is empty, and fits none, if the settings name no model that can be used. At `wall_ms`, since a default model may have
// been followed by another one since the daemon began.
ClientTerms own_terms(const Config& config, const Environment& environment, const std::string& home, bool hooks,
                      const std::string& token, std::int64_t wall_ms);

enum class TermsFit : std::uint8_t { kSame, kOtherVersion, kOtherNamespace, kOtherSettings };
TermsFit compare(const ClientTerms& client, const ClientTerms& daemon);
// The parts that differ, for a kOtherSettings: "another SSL_CERT_FILE, permissions"; "other settings" where no part is
// known.
std::string differences(const ClientTerms& client, const ClientTerms& daemon);

}  // namespace agentd::serve
