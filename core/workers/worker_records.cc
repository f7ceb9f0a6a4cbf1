// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_records.h"

#include <unistd.h>

#include <limits>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::uint64_t kRecordBytesMax = 1u << 20;

std::string text_of(std::string_view key, const Booted& booted) {
  JsonWriter out;
  out.begin_object().member("key", key).member("id", booted.id).member("version", booted.version);
  out.member("concurrency", booted.concurrency).member("functions", booted.functions);
  out.key("rows").begin_array();
  for (const RowInfo& row : booted.rows) {
    out.begin_object().member("event", row.event).member("flags", unsigned{row.flags});
    out.member("priority", int{row.priority}).member("wants", row.wants).end_object();
  }
  out.end_array().key("notes").begin_array();
  for (const std::string& note : booted.notes) out.string(note);
  out.end_array().end_object();
  return std::string(out.text());
}

template <typename Number>
bool read_number(JsonView from, Number& out) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const std::int64_t value = from.int_or(kNone);
  out = static_cast<Number>(value);
  return value != kNone && static_cast<std::int64_t>(out) == value;
}

bool read_booted(JsonView from, Booted& out) {
  if (!read_number(from["concurrency"], out.concurrency) || !read_number(from["functions"], out.functions) ||
      !from["rows"].is_array())
    return false;
  out.id = from["id"].string_or({});
  out.version = from["version"].string_or({});
  for (std::size_t i = 0; i < from["rows"].size(); ++i) {
    const JsonView each = from["rows"].at(i);
    RowInfo row;
    if (!read_number(each["event"], row.event) || !read_number(each["flags"], row.flags) ||
        !read_number(each["priority"], row.priority) || !each["wants"].is_number())
      return false;
    row.wants = each["wants"].uint_or(0);
    out.rows.push_back(row);
  }
  for (std::size_t i = 0; i < from["notes"].size(); ++i) out.notes.emplace_back(from["notes"].at(i).string_or({}));
  return true;
}

}  // namespace

std::string WorkerRecords::file_of(std::string_view path) const {
  return directory_ + "/" + hex(sha256(path)) + ".json";
}

std::optional<Booted> WorkerRecords::find(std::string_view path, std::string_view key) const {
  const auto text = read_file(file_of(path), kRecordBytesMax);
  if (!text) return std::nullopt;
  const auto json = JsonDocument::parse(*text);
  if (!json || json->root()["key"].string_or({}) != key) return std::nullopt;
  Booted out;
  if (!read_booted(json->root(), out)) return std::nullopt;
  return out;
}

Result<void> WorkerRecords::keep(std::string_view path, std::string_view key, const Booted& booted) const {
  AGENTD_TRY_VOID(make_directories(directory_));
  return write_file_atomically(file_of(path), text_of(key, booted), 0600);
}

void WorkerRecords::forget(std::string_view path) const { (void)::unlink(file_of(path).c_str()); }

}  // namespace agentd
