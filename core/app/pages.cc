// SPDX-License-Identifier: Apache-2.0
// pages.cc - prints what is installed beside the program: agentd_pages man|bash|zsh|fish. The build runs it.
#include <cstdio>
#include <string>
#include <string_view>

#include "core/app/cli.h"

int main(int argc, char** argv) {
  const std::string_view page = argc == 2 ? argv[1] : "";
  if (page != "man" && page != "bash" && page != "zsh" && page != "fish") {
    std::fputs("usage: agentd_pages man|bash|zsh|fish\n", stderr);
    return 2;
  }
  const std::string text = page == "man" ? agentd::app::manual_page() : agentd::app::completion_script(page);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}
