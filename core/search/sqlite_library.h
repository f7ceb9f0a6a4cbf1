// SPDX-License-Identifier: Apache-2.0
#pragma once
// sqlite_library.h - the functions of SQLite, whose library is loaded by the first search.
//
// Most processes never search, so they neither load nor map it. It stays loaded.
//
// Threading: immutable; load() is thread-safe.

#include <sqlite3.h>

#include "core/base/result.h"

namespace agentd {

struct SqliteLibrary {
  // kUnavailable: it is not installed, or too old.
  static Result<SqliteLibrary> load();

  decltype(&::sqlite3_open_v2) open = nullptr;
  decltype(&::sqlite3_close_v2) close = nullptr;
  decltype(&::sqlite3_db_config) configure = nullptr;
  decltype(&::sqlite3_busy_timeout) busy_timeout = nullptr;
  decltype(&::sqlite3_exec) exec = nullptr;
  decltype(&::sqlite3_errmsg) errmsg = nullptr;
  decltype(&::sqlite3_errcode) errcode = nullptr;
  decltype(&::sqlite3_last_insert_rowid) last_row = nullptr;
  decltype(&::sqlite3_prepare_v2) prepare = nullptr;
  decltype(&::sqlite3_bind_text) bind_text = nullptr;
  decltype(&::sqlite3_bind_int64) bind_number = nullptr;
  decltype(&::sqlite3_step) step = nullptr;
  decltype(&::sqlite3_reset) reset = nullptr;
  decltype(&::sqlite3_finalize) finalize = nullptr;
  decltype(&::sqlite3_column_int64) number = nullptr;
  decltype(&::sqlite3_column_double) real = nullptr;
  decltype(&::sqlite3_column_text) text = nullptr;
  decltype(&::sqlite3_column_bytes) bytes = nullptr;
};

}  // namespace agentd
