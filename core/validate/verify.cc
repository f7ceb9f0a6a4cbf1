// SPDX-License-Identifier: Apache-2.0
#include "core/validate/verify.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/bridge/module.h"
#include "core/process/fork.h"
#include "core/trust/sealed_file.h"
#include "core/validate/cage.h"

namespace agentd::validation {
namespace {

constexpr std::uint64_t kVerifiedBytesMax = 256u << 20;

// Empty if valid; otherwise the reason, which completes the sentence "PATH ...".
std::string negotiate(const SealedFile& file, const Manifest& manifest) {
  const auto entry = open_module(UniqueFd(file.fd.get()), file.path);
  if (!entry) return entry.error().message;
  const auto record = read_plugin(*entry, AGENTD_NEGOTIATE_SCAN_ONLY);
  if (!record) return record.error().message;
  if (record->id != manifest.id)
    return "has the id " + record->id + ", but its manifest has " + manifest.id +
           ": give both the same id and rebuild it";
  return {};
}

}  // namespace

Result<void> verify_module(const VerifyRequest& request, const Manifest& manifest, const Clock& clock) {
  AGENTD_TRY(const std::string bytes, read_file(request.path, kVerifiedBytesMax));
  if (!request.digest.empty() && hex(sha256(bytes)) != request.digest)
    return Error{Code::kConflict, request.path + " was changed just now: check it again"};
  NullLog log;
  AGENTD_TRY(const SealedFile sealed, seal(bytes, request.path, request.private_copy_directory, log));
  ForkLimits limits;
  limits.time = request.time;
  const auto end = run_forked(
      [&](int report) {
        if (!enter_cage(manifest, {}, sealed, report)) return 1;
        const std::string said = "=" + negotiate(sealed, manifest);
        return write_all(report, said) ? 0 : 1;
      },
      limits, clock, CancelToken());
  discard(sealed);
  if (!end) return end.error();
  // The report is valid only if the process ended normally.
  if (end->exit_code != 0 || end->report.empty())
    return Error{Code::kInvalid, request.path + " " + end->how() + " while it was loaded: fix it, or disable it"};
  if (end->report == "=") return {};
  return Error{Code::kInvalid, request.path + " " + one_line(end->report.substr(1), 1000)};
}

}  // namespace agentd::validation
