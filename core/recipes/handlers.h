// SPDX-License-Identifier: Apache-2.0
#pragma once
// handlers.h - the built-in handlers of a recipe's `hooks:`, as subscriptions of the one
// dispatcher.
//
// What a recipe says for turn_end is done on the final turn of a run only. append_context acts
// there; swap_context, export_markdown and validate_output act at agent_stop, the next event of a
// final turn: there the answer is in the log, and there the run may go on or its messages be
// replaced. An answer that breaks the schema of validate_output goes back to the model, `retries`
// times in a run; handlers behind it do nothing at that stop. When it is still wrong, failure()
// says so once the run has ended: the run's surface ends it with exit code 1.
//
// A handler fails open: what it could not do is told through the call, and the run goes on. The
// gate of `allowed_commands` is one more of them, and fails closed. A call that cannot be looked at
// is a failure of both.
//
// Threading: subscriptions() before the snapshots that use them; the handlers themselves and
// failure() may be called from any thread. The object outlives every snapshot that has its
// subscriptions.

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

// What the handlers reach. Everything outlives them.
struct HandlerHost {
  Services& services;
  Log& log;
  const Clock& clock;
  // Writes a file inside the workspace roots; refuses any other.
  std::function<Result<void>(const std::string& path, std::string_view text)> write_file;
  // The slot whose current token this is; null when it is stale.
  std::function<CallSlot*(agentd_token token)> slot;
};

class RecipeHandlers {
 public:
  // Everything that can be wrong with the recipe's hooks has been said by parse_recipe(). kInvalid:
  // a recipe that was not made by it.
  static Result<std::unique_ptr<RecipeHandlers>> make(const Recipe& recipe, HandlerHost host);
  ~RecipeHandlers();
  RecipeHandlers(const RecipeHandlers&) = delete;
  RecipeHandlers& operator=(const RecipeHandlers&) = delete;

  // Named "recipe/NAME/HANDLER", with the precedence of recipes; none for a recipe without
  // hooks and allowed_commands.
  std::vector<Subscription> subscriptions() const;
  // Why the run failed although it came to its end; nothing when it did not. Of the newest run.
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
