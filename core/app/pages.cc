// SPDX-License-Identifier: Apache-2.0
// pages.cc - prints a page that follows from a table: agentd_pages PAGE. The build installs the manual page and the
// completions; the others are in docs/reference, and record-types is a table of docs/internals/log.md.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/agent/events.h"
#include "core/app/cli.h"
#include "core/conversation/record.h"
#include "core/hooks/contract.h"
#include "core/serve/routes.h"
#include "core/validate/rules.h"

namespace {

using namespace agentd;

struct Page {
  std::string_view name;
  std::string (*text)();
};
constexpr Page kPages[] = {
    {"man", app::manual_page},
    {"bash", [] { return app::completion_script("bash"); }},
    {"zsh", [] { return app::completion_script("zsh"); }},
    {"fish", [] { return app::completion_script("fish"); }},
    {"cli", app::cli_reference},
    {"http", serve::http_reference},
    {"events", events_reference},
    {"json-events", run_events_reference},
    {"abi-rules", validation::rules_reference},
    {"record-types", record_types_table},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  const auto* const page =
      std::find_if(std::begin(kPages), std::end(kPages), [&](const Page& each) { return each.name == name; });
  if (page == std::end(kPages)) {
    std::fputs("usage: agentd_pages PAGE, one of", stderr);
    for (const Page& each : kPages) std::fprintf(stderr, " %s", each.name.data());
    std::fputs("\n", stderr);
    return 2;
  }
  const std::string text = page->text();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}
