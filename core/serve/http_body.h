// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_body.h - the body of a request as Beast reads it, which takes the checked head first.
//
// Threading: thread-compatible.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/serve/http_head.h"

namespace agentd::serve {

class HttpBody {
 public:
  HttpBody();
  ~HttpBody();
  HttpBody(const HttpBody&) = delete;
  HttpBody& operator=(const HttpBody&) = delete;

  // `bytes`: of the head. False: Beast does not read it as http_head.h does.
  bool begin(std::string_view bytes, const HttpHead& head);
  // How many bytes it took; the others come again with the next ones. Nothing: they are not a body.
  std::optional<std::size_t> take(std::string_view bytes);
  bool is_done() const;
  std::size_t size() const;
  std::string release();

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
  std::size_t fields_ = 0;  // of the head
};

}  // namespace agentd::serve
