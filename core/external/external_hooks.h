// SPDX-License-Identifier: Apache-2.0
#pragma once
// external_hooks.h - the hooks that are no native modules, as subscriptions of the one dispatcher.
//
// Each definition becomes one subscription, whose function looks at the payload, decides whether
// the hook is asked at all (matcher, when, once), runs it, reads its answer and emits actions into
// the running call, as a native module would through the C ABI.
//
// Threading: add() and shutdown() on one thread before and after the snapshots that use the
// subscriptions; the hooks themselves may be called from any number of threads.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/bridge/token_table.h"
#include "core/dialects/definition.h"
#include "core/external/webhook.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/net/http.h"
#include "core/trust/script_copy.h"
#include "core/trust/sealed_file.h"

namespace agentd {

struct RawAnswer;  // dialect.h

// What all external hooks of a process share; everything outlives them.
struct ExternalEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  // The client is made by the first webhook.
  std::function<HttpClient&()> http;
  // A variable of this process, for headers and values that ask for one by name.
  std::function<std::optional<std::string>(const std::string&)> variable;
  WebhookRules webhooks;
  std::string project_dir;           // the project's root
  std::string transcript_directory;  // for dialects whose hooks read the conversation from a file
  std::string permission_mode;       // in claude's words
  // Hears of every program and webhook that ran: what went in, what came back, before it is read.
  // It may be called on several threads at once. Empty = nobody listens.
  std::function<void(const HookDefinition&, std::string_view input, const RawAnswer&)> tap{};
  // Variables of this process that hooks get beside the clean environment.
  std::vector<std::string> pass_environment{};
};

// The bytes behind a definition.
struct HookBytes {
  std::string digest;  // SHA-256, hex, of what was trusted
  // The sealed copy that kFile runs; shared by the definitions of one file.
  std::shared_ptr<const SealedFile> program;
  // The same bytes for an interpreter that wants a real file; null = the sealed copy is run.
  std::shared_ptr<const PrivateScript> script;
};

class ExternalHook;
class BackgroundRuns;
class KodeletExtension;

class ExternalHooks {
 public:
  explicit ExternalHooks(ExternalEnvironment environment);
  ~ExternalHooks();
  ExternalHooks(const ExternalHooks&) = delete;
  ExternalHooks& operator=(const ExternalHooks&) = delete;

  void add(HookDefinition definition, HookBytes bytes);
  // A guard that cannot be asked: it fails closed at each of its events, with `why` as the
  // sentence.
  void add_missing_guard(const std::string& name, std::string identity, Precedence precedence,
                         const std::vector<std::uint32_t>& events, std::string why);

  // It can be asked again: its place is not kept from the next subscriptions() on. True when there was one.
  bool drop_missing_guard(const std::string& identity);

  std::vector<Subscription> subscriptions() const;
  // In the order in which they were added.
  std::vector<const HookDefinition*> definitions() const;

  // Waits a little for hooks that nobody waits for, then ends them and every long-lived one.
  void shutdown();

 private:
  struct MissingGuard;
  std::shared_ptr<KodeletExtension> extension_of(const HookDefinition& definition);
  const ExternalEnvironment environment_;
  std::unique_ptr<BackgroundRuns> background_;
  // By command line: one process for all events that it is asked about. Shared with the hooks.
  std::map<std::string, std::shared_ptr<KodeletExtension>> extensions_;
  std::vector<std::unique_ptr<ExternalHook>> hooks_;
  std::vector<std::unique_ptr<MissingGuard>> missing_;
};

// Whether the hook needs the history in its payload: AGENTD_WANTS_.
std::uint64_t wants_of(const HookDefinition& definition);

// The runtime's own variables for a hook: AGENTD_EVENT, AGENTD_CONV_ID, AGENTD_CONTEXT_PERCENT,
// _USED and _MAX. `payload` is the canonical object.
std::vector<std::string> hook_environment(const HookDefinition& definition, JsonView payload);

}  // namespace agentd
