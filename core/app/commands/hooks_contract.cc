// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/hooks/contract.h"

namespace agentd::app {

int hooks_contract_command(App& app, const Arguments& arguments) {
  std::uint32_t id = 0;
  if (!arguments.words().empty()) {
    const std::string& name = arguments.words()[0];
    const EventTraits* const event = find_event(name);
    std::vector<std::string> names;
    for (const EventTraits& each : all_events()) names.emplace_back(each.name);
    if (event == nullptr) {
      const std::string mean = did_you_mean(name, names);
      return app.fail(kExitNotFound, "unknown event '" + one_line(name, 80) + "'" +
                                         (mean.empty() ? "; 'agentd hooks contract' lists them" : mean));
    }
    id = event->id;
  }
  const std::string text = arguments.has("json") ? contract_json(id) + "\n" : contract_text(id);
  app.out().print(text);
  if (!text.ends_with('\n')) app.out().print("\n");
  return kExitOk;
}

}  // namespace agentd::app
