// SPDX-License-Identifier: Apache-2.0
#pragma once
// snapshot.h - the pages of one transaction of a store, which do not change while other processes write.
//
// Threading: thread-compatible.

#include <lmdb.h>

#include <memory>
#include <string>

#include "core/store/lmdb/pages.h"

namespace agentd {

class StoreSnapshot {
 public:
  // Gives LMDB only the meta pages of the file; LMDB holds a reader's slot for the life of the snapshot. There is no
  // slot on a medium that cannot be written, where no process writes either, nor for a file that is truncated or has
  // damaged meta pages, which no process opens for writing: that is noted as damage. kNotFound, kCorrupt, kBusy (this
  // process has the store open), kUnavailable. REQUIRES: `directory` outlives the snapshot.
  static Result<StoreSnapshot> take(const std::string& directory);

  Pages& pages() { return pages_; }
  // Copies the store without its free pages. REQUIRES: the pages are intact.
  Result<void> copy_to(int fd, const std::string& name);
  // Reads every value of every table through LMDB. REQUIRES: the process may crash on a damaged page.
  Result<void> read_all_with_lmdb();

 private:
  struct Close {
    void operator()(MDB_env* env) const { mdb_env_close(env); }
  };
  struct Abort {
    void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
  };
  StoreSnapshot(Pages pages, const std::string& directory) : directory_(directory), pages_(std::move(pages)) {}

  const std::string& directory_;
  UniqueFd claim_;
  std::unique_ptr<MDB_env, Close> env_;
  std::unique_ptr<MDB_txn, Abort> txn_;
  Pages pages_;
};

}  // namespace agentd
