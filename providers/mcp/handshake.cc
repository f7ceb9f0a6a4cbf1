// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/handshake.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/codec/mcp_protocol.h"

namespace agentd::mcp {
namespace {

constexpr std::int64_t kUnsupportedVersion = -32022;
constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";
// How long a program has for server/discover until it gets initialize, too. Programs that do not know it answer at
// once, or never; the latter are to have listed their tools within the wait of a first turn (mcp.start_wait_ms).
constexpr Milliseconds kDiscoverWait{750};
constexpr std::size_t kNameMax = 200;

void take_name(Agreed& out, JsonView info) {
  const std::string_view title = info["title"].string_or("");
  out.title = one_line(title.empty() ? info["name"].string_or("") : title, kNameMax);
  out.server_version = one_line(info["version"].string_or(""), kNameMax);
}

void take_abilities(Agreed& out, JsonView abilities) {
  out.has_tools = abilities["tools"].is_object();
  out.tells_changes = abilities["tools"]["listChanged"].bool_or(false);
}

bool lists(JsonView versions, std::string_view version) {
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (versions.at(i).string_or("") == version) return true;
  return false;
}

std::string listed(JsonView versions) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(versions.size(), 10); ++i)
    out += (out.empty() ? "" : ", ") + one_line(versions.at(i).string_or("?"), 40);
  return out.empty() ? "none" : out;
}

// "2026-07-28, 2025-11-25, ...": all that agentd speaks.
std::string own_versions() {
  std::string out(kModernVersion);
  for (const std::string_view version : kLegacyVersions) out += ", " + std::string(version);
  return out;
}

// A sentence where the versions that a server lists have none of agentd's.
std::optional<std::string> no_common_version(JsonView versions) {
  const auto common = [&](std::string_view version) { return lists(versions, version); };
  if (!versions.is_array() || versions.size() == 0 || common(kModernVersion) ||
      std::any_of(kLegacyVersions.begin(), kLegacyVersions.end(), common))
    return std::nullopt;
  return "speaks only these versions of the protocol: " + listed(versions) + "; agentd speaks " + own_versions();
}

// nullopt: it speaks the other era.
std::optional<Agreed> discovered(JsonView result) {
  if (!lists(result["supportedVersions"], kModernVersion)) return std::nullopt;
  Agreed out{true, std::string(kModernVersion)};
  take_abilities(out, result["capabilities"]);
  take_name(out, result["_meta"][kMetaServer].exists() ? result["_meta"][kMetaServer] : result["serverInfo"]);
  return out;
}

Result<Agreed, Failure> initialized(JsonView result) {
  Agreed out{false, one_line(result["protocolVersion"].string_or(""), 40)};
  if (std::find(kLegacyVersions.begin(), kLegacyVersions.end(), out.version) == kLegacyVersions.end())
    return Failure{Failure::Kind::kLost,
                   "speaks version '" + out.version + "' of the protocol; agentd speaks " + own_versions()};
  take_abilities(out, result["capabilities"]);
  take_name(out, result["serverInfo"]);
  return out;
}

class Handshake {
 public:
  Handshake(Connection& connection, const CancelToken& cancel, Deadline deadline)
      : connection_(connection), patience_{cancel, deadline} {}

  Result<Agreed, Failure> run(bool modern_first) {
    if (!modern_first) return legacy();
    // By a connection that has another era's version in none of its messages yet.
    connection_.agree(kModernVersion, true);
    const auto id = connection_.begin({"server/discover"}, patience_);
    if (!id) return Failure{Failure::Kind::kGone, "has ended"};
    if (connection_.link().is_http()) return after_discover(connection_.await(*id, patience_));
    return both(*id);
  }

 private:
  // Reads an answer to server/discover, and falls back where it says nothing.
  Result<Agreed, Failure> after_discover(const Answer& answer) {
    if (answer) {
      const JsonView result = (*answer)->root()["result"];
      if (auto out = discovered(result)) return std::move(*out);
      if (auto why = no_common_version(result["supportedVersions"]))
        return Failure{Failure::Kind::kLost, std::move(*why)};
      return legacy();
    }
    const Failure& failure = answer.error();
    if (failure.kind == Failure::Kind::kFault) {
      if (!asked_again_ && supports_modern(failure.fault)) return discover_again();
      if (auto why = refused_versions(failure.fault)) return Failure{Failure::Kind::kLost, std::move(*why)};
      return legacy();
    }
    const bool refused = failure.status == 401 || failure.status == 403;
    if (failure.kind == Failure::Kind::kStatus && failure.status >= 400 && !refused) return legacy();
    return failure;
  }

  // A server that has refused the version and names it nevertheless.
  static bool supports_modern(const RpcFault& fault) {
    const auto data = JsonDocument::parse(fault.data);
    return fault.code == kUnsupportedVersion && data && lists(data->root()["supported"], kModernVersion);
  }
  Result<Agreed, Failure> discover_again() {
    asked_again_ = true;
    return after_discover(connection_.ask({"server/discover"}, patience_));
  }

  // A sentence where the server knows neither era.
  static std::optional<std::string> refused_versions(const RpcFault& fault) {
    if (fault.code != kUnsupportedVersion) return std::nullopt;
    const auto data = JsonDocument::parse(fault.data);
    return data ? no_common_version(data->root()["supported"]) : std::nullopt;
  }

  // A program: the first answer that says anything counts.
  Result<Agreed, Failure> both(std::int64_t discover) {
    // Its start may take longer than that, so that it is not known yet whether it knows server/discover.
    Patience first = patience_;
    first.silence = kDiscoverWait;
    auto answer = connection_.await(discover, first, true);
    if (answer || answer.error().kind != Failure::Kind::kTimeout) return after_discover(answer);
    auto by_legacy = legacy();
    if (by_legacy || by_legacy.error().kind != Failure::Kind::kFault) return by_legacy;
    // A program of the modern era alone refuses initialize, and has answered what came before.
    return after_refused_initialize(connection_.await(discover, patience_), std::move(by_legacy));
  }

  Result<Agreed, Failure> after_refused_initialize(const Answer& answer, Result<Agreed, Failure> refused) {
    if (!answer) return refused;
    auto out = discovered((*answer)->root()["result"]);
    if (!out) return refused;
    connection_.agree(kModernVersion, true);
    return std::move(*out);
  }

  Result<Agreed, Failure> legacy() {
    connection_.agree({}, false);
    const Request request{"initialize",
                          [this](JsonWriter& out) {
                            out.member("protocolVersion", kLegacyVersions.front());
                            Connection::write_abilities(out.key("capabilities"));
                            connection_.write_client(out.key("clientInfo"));
                          },
                          {},
                          true};
    auto answer = connection_.ask(request, patience_);
    if (!answer) return answer.error();
    auto out = initialized((*answer)->root()["result"]);
    if (!out) return out;
    connection_.agree(out->version, false);
    connection_.notify("notifications/initialized");
    connection_.link().flush(patience_.cancel, patience_.deadline);
    return out;
  }

  Connection& connection_;
  const Patience patience_;
  bool asked_again_ = false;
};

}  // namespace

Result<Agreed, Failure> shake_hands(Connection& connection, bool modern_first, const CancelToken& cancel,
                                    Deadline deadline) {
  return Handshake(connection, cancel, deadline).run(modern_first);
}

}  // namespace agentd::mcp
