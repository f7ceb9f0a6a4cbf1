// SPDX-License-Identifier: Apache-2.0
#include "core/trust/mcp_consents.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/trust/trust_file.h"

namespace agentd {
namespace {

constexpr int kConsentsFormat = 1;
constexpr std::size_t kConsentsMax = 2'000;

Error corrupt_consents(const std::string& file, std::string_view what) {
  return {Code::kCorrupt,
          file + " is no file of consents (" + one_line(what, 200) + "): move it away, then trust your servers again"};
}

void write(JsonWriter& json, const McpConsent& entry) {
  json.begin_object().member("server", entry.server).optional("repository", entry.repository);
  json.optional("definition", entry.definition).member("agreed_ms", entry.agreed_ms);
  if (!entry.files.empty()) {
    json.key("files").begin_object();
    for (const McpConsent::File& file : entry.files) json.member(file.path, file.digest);
    json.end_object();
  }
  if (entry.tools) {
    json.key("tools").begin_object();
    for (const McpConsent::Tool& tool : *entry.tools) json.member(tool.name, tool.digest);
    json.end_object();
  }
  if (!entry.held.empty()) {
    json.key("held").begin_array();
    for (const std::string& tool : entry.held) json.string(tool);
    json.end_array();
  }
  json.end_object();
}

std::string text_of_consents(const std::vector<McpConsent>& entries) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_object().member("mcp", kConsentsFormat).key("servers").begin_array();
  for (const McpConsent& entry : entries) write(json, entry);
  json.end_array().end_object();
  return std::string(json.text()) + "\n";
}

// Empty if the entry is valid; otherwise what is wrong with it.
std::string read(JsonView json, McpConsent& out) {
  out.server = json["server"].string_or("");
  out.repository = json["repository"].string_or("");
  out.definition = json["definition"].string_or("");
  out.agreed_ms = json["agreed_ms"].int_or(0);
  if (out.server.empty()) return "an entry has no server";
  if (!out.definition.empty() && !is_sha256(out.definition))
    return "the definition of " + out.server + " is no SHA-256";
  for (std::size_t i = 0; i < json["held"].size(); ++i) out.held.emplace_back(json["held"].at(i).string_or(""));
  const JsonView files = json["files"];
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.files.push_back({std::string(files.key_at(i)), std::string(files.at(i).string_or(""))});
    if (!is_sha256(out.files.back().digest)) return "the digest of a file of " + out.server + " is no SHA-256";
  }
  const JsonView tools = json["tools"];
  if (!tools.exists()) return {};
  if (!tools.is_object()) return "the tools of " + out.server + " are no object";
  out.tools.emplace();
  for (std::size_t i = 0; i < tools.size(); ++i) {
    out.tools->push_back({std::string(tools.key_at(i)), std::string(tools.at(i).string_or(""))});
    if (!is_sha256(out.tools->back().digest)) return "the digest of a tool of " + out.server + " is no SHA-256";
  }
  return {};
}

bool is_of(const McpConsent& entry, std::string_view server, std::string_view repository) {
  return entry.server == server && entry.repository == repository;
}

}  // namespace

std::string McpConsents::file_of(const std::string& home) { return home + "/mcp_trust.json"; }

Result<std::vector<McpConsent>> McpConsents::parse(const std::string& text, const std::string& file) {
  const auto json = JsonDocument::parse(text);
  if (!json) return corrupt_consents(file, json.error().message);
  const JsonView root = json->root();
  if (!root["mcp"].is_number() || !root["servers"].is_array())
    return corrupt_consents(file, "it has no list of servers");
  if (root["mcp"].int_or(0) != kConsentsFormat)
    return Error{Code::kCorrupt,
                 file + " has format " + root["mcp"].text() + ", which this version does not know: update agentd"};
  std::vector<McpConsent> out(root["servers"].size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const std::string problem = read(root["servers"].at(i), out[i]); !problem.empty())
      return corrupt_consents(file, problem);
  return out;
}

Result<McpConsents> McpConsents::open(const std::string& file, uid_t user, const Clock& clock) {
  McpConsents out;
  out.file_ = file;
  out.user_ = user;
  out.clock_ = &clock;
  const auto text = read_trust_file(file, user);
  if (!text) return text.error().with_context("the consents to MCP servers");
  if (*text) {
    AGENTD_TRY(out.entries_, parse(**text, file));
  }
  return out;
}

const McpConsent* McpConsents::find(std::string_view server, std::string_view repository) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const McpConsent& each) { return is_of(each, server, repository); });
  return found == entries_.end() ? nullptr : &*found;
}

McpConsent& McpConsents::entry_of(std::vector<McpConsent>& all, const McpConsent& fresh) const {
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const McpConsent& each) { return is_of(each, fresh.server, fresh.repository); });
  McpConsent& out = known == all.end() ? all.emplace_back(fresh) : *known;
  out.agreed_ms = clock_->wall_ms();
  return out;
}

Result<void> McpConsents::change_all(const std::function<void(std::vector<McpConsent>&)>& change) {
  std::vector<McpConsent> entries;
  auto changed = change_trust_file(file_, user_, [&](const auto& text) -> Result<std::string> {
    if (text) {
      AGENTD_TRY(entries, parse(*text, file_));
    }
    change(entries);
    if (entries.size() <= kConsentsMax) return text_of_consents(entries);
    return Error{Code::kInvalid, file_ + " holds " + std::to_string(kConsentsMax) +
                                     " servers, the most it can: remove some with 'agentd mcp untrust NAME'"};
  });
  if (changed) entries_ = std::move(entries);
  return changed;
}

Result<void> McpConsents::set_held(const std::string& server, const std::string& repository,
                                   const std::vector<std::string>& held) {
  return change_all([&](std::vector<McpConsent>& all) {
    for (McpConsent& entry : all)
      if (is_of(entry, server, repository)) entry.held = held;
  });
}

Result<bool> McpConsents::forget(const std::string& server, const std::string& repository) {
  if (find(server, repository) == nullptr) return false;
  AGENTD_TRY_VOID(change_all([&](std::vector<McpConsent>& all) {
    std::erase_if(all, [&](const McpConsent& each) { return is_of(each, server, repository); });
  }));
  return true;
}

}  // namespace agentd
