// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_head.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/bytes.h"

namespace agentd::serve {
namespace {

constexpr std::string_view kVersion = "HTTP/1.1";
constexpr std::size_t kMethodMax = 16;  // bytes
// Fields that say one thing: of two, one reader takes the first and another the last.
constexpr std::array<std::string_view, 9> kOnlyOnce = {"authorization", "content-encoding", "content-length",
                                                       "content-type",  "expect",           "host",
                                                       "last-event-id", "origin",           "transfer-encoding"};

HttpReply refused(std::string_view message) { return error_reply(400, "bad_request", message); }

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_upper(c) || (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_of(std::string_view some, char c) { return some.find(c) != std::string_view::npos; }

// The bytes up to the next CR LF, which are taken from `rest`. REQUIRES: there is one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

// A path with a query (RFC 9112, 3.2.1; the characters are those of RFC 3986, 3.3 and 3.4).
Result<void, HttpReply> check_target(std::string_view target) {
  if (target.size() > kTargetMax) return error_reply(414, "target_too_long", "the target has over 8,192 bytes");
  if (!target.starts_with('/') || target.starts_with("//")) return refused("the target must be a path: /...");
  for (std::size_t i = 0; i < target.size(); ++i) {
    const char c = target[i];
    if (c == '%') {
      const std::string_view digits = target.substr(i + 1, 2);
      if (digits.size() < 2 || !is_hex(digits[0]) || !is_hex(digits[1]))
        return refused("a % in the target must be followed by two hexadecimal digits");
      if (digits == "00") return refused("the target has the character NUL");
    } else if (!is_letter_or_digit(c) && !is_of("-._~!$&'()*+,;=:@/?", c)) {
      return refused("the target has a character that a URI must encode");
    }
  }
  return {};
}

Result<void, HttpReply> read_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return refused("the first line must be a method, a target and HTTP/1.1 with one space between them");
  const std::string_view method = line.substr(0, first), version = line.substr(second + 1);
  if (method.empty() || method.size() > kMethodMax || !std::all_of(method.begin(), method.end(), is_upper))
    return refused("the method must be 1 to 16 capital letters");
  head.method = method;
  head.target = line.substr(first + 1, second - first - 1);
  if (version == kVersion) return check_target(head.target);
  const bool other = version.size() == kVersion.size() && version.starts_with("HTTP/") && is_digit(version[5]) &&
                     version[6] == '.' && is_digit(version[7]);
  return other ? error_reply(505, "version_not_supported", "the version of HTTP must be 1.1")
               : refused("the first line must be a method, a target and HTTP/1.1 with one space between them");
}

Result<void, HttpReply> read_field(std::string_view line, HttpFields& fields) {
  if (line.starts_with(' ') || line.starts_with('\t')) return refused("a field continues on a second line");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refused("a field has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!name.empty() && (name.back() == ' ' || name.back() == '\t'))
    return refused("a field has a space before its colon");
  if (!is_token(name)) return refused("the name of a field has a character that is not allowed");
  const std::string_view value = line.substr(colon + 1);
  fields.emplace_back(ascii_lower(name), without_blanks(value));
  // Tabs around a value are allowed, and not every reader takes them for blanks.
  const bool once = std::find(kOnlyOnce.begin(), kOnlyOnce.end(), fields.back().first) != kOnlyOnce.end();
  if (once && is_of(value, '\t')) return refused("the field " + fields.back().first + " has a tab");
  return {};
}

Result<void, HttpReply> read_length(std::string_view text, std::uint64_t& out) {
  constexpr std::size_t kDigitsMax = 18;
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  if (!plain || (text.size() > 1 && text[0] == '0')) return refused("Content-Length must be a decimal number");
  if (text.size() > kDigitsMax) return error_reply(413, "body_too_large", "the body is too large");
  for (const char digit : text) out = out * 10 + static_cast<std::uint64_t>(digit - '0');
  return {};
}

// Where the body ends (RFC 9112, 6.3).
Result<void, HttpReply> read_framing(HttpHead& head) {
  const RequestHead& request = head.request;
  const bool has_length = request.count("content-length") != 0, has_coding = request.count("transfer-encoding") != 0;
  if (has_length && has_coding) return refused("Content-Length and Transfer-Encoding exclude each other");
  if (has_length) AGENTD_TRY_VOID(read_length(request.field("content-length"), head.length));
  // Codings are words in any case, but not every reader knows that.
  if (has_coding && request.field("transfer-encoding") != "chunked")
    return refused("Transfer-Encoding must be chunked or absent");
  head.chunked = has_coding;
  if ((head.chunked || head.length != 0) && (request.method == "GET" || request.method == "HEAD"))
    return refused("a request " + request.method + " has no body");
  if (request.count("trailer") != 0) return refused("fields after the body are not accepted");
  if (request.count("content-encoding") != 0 && request.field("content-encoding") != "identity")
    return error_reply(415, "unsupported_coding", "the body must not have a Content-Encoding");
  return {};
}

// True if the list of words has that one.
bool lists(std::string_view list, std::string_view lower_case_word) {
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    more = comma != std::string_view::npos;
    if (ascii_lower(without_blanks(list.substr(0, comma))) == lower_case_word) return true;
    if (more) list.remove_prefix(comma + 1);
  }
  return false;
}

Result<void, HttpReply> read_wishes(HttpHead& head) {
  const RequestHead& request = head.request;
  if (request.count("upgrade") != 0) return refused("the protocol cannot be switched: send no field Upgrade");
  if (request.count("expect") != 0 && ascii_lower(request.field("expect")) != "100-continue")
    return error_reply(417, "expectation_failed", "the only expectation that can be met is 100-continue");
  head.waits = request.count("expect") != 0;
  for (const auto& [name, value] : request.fields)
    if (name == "connection" && lists(value, "close")) head.closes = true;
  return {};
}

Result<void, HttpReply> check_host(std::string_view host) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || is_of("-._:[]", c); };
  if (host.empty() || !std::all_of(host.begin(), host.end(), allowed))
    return refused("the request must have one field Host with a host and its port");
  return {};
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return is_letter_or_digit(c) || is_of("!#$%&'*+-.^_`|~", c); });
}

Result<std::size_t, HttpReply> HeadEnd::find(std::string_view bytes) {
  if (!bytes.empty() && !is_upper(bytes[0])) return refused("this is not the beginning of a request of HTTP/1.1");
  for (; seen_ < bytes.size(); ++seen_) {
    if (seen_ >= bytes_max_)
      return error_reply(431, "head_too_large", "the head has over " + with_commas(bytes_max_) + " bytes");
    const auto c = static_cast<unsigned char>(bytes[seen_]);
    const bool after_return = seen_ > 0 && bytes[seen_ - 1] == '\r';
    if ((c == '\n') != after_return) return refused("a line must end with CR LF");
    if (c == '\n' && bytes.substr(0, seen_ + 1).ends_with("\r\n\r\n")) return ++seen_;
    if ((c < 0x20 && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
      return refused("the head has a control character");
  }
  return 0;
}

Result<HttpHead, HttpReply> read_head(std::string_view bytes, std::size_t fields_max) {
  AGENTD_TRY(const std::size_t end, HeadEnd(bytes.size()).find(bytes));
  if (end == 0 || end != bytes.size()) return refused("the head is not complete");
  HttpHead out;
  AGENTD_TRY_VOID(read_request_line(take_line(bytes), out.request));
  for (std::string_view line = take_line(bytes); !line.empty(); line = take_line(bytes)) {
    if (out.request.fields.size() == fields_max)
      return error_reply(431, "head_too_large", "the head has over " + with_commas(fields_max) + " fields");
    AGENTD_TRY_VOID(read_field(line, out.request.fields));
  }
  for (const std::string_view name : kOnlyOnce)
    if (out.request.count(name) > 1) return refused("the field " + std::string(name) + " is repeated");
  AGENTD_TRY_VOID(check_host(out.request.field("host")));
  AGENTD_TRY_VOID(read_framing(out));
  AGENTD_TRY_VOID(read_wishes(out));
  return out;
}

}  // namespace agentd::serve
