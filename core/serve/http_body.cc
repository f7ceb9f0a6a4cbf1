// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_body.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>
#include <utility>

#include "core/serve/http_asio.h"

namespace agentd::serve {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kFramingMax = 1u << 10;  // bytes of a chunk's line, or of what follows the last chunk

}  // namespace

struct HttpBody::Parser {
  struct RefuseExtensions {
    void operator()(std::uint64_t /*size*/, boost::beast::string_view extensions, AsioFailed& failed) const {
      if (!extensions.empty()) failed = http::error::bad_chunk_extension;
    }
  };

  Parser() {
    reader.eager(true);
    reader.body_limit(boost::none);  // the connection counts
    reader.on_chunk_header(refuse_extensions);
  }
  std::size_t fields() const {
    return static_cast<std::size_t>(std::distance(reader.get().begin(), reader.get().end()));
  }

  RefuseExtensions refuse_extensions;
  http::request_parser<http::string_body> reader;
};

HttpBody::HttpBody() : parser_(std::make_unique<Parser>()) {}
HttpBody::~HttpBody() = default;

bool HttpBody::begin(std::string_view bytes, const HttpHead& head) {
  auto& reader = parser_->reader;
  reader.header_limit(static_cast<std::uint32_t>(bytes.size() + kFramingMax));
  AsioFailed failed;
  const std::size_t taken = reader.put(asio::const_buffer(bytes.data(), bytes.size()), failed);
  fields_ = parser_->fields();
  return !failed && taken == bytes.size() && reader.is_header_done() && reader.chunked() == head.chunked &&
         fields_ == head.request.fields.size() && reader.is_done() == (!head.chunked && head.length == 0);
}

std::optional<std::size_t> HttpBody::take(std::string_view bytes) {
  AsioFailed failed;
  const std::size_t taken = parser_->reader.put(asio::const_buffer(bytes.data(), bytes.size()), failed);
  if (failed && failed != http::error::need_more) return std::nullopt;
  const bool trailers = is_done() && parser_->fields() != fields_;
  if (trailers || (!is_done() && bytes.size() - taken > kFramingMax)) return std::nullopt;
  return taken;
}

bool HttpBody::is_done() const { return parser_->reader.is_done(); }
std::size_t HttpBody::size() const { return parser_->reader.get().body().size(); }
std::string HttpBody::release() { return std::move(parser_->reader.get().body()); }

}  // namespace agentd::serve
