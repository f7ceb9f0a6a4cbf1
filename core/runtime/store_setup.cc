// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/store_setup.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/process/fork.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd {
namespace {

// The check reads the branches and leaves of the trees: seconds for many gigabytes on a slow disk.
constexpr Milliseconds kLookTime{10 * 60 * 1000};
constexpr int kFailed = 1;

std::string directory_of(const std::string& home) { return home + "/store"; }

// For LmdbOptions::apart. kCorrupt: the look found damage, or ended by a signal. kUnavailable: it did not end.
Result<void> look_apart(const std::function<Result<void>()>& look, const Clock& clock) {
  ForkLimits limits;
  limits.time = kLookTime;
  const auto body = [&](int report_fd) {
    const Result<void> looked = look();
    if (looked) return 0;
    const char code = static_cast<char>('a' + static_cast<int>(looked.error().code));
    (void)write_all(report_fd, code + looked.error().message);
    return kFailed;
  };
  const auto end = run_forked(body, limits, clock, CancelToken());
  if (!end) return look();
  if (end->exit_code == 0) return {};
  if (end->exit_code == kFailed && !end->report.empty())
    return Error{static_cast<Code>(end->report[0] - 'a'), end->report.substr(1)};
  if (end->timed_out)
    return Error{Code::kUnavailable,
                 "the first check of the store " + end->how() + "; try again, or run 'agentd store check'"};
  return Error{Code::kCorrupt, "the process that checked it " + end->how()};
}

}  // namespace

std::string store_lock_file(const std::string& home) { return directory_of(home) + "/lock.mdb"; }

bool opens_at_once(const std::string& home) { return opens_unchecked(directory_of(home)); }

Result<std::unique_ptr<Store>> open_store(const std::string& home, bool create, const Clock& clock,
                                          const std::function<void()>& alone, std::function<void()> appended) {
  LmdbOptions options;
  options.appended = std::move(appended);
  options.directory = directory_of(home);
  options.create = create;
  options.apart = [&](const std::function<Result<void>()>& look) {
    alone();
    return look_apart(look, clock);
  };
  auto store = open_lmdb_store(options, clock);
  if (store || create || store.error().code != Code::kDenied) return store;
  options.read_only = true;  // a store that may not be written can still be shown
  return open_lmdb_store(options, clock);
}

}  // namespace agentd
