// SPDX-License-Identifier: Apache-2.0
// Any bytes from a command to the proxy: refused with a sentence, waited for, or understood as one host and one port,
// the same however many bytes arrive at once.
#include <algorithm>
#include <cctype>

#include "core/cage/proxy_protocol.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;
using cage::Opening;
using Parsed = Result<std::optional<Opening>>;

void is_sound(const Parsed& parsed, std::string_view bytes) {
  if (!parsed) return fuzz::require(!parsed.error().message.empty(), "a refusal has its sentence");
  if (!*parsed) return;
  ++fuzz::got_through;
  const Opening& got = **parsed;
  fuzz::require(!got.to.host.empty() && got.to.host.size() <= 253 && got.to.port != 0, "there is a host");
  fuzz::require(std::none_of(got.to.host.begin(), got.to.host.end(),
                             [](unsigned char each) {
                               return each <= 0x20 || each >= 0x7f || each == '@' || each == '%' || each == '/' ||
                                      std::isupper(each) != 0;
                             }),
                "a host is plain");
  fuzz::require(got.forward.size() <= bytes.size() + 64, "nothing is added but two headers");
  if (got.kind != Opening::Kind::kRequest) return fuzz::require(bytes.ends_with(got.forward), "the rest is as it came");
  const std::string_view head = std::string_view(got.forward).substr(0, got.forward.find("\r\n\r\n"));
  fuzz::require(head.find('\0') == std::string_view::npos, "a head has no NUL");
  std::size_t ends = 0, lines = 0;
  for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos; at += 2) ++ends;
  for (const char each : head) lines += each == '\n' || each == '\r' ? 1 : 0;
  fuzz::require(lines == 2 * ends, "lines have one kind of end");
}

// Until the whole is there, a part of it is waited for; or both are refused.
template <typename Parse>
void parts_agree(Parse parse, std::string_view bytes, std::size_t part) {
  const Parsed whole = parse(bytes);
  const Parsed begun = parse(bytes.substr(0, part));
  if (!begun || !*begun) return fuzz::require(begun || !whole, "what is refused stays refused");
  fuzz::require(whole && *whole, "what is understood stays understood");
  fuzz::require((*whole)->to.host == (*begun)->to.host && (*whole)->to.port == (*begun)->to.port, "the host stays");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::view(data, size);
  is_sound(cage::parse_http(bytes), bytes);
  is_sound(cage::parse_socks(bytes), bytes);
  if (!bytes.empty()) fuzz::require(cage::socks_greeting_bytes(bytes) <= bytes.size(), "a greeting is in its bytes");
  for (const std::size_t part : {size / 2, size - std::min<std::size_t>(size, 1)}) {
    parts_agree(cage::parse_http, bytes, part);
    parts_agree(cage::parse_socks, bytes, part);
  }
  return 0;
}
