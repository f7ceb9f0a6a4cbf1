// SPDX-License-Identifier: Apache-2.0
#pragma once
// snapshot.h - the pages of one transaction of a store, which stay as they are while other
// processes write.
//
// Threading: thread-compatible.

#include <lmdb.h>

#include <memory>
#include <string>

#include "core/store/lmdb/pages.h"

namespace agentd {

class StoreSnapshot {
 public:
  // Nothing of the file but its meta pages is given to LMDB, which holds the place of a reader for
  // the life of the snapshot. On a medium that cannot be written there is no such place, and nobody
  // who writes; nor is there one of a file that is cut or whose meta pages are damaged, which no process
  // opens to write: that is noted as damage. kNotFound, kCorrupt, kBusy (the process has the store open), kUnavailable.
  // REQUIRES: `directory` outlives the snapshot.
  static Result<StoreSnapshot> take(const std::string& directory);

  Pages& pages() { return pages_; }
  // Copies the store without its free pages. REQUIRES: the pages are whole.
  Result<void> copy_to(int fd, const std::string& name);
  // Reads every value of every table as LMDB does. REQUIRES: the process may end on a damaged page.
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
