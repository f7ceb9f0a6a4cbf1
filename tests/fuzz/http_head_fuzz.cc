// SPDX-License-Identifier: Apache-2.0
// Any bytes in place of a request's head: a refusal with its sentence, or values that say the same when they are
// written as a head again, so that nothing was read that another reader would not see. Bytes in pieces change nothing.
#include <string>

#include "core/serve/http_head.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;
using namespace agentd::serve;

constexpr std::size_t kHeadMax = 32u << 10, kFieldsMax = 100;

std::string written(const RequestHead& head) {
  std::string out = head.method + " " + head.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : head.fields) out += name + ": " + value + "\r\n";
  return out + "\r\n";
}

void check_refusal(const HttpReply& reply) {
  fuzz::require(reply.status >= 400 && reply.status < 600 && !reply.body.empty(), "a refusal has its sentence");
}

// The head's end, found in pieces whose sizes the bytes themselves give.
Result<std::size_t, HttpReply> find_in_pieces(std::string_view bytes) {
  HeadEnd end(kHeadMax);
  for (std::size_t have = 0; have < bytes.size();) {
    have += 1u + static_cast<unsigned char>(bytes[have]) % 7u;
    auto found = end.find(bytes.substr(0, have));
    if (!found || *found != 0) return found;
  }
  return end.find(bytes);
}

void check_values(const HttpHead& head) {
  const RequestHead& request = head.request;
  fuzz::require(request.target.starts_with('/') && request.target.size() <= kTargetMax, "a target is a path");
  fuzz::require(request.count("host") == 1, "one host");
  fuzz::require(request.count("content-length") + request.count("transfer-encoding") <= 1, "one end of the body");
  fuzz::require(!head.chunked || head.length == 0, "chunks have no length");
  fuzz::require(request.fields.size() <= kFieldsMax, "fields have a limit");
  for (const auto& [name, value] : request.fields) {
    fuzz::require(is_token(name), "a name is a token");
    for (const char c : value)
      fuzz::require(c == '\t' || static_cast<unsigned char>(c) >= 0x20, "a value has no control character");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::view(data, size);
  const auto whole = HeadEnd(kHeadMax).find(bytes), pieces = find_in_pieces(bytes);
  fuzz::require(whole.has_value() == pieces.has_value(), "pieces change nothing");
  if (!whole) return check_refusal(whole.error()), 0;
  fuzz::require(*whole == *pieces && *whole <= size, "pieces change nothing");
  if (*whole == 0) return 0;
  const auto head = read_head(bytes.substr(0, *whole), kFieldsMax);
  if (!head) return check_refusal(head.error()), 0;
  ++fuzz::got_through;
  check_values(*head);
  const std::string again = written(head->request);
  const auto second = read_head(again, kFieldsMax);
  fuzz::require(second.has_value(), "what was read can be read again");
  fuzz::require(second->request.method == head->request.method && second->request.target == head->request.target &&
                    second->request.fields == head->request.fields,
                "and says the same");
  fuzz::require(second->length == head->length && second->chunked == head->chunked && second->closes == head->closes &&
                    second->waits == head->waits,
                "and means the same");
  return 0;
}
