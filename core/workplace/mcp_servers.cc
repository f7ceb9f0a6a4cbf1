// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_servers.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/base/bytes.h"
#include "core/base/shell_word.h"
#include "core/runtime/version.h"
#include "core/workplace/mcp_rules.h"

namespace agentd {
namespace {

constexpr std::size_t kWarningsMax = 100;
// McpConsent::repository of the servers that editors name.
constexpr const char* kOfEditors = "editor";

RunError usage(const Error& why) { return {RunError::Kind::kUsage, why.message}; }

}  // namespace

// The tools that were agreed to, in the file of consents. Where that cannot be used, no tool counts as agreed to.
class McpServers::StoredPins final : public mcp::Pins {
 public:
  StoredPins(std::string file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

  // The consents of which repository hold for that server.
  void add(const std::string& server, const std::string& repository) {
    const MutexLock lock(mutex_);
    repositories_[server] = repository;
  }

  std::vector<Verdict> judge(const std::string& server, const std::vector<mcp::Definition>& tools) override {
    const MutexLock lock(mutex_);
    const std::string& repository = repositories_[server];
    auto consents = McpConsents::open(file_, ::geteuid(), clock_);
    const McpConsent* known = consents ? consents->find(server, repository) : nullptr;
    // The user has agreed to a server of a repository when its tools were shown, or to none of them.
    const bool shown_first = !repository.empty() && repository != kOfEditors;
    if (consents && !shown_first && (known == nullptr || !known->tools)) {
      const auto recorded = consents->change(server, repository, [&](McpConsent& entry) {
        if (!entry.tools) entry.tools = tools_of(tools);
      });
      known = recorded ? consents->find(server, repository) : nullptr;
    }
    std::vector<Verdict> out;
    std::vector<std::string> held;
    for (const mcp::Definition& tool : tools) {
      out.push_back(verdict(known, tool));
      if (out.back() != Verdict::kAgreed) held.push_back(tool.name);
    }
    // For `agentd mcp list`, which starts no server; that it is not kept changes nothing else.
    if (known != nullptr && known->held != held) (void)consents->set_held(server, repository, held);
    return out;
  }

  static std::vector<McpConsent::Tool> tools_of(const std::vector<mcp::Definition>& tools) {
    std::vector<McpConsent::Tool> out;
    for (const mcp::Definition& tool : tools) out.push_back({tool.name, tool.digest()});
    return out;
  }

 private:
  static Verdict verdict(const McpConsent* known, const mcp::Definition& tool) {
    if (known == nullptr || !known->tools) return Verdict::kNew;
    const auto pin = std::find_if(known->tools->begin(), known->tools->end(),
                                  [&](const McpConsent::Tool& each) { return each.name == tool.name; });
    if (pin == known->tools->end()) return Verdict::kNew;
    return pin->digest == tool.digest() ? Verdict::kAgreed : Verdict::kChanged;
  }

  const std::string file_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, std::string> repositories_ GUARDED_BY(mutex_);
};

McpServers::McpServers(Runtime& runtime, const Project& project, HookWishes wishes)
    : runtime_(runtime), project_(project), wishes_(wishes) {}

McpServers::~McpServers() = default;

Result<std::vector<McpServerHere>> McpServers::find(std::vector<std::string>& problems) const {
  auto consents = McpConsents::open(McpConsents::file_of(runtime_.home()), ::geteuid(), runtime_.clock());
  auto found =
      mcp_servers_here(runtime_.config(), runtime_.home(), project_, consents ? *consents : McpConsents(), problems);
  if (!consents && found && !found->empty()) problems.push_back(consents.error().message);
  return found;
}

std::string McpServers::scripts_state() const {
  std::string out;
  for (const McpServerHere& server : found_)
    for (const McpConsent::File& file : server.files) out += path_state(project_.root + "/" + file.path);
  return out;
}

Result<void, RunError> McpServers::load(const std::vector<std::string>& roots) {
  if (!wishes_.tools || wishes_.safe_mode) return {};
  roots_ = roots;
  const MutexLock finding(finding_);
  const std::string now = files();
  std::vector<std::string> problems;
  auto found = find(problems);
  if (!found) return usage(found.error());
  pins_ = std::make_unique<StoredPins>(McpConsents::file_of(runtime_.home()), runtime_.clock());
  take(std::move(*found), problems);
  files_ = now + scripts_state();
  shared_ = std::make_unique<mcp::McpTools>(setups(false), parts());
  return {};
}

std::string McpServers::files() const {
  return mcp_files_state(runtime_.home(), project_) + path_state(McpConsents::file_of(runtime_.home()));
}

void McpServers::take(std::vector<McpServerHere> found, const std::vector<std::string>& problems) {
  found_ = std::move(found);
  ++times_found_;
  for (const std::string& problem : problems) warn_once(problem);
  for (const McpServerHere& each : found_) {
    if (!each.off) pins_->add(each.settings.name, each.repository);
    if (each.waits)
      warn_once("the MCP server " + each.settings.name + " of this project is not started, since " + each.why);
  }
  // A rule may be about another project's server; a misspelt one protects nothing.
  if (const auto consents = McpConsents::open(McpConsents::file_of(runtime_.home()), ::geteuid(), runtime_.clock()))
    for (const McpRuleProblem& problem : mcp_rule_problems(runtime_.config(), found_, *consents))
      if (problem.misspelt) warn_once(problem.text);
}

std::uint64_t McpServers::refresh() {
  if (!pins_) return 0;
  const MutexLock finding(finding_);
  const std::string now = files();
  if (now + scripts_state() == files_) return times_found_;
  std::vector<std::string> problems;
  auto found = find(problems);
  if (!found) {
    files_ = now + scripts_state();
    warn_once(found.error().message + "; the MCP servers stay as they were");
    return times_found_;
  }
  take(std::move(*found), problems);
  files_ = now + scripts_state();
  shared_->update(setups(false));
  wait_anew();
  return times_found_;
}

mcp::McpParts McpServers::parts() {
  return {runtime_.clock(), runtime_.http(), *pins_, [this](const std::string& text) { warn(text); }, AGENTD_VERSION};
}

std::vector<mcp::ServerSetup> McpServers::setups(bool per_session) {
  std::vector<mcp::ServerSetup> out;
  for (const McpServerHere& each : found_) {
    if (each.off || each.waits || each.settings.per_session != per_session) continue;
    auto setup =
        mcp_server_setup(runtime_.surroundings(), runtime_.config(), runtime_.home(), project_, roots_, each.settings);
    if (setup)
      out.push_back(std::move(*setup));
    else
      warn(setup.error().message + "; the server is not started");
  }
  return out;
}

void McpServers::start() {
  {
    const MutexLock lock(mutex_);
    if (waits_until_) return;
    waits_until_ = wait_of_start();
  }
  if (shared_) shared_->start();
}

Deadline McpServers::wait_of_start() const {
  return Deadline::after(runtime_.clock(), Milliseconds(runtime_.config().whole("mcp.start_wait_ms")));
}

void McpServers::wait_anew() {
  const MutexLock lock(mutex_);
  if (waits_until_) waits_until_ = wait_of_start();
}

void McpServers::wait() const {
  std::optional<Deadline> until;
  {
    const MutexLock lock(mutex_);
    until = waits_until_;
  }
  if (shared_ && until) shared_->wait({}, *until);
}

std::vector<mcp::ServerSetup> McpServers::setups_of_session(const std::vector<McpServerSettings>& of_client) {
  const MutexLock finding(finding_);
  std::vector<mcp::ServerSetup> servers = setups(true);
  for (const McpServerSettings& each : of_client) {
    const bool taken = std::any_of(found_.begin(), found_.end(), [&](const McpServerHere& other) {
      return !other.off && !other.waits && other.settings.name == each.name;
    });
    if (taken) {
      warn("the MCP server " + each.name + " of the editor is not started, since another one of yours has its name");
      continue;
    }
    pins_->add(each.name, kOfEditors);
    auto setup = mcp_server_setup(runtime_.surroundings(), runtime_.config(), runtime_.home(), project_, roots_, each);
    if (setup)
      servers.push_back(std::move(*setup));
    else
      warn(setup.error().message + "; the server is not started");
  }
  return servers;
}

void McpServers::update(std::unique_ptr<mcp::McpTools>& session, const std::vector<McpServerSettings>& of_client) {
  if (!pins_) return;
  std::vector<mcp::ServerSetup> servers = setups_of_session(of_client);
  if (session) return session->update(std::move(servers));
  if (servers.empty()) return;
  session = std::make_unique<mcp::McpTools>(std::move(servers), parts());
  session->start();
}

void McpServers::warn(const std::string& text) {
  const MutexLock lock(mutex_);
  if (warnings_.size() < kWarningsMax) warnings_.push_back(text);
}

void McpServers::warn_once(const std::string& text) {
  {
    const MutexLock lock(mutex_);
    if (!told_.insert(text).second) return;
  }
  warn(text);
}

std::vector<std::string> McpServers::take_warnings() {
  const MutexLock lock(mutex_);
  return std::exchange(warnings_, {});
}

}  // namespace agentd
