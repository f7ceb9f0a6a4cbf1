// SPDX-License-Identifier: Apache-2.0
// conversation_export.cc - conversation export: a conversation as a file that another agentd imports.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/base/file.h"
#include "core/runtime/version.h"
#include "core/transfer/log_file.h"

namespace agentd::app {
namespace {

using Write = std::function<Result<void>(std::string_view)>;

Result<void> write_pieces(LogExport& from, const Write& write) {
  for (;;) {
    AGENTD_TRY(const std::string piece, from.next());
    if (piece.empty()) return {};
    AGENTD_TRY_VOID(write(piece));
  }
}

// The file appears when it is complete.
Result<void> write_to(LogExport& from, const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return Error{Code::kInvalid, path +
                                     " is no file that can be replaced: name another one, or omit --output and "
                                     "send the standard output there"};
  const std::string part = path + ".part";
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return errno_error("writing " + part, errno);
  Result<void> done = write_pieces(from, [&](std::string_view piece) -> Result<void> {
    if (auto written = write_all(fd.get(), piece); !written) return written.error().with_context(path);
    return {};
  });
  if (done && (::fsync(fd.get()) != 0 || ::rename(part.c_str(), path.c_str()) != 0))
    done = errno_error("writing " + path, errno);
  if (!done) ::unlink(part.c_str());
  return done;
}

}  // namespace

int export_command(App& app, const Arguments& arguments) {
  const auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  auto begun = LogExport::begin(*found->store, found->id, AGENTD_VERSION, app.clock().wall_ms());
  if (!begun) return app.fail(store_exit(begun.error()), begun.error().message);
  if (!arguments.has("output")) {
    const auto printed = write_pieces(**begun, [&](std::string_view piece) -> Result<void> {
      app.out().print(piece);
      return {};
    });
    return printed ? static_cast<int>(kExitOk) : app.fail(store_exit(printed.error()), printed.error().message);
  }
  const std::string path = arguments.value("output");
  if (path.empty()) return app.fail(kExitUsage, "--output names no file");
  if (auto written = write_to(**begun, path); !written)
    return app.fail(error_exit(written.error(), kExitStore, kExitFailure), written.error().message);
  app.out().confirm("exported " + found->id.text() + " to " + path + "\n");
  return kExitOk;
}

}  // namespace agentd::app
