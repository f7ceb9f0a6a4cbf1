// SPDX-License-Identifier: Apache-2.0
#pragma once
// exchange.h - one request with an event stream as its answer, and the outcome.
//
// Vendors differ in how an event and a refusal are read. All share the rules for when an answer counts, what is kept of
// a broken one, and what may be retried.
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

// Assembles the event stream of one answer.
class StreamedAnswer {
 public:
  // An error event within the stream.
  struct Reported {
    std::string type, message;
  };

  virtual ~StreamedAnswer() = default;
  // Takes the next event. kCorrupt when it violates the format, or when it reports an error, which reported_error()
  // then has; no event may follow.
  virtual Result<void> take(const SseEvent& event) = 0;
  // True if a part of the answer has arrived.
  virtual bool began() const = 0;
  // True if everything needed has arrived.
  virtual bool whole() const = 0;
  virtual const std::optional<Reported>& reported_error() const = 0;
  // The answer. REQUIRES whole(). kCorrupt when it ended inside a tool call.
  virtual Result<ModelResponse> finish() = 0;
  // The content so far, without tool calls.
  virtual Message partial() const = 0;
  // The usage that the provider has reported so far.
  virtual const std::optional<Usage>& usage() const = 0;
};

// A vendor's texts for failures.
struct FailureWords {
  std::string_view provider;
  // An answer that is not an event stream: a status other than 200, a redirect, a proxy's page. `body` is its
  // beginning.
  ModelError (*of_http)(std::string_view provider, const HttpResponse& response, std::string_view body,
                        std::int64_t wall_ms);
  // An error within the stream.
  ModelError (*of_stream)(std::string_view provider, std::string_view type, std::string_view message);
  std::string_view request_id;  // the name of its header
};

// The limits of a request to any vendor.
struct TransferLimits {
  std::string user_agent = "agentd";
  Milliseconds connect_timeout{10'000};
  Milliseconds idle_timeout{300'000};            // the longest silence during an answer
  Milliseconds total_timeout{3'600'000};         // of the request, including attempts and waits
  std::uint64_t answer_bytes_max = 64ull << 20;  // of the stream; lines and events: SseParser::Limits
  RetryPolicy retry{};
};

struct ExchangeSetup {
  HttpClient& http;
  const Clock& clock;
  const TransferLimits& limits;
  FailureWords words;
  std::string_view secret{};  // removed from every error text
};

// The parts that differ between vendors.
struct StreamedRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;  // besides content-type, accept and user-agent
  std::string_view body;
  RetryBudget* budget = nullptr;  // the run's; null = none
};

// Sends the request, with a new answer for each attempt. An answer that is incomplete at the end of the total timeout
// has failed and is not retried.
ModelResult stream_request(const ExchangeSetup& setup, const StreamedRequest& request,
                           const std::function<std::unique_ptr<StreamedAnswer>()>& make_answer, ModelSink& sink,
                           const CancelToken& cancel, Deadline deadline);

// The address without trailing slashes, and with `path` if it has no path of its own.
std::string address_with_path(std::string_view url, std::string_view path);

// A key that was read from a file often ends with a newline.
std::string trimmed_key(std::string text);

}  // namespace agentd
