// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/wipe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/store/lmdb/pages.h"

namespace agentd {
namespace {

constexpr int kTriesMax = 100;
constexpr Milliseconds kBetweenTries{20};

class Wipe {
 public:
  Wipe(const std::string& directory, const Env::Quiet& quiet) : directory_(directory), quiet_(quiet) {}

  Result<WipeReport> run() {
    AGENTD_TRY(Pages pages, Pages::open(directory_ + "/data.mdb", quiet_.newest));
    pages.note_leftovers();
    for (const std::string& name : pages.tables()) (void)pages.rows(name);
    pages.check_free();
    if (!pages.damage().empty())
      return Error{Code::kCorrupt, "the store " + directory_ + " is damaged and was not overwritten: " +
                                       pages.damage().front().what + "; " + kDamageAdvice};
    for (const Pages::Stretch& each : pages.leftovers()) AGENTD_TRY_VOID(overwrite(each.at, each.bytes));
    std::vector<std::uint64_t> free;
    for (const Pages::FreePages& each : pages.free_pages()) {
      if (each.transaction <= quiet_.oldest)
        free.insert(free.end(), each.pages.begin(), each.pages.end());
      else if (each.transaction < quiet_.newest)
        out_.pages_left += each.pages.size();
    }
    std::sort(free.begin(), free.end());
    struct stat info {};
    if (::fstat(quiet_.fd, &info) != 0) return failed();
    const std::uint64_t page_bytes = pages.page_bytes(), end = static_cast<std::uint64_t>(info.st_size);
    for (const std::uint64_t page : free)
      if ((page + 1) * page_bytes <= end) AGENTD_TRY_VOID(overwrite_unless_zero(page * page_bytes, page_bytes));
    // Pages at the end that were never written need no zeros.
    if (out_.bytes != 0 && ::fdatasync(quiet_.fd) != 0) return failed();
    return out_;
  }

 private:
  Error failed() const { return errno_error("overwriting free pages of the store " + directory_, errno); }

  Result<void> overwrite(std::uint64_t at, std::uint64_t bytes) {
    const std::string zeros(bytes, '\0');
    for (std::size_t done = 0; done < zeros.size();) {
      const ssize_t wrote =
          ::pwrite(quiet_.fd, zeros.data() + done, zeros.size() - done, static_cast<off_t>(at + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return failed();
      done += static_cast<std::size_t>(wrote);
    }
    out_.bytes += bytes;
    return {};
  }
  Result<void> overwrite_unless_zero(std::uint64_t at, std::uint64_t bytes) {
    std::string now(bytes, '\0');
    const ssize_t got = ::pread(quiet_.fd, now.data(), now.size(), static_cast<off_t>(at));
    if (got < 0) return failed();
    if (now.find_first_not_of('\0') == std::string::npos) return {};
    return overwrite(at, bytes);
  }

  const std::string directory_;
  const Env::Quiet quiet_;
  WipeReport out_;
};

// A commit that changes nothing but the meta pages' turn.
Result<void> commit_nothing(Env& env, const Tables& tables) {
  return env.write(Env::Room::kReserve, [&](Txn& txn) { return txn.put(tables.meta, "format", number(kStoreFormat)); });
}

Result<WipeReport> wipe_once(Env& env, const Tables& tables) {
  AGENTD_TRY_VOID(commit_nothing(env, tables));
  WipeReport out;
  AGENTD_TRY_VOID(env.alone([&](const Env::Quiet& quiet) -> Result<void> {
    AGENTD_TRY(out, Wipe(env.directory(), quiet).run());
    return {};
  }));
  return out;
}

}  // namespace

Result<WipeReport> wipe_unused(Env& env, const Tables& tables, const Clock& clock) {
  AGENTD_TRY(WipeReport out, wipe_once(env, tables));
  for (int tries = 0;; ++tries) {
    AGENTD_TRY(const WipeReport again, wipe_once(env, tables));
    out.bytes += again.bytes;
    out.pages_left = again.pages_left;
    if (out.pages_left == 0 || tries == kTriesMax) return out;
    clock.pause(kBetweenTries);
  }
}

}  // namespace agentd
