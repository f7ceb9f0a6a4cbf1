// SPDX-License-Identifier: Apache-2.0
#pragma once
// connection.h - requests to a server and their answers, over a link.
//
// Whatever a server sends, each request ends: with its answer, or with one sentence that says why there is none. A
// message whose request cannot be told ends all that wait.
// Source: modelcontextprotocol.io, "Lifecycle", "Cancellation", "Progress", "Ping".
//
// Threading: thread-safe; ask() blocks its caller and calls `question` on that thread.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/codec/json.h"
#include "core/codec/json_rpc.h"
#include "providers/mcp/link.h"

namespace agentd::mcp {

// Why a request has no result.
struct Failure {
  enum class Kind : std::uint8_t {
    kFault,      // the server's own answer: `fault`
    kCancelled,  // by the caller
    kTimeout,
    kGone,       // the link has ended
    kLost,       // this request alone
    kStatus,     // an answer of HTTP with this status and without a message
    kBadResult,  // the call was done; its result cannot be read
    kSession,    // the session, or the link, has ended before: the request was not done
  };
  Kind kind = Kind::kLost;
  std::string why{};  // the rest of a sentence that begins with the server
  RpcFault fault{};
  int status = 0;  // of HTTP, where one is known
};

using Document = std::shared_ptr<const JsonDocument>;
using Answer = Result<Document, Failure>;

struct Request {
  std::string_view method;
  // Writes the members of `params`, but for `_meta`; empty = none.
  std::function<void(JsonWriter&)> members{};
  Fields fields{};
  bool bare = false;  // without `_meta`: initialize
};

struct Patience {
  CancelToken cancel{};
  Deadline deadline{};
  // A shorter time, which begins again with each message about progress; zero = none.
  Milliseconds silence{0};
  // Answers a question of the server's (elicitation/create) that came during the request; empty = it is declined.
  std::function<Result<std::string, RpcFault>(JsonView params)> question{};
  // Whom question() asks. A question on a stream that several share is passed on if all of them ask the same.
  const void* whom = nullptr;
};

class Connection {
 public:
  struct Told {
    std::function<void()> tools_changed;
    std::function<void(const std::string& why)> ended;
    std::function<void(const std::string& text)> oddity;  // what came and is no message
  };
  // `clock` outlives it.
  Connection(Told told, std::string client_version, const Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // REQUIRES: before anything is asked.
  void set_link(std::unique_ptr<Link> link);
  Link& link() { return *link_; }
  std::string error_text() const { return link_ ? link_->error_text() : std::string(); }

  // The version in which requests are made from now on.
  void agree(std::string_view version, bool modern);
  bool is_modern() const;

  Answer ask(const Request& request, const Patience& patience);
  // A request whose answer is awaited elsewhere, or not at all. nullopt: the link has ended.
  std::optional<std::int64_t> begin(const Request& request, const Patience& patience);
  // `keeps`: after the patience has ended by its time, the answer may still be awaited again.
  Answer await(std::int64_t id, const Patience& patience, bool keeps = false);
  // A request of the modern era that stays open; its notifications are heard as others.
  void subscribe(const Request& request);
  bool subscribed() const;
  void notify(std::string_view method);

  void write_client(JsonWriter& out) const;
  static void write_abilities(JsonWriter& out);

  bool gone() const;
  void end(const std::string& why);

 private:
  Ears ears();
  struct Event {
    enum class Kind : std::uint8_t { kAnswer, kFailure, kProgress, kQuestion };
    Kind kind = Kind::kProgress;
    Document document{};
    Failure failure{};
    RpcId id{};  // kQuestion
  };
  struct Exchange {
    std::deque<Event> events;
    bool asks = false;
    const void* whom = nullptr;
    std::size_t questions = 0;
  };
  std::string params_of(const Request& request, std::int64_t id) const;
  std::int64_t send(const Request& request, const Patience* patience);
  void take(RpcMessage message, const RpcId& within);
  void take_notification(const RpcMessage& message);
  void take_request(RpcMessage message, const RpcId& within);
  void refuse(const RpcRefusal& refusal, const RpcId& within);
  void tell(std::int64_t id, Event event) REQUIRES(mutex_);
  void fail_all(const std::string& why) REQUIRES(mutex_);
  std::int64_t asker(const RpcId& within) const REQUIRES(mutex_);
  std::optional<Failure> over(std::int64_t id, const Patience& patience, Deadline silent) REQUIRES(mutex_);
  void answer_question(const Event& event, const Patience& patience);
  void leave(std::int64_t id, const Failure& why);

  const Told told_;
  const std::string client_version_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string version_ GUARDED_BY(mutex_);
  bool modern_ GUARDED_BY(mutex_) = true;
  bool gone_ GUARDED_BY(mutex_) = false;
  std::string why_gone_ GUARDED_BY(mutex_);
  std::string oddity_ GUARDED_BY(mutex_);  // the last text that was no message
  std::int64_t last_id_ GUARDED_BY(mutex_) = 0;
  std::int64_t subscription_ GUARDED_BY(mutex_) = 0;
  bool subscribed_ GUARDED_BY(mutex_) = false;
  std::map<std::int64_t, Exchange> asked_ GUARDED_BY(mutex_);
  std::unique_ptr<Link> link_;
};

}  // namespace agentd::mcp
