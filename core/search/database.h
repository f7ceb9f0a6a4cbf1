// SPDX-License-Identifier: Apache-2.0
#pragma once
// database.h - a database of SQLite and its statements, with errors as Result.
//
// kCorrupt: the file is damaged, is not a database, or has other tables; kBusy: another process has locked it;
// kUnavailable: the disk is full or failing, or the file cannot be read or written.
//
// Threading: thread-compatible.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/search/sqlite_library.h"

namespace agentd {

class Database;

// One prepared statement. REQUIRES: its database outlives it and stays where it is.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Parameters from 1. The text is copied.
  Statement& bind(int at, std::string_view text);
  Statement& bind(int at, std::int64_t number);
  // True: there is a row, whose columns count from 0 and are valid until the next step. After false or an error it can
  // be bound and run again.
  Result<bool> step();
  // Runs a statement without rows.
  Result<void> run();
  std::int64_t number(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  // Ends a run that has not come to its last row.
  void reset();

 private:
  friend class Database;
  Statement(const Database& database, ::sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
  const Database* database_;
  ::sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Mode { kRead, kWrite };
  // Opens an existing file, which may be empty.
  static Result<Database> open(const SqliteLibrary& library, const std::string& path, Mode mode);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Runs statements that have no parameters.
  Result<void> run(const char* sql) const;
  Result<Statement> prepare(std::string_view sql) const;
  std::int64_t last_row() const;

 private:
  friend class Statement;
  Database(const SqliteLibrary& library, std::string path) : library_(library), path_(std::move(path)) {}
  Error error() const;

  const SqliteLibrary library_;
  const std::string path_;
  ::sqlite3* database_ = nullptr;
};

}  // namespace agentd
