// SPDX-License-Identifier: Apache-2.0
#include "core/serve/store_health.h"

#include <sys/statvfs.h>

#include "core/base/bytes.h"

namespace agentd::serve {
namespace {

constexpr std::string_view kSpace = "agentd.serve", kKey = "health";
constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace

std::string StoreHealth::disk_complaint() const {
  struct statvfs disk {};
  if (::statvfs(home_.c_str(), &disk) != 0) return errno_error("looking at the disk of " + home_, errno).message;
  const std::uint64_t free = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  if ((disk.f_flag & ST_RDONLY) != 0) return "the file system of " + home_ + " is read-only";
  if (free >= kFreeBytesMin) return {};
  return "the file system of " + home_ + " has " + with_commas(free / kMiB) + " MiB free, less than " +
         with_commas(kFreeBytesMin / kMiB) + ": make room";
}

// Empty: it succeeded.
std::string StoreHealth::try_write() {
  const KeyOp put{KeyOp::Kind::kPut, std::string(kKey), "written", KeyOp::kAny};
  const auto wrote = store_.commit_keys(kSpace, {&put, 1});
  return wrote ? std::string() : wrote.error().message;
}

StoreHealth::Report StoreHealth::look(std::uint64_t failures) {
  Report out;
  if (const std::string complaint = disk_complaint(); !complaint.empty()) out.disk = complaint;
  if (const auto stats = store_.stats(); !stats) {
    out.works = false;
    out.store = stats.error().message;
    return out;
  }
  const MutexLock lock(mutex_);
  if (failures == forgiven_) return out;
  // A small write may succeed where the next message fails again.
  const std::string complaint = out.disk == "ok" ? try_write() : "a write has failed: " + out.disk;
  out.works = complaint.empty();
  if (out.works)
    forgiven_ = failures;
  else
    out.store = complaint;
  return out;
}

}  // namespace agentd::serve
