// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_reply.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/base/bytes.h"
#include "core/serve/http_head.h"

namespace agentd::serve {
namespace {

struct Reason {
  unsigned status;
  std::string_view text;
};
// For people; a client reads the number.
constexpr Reason kReasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};
constexpr std::array<std::string_view, 8> kOwnFields = {
    "cache-control", "connection", "content-length",    "content-type",
    "date",          "server",     "transfer-encoding", "x-content-type-options"};

std::string_view reason_of(unsigned status) {
  for (const Reason& each : kReasons)
    if (each.status == status) return each.text;
  return {};
}

bool may_send(std::string_view name, std::string_view value) {
  const std::string lower = ascii_lower(name);
  return is_token(name) && !has_control_character(value) &&
         std::find(kOwnFields.begin(), kOwnFields.end(), lower) == kOwnFields.end();
}

void put_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string http_date(std::int64_t wall_ms) {
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds time{std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(wall_ms))};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text{};
  const int bytes = std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                                  kDays[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                                  kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                                  static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(bytes)};
}

std::string reply_bytes(const HttpReply& reply, ReplyBody body, bool closes, std::int64_t wall_ms) {
  const bool bodiless = reply.status < 200 || reply.status == 204 || reply.status == 304;
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  out.append(reason_of(reply.status)).append("\r\n");
  put_field(out, "Date", http_date(wall_ms));
  put_field(out, "Cache-Control", "no-store");
  put_field(out, "X-Content-Type-Options", "nosniff");
  if (!bodiless && !reply.content_type.empty() && !has_control_character(reply.content_type))
    put_field(out, "Content-Type", reply.content_type);
  if (body == ReplyBody::kChunks)
    put_field(out, "Transfer-Encoding", "chunked");
  else if (!bodiless)
    put_field(out, "Content-Length", std::to_string(reply.body.size()));
  if (closes) put_field(out, "Connection", "close");
  for (const auto& [name, value] : reply.fields)
    if (may_send(name, value)) put_field(out, name, value);
  out += "\r\n";
  if (body == ReplyBody::kWhole && !bodiless) out += reply.body;
  return out;
}

std::string chunk(std::string_view bytes) {
  std::array<char, 24> size{};
  const int digits = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  std::string out;
  out.reserve(bytes.size() + size.size());
  out.append(size.data(), static_cast<std::size_t>(digits)).append(bytes).append("\r\n");
  return out;
}

}  // namespace agentd::serve
