// SPDX-License-Identifier: Apache-2.0
#include "core/session/system_prompt.h"

#include <sys/utsname.h>

#include <ctime>

#include "core/base/bytes.h"
#include "core/process/kept_paths.h"
#include "core/runtime/secret_files.h"
#include "embedded_system_prompt.h"

namespace agentd {
namespace {

constexpr std::uint64_t kPromptBytesMax = 1u << 20;

std::string today(const Clock& clock) {
  const std::time_t now = clock.wall_ms() / 1000;
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts));
}

Result<std::string> first_part(const Runtime& runtime) {
  const std::string file = runtime.config().text("system_prompt_file");
  if (file.empty()) return std::string(kSystemPrompt);
  auto own = HiddenFiles(secret_files(runtime.home())).read(file, kPromptBytesMax, one_line(file, 200));
  if (!own)
    return Error{Code::kInvalid,
                 runtime.config().origin("system_prompt_file") + ": system_prompt_file: " + own.error().message};
  return to_utf8(*own);
}

}  // namespace

Result<std::string> system_prompt(const Workplace& workplace, const std::string& cwd) {
  AGENTD_TRY(std::string text, first_part(workplace.runtime()));
  struct utsname system {};
  ::uname(&system);
  text += "\nWorking directory: " + cwd + "\n";
  if (workplace.project().root != cwd) text += "Root of the project: " + workplace.project().root + "\n";
  return text + "System: " + system.sysname + ", today is " + today(workplace.runtime().clock()) + "\n";
}

}  // namespace agentd
