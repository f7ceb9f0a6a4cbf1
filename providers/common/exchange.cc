// SPDX-License-Identifier: Apache-2.0
#include "providers/common/exchange.h"

#include <algorithm>
#include <utility>

#include "providers/common/errors.h"

namespace agentd {
namespace {

constexpr std::size_t kErrorBodyMax = 64 * 1024;

// Passes arriving bytes to the answer, or keeps them as an error's text.
class Transfer {
 public:
  explicit Transfer(StreamedAnswer& answer) : answer_(answer) {}

  bool take(const HttpResponse& response, std::string_view bytes) {
    if (seen_.status == 0) seen_ = response;
    if (!is_stream(response)) {
      error_body_.append(bytes.substr(0, kErrorBodyMax - std::min(kErrorBodyMax, error_body_.size())));
      return error_body_.size() < kErrorBodyMax;
    }
    taken_ = parser_.feed(bytes, [this](const SseEvent& event) { return answer_.take(event); });
    // Bytes after the end of the answer are ignored, but reading them keeps the connection usable.
    return taken_.has_value();
  }

  static bool is_stream(const HttpResponse& response) {
    const std::string_view type = response.header("content-type");
    return response.status == 200 && (type.empty() || type.substr(0, 17) == "text/event-stream");
  }

  const Result<void>& taken() const { return taken_; }
  const std::string& error_body() const { return error_body_; }
  // Everything needed was read, however the transfer ended afterwards.
  bool enough() const { return !taken_ || error_body_.size() >= kErrorBodyMax || answer_.whole(); }
  // The headers that came with the body.
  const HttpResponse& seen() const { return seen_; }

 private:
  StreamedAnswer& answer_;
  HttpResponse seen_;
  SseParser parser_;
  Result<void> taken_;
  std::string error_body_;
};

// The cost of a failed answer; one that had not begun costs nothing.
std::optional<Usage> usage_so_far(const StreamedAnswer& answer) {
  return answer.began() ? answer.usage().value_or(Usage{}) : answer.usage();
}

Attempt fail(const ExchangeSetup& setup, ModelError error, bool again) {
  error.message = without_secret(std::move(error.message), setup.secret);
  return {std::move(error), again};
}

// The connection failed, or agentd gave up on it.
Attempt broken_off(const ExchangeSetup& setup, const StreamedAnswer& answer, const Error& why) {
  ModelError error = from_http_error(setup.words.provider, why, answer.began());
  error.partial = answer.partial();
  error.usage = usage_so_far(answer);
  return fail(setup, std::move(error), !answer.began() && why.code == Code::kUnavailable);
}

Attempt incomplete(const ExchangeSetup& setup, const StreamedAnswer& answer, ModelErrorKind kind,
                   const std::string& why) {
  ModelError error;
  error.kind = kind;
  error.message = std::string(setup.words.provider) + ": " + why;
  error.retryable = may_pass(kind);
  error.partial = answer.partial();
  // The request was accepted, so it has a price, whatever its outcome.
  error.usage = answer.usage().value_or(Usage{});
  return fail(setup, std::move(error), false);
}

Attempt refused(const ExchangeSetup& setup, const Transfer& transfer, const HttpResponse& response) {
  // Before any cut: after one, a part of the key might remain.
  ModelError error = setup.words.of_http(setup.words.provider, response,
                                         without_secret(transfer.error_body(), setup.secret), setup.clock.wall_ms());
  const bool again =
      error.retryable && retryable_status(response.status) && response.header("x-should-retry") != "false";
  return fail(setup, std::move(error), again);
}

// The HTTP exchange is over.
Attempt judge(const ExchangeSetup& setup, const Transfer& transfer, StreamedAnswer& answer,
              const HttpResponse& response) {
  if (!Transfer::is_stream(response)) return refused(setup, transfer, response);
  if (const auto& reported = answer.reported_error()) {
    ModelError error = setup.words.of_stream(setup.words.provider, without_secret(reported->type, setup.secret),
                                             without_secret(reported->message, setup.secret));
    error.partial = answer.partial();
    error.usage = usage_so_far(answer);
    // A paid request is repeated only as a new request.
    const bool again = error.retryable && !error.usage;
    return fail(setup, std::move(error), again);
  }
  if (!transfer.taken()) return incomplete(setup, answer, ModelErrorKind::kProtocol, transfer.taken().error().message);
  if (!answer.whole())
    return incomplete(setup, answer, ModelErrorKind::kInterrupted,
                      with_advice("the connection ended before the answer was complete", ModelErrorKind::kInterrupted));
  auto whole = answer.finish();
  if (!whole) return incomplete(setup, answer, ModelErrorKind::kProtocol, whole.error().message);
  whole->request_id = without_secret(std::string(response.header(setup.words.request_id)), setup.secret);
  whole->note = without_secret(std::move(whole->note), setup.secret);
  return {std::move(*whole), false};
}

HttpRequest http_request(const TransferLimits& limits, const StreamedRequest& request) {
  HttpRequest out;
  out.url = request.url;
  out.body = request.body;
  out.connect_timeout = limits.connect_timeout;
  out.idle_timeout = limits.idle_timeout;
  out.body_bytes_max = limits.answer_bytes_max;
  out.headers = {
      {"content-type", "application/json"}, {"accept", "text/event-stream"}, {"user-agent", limits.user_agent}};
  out.headers.insert(out.headers.end(), request.headers.begin(), request.headers.end());
  return out;
}

// Sends the request once and feeds `answer`.
Attempt exchange(const ExchangeSetup& setup, const HttpRequest& request, StreamedAnswer& answer,
                 const CancelToken& cancel, Deadline deadline) {
  Transfer transfer(answer);
  const auto on_body = [&](const HttpResponse& response, std::string_view bytes) {
    return transfer.take(response, bytes);
  };
  auto sent = setup.http.send(request, on_body, cancel, deadline);
  if (sent) return judge(setup, transfer, answer, *sent);
  if (transfer.enough()) return judge(setup, transfer, answer, transfer.seen());
  return broken_off(setup, answer, sent.error());
}

}  // namespace

ModelResult stream_request(const ExchangeSetup& setup, const StreamedRequest& request,
                           const std::function<std::unique_ptr<StreamedAnswer>()>& make_answer, ModelSink& sink,
                           const CancelToken& cancel, Deadline deadline) {
  const HttpRequest http = http_request(setup.limits, request);
  const Deadline own = Deadline::after(setup.clock, setup.limits.total_timeout);
  const Deadline end{std::min(own.at_ns, deadline.at_ns)};
  const auto attempt = [&] { return exchange(setup, http, *make_answer(), cancel, end); };
  const Retrier retrier(setup.limits.retry, setup.clock);
  ModelResult result = retrier.run(attempt, sink, cancel, end, request.budget);
  const bool broke = !result && (result.error().kind == ModelErrorKind::kNetwork ||
                                 result.error().kind == ModelErrorKind::kInterrupted);
  if (!broke || !end.passed(setup.clock)) return result;
  ModelError error = result.error();
  error.retryable = false;  // it would take as long again
  if (own.passed(setup.clock))
    error.message = std::string(setup.words.provider) + ": no complete answer within " +
                    std::to_string(setup.limits.total_timeout.count()) + " ms, the limit of providers." +
                    std::string(setup.words.provider) + ".total_timeout_ms";
  return error;
}

std::string address_with_path(std::string_view url, std::string_view path) {
  while (!url.empty() && url.back() == '/') url.remove_suffix(1);
  const std::size_t host = url.find("://");
  const bool has_one = host != std::string_view::npos && url.find('/', host + 3) != std::string_view::npos;
  return std::string(url) + (has_one ? std::string() : std::string(path));
}

std::string trimmed_key(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  return text;
}

}  // namespace agentd
