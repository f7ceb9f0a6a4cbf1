// SPDX-License-Identifier: Apache-2.0
#pragma once
// handlers.h - the built-in handlers of a recipe's `hooks:`, as subscriptions of the dispatcher.
//
// Handlers of turn_end act only on a run's final turn. append_context acts there; swap_context, export_markdown and
// validate_output act at agent_stop, the next event of a final turn: then the answer is in the log, and the run may
// still continue or its messages be replaced. An answer that breaks the schema of validate_output goes back to the
// model, at most `retries` times in a run; later handlers do nothing at that stop. When it is still wrong, failure()
// says so after the run: the surface ends it with exit code 1.
//
// A handler fails open: it reports its failure through the call, and the run continues. The gate of `allowed_commands`
// is another handler, which fails closed. A call that cannot be read is a failure of both.
//
// Threading: call subscriptions() before the snapshots that use them; the handlers and failure() may be called from any
// thread. The object outlives every snapshot with its subscriptions.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/recipes/recipes.h"

namespace agentd {

// The surroundings of the handlers. Everything outlives them.
struct HandlerHost {
  Services& services;
  Log& log;
  const Clock& clock;
  // Writes a file inside the workspace roots; refuses any other.
  std::function<Result<void>(const std::string& path, std::string_view text)> write_file;
  // The slot whose current token this is; null when the token is stale.
  std::function<CallSlot*(agentd_token token)> slot;
};

class RecipeHandlers {
 public:
  // REQUIRES: `recipe` is from parse_recipe(), which reports the mistakes of hooks; kInvalid otherwise.
  static Result<std::unique_ptr<RecipeHandlers>> make(const Recipe& recipe, HandlerHost host);
  ~RecipeHandlers();
  RecipeHandlers(const RecipeHandlers&) = delete;
  RecipeHandlers& operator=(const RecipeHandlers&) = delete;

  // Named "recipe/NAME/HANDLER", with the precedence of recipes; empty for a recipe without hooks and allowed_commands.
  std::vector<Subscription> subscriptions() const;
  // Why the newest run failed although it reached its end; nothing otherwise.
  std::optional<std::string> failure() const;

 private:
  struct State;
  explicit RecipeHandlers(std::unique_ptr<State> state);
  Subscription command_gate() const;
  std::unique_ptr<State> state_;
};

// The conversation as Markdown: a heading for each message, tools as fenced blocks.
std::string to_markdown(const Rows& rows, std::string_view title);

}  // namespace agentd
