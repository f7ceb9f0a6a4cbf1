// SPDX-License-Identifier: Apache-2.0
// http_echo - the server of `agentd serve`, which lets everybody in and says how it has read each request: its method,
// target, fields and body, as hexadecimal digits of a JSON object in the field X-Reading. Prints its port; ends with
// stdin.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/codec/json.h"
#include "core/serve/http_server.h"

namespace agentd::serve {
namespace {

std::string hex_of(std::string_view bytes) {
  return hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void echo(const std::shared_ptr<HttpExchange>& exchange) {
  const RequestHead& head = exchange->head();
  JsonWriter out;
  out.begin_object().member("method", hex_of(head.method)).member("target", hex_of(head.target));
  out.key("fields").begin_array();
  for (const auto& [name, value] : head.fields) out.string(hex_of(name) + ":" + hex_of(value));
  out.end_array().member("body", hex_of(exchange->body())).end_object();
  HttpReply reply;
  reply.fields.emplace_back("X-Reading", hex_of(out.text()));
  exchange->reply(std::move(reply));
}

int serve() {
  const SystemClock clock;
  NullLog log;
  HttpServerOptions options;
  options.places.push_back({"127.0.0.1", 0});
  auto server = HttpServer::start(
      std::move(options), [](const RequestHead&) { return std::nullopt; }, echo, clock, log);
  if (!server) {
    std::fprintf(stderr, "http_echo: %s\n", server.error().message.c_str());
    return 1;
  }
  std::printf("%u\n", static_cast<unsigned>((*server)->ports()[0]));
  std::fflush(stdout);
  for (char byte = 0; ::read(0, &byte, 1) == 1;) {
  }
  return 0;
}

}  // namespace
}  // namespace agentd::serve

int main() { return agentd::serve::serve(); }
