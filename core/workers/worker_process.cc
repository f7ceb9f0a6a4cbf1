// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_process.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"

namespace agentd {
namespace {

constexpr std::uint32_t kBasesMax = 8;       // addresses tried for the window
constexpr int kExitBaseTaken = 71;           // exit status of a worker that cannot map the window at the host's address
constexpr Milliseconds kProcessSlice{20};    // how often a cancel word is checked
constexpr Milliseconds kServiceTime{5'000};  // for the rest of a request after its ring
constexpr std::uint64_t kMilli = 1'000'000;
// No process limit counts threads alone, so they are counted here.
constexpr std::uint64_t kThreadsMax = 512;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t to_ns(Milliseconds time) { return static_cast<std::uint64_t>(time.count()) * kMilli; }

WorkerEnd end_of(const Exit& exit) {
  WorkerEnd out;
  if (exit.signal == 0 && exit.code < 0) {
    out.cause = "cause unknown";
    out.text = "its worker ended; " + out.cause;
    return out;
  }
  if (exit.signal == 0) {
    out.cause = "status " + std::to_string(exit.code);
    out.text = "its worker ended by itself with " + out.cause;
    out.base_taken = exit.code == kExitBaseTaken;
    return out;
  }
  out.cause = "signal " + std::to_string(exit.signal);
  // A service manager or session that stops sends these signals to all its processes: no fault of the plugin.
  if (exit.signal == SIGTERM || exit.signal == SIGINT || exit.signal == SIGHUP) out.kind = EndKind::kCutShort;
  const char* const name = ::sigabbrev_np(exit.signal);
  out.text = "its worker was killed by " + out.cause + (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
  return out;
}

LaneMessage message_of(LaneOp op) {
  LaneMessage out;
  out.op = static_cast<std::uint32_t>(op);
  return out;
}

// The code for a worker that did not load the module: AGENTD_E_ARG blames the module, other statuses blame what the
// worker met before.
Code refusal_code(std::int32_t status) {
  if (status == AGENTD_E_ARG) return Code::kInvalid;
  return status == AGENTD_E_CONFLICT ? Code::kConflict : Code::kUnavailable;
}

bool may_have_children(const BootArgs& args) {
  if (args.unconfined != 0) return true;
  const auto* const first = static_cast<const agentd_str*>(args.capabilities.first);
  return std::any_of(first, first + args.capabilities.count,
                     [](const agentd_str& each) { return view_of(each) == "processes"; });
}

// The sandbox ground in the form that the worker program's zygote expects.
std::string ground_of(const BootArgs& args) {
  if (args.unconfined != 0) return "off";
  std::string out = "sandbox";
  const auto* const first = static_cast<const agentd_str*>(args.capabilities.first);
  for (const char* const each : {"network", "processes", "files:read", "files:write"})
    if (std::any_of(first, first + args.capabilities.count,
                    [&](const agentd_str& one) { return view_of(one) == each; }))
      out += "," + std::string(each);
  return out;
}

bool is(const LaneMessage& message, LaneOp op) { return message.op == static_cast<std::uint32_t>(op); }

}  // namespace

// The host's state of one call that runs in the worker.
struct WorkerProcess::Running {
  Running(PayloadWindow& window, const agentd_call& what, CallSlot& of) : call(what), slot(of), frame(window) {}
  const agentd_call& call;
  CallSlot& slot;
  PayloadWindow::Frame frame;
  agentd_live* mirror = nullptr;
  std::uint64_t time_ns = 0;     // that remained when the worker got the call
  std::uint32_t gave_up = 0;     // AGENTD_CANCEL_ reason with which the worker was told to give up
  std::uint64_t grace_ends = 0;  // valid once gave_up is set
  agentd_status failed = AGENTD_OK;
  std::string failure;  // passed to the slot at the end
};

WorkerProcess::WorkerProcess(const WorkerSetup& setup)
    : supervisor_(setup.supervisor),
      tokens_(setup.tokens),
      clock_(setup.clock),
      log_(setup.log),
      options_(setup.options),
      bodies_(setup.bodies),
      name_(setup.name) {}

WorkerProcess::~WorkerProcess() {
  if (id_ != 0) {
    end_soon();
    supervisor_.end(id_);
  }
  supervisor_.listener().remove(*this);
  for (Thread& server : servers_)
    if (server.joinable()) server.join();
  desk_.reset();
}

// ---- start and end

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const WorkerSetup& setup) {
  // One limit for all attempts, so that a worker which refuses the base gets no extra time. Time that the supervisor
  // needs to start it does not count.
  std::uint64_t left_ns = to_ns(setup.options.start_time);
  for (std::uint32_t skip = 0;; ++skip) {
    std::unique_ptr<WorkerProcess> worker(new WorkerProcess(setup));
    AGENTD_TRY_VOID(worker->launch(setup, skip));
    const std::uint64_t begun_ns = now_ns();
    auto booted = worker->boot(begun_ns + left_ns);
    if (booted) return worker;
    if (booted.error().code != Code::kConflict || skip + 1 == kBasesMax) return booted.error();
    const std::uint64_t took_ns = now_ns() - begun_ns;
    if (took_ns >= left_ns) return booted.error();
    left_ns -= took_ns;
  }
}

Result<void> WorkerProcess::launch(const WorkerSetup& setup, std::uint32_t skip) {
  const auto failed = [&](const Error& error) {
    return Error{Code::kUnavailable, "could not get a worker: " + error.message};
  };
  auto window = PayloadWindow::create(skip);
  if (!window) return failed(window.error());
  auto region = AnswerRegion::create(setup.call_lanes);
  if (!region) return failed(region.error());
  window_ = std::move(*window);
  region_ = std::move(*region);
  BootArgs args = setup.boot;
  args.window_base = window_->base();
  std::string body;
  if (auto flat = flatten(boot_args_shape(), &args, body); !flat)
    return Error{Code::kUnavailable, "could not start: " + flat.error().message};
  const bool with_children = may_have_children(setup.boot);
  // A worker that cannot start processes need not wait until its host knows its id.
  if (!with_children && body.size() <= Lane::kPieceBytes)
    tell_what_to_load(body, {});
  else
    boot_ = std::move(body);
  WorkerStart start{setup.options.program,
                    setup.name,
                    {setup.module_fd, window_->fd(), region_->fd()},
                    with_children,
                    setup.options.zygote ? ground_of(setup.boot) : ""};
  static_assert(kWorkerModuleFd == 3 && kWorkerWindowFd == 4 && kWorkerAnswerFd == 5);
  auto id = supervisor_.start(start, [this](const Exit& exit) { on_end(exit); });
  if (!id) return failed(id.error());
  id_ = *id;
  return {};
}

LaneEnd WorkerProcess::tell_what_to_load(std::string_view body, const LaneWait& wait) {
  LaneMessage message = message_of(LaneOp::kBoot);
  message.payload = window_->base();
  return region_->call_lane(0, Lane::Side::kHost).send(message, body, wait);
}

Result<void> WorkerProcess::boot(std::uint64_t until_ns) {
  LaneWait wait;
  wait.until_ns = until_ns;
  wait.body_grace_ns = 0;
  wait.gone = &gone_;
  LaneMessage message;
  std::string body;
  LaneEnd end = boot_.empty() ? LaneEnd::kMessage : tell_what_to_load(boot_, wait);
  if (end == LaneEnd::kMessage) end = region_->call_lane(0, Lane::Side::kHost).receive(message, body, wait);
  if (end == LaneEnd::kGone) {
    const WorkerEnd how = ended().value_or(WorkerEnd());
    const Code code = how.base_taken                ? Code::kConflict
                      : how.kind == EndKind::kCrash ? Code::kInvalid
                                                    : Code::kUnavailable;
    return Error{code, "could not start: " + how.text};
  }
  if (end == LaneEnd::kTimeout || end == LaneEnd::kStuck)
    return Error{Code::kUnavailable, "could not start: its worker did not load the module within " +
                                         std::to_string(options_.start_time.count()) + " ms"};
  if (end == LaneEnd::kMessage && is(message, LaneOp::kDone))
    return Error{refusal_code(message.status), one_line(body, 2'000)};
  if (end == LaneEnd::kMessage && is(message, LaneOp::kBooted))
    if (auto read = read_booted(body)) return {};
  broken("in its start");
  return Error{Code::kInvalid, "could not start: " + end_text()};
}

Result<void> WorkerProcess::read_booted(std::string_view body) {
  FlatBytes bytes(body);
  AGENTD_TRY(void* const record, relocate(boot_reply_shape(), {bytes.data(), bytes.size()}));
  const auto& reply = *static_cast<const BootReply*>(record);
  booted_.concurrency = reply.concurrency;
  booted_.functions = reply.functions;
  booted_.id = std::string(view_of(reply.id));
  booted_.version = std::string(view_of(reply.version));
  booted_.sandbox = one_line(view_of(reply.sandbox), 2'000);
  constexpr std::uint32_t kRowsMax = 1024, kNotesMax = 1024;
  constexpr std::size_t kTextBytesMax = 256;
  if (reply.rows.count > kRowsMax || reply.notes.count > kNotesMax || booted_.id.size() > kTextBytesMax ||
      booted_.version != one_line(booted_.version, kTextBytesMax))
    return Error{Code::kInvalid, "it returned a malformed message"};
  const auto* const rows = static_cast<const RowInfo*>(reply.rows.first);
  booted_.rows.assign(rows, rows + reply.rows.count);
  const auto* const notes = static_cast<const agentd_str*>(reply.notes.first);
  for (std::uint32_t i = 0; i < reply.notes.count; ++i) booted_.notes.push_back(one_line(view_of(notes[i]), 2'000));
  const bool usable = booted_.concurrency <= AGENTD_CONCURRENT &&
                      std::none_of(booted_.rows.begin(), booted_.rows.end(),
                                   [](const RowInfo& row) { return row.event == 0 || row.event >= 64; });
  if (!usable) return Error{Code::kInvalid, "it returned a malformed message"};
  return {};
}

void WorkerProcess::make_desk(PluginContext& context, WorkerToolBook& tools) {
  auto desk = std::make_unique<ServiceDesk>(context, tokens_, *window_, tools);
  const MutexLock lock(mutex_);
  desk_ = std::move(desk);
  busy_.assign(booted_.concurrency == AGENTD_CONCURRENT ? region_->call_lanes() : 1, false);
}

void WorkerProcess::attach(PluginContext& context, WorkerToolBook& tools) {
  make_desk(context, tools);
  if (!supervisor_.listener().add(region_, *this)) kill("no thread could be made to serve it", EndKind::kWanted);
}

// Called on the supervisor's thread.
void WorkerProcess::on_end(const Exit& exit) {
  WorkerEnd end = end_of(exit);
  end.at_ns = clock_.monotonic_ns();
  ServiceDesk* desk = nullptr;
  bool expected = false;
  {
    const MutexLock lock(mutex_);
    if (!why_.empty()) {
      end.text = "its worker was killed: " + why_;
      end.kind = why_kind_;
      end.cause = why_;
      expected = true;
    }
    end_ = end;
    desk = desk_.get();
    gone_.store(1);
  }
  if (!expected) log_.write(LogLevel::kWarning, name_, end.text);
  if (desk != nullptr) {
    desk->give_up();
    desk->ledger().wake();
  }
  region_->wake_all();
  lane_free_.notify_all();
  changed_.notify_all();
}

void WorkerProcess::kill(std::string why, EndKind kind) {
  ServiceDesk* desk = nullptr;
  {
    const MutexLock lock(mutex_);
    if (end_ || !why_.empty()) return;
    why_ = std::move(why);
    why_kind_ = kind;
    why_at_ns_ = clock_.monotonic_ns();
    killed_.store(true);
    desk = desk_.get();
  }
  lane_free_.notify_all();
  changed_.notify_all();
  supervisor_.kill(id_);
  if (desk != nullptr) desk->give_up();
}

void WorkerProcess::broken(std::string_view what) {
  const std::string text = "it sent a malformed message (" + std::string(what) + ")";
  if (usable()) log_.write(LogLevel::kWarning, name_, "its worker is killed: " + text);
  kill(text, EndKind::kCrash);
}

std::optional<WorkerEnd> WorkerProcess::ended() const {
  const MutexLock lock(mutex_);
  if (end_ || why_.empty()) return end_;
  // The host's reason stands, whatever the worker does now.
  return WorkerEnd{"its worker was killed: " + why_, why_, why_kind_, why_at_ns_};
}

void WorkerProcess::wait_ended() { supervisor_.end(id_); }

std::string WorkerProcess::end_text() const {
  const MutexLock lock(mutex_);
  if (end_) return end_->text;
  return "its worker was killed: " + (why_.empty() ? "cause unknown" : why_);
}

// ---- calls

// The wait for the call's answer or for its next request.
LaneWait WorkerProcess::wait_for(const Running& running) const {
  const bool told = running.gave_up != 0;
  LaneWait out = wait_until(told ? running.grace_ends : deadline_of(*running.call.live));
  out.cancel = told ? nullptr : &running.call.live->cancel;
  out.body_grace_ns = told ? 0 : to_ns(options_.grace);
  return out;
}

LaneWait WorkerProcess::wait_until(std::uint64_t deadline_ns) const {
  LaneWait out;
  out.gone = &gone_;
  const std::uint64_t now = clock_.monotonic_ns();
  // If the worker hangs while its host serves the call, the wait looks again after the grace.
  const std::uint64_t look_again = to_ns(options_.grace);
  out.until_ns = now_ns() + (deadline_ns == Deadline::kNever ? look_again : deadline_ns > now ? deadline_ns - now : 0);
  return out;
}

// The text reaches the slot last, when no service can replace it.
agentd_status WorkerProcess::fail(Running& running, agentd_status status, std::string text) {
  running.failed = status;
  running.failure = std::move(text);
  return status;
}

agentd_status WorkerProcess::call(const agentd_call& call, const Target& target) {
  CallSlot* const slot = tokens_.find(call.token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  Running running(*window_, call, *slot);
  const auto lane = take_lane(running);
  if (!lane) {
    if (!usable()) {
      slot->fail(call.token, AGENTD_E_INTERNAL, {end_text(), FailureText::kAll});
      return AGENTD_E_INTERNAL;
    }
    const std::uint32_t cancel = cancel_of(*call.live);
    return cancel == 0 || cancel == AGENTD_CANCEL_DEADLINE ? AGENTD_E_DEADLINE : AGENTD_E_CANCELLED;
  }
  LaneMessage message = message_of(LaneOp::kCall);
  const ServiceBinding services(*slot);
  agentd_status status = AGENTD_E_NOMEM;
  const bool placed = place(running, target, message);
  if (placed) {
    const std::uint64_t now = clock_.monotonic_ns();
    running.time_ns = std::max(deadline_of(*call.live), now) - now;
    desk_->ledger().add(call.token, *call.live, running.mirror, services.cancel());
    status = converse(running, region_->call_lane(*lane, Lane::Side::kHost), message);
  }
  free_lane(*lane);
  if (placed && status == AGENTD_PENDING) status = wait_completed(running);
  desk_->ledger().remove(call.token);
  if (running.failed != AGENTD_OK) slot->fail(call.token, running.failed, std::move(running.failure));
  if (running.mirror != nullptr) window_->release_live(running.mirror);
  return status;
}

// Absent at the deadline, on cancel, and when the worker has ended.
std::optional<std::uint32_t> WorkerProcess::take_lane(Running& running) {
  const MutexLock lock(mutex_);
  for (;;) {
    if (!usable()) return std::nullopt;
    const auto free = std::find(busy_.begin(), busy_.end(), false);
    if (free != busy_.end()) {
      *free = true;
      return static_cast<std::uint32_t>(free - busy_.begin());
    }
    const Deadline deadline{deadline_of(*running.call.live)};
    if (deadline.passed(clock_) || cancel_of(*running.call.live) != 0) return std::nullopt;
    lane_free_.wait_for(mutex_, clock_, std::min(kProcessSlice, deadline.left(clock_)));
  }
}

void WorkerProcess::free_lane(std::uint32_t index) {
  {
    const MutexLock lock(mutex_);
    busy_[index] = false;
  }
  // One notification is enough: a call that gives up its wait has seen under the lock that no lane is free.
  lane_free_.notify_one();
}

bool WorkerProcess::place(Running& running, const Target& target, LaneMessage& message) {
  const agentd_call& call = running.call;
  const auto out_of_memory = [&](const std::string& what) {
    fail(running, AGENTD_E_NOMEM, "out of memory for the call to its worker: " + what);
    return false;
  };
  running.mirror = window_->acquire_live();
  if (running.mirror == nullptr)
    return out_of_memory("it has " + std::to_string(PayloadWindow::kLiveWords) + " calls and scopes open already");
  set_deadline(*running.mirror, deadline_of(*call.live));
  set_cancel(*running.mirror, cancel_of(*call.live));
  auto envelope = window_->place(running.frame, envelope_shape(), call.envelope);
  if (!envelope) return out_of_memory(envelope.error().message);
  const Shape* const shape = payload_shape(call.event);
  auto payload = shape == nullptr ? Result<const void*>(nullptr)
                                  : window_->place(running.frame, *shape, call.payload, target.lineage);
  if (!payload) return out_of_memory(payload.error().message);
  message.token = call.token;
  message.event = call.event;
  message.row = target.row;
  message.conversation = call.conversation;
  message.live = reinterpret_cast<std::uintptr_t>(running.mirror);
  message.envelope = reinterpret_cast<std::uintptr_t>(*envelope);
  message.payload = reinterpret_cast<std::uintptr_t>(*payload);
  return true;
}

agentd_status WorkerProcess::converse(Running& running, Lane lane, const LaneMessage& message) {
  LaneMessage answer;
  std::string body;
  BodyShare share(bodies_);
  LaneEnd end = lane.send(message, {}, wait_until(deadline_of(*running.call.live)));
  for (;;) {
    if (end == LaneEnd::kMessage) {
      LaneWait wait = wait_for(running);
      wait.share = &share;
      end = lane.receive(answer, body, wait);
    }
    const bool dropped = end == LaneEnd::kTooBig && is(answer, LaneOp::kService);
    if (end != LaneEnd::kMessage && !dropped) {
      if (const auto status = after(running, end)) return *status;
      end = LaneEnd::kMessage;  // a grace has begun, or the deadline has moved: listen again
      continue;
    }
    if (is(answer, LaneOp::kDone)) {
      const bool late = running.gave_up == AGENTD_CANCEL_DEADLINE && answer.status == AGENTD_E_CANCELLED;
      return late ? AGENTD_E_DEADLINE : answer.status;
    }
    if (!is(answer, LaneOp::kService)) {
      end = LaneEnd::kBroken;
      continue;
    }
    // A worker that never stops making requests is given up like one that never answers.
    if (const auto over = out_of_time(running)) return *over;
    const auto wait = [&] { return wait_for(running); };
    end = dropped ? refuse_body(lane, answer, wait()) : serve(lane, answer, body, share, wait);
  }
}

// Checked before each request: tells the worker to give up, and returns a status once the grace is over.
std::optional<agentd_status> WorkerProcess::out_of_time(Running& running) {
  if (running.gave_up != 0) {
    if (clock_.monotonic_ns() < running.grace_ends) return std::nullopt;
    return given_up(running);
  }
  const agentd_live& live = *running.call.live;
  if (const std::uint32_t reason = cancel_of(live); reason != 0)
    give_up(running, reason, options_.grace);
  else if (Deadline{deadline_of(live)}.passed(clock_))
    give_up(running, AGENTD_CANCEL_DEADLINE, options_.grace);
  return std::nullopt;
}

// Tells the plugin to give up; it has the grace left.
void WorkerProcess::give_up(Running& running, std::uint32_t reason, Milliseconds grace) {
  running.gave_up = reason;
  running.grace_ends = clock_.monotonic_ns() + to_ns(grace);
  set_cancel(*running.mirror, reason);
}

// The grace is over. Only a missed deadline is the plugin's fault: it cannot foresee a user's cancel, and the end of a
// session may leave less time than an upload needs.
agentd_status WorkerProcess::given_up(Running& running) {
  if (running.gave_up == AGENTD_CANCEL_DEADLINE) {
    const bool had_time =
        running.call.event != AGENTD_EVENT_SESSION_END && running.time_ns >= to_ns(options_.hang_time);
    kill("a call did not return before its deadline", had_time ? EndKind::kHang : EndKind::kCutShort);
    return AGENTD_E_DEADLINE;
  }
  kill("a call was cancelled and did not return", EndKind::kCutShort);
  return AGENTD_E_CANCELLED;
}

// The call's status when a wait ended without a message; absent = wait again.
std::optional<agentd_status> WorkerProcess::after(Running& running, LaneEnd end) {
  if (running.gave_up != 0) return given_up(running);
  const std::uint64_t deadline = deadline_of(*running.call.live);
  if (end == LaneEnd::kCancelled) {
    give_up(running, cancel_of(*running.call.live), options_.grace);
    return std::nullopt;
  }
  if (end == LaneEnd::kTimeout) {
    set_deadline(*running.mirror, deadline);
    // A service may have moved the deadline.
    if (Deadline{deadline}.passed(clock_)) give_up(running, AGENTD_CANCEL_DEADLINE, options_.grace);
    return std::nullopt;
  }
  // Only part of a body is in the lane, and the rest will not come.
  if (end == LaneEnd::kStuck) {
    running.gave_up = cancel_of(*running.call.live);
    if (running.gave_up == 0 && Deadline{deadline}.passed(clock_)) running.gave_up = AGENTD_CANCEL_DEADLINE;
    if (running.gave_up != 0) return given_up(running);
  }
  if (end != LaneEnd::kGone) broken("in its answer to a call");
  return fail(running, AGENTD_E_INTERNAL, end_text());
}

LaneEnd WorkerProcess::serve(Lane& lane, const LaneMessage& request, std::string& body, BodyShare& share,
                             const std::function<LaneWait()>& wait) {
  ServiceDesk::Answer answer;
  if (!desk_->serve(request.token, body, answer)) return LaneEnd::kBroken;
  // Before the worker continues: its next request may need the room.
  if (body.capacity() > Lane::kPieceBytes) body = std::string();
  share.give_back();
  LaneMessage reply = message_of(LaneOp::kReply);
  reply.status = answer.status;
  reply.token = request.token;
  return hand_reply(lane, reply, answer.body, wait());
}

LaneEnd WorkerProcess::refuse_body(Lane& lane, const LaneMessage& request, const LaneWait& wait) {
  LaneMessage reply = message_of(LaneOp::kReply);
  reply.status = AGENTD_E_TOO_BIG;
  reply.token = request.token;
  const ServiceReply nothing;
  std::string body;
  if (!flatten(*reply_shape(static_cast<std::uint32_t>(ServiceOp::kEmit)), &nothing, body)) return LaneEnd::kBroken;
  return hand_reply(lane, reply, body, wait);
}

LaneEnd WorkerProcess::hand_reply(Lane& lane, const LaneMessage& reply, std::string_view body, const LaneWait& wait) {
  const LaneEnd end = lane.send(reply, body, wait);
  // The worker does not take the reply: the lane still holds the host's turn, with the request that was served.
  if (end == LaneEnd::kTimeout || end == LaneEnd::kStuck) return LaneEnd::kStuck;
  return end == LaneEnd::kMessage || end == LaneEnd::kGone ? end : LaneEnd::kBroken;
}

// Waits for complete(). The lane is free; the call's records and token stay until then. A worker that does not complete
// the call in time is killed, so that nothing reads the records any more.
agentd_status WorkerProcess::wait_completed(Running& running) {
  const agentd_live& live = *running.call.live;
  for (;;) {
    if (const auto status = desk_->ledger().wait_completed(running.call.token, clock_, kProcessSlice)) {
      const bool late = running.gave_up == AGENTD_CANCEL_DEADLINE && *status == AGENTD_E_CANCELLED;
      return late ? AGENTD_E_DEADLINE : *status;
    }
    if (running.gave_up != 0 && (gone_.load() != 0 || clock_.monotonic_ns() >= running.grace_ends))
      return given_up(running);
    if (gone_.load() != 0) return fail(running, AGENTD_E_INTERNAL, end_text());
    if (running.gave_up != 0) continue;
    if (const std::uint32_t reason = cancel_of(live); reason != 0)
      give_up(running, reason, CallSlot::kGrace);
    else if (Deadline{deadline_of(live)}.passed(clock_))
      give_up(running, AGENTD_CANCEL_DEADLINE, CallSlot::kGrace);
  }
}

// ---- the plugin's own threads

bool WorkerProcess::on_rings(LaneEnd end, std::uint32_t lanes) {
  if (gone_.load() != 0) return false;
  start_servers(lanes);
  if (end == LaneEnd::kMessage && rang(lanes)) return true;
  broken("in its doorbell");
  return false;
}

bool WorkerProcess::on_look() {
  if (gone_.load() != 0) return false;
  if (!has_too_many_threads()) return true;
  kill("it has more than " + std::to_string(kThreadsMax) + " threads", EndKind::kCrash);
  return false;
}

// /proc/PID/task has a link per thread. Returns false where /proc hides it.
bool WorkerProcess::has_too_many_threads() const {
  struct stat info {};
  const std::string path = "/proc/" + std::to_string(supervisor_.pid(id_)) + "/task";
  return ::stat(path.c_str(), &info) == 0 && info.st_nlink > kThreadsMax + 2;
}

void WorkerProcess::start_servers(std::uint32_t lanes) {
  for (std::uint32_t i = 0; i < AnswerRegion::kServiceLanes; ++i) {
    if ((lanes & (1u << i)) == 0 || servers_[i].joinable()) continue;
    try {
      servers_[i] = Thread([this, i] {
        if (const std::string why = thrown_by([this, i] { serve_lane(i); }); !why.empty())
          kill("its request could not be served: " + why, EndKind::kWanted);
      });
    } catch (const std::exception&) {  // no thread could be made, or no memory for one
      kill("no thread could be made to serve it", EndKind::kWanted);
    }
  }
}

// False if one of the lanes has an earlier ring that was not served yet: a worker rings once per request.
bool WorkerProcess::rang(std::uint32_t lanes) {
  bool once = false;
  {
    const MutexLock lock(mutex_);
    once = (rang_ & lanes) == 0;
    rang_ |= lanes;
  }
  changed_.notify_all();
  return once;
}

void WorkerProcess::serve_lane(std::uint32_t index) {
  Lane lane = region_->service_lane(index, Lane::Side::kHost);
  LaneMessage request;
  std::string body;
  BodyShare share(bodies_);
  for (;;) {
    {
      const MutexLock lock(mutex_);
      while (gone_.load() == 0 && (rang_ & (1u << index)) == 0) changed_.wait(mutex_);
      if (gone_.load() != 0) return;
      rang_ &= ~(1u << index);
    }
    const auto wait = [&] { return wait_until(clock_.monotonic_ns() + to_ns(kServiceTime)); };
    LaneWait for_request = wait();
    for_request.share = &share;
    const LaneEnd end = lane.receive(request, body, for_request);
    if (end == LaneEnd::kGone) return;
    const bool asked = is(request, LaneOp::kService);
    const LaneEnd served = asked && end == LaneEnd::kMessage  ? serve(lane, request, body, share, wait)
                           : asked && end == LaneEnd::kTooBig ? refuse_body(lane, request, wait())
                                                              : LaneEnd::kBroken;
    if (served != LaneEnd::kMessage && served != LaneEnd::kGone) broken("in a request");
  }
}

}  // namespace agentd
