// SPDX-License-Identifier: Apache-2.0
#pragma once
// access.h - who may enter, decided from the head of a request alone.
//
// In this order, so that a page in a browser learns nothing:
//
//   peer          a loopback address, or a process of this user on the unix socket        else 403
//   target        in origin form, visible ASCII                                           else 400
//   Host          once: 127.0.0.1:PORT, localhost:PORT or [::1]:PORT of the port that was
//                 connected to; "localhost" on the unix socket                            else 400, 421
//   Origin        none, not even "null"                                                   else 403
//   Sec-Fetch-Site  none, or "none"                                                       else 403
//   token         "Authorization: Bearer TOKEN", once; not for routes of Scope::kNone     else 401, 429
//   scope         what the route needs; a route that is not there needs any token         else 403
//   body          application/json, or what the route takes, without a content encoding   else 415
//
// The rules are the same on the unix socket, which no browser reaches: its clients read the token's file as any other.
// No reply has an Access-Control field, and a preflight is refused like anything else.
//
// From the eleventh wrong token of a peer (an address, a user) in a minute on, the answer is 429. A right one is let in
// all the same: every process of the machine has the same address, and none of them may lock the user out. No guess
// finds 256 bits, whether it is slowed down or not.
//
// Threading: Access is thread-safe; the rest are values.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/serve/http_exchange.h"
#include "core/serve/tokens.h"

namespace agentd::serve {

class Access {
 public:
  static constexpr std::uint32_t kMissesMax = 10;  // wrong tokens of a peer in a minute
  static constexpr std::size_t kPeersMax = 1'024;  // that are counted alone; the rest are counted as one

  // `scope_needed`: of the route of that method and path; nullopt: there is no such route, which is told only to who
  // has a token. `uid`: whose processes may use the unix socket. The clock outlives it.
  using ScopeNeeded = std::optional<Scope> (*)(std::string_view method, std::string_view path);
  // The media type of the bodies of a route; null: all are application/json.
  using MediaTaken = std::string_view (*)(std::string_view method, std::string_view path);
  Access(std::string home, std::uint32_t uid, ScopeNeeded scope_needed, const Clock& clock,
         MediaTaken media_taken = nullptr);

  // Reads the tokens, again when their files have changed, and makes the daemon's own when it is missing. When they
  // cannot be read, no token is good until they can. REQUIRES: called before decide(), which calls it again: a token
  // that was removed is refused from then on, and one that was added is good.
  Result<void> load();

  // nullopt: it may go on. Else 400, 401, 403, 415, 421 or 429, or 503 when the tokens cannot be read; without a word
  // about what is there.
  std::optional<HttpReply> decide(const RequestHead& head);
  // The token's name and scope of a request that was let in.
  Tokens::Found who(const RequestHead& head) const;
  // Whether a token is still good, by its digest.
  bool is_good(const Digest& token) const;

 private:
  struct Misses {
    Deadline until;
    std::uint32_t count = 0;
  };
  Result<void> load_locked() REQUIRES(mutex_);
  std::optional<HttpReply> decide_token(const RequestHead& head) REQUIRES(mutex_);
  HttpReply miss(const HttpPeer& peer) REQUIRES(mutex_);
  Misses& misses_of(const HttpPeer& peer) REQUIRES(mutex_);

  const std::string home_;
  const std::uint32_t uid_;
  const ScopeNeeded scope_needed_;
  const MediaTaken media_taken_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::optional<Tokens> tokens_ GUARDED_BY(mutex_);                       // none: they could not be read
  TokenFiles files_ GUARDED_BY(mutex_);                                   // as they were before they were read
  std::map<std::string, Misses, std::less<>> misses_ GUARDED_BY(mutex_);  // by peer
};

// ---- parts of the decision, for tests

// A field Host that means this machine at that port: "127.0.0.1:9090", "[::1]:9090", "localhost:9090", exactly; at port
// 80 without it as well, as HTTP has it. Port 0, the unix socket: "localhost".
bool is_own_host(std::string_view host, std::uint16_t port);
// The token of "Authorization: Bearer TOKEN"; empty: there is none, or more than one field.
std::string_view bearer_token(const RequestHead& head);
// A target as a request of a client has it: "/" and visible ASCII, without a fragment.
bool is_origin_form(std::string_view target);

}  // namespace agentd::serve
