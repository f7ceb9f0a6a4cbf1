// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/bytes.h"

namespace agentd::serve {
namespace {

constexpr Milliseconds kWindow{60'000};
constexpr const char* kOthers = "others";  // a peer's key that no address and no user has

bool may_connect(const HttpPeer& peer, std::uint32_t uid) {
  if (peer.door == HttpPeer::Door::kUnix) return peer.uid == uid;
  // A socket that was inherited may listen anywhere.
  return peer.address == "::1" || peer.address.starts_with("127.") || peer.address.starts_with("::ffff:127.");
}

std::optional<HttpReply> decide_host(const RequestHead& head) {
  if (head.count("host") != 1) return error_reply(400, "bad_request", "the request must have one field Host");
  if (is_own_host(head.field("host"), head.port)) return std::nullopt;
  return error_reply(421, "misdirected", "the field Host does not name this server");
}

// Only browsers send these fields, with pages of any site.
std::optional<HttpReply> decide_browser(const RequestHead& head) {
  const std::size_t sites = head.count("sec-fetch-site");
  if (head.count("origin") == 0 && (sites == 0 || (sites == 1 && head.field("sec-fetch-site") == "none")))
    return std::nullopt;
  return error_reply(403, "forbidden", "requests of web pages are not accepted");
}

bool has_body(const RequestHead& head) {
  if (head.count("transfer-encoding") != 0) return true;
  return head.count("content-length") != 0 && head.field("content-length") != "0";
}

// The type, "application/json", and a charset if it is UTF-8.
bool is_type(std::string_view text, std::string_view wanted) {
  const std::string type = ascii_lower(text);
  const std::size_t semicolon = std::min(type.find(';'), type.size());
  if (without_blanks(std::string_view(type).substr(0, semicolon)) != wanted) return false;
  if (semicolon == type.size()) return true;
  const std::string_view parameter = without_blanks(std::string_view(type).substr(semicolon + 1));
  return parameter.empty() || parameter == "charset=utf-8" || parameter == "charset=\"utf-8\"";
}

std::optional<HttpReply> decide_body(const RequestHead& head, std::string_view type) {
  if (!has_body(head)) return std::nullopt;
  if (head.count("content-type") == 1 && is_type(head.field("content-type"), type) &&
      head.count("content-encoding") == 0)
    return std::nullopt;
  return error_reply(415, "unsupported_media_type",
                     (type == "application/json" ? "a body must be JSON: send 'Content-Type: "
                                                 : "a body must be a file of lines: send 'Content-Type: ") +
                         std::string(type) + "', and no content encoding");
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

HttpReply with_challenge(HttpReply reply) {
  reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

HttpReply unauthorized() {
  return with_challenge(
      error_reply(401, "unauthorized", "this request needs a valid token: send 'Authorization: Bearer TOKEN'"));
}

}  // namespace

bool is_own_host(std::string_view host, std::uint16_t port) {
  if (port == 0) return host == "localhost";
  const std::string end = ":" + std::to_string(port);
  constexpr std::array<std::string_view, 3> kNames{"127.0.0.1", "localhost", "[::1]"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return host == std::string(name) + end || (port == 80 && host == name);
  });
}

std::string_view bearer_token(const RequestHead& head) {
  constexpr std::string_view kScheme = "bearer ";
  if (head.count("authorization") != 1) return {};
  const std::string_view value = head.field("authorization");
  if (ascii_lower(value.substr(0, kScheme.size())) != kScheme) return {};
  const std::string_view token = without_blanks(value.substr(kScheme.size()));
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return plain ? token : std::string_view();
}

bool is_origin_form(std::string_view target) {
  if (!target.starts_with('/')) return false;
  return std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
}

Access::Access(std::string home, std::uint32_t uid, ScopeNeeded scope_needed, const Clock& clock,
               MediaTaken media_taken)
    : home_(std::move(home)), uid_(uid), scope_needed_(scope_needed), media_taken_(media_taken), clock_(clock) {}

Result<void> Access::load() {
  const MutexLock lock(mutex_);
  return load_locked();
}

Result<void> Access::load_locked() {
  TokenFiles files = TokenFiles::of(home_);
  const bool own_is_there = files.states[0].inode != 0;
  if (tokens_ && own_is_there && files == files_) return {};
  tokens_.reset();
  AGENTD_TRY(tokens_, Tokens::load(home_));
  // The own one may just have been made: the next call sees it, and reads once more.
  files_ = files;
  return {};
}

std::optional<HttpReply> Access::decide(const RequestHead& head) {
  if (!may_connect(head.peer, uid_)) return error_reply(403, "forbidden", "this peer may not connect");
  if (!is_origin_form(head.target))
    return error_reply(400, "bad_request", "the target of the request must be a path with an optional query");
  if (auto refused = decide_host(head)) return refused;
  if (auto refused = decide_browser(head)) return refused;
  {
    const MutexLock lock(mutex_);
    if (auto refused = decide_token(head)) return refused;
  }
  return decide_body(head,
                     media_taken_ == nullptr ? "application/json" : media_taken_(head.method, path_of(head.target)));
}

std::optional<HttpReply> Access::decide_token(const RequestHead& head) {
  const std::optional<Scope> needs = scope_needed_(head.method, path_of(head.target));
  if (needs == Scope::kNone) return std::nullopt;
  const std::string_view token = bearer_token(head);
  if (token.empty()) return unauthorized();
  if (!load_locked())
    return error_reply(503, "unavailable", "the daemon cannot read its tokens; 'agentd auth token list' says why");
  const Tokens::Found found = tokens_->find(token);
  if (found.scope == Scope::kNone) return miss(head.peer);
  if (!needs || allows(found.scope, *needs)) return std::nullopt;
  return error_reply(403, "forbidden",
                     "the token '" + found.name + "' has the scope " + std::string(name_of(found.scope)) +
                         ", and this needs " + std::string(name_of(*needs)));
}

HttpReply Access::miss(const HttpPeer& peer) {
  Misses& misses = misses_of(peer);
  if (misses.until.passed(clock_)) misses = {Deadline::after(clock_, kWindow), 0};
  if (misses.count < kMissesMax) {
    ++misses.count;
    return unauthorized();
  }
  HttpReply reply = with_challenge(
      error_reply(429, "too_many_requests", "too many wrong tokens from this peer: wait, and send a valid one"));
  const auto left = misses.until.left(clock_).count();
  reply.fields.emplace_back("Retry-After", std::to_string(std::max<std::int64_t>(1, (left + 999) / 1000)));
  return reply;
}

Access::Misses& Access::misses_of(const HttpPeer& peer) {
  const std::string key =
      peer.door == HttpPeer::Door::kUnix ? "uid " + std::to_string(peer.uid) : "address " + peer.address;
  if (const auto found = misses_.find(key); found != misses_.end()) return found->second;
  const auto fresh = [this]() { return Misses{Deadline::after(clock_, kWindow), 0}; };
  if (misses_.size() >= kPeersMax)
    std::erase_if(misses_, [this](const auto& each) { return each.second.until.passed(clock_); });
  const bool full = misses_.size() >= kPeersMax;
  return misses_.try_emplace(full ? kOthers : key, fresh()).first->second;
}

Tokens::Found Access::who(const RequestHead& head) const {
  const MutexLock lock(mutex_);
  return tokens_ ? tokens_->find(bearer_token(head)) : Tokens::Found();
}

bool Access::is_good(const Digest& token) const {
  const MutexLock lock(mutex_);
  return tokens_ && tokens_->has(token);
}

}  // namespace agentd::serve
