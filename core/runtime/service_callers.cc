// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/service_callers.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::string_view kMemory = "agentd.memory/1", kScrubber = "agentd.scrubber/1";
constexpr Milliseconds kScrubTime{2'000};
constexpr std::size_t kPartBytes = 128 * 1024;    // as JSON at most six times as much, below the limit of a call
constexpr std::size_t kOverlapBytes = 16 * 1024;  // longer than any key
constexpr double kPermille = 1'000;
constexpr std::size_t kIdBytesMax = 64;

Error wrong_form(std::string_view interface_id, const std::string& provider) {
  return {Code::kInvalid, std::string(interface_id) + ": the answer" +
                              (provider.empty() ? std::string() : " of " + one_line(provider, 200)) +
                              " has not the form that its page describes"};
}

// It stands outside of the quotation, and finds what a conversation has been told before.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == ':';
  });
}

Result<std::vector<Recollection>> recollections_of(std::string_view json) {
  AGENTD_TRY(const JsonDocument parsed, JsonDocument::parse(json));
  const JsonView list = parsed.root()["memories"];
  if (!list.is_array()) return wrong_form(kMemory, {});
  std::vector<Recollection> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonView each = list.at(i);
    Recollection made;
    made.id = std::string(each["id"].string_or(""));
    made.title = std::string(each["title"].string_or(""));
    made.text = std::string(each["text"].string_or(""));
    made.source = std::string(each["source"].string_or(""));
    const double confidence = std::clamp(each["confidence"].number_or(0), 0.0, 1.0);
    made.confidence_permille = static_cast<std::uint32_t>(confidence * kPermille + 0.5);
    made.created_ms = each["created_ms"].int_or(0);
    if (!is_id(made.id) || made.title.empty()) return wrong_form(kMemory, {});
    out.push_back(std::move(made));
  }
  return out;
}

// Bytes that are no UTF-8 cannot go into JSON: a "?" for each, so that a place in the result is a place in the text.
std::string as_utf8_of_that_size(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (out.size() < text.size()) {
    const std::string_view rest = text.substr(out.size());
    const std::size_t good = utf8_bytes(rest);
    out += rest.substr(0, good);
    if (good < rest.size()) out += '?';
  }
  return out;
}

class ServiceScrubber final : public ExtraScrubber {
 public:
  ServiceScrubber(ServiceRegistry& registry, const Clock& clock) : registry_(registry), clock_(clock) {}

  Result<std::vector<ScrubFinding>> find(std::string_view text) const override {
    std::vector<ScrubFinding> out;
    if (text.empty() || !registry_.offers(kScrubber, "find")) return out;
    std::string copy;
    if (!is_utf8(text)) text = copy = as_utf8_of_that_size(text);
    for (std::size_t at = 0;;) {
      const std::string_view part = utf8_prefix(text.substr(at), kPartBytes);
      AGENTD_TRY_VOID(find_in(part, at, out));
      if (at + part.size() >= text.size()) return out;
      std::size_t next = at + part.size() - std::min(kOverlapBytes, part.size() / 2);
      while (next > at + 1 && (static_cast<unsigned char>(text[next]) & 0xC0u) == 0x80u) --next;
      at = next;
    }
  }

 private:
  Result<void> find_in(std::string_view part, std::size_t at, std::vector<ScrubFinding>& out) const {
    JsonWriter input;
    input.begin_object().member("text", part).end_object();
    ServiceRequest request;
    request.interface_id = kScrubber;
    request.operation = "find";
    request.input_json = input.text();
    request.deadline = Deadline::after(clock_, kScrubTime);
    ServiceError refused{AGENTD_OK, {}};
    const auto answers = registry_.call_all(request, &refused);
    if (answers.empty() && refused.status != AGENTD_OK) return Error{Code::kUnavailable, refused.message};
    for (const ServiceRegistry::NamedAnswer& each : answers) {
      if (!each.answer)
        return Error{Code::kUnavailable, one_line(each.provider, 200) + ": " + each.answer.error().message};
      AGENTD_TRY_VOID(add(each, part.size(), at, out));
    }
    return {};
  }
  static Result<void> add(const ServiceRegistry::NamedAnswer& from, std::size_t size, std::size_t at,
                          std::vector<ScrubFinding>& out) {
    AGENTD_TRY(const JsonDocument parsed, JsonDocument::parse(*from.answer));
    const JsonView list = parsed.root()["findings"];
    if (!list.is_array()) return wrong_form(kScrubber, from.provider);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonView each = list.at(i);
      const std::uint64_t begin = each["at"].uint_or(UINT64_MAX), length = each["length"].uint_or(0);
      if (begin >= size || length == 0 || length > size - begin) return wrong_form(kScrubber, from.provider);
      out.push_back({std::string(each["rule"].string_or("plugin")), at + begin, length});
    }
    return {};
  }

  ServiceRegistry& registry_;
  const Clock& clock_;
};

}  // namespace

Result<std::vector<Recollection>> ServiceRecollections::prime(const PrimeRequest& request, const CancelToken& cancel,
                                                              Deadline deadline) {
  if (!registry_.offers(kMemory, "prime", request.project_id)) return std::vector<Recollection>();
  JsonWriter input;
  input.begin_object().member("project_id", request.project_id).member("task", request.task);
  input.member("limit", std::uint64_t{request.limit}).end_object();
  ServiceRequest call;
  call.interface_id = kMemory;
  call.operation = "prime";
  call.input_json = input.text();
  call.project_id = request.project_id;
  call.cancel = cancel;
  call.deadline = deadline;
  const ServiceAnswer answer = registry_.call(call);
  if (!answer) return Error{Code::kUnavailable, answer.error().message};
  return recollections_of(*answer);
}

std::shared_ptr<const ExtraScrubber> service_scrubber(ServiceRegistry& registry, const Clock& clock) {
  return std::make_shared<const ServiceScrubber>(registry, clock);
}

}  // namespace agentd
