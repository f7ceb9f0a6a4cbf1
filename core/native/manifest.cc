// SPDX-License-Identifier: Apache-2.0
#include "core/native/manifest.h"

#include <agentd/hook_abi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kIdBytesMax = 256;
constexpr std::size_t kManifestListMax = 256;
constexpr std::size_t kDepthMax = 64;
// The first two state the hook's purpose, the others open what is otherwise closed to a worker.
constexpr std::string_view kCapabilities[] = {"gate", "redact", "network", "processes", "files:read", "files:write"};

// The first spelling of each service is the one that hooks.NAME.grant and the documentation use.
constexpr std::array<std::array<std::string_view, 2>, 8> kSpellings{{
    {"compactor", "agentd.compactor"},
    {"agentd.compactor/1", "agentd.compactor"},
    {"thread_factory", "agentd.threads"},
    {"agentd.thread_factory", "agentd.threads"},
    {"threads", "agentd.threads"},
    {"agentd.threads/1", "agentd.threads"},
    {"store", "agentd.store"},
    {"agentd.store/1", "agentd.store"},
}};

bool contains(const std::vector<std::string>& list, std::string_view what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

Error wrong(std::string_view key, std::string_view what) {
  return {Code::kInvalid, "bad manifest: " + std::string(key) + " " + std::string(what)};
}

// Ids appear in file names, log lines and terminals, so only plain ASCII is allowed.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c != '\x7f' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x80;
  });
}

Result<std::string> text(JsonView root, std::string_view key, bool required) {
  const JsonView found = root[key];
  if (!found.exists() && !required) return std::string();
  if (!found.is_string()) return wrong(key, "must be a text");
  if (found.string_or({}).size() > kIdBytesMax) return wrong(key, "is too long");
  std::string line = one_line(found.string_or({}), kIdBytesMax);
  if (required && line.empty()) return wrong(key, "must be a text");
  return line;
}

Result<std::vector<std::string>> texts(JsonView root, std::string_view key) {
  const JsonView found = root[key];
  std::vector<std::string> out;
  if (!found.exists()) return out;
  if (!found.is_array() || found.size() > kManifestListMax) return wrong(key, "must be a short list of texts");
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found.at(i).is_string() || !is_plain(found.at(i).string_or({})))
      return wrong(key, "must be a list of plain names");
    out.emplace_back(found.at(i).string_or({}));
  }
  return out;
}

Result<std::vector<std::string>> services(JsonView root, std::string_view key) {
  AGENTD_TRY(std::vector<std::string> out, texts(root, key));
  for (std::string& each : out) each = canonical_service(each);
  return out;
}

// Parses "1.7"; both numbers below 65536.
bool parse_abi(std::string_view abi, std::uint32_t& major, std::uint32_t& minor) {
  const std::size_t dot = abi.find('.');
  if (dot == std::string_view::npos) return false;
  const auto part = [](std::string_view digits, std::uint32_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size() && out < 65536;
  };
  return part(abi.substr(0, dot), major) && part(abi.substr(dot + 1), minor);
}

// The nesting depth; a JSON reader recurses that far.
std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0, deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

std::string abi_text(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

bool Manifest::asks_for(std::string_view service) const {
  return contains(required, service) || contains(wanted, service) || contains(drafts, service);
}

bool Manifest::declares_serial() const {
  return concurrency == kConcurrencyNames[AGENTD_SERIAL] || concurrency == kConcurrencyNames[AGENTD_PER_CONVERSATION];
}

bool Manifest::has_capability(std::string_view capability) const { return contains(capabilities, capability); }

std::vector<std::string> unknown_capabilities(const Manifest& manifest) {
  std::vector<std::string> out;
  for (const std::string& each : manifest.capabilities)
    if (std::find(std::begin(kCapabilities), std::end(kCapabilities), each) == std::end(kCapabilities))
      out.push_back(each);
  return out;
}

std::string capability_warning(const Manifest& manifest) {
  std::vector<std::string> unknown = unknown_capabilities(manifest);
  if (unknown.empty()) return {};
  for (std::string& each : unknown) each = "'" + each + "'";
  const bool one = unknown.size() == 1;
  const std::vector<std::string> known(std::begin(kCapabilities), std::end(kCapabilities));
  return "asks for the unknown " + std::string(one ? "capability " : "capabilities ") + join(unknown, ", ") +
         ", which " + (one ? "opens" : "open") + " nothing; known are " + join(known, ", ");
}

std::string canonical_service(std::string_view name) {
  for (const auto& [spelling, canonical] : kSpellings)
    if (spelling == name) return std::string(canonical);
  return std::string(name);
}

std::string grant_name(std::string_view canonical) {
  for (const auto& [spelling, each] : kSpellings)
    if (each == canonical) return std::string(spelling);
  return std::string(canonical);
}

std::span<const std::string_view> known_capabilities() { return kCapabilities; }

Result<Manifest> parse_manifest(std::string_view json) {
  if (depth_of(json) > kDepthMax) return Error{Code::kInvalid, "bad manifest: it is nested too deeply"};
  auto document = JsonDocument::parse(json);
  if (!document) return document.error().with_context("bad manifest");
  const JsonView root = document->root();
  if (!root.is_object()) return Error{Code::kInvalid, "bad manifest: it is not a JSON object"};
  Manifest out;
  AGENTD_TRY(out.id, text(root, "id", true));
  if (!is_plain(out.id)) return wrong("id", "must be letters, digits, dots and dashes");
  AGENTD_TRY(out.version, text(root, "version", true));
  AGENTD_TRY(const std::string abi, text(root, "abi", true));
  if (!parse_abi(abi, out.abi_major, out.abi_minor)) return wrong("abi", "must be like \"1.0\"");
  AGENTD_TRY(out.events, texts(root, "events"));
  AGENTD_TRY(out.required, services(root, "requires"));
  AGENTD_TRY(out.wanted, services(root, "wants"));
  AGENTD_TRY(out.drafts, services(root, "drafts"));
  AGENTD_TRY(out.capabilities, texts(root, "capabilities"));
  AGENTD_TRY(out.concurrency, text(root, "concurrency", false));
  AGENTD_TRY(out.isolation, text(root, "isolation", false));
  AGENTD_TRY(out.license, text(root, "license", false));
  if (root["config_schema"].exists()) out.config_schema = root["config_schema"].text();
  return out;
}

namespace {

// The advice for an unavailable service: fix its name, or update.
std::string service_meant(const std::string& name, const HostOffer& offer) {
  constexpr std::string_view kOurs = "agentd.";
  if (!name.starts_with(kOurs)) return "update agentd";
  std::vector<std::string> known;  // without the common prefix
  for (const auto* const ids : {&offer.services, &offer.drafts})
    for (const std::string& id : *ids)
      if (id.starts_with(kOurs)) known.push_back(id.substr(kOurs.size()));
  const std::string meant = nearest(name.substr(kOurs.size()), known);
  return meant.empty() ? "update agentd" : "did you mean " + std::string(kOurs) + meant + "? If not, update agentd";
}

}  // namespace

std::string obstacle_of(const Manifest& manifest, const HostOffer& offer) {
  const std::string theirs = abi_text(manifest.abi_major, manifest.abi_minor);
  const std::string ours = abi_text(AGENTD_ABI_MAJOR, AGENTD_ABI_MINOR);
  if (manifest.abi_major < AGENTD_ABI_MAJOR)
    return "is built for an ABI that is no longer supported (abi " + theirs + ", this agentd has " + ours +
           "): rebuild it";
  if (manifest.abi_major > AGENTD_ABI_MAJOR || manifest.abi_minor > AGENTD_ABI_MINOR)
    return "needs a newer agentd (abi " + theirs + ", this one has " + ours + ")";
  for (const std::string& each : manifest.required)
    if (!offer.services.contains(each) && !offer.drafts.contains(each))
      return "asks for the unknown service " + each + ": " + service_meant(each, offer);
  for (const std::string& each : manifest.required)
    if (offer.drafts.contains(each) && !contains(manifest.drafts, each))
      return "requires the draft " + each + " without listing it as a draft: rebuild it with " + each + " under drafts";
  return {};
}

}  // namespace agentd
