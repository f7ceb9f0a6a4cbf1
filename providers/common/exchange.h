// SPDX-License-Identifier: Apache-2.0
#pragma once
// exchange.h - one request whose answer comes as an event stream, and what became of it.
//
// What differs between the vendors is how an event and a refusal are read; when an answer counts,
// what is kept of one that broke, and what may be asked again is the same.
//
// Threading: pure functions but for the answer, which belongs to the call.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/sse.h"
#include "core/model/provider.h"
#include "core/net/http.h"
#include "providers/common/retry.h"

namespace agentd {

// The event stream of one answer, put together.
class StreamedAnswer {
 public:
  // Of an error that came within the stream.
  struct Reported {
    std::string type, message;
  };

  virtual ~StreamedAnswer() = default;
  // The next event. kCorrupt when it is not what the format says, or when it reports an error,
  // which reported_error() then holds; nothing may be fed after that.
  virtual Result<void> take(const SseEvent& event) = 0;
  // Something of the answer has come.
  virtual bool began() const = 0;
  // All that matters has come.
  virtual bool whole() const = 0;
  virtual const std::optional<Reported>& reported_error() const = 0;
  // The answer. REQUIRES whole(). kCorrupt when it ended inside a tool call.
  virtual Result<ModelResponse> finish() = 0;
  // What arrived, without tool calls.
  virtual Message partial() const = 0;
  // What the provider has reported so far.
  virtual const std::optional<Usage>& usage() const = 0;
};

// How a vendor words what is no answer.
struct FailureWords {
  std::string_view provider;
  // An answer that is no event stream: a status other than 200, a redirect, a page of some proxy.
  // `body` is its beginning.
  ModelError (*of_http)(std::string_view provider, const HttpResponse& response,
                        std::string_view body, std::int64_t wall_ms);
  // An error within the stream.
  ModelError (*of_stream)(std::string_view provider, std::string_view type,
                          std::string_view message);
  std::string_view request_id;  // the header that holds it
};

struct ExchangeSetup {
  HttpClient& http;
  const Clock& clock;
  FailureWords words;
  std::string_view secret{};  // taken out of all that an error says
};

// Sends the request and feeds `answer`.
Attempt exchange(const ExchangeSetup& setup, const HttpRequest& request, StreamedAnswer& answer,
                 const CancelToken& cancel, Deadline deadline);

// The address without its last slashes, and with `path` where it has none of its own.
std::string address_with_path(std::string_view url, std::string_view path);

// A key read from a file often ends with a newline.
std::string trimmed_key(std::string text);

}  // namespace agentd
