// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/codec/json.h"
#include "core/trust/quarantine.h"

namespace agentd::app {
namespace {

int release_exit(const Error& error) {
  if (error.code == Code::kNotFound) return kExitNotFound;
  return error.code == Code::kConflict ? kExitUsage : kExitFailure;
}

std::string json_of(const QuarantineEntry& entry) {
  JsonWriter json;
  json.begin_object().member("released", entry.name).member("path", entry.path);
  json.member("digest", entry.digest).member("why", entry.why).member("since_ms", entry.since_ms);
  json.end_object();
  return std::string(json.text());
}

}  // namespace

int hooks_release_command(App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  auto quarantine = Quarantine::open(*home + "/quarantine", app.clock());
  if (!quarantine) return app.fail(kExitFailure, quarantine.error().message);
  const auto released = (*quarantine)->release(arguments.words()[0]);
  if (!released) return app.fail(release_exit(released.error()), released.error().message);
  if (arguments.has("json"))
    app.out().print(json_of(*released) + "\n");
  else
    app.out().confirm("released " + neutral_line(released->name, 200) + " (" + neutral_line(released->path, 1000) +
                      "): the next run loads it again\n");
  return kExitOk;
}

}  // namespace agentd::app
