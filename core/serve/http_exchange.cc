// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_exchange.h"

#include <algorithm>

#include "core/codec/json.h"

namespace agentd::serve {

std::string_view RequestHead::field(std::string_view lower_case_name) const {
  for (const auto& [name, value] : fields)
    if (name == lower_case_name) return value;
  return {};
}

std::size_t RequestHead::count(std::string_view lower_case_name) const {
  return static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == lower_case_name; }));
}

HttpReply error_reply(unsigned status, std::string_view code, std::string_view message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object().member("code", code).member("message", message);
  json.end_object().end_object();
  HttpReply reply;
  reply.status = status;
  reply.body = std::string(json.text()) + "\n";
  return reply;
}

HttpReply stream_head() {
  HttpReply out;
  out.content_type = "text/event-stream";
  return out;
}

}  // namespace agentd::serve
