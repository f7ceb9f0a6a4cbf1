// SPDX-License-Identifier: Apache-2.0
#include "core/search/sqlite_library.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "core/base/linker.h"

namespace agentd {
namespace {

constexpr const char* kFile = "libsqlite3.so.0";

void* open_in_turn() {
  const LinkerTurn turn;
  return ::dlopen(kFile, RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

Result<SqliteLibrary> SqliteLibrary::load() {
  void* const library = open_in_turn();
  if (library == nullptr)
    return Error{Code::kUnavailable, std::string("a search needs SQLite, and ") + kFile +
                                         " cannot be loaded: install it, on Debian with apt install libsqlite3-0"};
  SqliteLibrary out;
  const char* missing = nullptr;
  const auto get = [&](auto& slot, const char* name) {
    slot = reinterpret_cast<std::decay_t<decltype(slot)>>(::dlsym(library, name));
    if (slot == nullptr) missing = name;
  };
  get(out.open, "sqlite3_open_v2");
  get(out.close, "sqlite3_close_v2");
  get(out.configure, "sqlite3_db_config");
  get(out.busy_timeout, "sqlite3_busy_timeout");
  get(out.exec, "sqlite3_exec");
  get(out.errmsg, "sqlite3_errmsg");
  get(out.errcode, "sqlite3_errcode");
  get(out.last_row, "sqlite3_last_insert_rowid");
  get(out.prepare, "sqlite3_prepare_v2");
  get(out.bind_text, "sqlite3_bind_text");
  get(out.bind_number, "sqlite3_bind_int64");
  get(out.step, "sqlite3_step");
  get(out.reset, "sqlite3_reset");
  get(out.finalize, "sqlite3_finalize");
  get(out.number, "sqlite3_column_int64");
  get(out.real, "sqlite3_column_double");
  get(out.text, "sqlite3_column_text");
  get(out.bytes, "sqlite3_column_bytes");
  if (missing == nullptr) return out;
  return Error{Code::kUnavailable, std::string("a search needs a newer SQLite: ") + kFile + " has no " + missing +
                                       "; install version 3.34 or later"};
}

}  // namespace agentd
