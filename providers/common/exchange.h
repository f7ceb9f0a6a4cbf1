// SPDX-License-Identifier: Apache-2.0
#pragma once
// exchange.h - one request whose answer comes as an event stream, and what became of it.
//
// What differs between the vendors is how an event and a refusal are read; when an answer counts,
// what is kept of one that broke, and what may be asked again is the same.
//
// Threading: stream_request() is thread-safe when what its setup refers to is; answers belong to the call.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  ModelError (*of_http)(std::string_view provider, const HttpResponse& response, std::string_view body,
                        std::int64_t wall_ms);
  // An error within the stream.
  ModelError (*of_stream)(std::string_view provider, std::string_view type, std::string_view message);
  std::string_view request_id;  // the header that holds it
};

// What bounds a request, whoever is asked.
struct TransferLimits {
  std::string user_agent = "agentd";
  Milliseconds connect_timeout{10'000};
  Milliseconds idle_timeout{300'000};            // no byte of an answer for that long
  Milliseconds total_timeout{3'600'000};         // all of it, attempts and waits included
  std::uint64_t answer_bytes_max = 64ull << 20;  // of the stream; lines and events: SseParser::Limits
  RetryPolicy retry{};
};

struct ExchangeSetup {
  HttpClient& http;
  const Clock& clock;
  Sleeper& sleeper;
  const TransferLimits& limits;
  FailureWords words;
  std::string_view secret{};  // taken out of all that an error says
};

// What differs from vendor to vendor.
struct StreamedRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;  // beside content-type, accept and user-agent
  std::string_view body;
  RetryBudget* budget = nullptr;  // the run's; null = none
};

// Sends the request and feeds an answer of its own for each attempt. An answer that is not whole when the
// total timeout is over has failed, however it came, and is not to be asked for again.
ModelResult stream_request(const ExchangeSetup& setup, const StreamedRequest& request,
                           const std::function<std::unique_ptr<StreamedAnswer>()>& make_answer, ModelSink& sink,
                           const CancelToken& cancel, Deadline deadline);

// The address without its last slashes, and with `path` where it has none of its own.
std::string address_with_path(std::string_view url, std::string_view path);

// A key read from a file often ends with a newline.
std::string trimmed_key(std::string text);

}  // namespace agentd
