// SPDX-License-Identifier: Apache-2.0
#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"

namespace agentd::app {

int completion_command(App& app, const Arguments& arguments) {
  app.out().print(completion_script(arguments.words()[0]));
  return kExitOk;
}

}  // namespace agentd::app
