// SPDX-License-Identifier: Apache-2.0
#include "core/worker/plugin_runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"
#include "core/isolation/window.h"
#include "core/worker/process_setup.h"
#include "core/worker/table_state.h"

namespace agentd::worker {
namespace {

// A parent that ended before it was watched would leave a worker without a host.
constexpr Milliseconds kBootTime{60'000};
// For the plugin's tasks to notice their cancel; the host's limit for destroy() is longer.
constexpr Milliseconds kTasksGrace{2'000};

// A plugin's function may leave the floating-point modes changed.
class FloatingPointGuard {
 public:
#if defined(__SSE__)
  FloatingPointGuard() : saved_(_mm_getcsr()) {}
  ~FloatingPointGuard() { _mm_setcsr(saved_); }

 private:
  const unsigned saved_;
#endif
};

// The types of the ABI promise noexcept, but this is not relied on: functions are called as if they may throw, and an
// exception ends the process. It is caught for that, since the terminate handler would be that of the plugin's own C++
// library.
template <typename Fn, typename... Arguments>
agentd_status call_plugin(Fn fn, Arguments... arguments) noexcept {
  const FloatingPointGuard guard;
  try {
    return fn(arguments...);
  } catch (const std::exception& error) {
    end_by_exception(error.what());
  } catch (...) {
    end_by_exception("of an unknown type");
  }
}

using Function = agentd_status(AGENTD_CALL*)(void*, const agentd_call*);
using Create = agentd_status(AGENTD_CALL*)(const agentd_call*, void**);

template <typename T>
const T* at_address(std::uint64_t address) {
  return reinterpret_cast<const T*>(address);
}

void tell(Lane& lane, LaneOp op, agentd_status status, std::string_view body) {
  LaneMessage message;
  message.op = static_cast<std::uint32_t>(op);
  message.status = status;
  if (lane.send(message, body, {}) != LaneEnd::kMessage) give_up("the host does not accept an answer");
}

LaneMessage next_message(Lane& lane, LaneOp wanted, std::string& body, const LaneWait& wait) {
  LaneMessage message;
  const LaneEnd end = lane.receive(message, body, wait);
  if (end == LaneEnd::kTimeout) give_up("no host has requested a hook");
  if (end != LaneEnd::kMessage || message.op != static_cast<std::uint32_t>(wanted))
    give_up("the host sent a malformed message");
  return message;
}

}  // namespace

bool PluginRunner::boot(Lane lane) {
  const SystemClock clock;
  LaneWait wait;
  wait.until_ns = Deadline::after(clock, kBootTime).at_ns;
  std::string body;
  (void)next_message(lane, LaneOp::kBoot, body, wait);
  FlatBytes bytes(body);
  auto args = relocate(boot_args_shape(), {bytes.data(), bytes.size()});
  std::optional<Refusal> refusal;
  if (!args || static_cast<const BootArgs*>(*args)->protocol != kWorkerProtocol)
    refusal = {
        AGENTD_E_INTERNAL,
        "cannot be run in a worker: agentd and agentd-hook-worker are from different builds; install both again"};
  else
    refusal = load(*static_cast<const BootArgs*>(*args));
  if (refusal)
    tell(lane, LaneOp::kDone, refusal->status, refusal->sentence);
  else
    tell(lane, LaneOp::kBooted, AGENTD_OK, booted());
  return !refusal;
}

std::optional<PluginRunner::Refusal> PluginRunner::load(const BootArgs& args) {
  auto mapped = open_payload_window(kWorkerWindowFd, args.window_base);
  ::close(kWorkerWindowFd);
  if (!mapped) return Refusal{AGENTD_E_CONFLICT, "cannot be run in a worker: " + mapped.error().message};
  auto confined = confine_process(args, ground_);
  if (!confined) return Refusal{AGENTD_E_NOMEM, "cannot be run in a worker: " + confined.error().message};
  sandbox_ = std::move(*confined);
  tables_.emplace(args, line_, calls_, tasks_);
  auto entry = open_module(UniqueFd(kWorkerModuleFd), "/proc/self/fd/" + std::to_string(kWorkerModuleFd));
  if (!entry) return Refusal{AGENTD_E_ARG, entry.error().message};
  const std::uint32_t flags = args.scan_only != 0 ? AGENTD_NEGOTIATE_SCAN_ONLY : 0;
  auto record = read_plugin(*entry, flags | AGENTD_NEGOTIATE_WORKER);
  if (!record) return Refusal{AGENTD_E_ARG, record.error().message};
  record_ = std::move(*record);
  return std::nullopt;
}

std::string PluginRunner::booted() const {
  std::vector<RowInfo> rows;
  for (const agentd_hook& row : record_.rows) rows.push_back({row.event, row.flags, row.priority, row.wants});
  std::vector<agentd_str> notes;
  for (const std::string& note : record_.notes) notes.push_back(to_abi_text(note));
  BootReply reply;
  reply.concurrency = record_.plugin.concurrency;
  reply.functions = (record_.plugin.destroy != nullptr ? kBootedDestroy : 0) |
                    (record_.plugin.save_state != nullptr ? kBootedSaveState : 0) |
                    (record_.plugin.load_state != nullptr ? kBootedLoadState : 0);
  reply.id = to_abi_text(record_.id);
  reply.version = to_abi_text(record_.version);
  reply.rows = {rows.data(), static_cast<std::uint32_t>(rows.size()), sizeof(RowInfo)};
  reply.notes = {notes.data(), static_cast<std::uint32_t>(notes.size()), sizeof(agentd_str)};
  reply.sandbox = to_abi_text(sandbox_);
  std::string body;
  if (!flatten(boot_reply_shape(), &reply, body)) give_up("the hook's record is too large");
  return body;
}

void PluginRunner::serve(Lane lane) {
  std::string body;
  for (;;) {
    const LaneMessage message = next_message(lane, LaneOp::kCall, body, {});
    tell(lane, LaneOp::kDone, handle(lane, message), {});
  }
}

agentd_status PluginRunner::handle(Lane& lane, const LaneMessage& message) {
  const agentd_call call{sizeof(agentd_call),
                         message.event,
                         message.token,
                         message.conversation,
                         at_address<agentd_live>(message.live),
                         tables_->core(),
                         tables_->services(),
                         at_address<agentd_envelope>(message.envelope),
                         at_address<void>(message.payload)};
  const OpenCallPtr memory = calls_.open(message.token, false);
  const HostLine::InCall inside(lane, message.token);
  const bool is_control = message.event >= AGENTD_EVENT_CREATE && message.event <= AGENTD_EVENT_LOAD_STATE;
  const agentd_status status =
      is_control                                   ? control(call)
      : message.event == AGENTD_EVENT_TOOL_INVOKE  ? invoke(call, *memory, &agentd_tool_call::tool)
      : message.event == AGENTD_EVENT_SERVICE_CALL ? invoke(call, *memory, &agentd_service_call::tag)
                                                   : run_hook(message.row, call);
  // Before the host is told: complete() may come from another thread at any time.
  calls_.returned(message.token, status == AGENTD_PENDING);
  return status;
}

agentd_status PluginRunner::control(const agentd_call& call) {
  if (call.event == AGENTD_EVENT_CREATE) return create(call);
  if (call.event == AGENTD_EVENT_DESTROY) return destroy(call);
  const agentd_fn fn = call.event == AGENTD_EVENT_SAVE_STATE ? record_.plugin.save_state : record_.plugin.load_state;
  return fn == nullptr ? AGENTD_E_UNSUPPORTED : call_plugin<Function>(fn, self_.load(), &call);
}

agentd_status PluginRunner::create(const agentd_call& call) {
  void* self = nullptr;
  const agentd_status status = call_plugin<Create>(record_.plugin.create, &call, &self);
  self_.store(self);
  return status;
}

agentd_status PluginRunner::destroy(const agentd_call& call) {
  for (const std::string& name : tasks_.stop_all(SystemClock(), kTasksGrace)) {
    const std::string text = "the task " + name + " did not end when it was cancelled";
    call.core->log(call.core, call.token, AGENTD_LEVEL_WARNING, to_abi_text(text));
  }
  return record_.plugin.destroy == nullptr ? AGENTD_OK
                                           : call_plugin<Function>(record_.plugin.destroy, self_.load(), &call);
}

// The window is read-only: the plugin's own tag goes into a copy that lives as long as the call.
template <typename Record>
agentd_status PluginRunner::invoke(agentd_call call, OpenCall& memory, std::uint64_t Record::*tag) {
  const auto* const from = static_cast<const Record*>(call.payload);
  const std::optional<Tables::Function> function = tables_->function(from->*tag);
  if (!function) return AGENTD_E_NOT_FOUND;
  void* const place = memory.allocate(sizeof *from, alignof(Record));
  if (place == nullptr) return AGENTD_E_NOMEM;
  auto* const payload = static_cast<Record*>(std::memcpy(place, from, sizeof *from));
  payload->*tag = function->tag;
  call.payload = payload;
  return call_plugin<Function>(function->fn, self_.load(), &call);
}

agentd_status PluginRunner::run_hook(std::uint32_t row, const agentd_call& call) {
  if (row >= record_.rows.size()) return AGENTD_E_NOT_FOUND;
  return call_plugin<Function>(record_.rows[row].fn, self_.load(), &call);
}

}  // namespace agentd::worker
