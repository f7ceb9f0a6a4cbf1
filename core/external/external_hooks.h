// SPDX-License-Identifier: Apache-2.0
#pragma once
// external_hooks.h - hooks that are not native modules, as subscriptions of the dispatcher.
//
// Each definition becomes one subscription. Its function decides from the payload whether the hook is called at all
// (matcher, when, once), runs it, reads its answer and emits actions into the running call, as a native module would
// through the C ABI.
//
// Threading: add() and shutdown() on one thread, before and after the snapshots that use the subscriptions; the hooks
// may be called from any number of threads.

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

// Shared by all external hooks of a process; everything outlives them.
struct ExternalEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  // The first webhook makes the client.
  std::function<HttpClient&()> http;
  // Looks up a variable of this process by name, for headers and values.
  std::function<std::optional<std::string>(const std::string&)> variable;
  WebhookRules webhooks;
  std::string project_dir;           // the project's root
  std::string transcript_directory;  // for dialects whose hooks read the conversation from a file
  std::string permission_mode;       // in claude's terms
  // Called after every run of a program or webhook with its input and its raw answer, possibly on several threads at
  // once. Empty = unused.
  std::function<void(const HookDefinition&, std::string_view input, const RawAnswer&)> tap{};
  // Variables of this process that hooks get in addition to the clean environment.
  std::vector<std::string> pass_environment{};
};

// The bytes of a definition's file.
struct HookBytes {
  std::string digest;  // SHA-256, hex, of the trusted bytes
  // The sealed copy that kFile runs; shared by the definitions of one file.
  std::shared_ptr<const SealedFile> program;
  // The same bytes for an interpreter that needs a real file; null = run the sealed copy.
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
  // Adds a guard that cannot be called: it fails closed at each of its events, with `why` as the message.
  void add_missing_guard(const std::string& name, std::string identity, Precedence precedence,
                         const std::vector<std::uint32_t>& events, std::string why);

  // The guard can be called again: later subscriptions() leave it out. Returns true if it was there.
  bool drop_missing_guard(const std::string& identity);

  std::vector<Subscription> subscriptions() const;
  // In the order of add().
  std::vector<const HookDefinition*> definitions() const;

  // Waits briefly for background runs, then ends them and every long-lived process.
  void shutdown();

 private:
  struct MissingGuard;
  std::shared_ptr<KodeletExtension> extension_of(const HookDefinition& definition);
  const ExternalEnvironment environment_;
  std::unique_ptr<BackgroundRuns> background_;
  // Keyed by command line: one process for all its events. Shared with the hooks.
  std::map<std::string, std::shared_ptr<KodeletExtension>> extensions_;
  std::vector<std::unique_ptr<ExternalHook>> hooks_;
  std::vector<std::unique_ptr<MissingGuard>> missing_;
};

// AGENTD_WANTS_ bits: whether the hook needs the history in its payload.
std::uint64_t wants_of(const HookDefinition& definition);

// agentd's own variables for a hook: AGENTD_EVENT, AGENTD_CONV_ID, AGENTD_CONTEXT_PERCENT, _USED and _MAX. `payload` is
// the canonical object.
std::vector<std::string> hook_environment(const HookDefinition& definition, JsonView payload);

}  // namespace agentd
