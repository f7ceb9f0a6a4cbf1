// SPDX-License-Identifier: Apache-2.0
#include "core/search/database.h"

#include <utility>

namespace agentd {
namespace {

constexpr int kBusyMs = 5'000;

Code code_of(int error) {
  switch (error & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kBusy;
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
      return Code::kUnavailable;
    default:  // SQLITE_CORRUPT, SQLITE_NOTADB; SQLITE_ERROR for missing tables
      return Code::kCorrupt;
  }
}

}  // namespace

// ---- statements

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement::~Statement() {
  if (statement_ != nullptr) database_->library_.finalize(statement_);
}

Statement& Statement::bind(int at, std::string_view text) {
  // SQLITE_TRANSIENT, without its cast of a number to a pointer in the style of C.
  const auto copied = reinterpret_cast<::sqlite3_destructor_type>(-1);
  const int bound = database_->library_.bind_text(statement_, at, text.data(), static_cast<int>(text.size()), copied);
  AGENTD_ASSERT(bound == SQLITE_OK || bound == SQLITE_NOMEM || bound == SQLITE_TOOBIG);
  return *this;
}

Statement& Statement::bind(int at, std::int64_t number) {
  AGENTD_ASSERT(database_->library_.bind_number(statement_, at, number) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  const int done = database_->library_.step(statement_);
  if (done == SQLITE_ROW) return true;
  if (done == SQLITE_DONE) {
    reset();
    return false;
  }
  const Error failed = database_->error();
  reset();
  return failed;
}

Result<void> Statement::run() {
  AGENTD_TRY(const bool row, step());
  AGENTD_ASSERT(!row);
  return {};
}

std::int64_t Statement::number(int column) const { return database_->library_.number(statement_, column); }

double Statement::real(int column) const { return database_->library_.real(statement_, column); }

std::string_view Statement::text(int column) const {
  const auto* const bytes = reinterpret_cast<const char*>(database_->library_.text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(database_->library_.bytes(statement_, column))};
}

void Statement::reset() { database_->library_.reset(statement_); }

// ---- the database

Result<Database> Database::open(const SqliteLibrary& library, const std::string& path, Mode mode) {
  Database out(library, path);
  const int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  // A failed open gives a connection as well, for its message.
  if (library.open(path.c_str(), &out.database_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) return out.error();
  library.busy_timeout(out.database_, kBusyMs);
  // A file with odd contents can neither run functions by its schema nor change its own tables behind SQLite's back.
  library.configure(out.database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  library.configure(out.database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  AGENTD_TRY_VOID(
      out.run("PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192; "
              "PRAGMA secure_delete=ON; PRAGMA synchronous=NORMAL"));
  return out;
}

Database::Database(Database&& other) noexcept
    : library_(other.library_), path_(other.path_), database_(std::exchange(other.database_, nullptr)) {}

Database::~Database() {
  if (database_ != nullptr) library_.close(database_);
}

Result<void> Database::run(const char* sql) const {
  if (library_.exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  ::sqlite3_stmt* statement = nullptr;
  if (library_.prepare(database_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return error();
  return Statement(*this, statement);
}

std::int64_t Database::last_row() const { return library_.last_row(database_); }

Error Database::error() const {
  if (database_ == nullptr) return {Code::kUnavailable, path_ + ": no memory to open it"};
  return {code_of(library_.errcode(database_)), path_ + ": " + library_.errmsg(database_)};
}

}  // namespace agentd
