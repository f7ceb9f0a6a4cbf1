// SPDX-License-Identifier: Apache-2.0
#include "core/external/rpc_frames.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/codec/json.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

constexpr std::string_view kLengthName = "content-length";

bool is_length(std::string_view name) {
  return std::equal(name.begin(), name.end(), kLengthName.begin(), kLengthName.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

Error no_frame(std::string_view line) {
  return {Code::kInvalid, "it wrote a malformed frame: " + in_quotes(first_line(line, 80)) +
                              " (standard output is for the protocol, logs go to standard error)"};
}

Result<std::size_t> length_of(std::string_view text, std::size_t most) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    return Error{Code::kInvalid, "it wrote a frame whose Content-Length is " + in_quotes(first_line(text, 80)) +
                                     ", which is not a number"};
  if (length > most)
    return Error{Code::kInvalid, "it wrote a frame of " + std::to_string(length) + " bytes; at most " +
                                     std::to_string(most) + " are read"};
  return length;
}

}  // namespace

// The header ends with an empty line; CR is optional, unknown names are skipped.
Result<std::optional<std::size_t>> FrameReader::read_header() {
  std::optional<std::size_t> length;
  for (std::size_t at = 0;;) {
    const std::size_t end = buffer_.find('\n', at);
    if (end >= kHeaderMax) {  // npos too
      if (buffer_.size() >= kHeaderMax) return no_frame(buffer_);
      return std::optional<std::size_t>();
    }
    std::string_view line(buffer_.data() + at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    at = end + 1;
    if (line.empty()) {
      if (!length) return Error{Code::kInvalid, "it wrote a frame without a Content-Length"};
      buffer_.erase(0, at);
      return length;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return no_frame(line);
    if (!is_length(trimmed(line.substr(0, colon)))) continue;
    AGENTD_TRY(const std::size_t read, length_of(trimmed(line.substr(colon + 1)), body_max_));
    length = read;
  }
}

Result<std::optional<std::string>> FrameReader::next() {
  if (!body_) {
    AGENTD_TRY(body_, read_header());
  }
  if (!body_ || buffer_.size() < *body_) return std::optional<std::string>();
  std::string body = buffer_.substr(0, *body_);
  buffer_.erase(0, *body_);
  body_.reset();
  return std::optional<std::string>(std::move(body));
}

std::string rpc_frame(std::string_view body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string rpc_request(std::int64_t id, std::string_view method, std::string_view params) {
  JsonWriter out;
  out.begin_object().member("jsonrpc", "2.0").member("id", id).member("method", method);
  out.key("params").raw(params).end_object();
  return rpc_frame(out.text());
}

std::string rpc_cancel(std::int64_t id) {
  JsonWriter out;
  out.begin_object().member("jsonrpc", "2.0").member("method", "$/cancelRequest");
  out.key("params").begin_object().member("id", id).end_object().end_object();
  return rpc_frame(out.text());
}

std::string rpc_refusal(std::string_view id, std::string_view method) {
  JsonWriter out;
  out.begin_object().member("jsonrpc", "2.0").key("id").raw(id);
  out.key("error").begin_object().member("code", -32601);
  out.member("message", "agentd does not offer " + std::string(method)).end_object().end_object();
  return rpc_frame(out.text());
}

}  // namespace agentd
