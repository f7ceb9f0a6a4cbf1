// SPDX-License-Identifier: Apache-2.0
// hostile_worker.cc - a program in the place of agentd-hook-worker that does not keep to the rules:
// which one it breaks is the name of the hook, the first argument.
#include <agentd/hook_abi.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/isolation/flat.h"
#include "core/isolation/lane.h"
#include "core/isolation/message_shapes.h"

namespace agentd {
namespace {

agentd_str text(std::string_view from) { return {from.data(), from.size()}; }

// What it says of itself is too much in the way that the rule names.
std::string booted(std::string_view rule) {
  std::vector<RowInfo> rows(rule == "boots_with_many_rows" ? 1025 : 1, {AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, 0});
  if (rule == "boots_with_no_event") rows[0].event = 64;
  const std::vector<agentd_str> notes(rule == "boots_with_many_notes" ? 1025 : 0, text("note"));
  const std::string id(257, 'i');
  BootReply reply;
  reply.concurrency = rule == "boots_with_no_concurrency" ? AGENTD_CONCURRENT + 1 : 0;
  reply.id = text(rule == "boots_with_a_long_id" ? std::string_view(id) : "test.moods");
  reply.version = text(rule == "boots_with_two_lines" ? "1.2.3\nand more" : "1.2.3");
  reply.rows = {rows.data(), static_cast<std::uint32_t>(rows.size()), sizeof rows[0]};
  reply.notes = {notes.data(), static_cast<std::uint32_t>(notes.size()), sizeof(agentd_str)};
  std::string body;
  (void)flatten(boot_reply_shape(), &reply, body);
  return body;
}

LaneMessage message_of(LaneOp op, agentd_status status = AGENTD_OK) {
  LaneMessage out;
  out.op = static_cast<std::uint32_t>(op);
  out.status = status;
  return out;
}

class Hostile {
 public:
  explicit Hostile(std::string_view rule)
      : rule_(rule), region_(std::move(*AnswerRegion::open(UniqueFd(kWorkerAnswerFd)))) {}

  void run() {
    Lane lane = region_->call_lane(0, Lane::Side::kWorker);
    LaneMessage message;
    std::string body;
    if (rule_ == "dies_early") ::_exit(3);
    (void)lane.receive(message, body, {});
    if (rule_ == "silent")
      for (;;) ::pause();
    if (rule_ == "base_taken_slowly") ::usleep(1'500'000);
    if (rule_.starts_with("base_taken"))
      return tell(lane, message_of(LaneOp::kDone, AGENTD_E_CONFLICT), "its base is taken");
    if (rule_ == "stalls_at_start") stall(lane, LaneOp::kBooted);
    if (rule_ == "garbage_boot") return tell(lane, message_of(LaneOp::kBooted), std::string(1000, '\x7f'));
    tell(lane, message_of(LaneOp::kBooted), booted(rule_));
    for (;;) {
      if (lane.receive(message, body, {}) != LaneEnd::kMessage) return;
      answer(lane, message);
    }
  }

 private:
  void tell(Lane& lane, const LaneMessage& message, std::string_view body) { (void)lane.send(message, body, {}); }

  void answer(Lane& lane, const LaneMessage& call) {
    if (call.event != AGENTD_EVENT_BEFORE_TOOL_CALL) return tell(lane, message_of(LaneOp::kDone), {});
    if (rule_ == "unknown_op") return tell(lane, message_of(static_cast<LaneOp>(99)), "whatever");
    if (rule_ == "garbage_service") return (void)ask(lane, call.token, std::string(400, '\x55'));
    if (rule_ == "unknown_service") return (void)ask(lane, call.token, std::string(sizeof(ServiceArgs), '\x01'));
    if (rule_ == "scribbles") return scribble(lane);
    if (rule_ == "rings_for_no_lane") ring_for_no_lane(lane);
    if (rule_ == "rings_as_if_it_had_ended") ring_for_no_lane(lane, 1u << 31);
    if (rule_ == "rings_without_end")
      for (;;) region_->ring(0);
    if (rule_ == "floods")
      for (;;) ask_for_nothing(lane, call);
    if (rule_ == "stalls") stall(lane, LaneOp::kService);
    if (rule_ == "forges") return forge(lane, call);
    if (rule_ == "hoards") return hoard(lane, call);
    if (rule_ == "asks_for_more") return ask_for_more(lane, call);
    tell(lane, message_of(LaneOp::kDone), {});
  }

  // The status of a request, or 1 when the host did not answer.
  agentd_status ask(Lane& lane, agentd_token token, const std::string& body) {
    LaneMessage message = message_of(LaneOp::kService);
    message.token = token;
    tell(lane, message, body);
    std::string reply;
    if (lane.receive(message, reply, {}) != LaneEnd::kMessage) return 1;
    return message.status;
  }

  agentd_status emit_block(Lane& lane, agentd_token token, std::string_view why) {
    return emit_text(lane, token, AGENTD_ACT_BLOCK, why);
  }

  agentd_status emit_text(Lane& lane, agentd_token token, std::uint16_t kind, std::string_view why) {
    agentd_act_text action{};
    action.h = {sizeof action, kind, 0};
    action.text = text(why);
    ServiceArgs args;
    args.op = static_cast<std::uint32_t>(ServiceOp::kEmit);
    args.number[0] = kind;
    args.record[0] = &action;
    std::string body;
    (void)flatten(*args_shape(args.op, kind), &args, body);
    return ask(lane, token, body);
  }

  // Tokens near its own, which belong to calls of others.
  void forge(Lane& lane, const LaneMessage& call) {
    int taken = 0;
    const agentd_token generation = call.token >> 24;
    for (agentd_token index = 0; index < 16; ++index)
      for (agentd_token other = generation < 8 ? 0 : generation - 8; other < generation + 8; ++other) {
        const agentd_token token = other << 24 | index;
        if (token != call.token && emit_block(lane, token, "forged") != AGENTD_E_NOT_FOUND) ++taken;
      }
    emit_block(lane, call.token, std::to_string(taken) + " forged tokens were taken");
    tell(lane, message_of(LaneOp::kDone), {});
  }

  // A service that was not granted.
  agentd_status ask_for_nothing(Lane& lane, const LaneMessage& call) {
    ServiceArgs args;
    args.op = static_cast<std::uint32_t>(ServiceOp::kThreadOpen);
    std::string body;
    (void)flatten(*args_shape(args.op, 0), &args, body);
    return ask(lane, call.token, body);
  }

  void ask_for_more(Lane& lane, const LaneMessage& call) {
    emit_block(lane, call.token, std::to_string(ask_for_nothing(lane, call)));
    tell(lane, message_of(LaneOp::kDone), {});
  }

  char* memory_of(Lane& lane) {
    char* memory = nullptr;
    static_assert(sizeof(Lane) >= sizeof memory);
    std::memcpy(&memory, &lane, sizeof memory);
    return memory;
  }

  // The word of the doorbell lies in the page before the first lane.
  [[noreturn]] void ring_for_no_lane(Lane& lane, std::uint32_t junk = 0xf0) {
    char* const word = memory_of(lane) - 4096 + 64;
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).fetch_or(junk);
    region_->ring(0);
    for (;;) ::pause();
  }

  // Announces four pieces, hands over the first, and leaves it at that.
  [[noreturn]] void stall(Lane& lane, LaneOp op) {
    begin(lane, op, 4 * Lane::kPieceBytes);
    for (;;) ::pause();
  }

  // The first piece of a body of that many bytes.
  void begin(Lane& lane, LaneOp op, std::uint64_t whole) {
    char* const memory = memory_of(lane);
    const LaneMessage message = message_of(op);
    const std::uint64_t piece = Lane::kPieceBytes;
    std::memcpy(memory + 64, &message, sizeof message);
    std::memcpy(memory + 64 + sizeof message, &whole, sizeof whole);
    std::memcpy(memory + 72 + sizeof message, &piece, sizeof piece);
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(memory)).fetch_add(1);
    ::syscall(SYS_futex, memory, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  // Two bodies of 60 MiB that it never sends to their end, and then one of 20 MiB, and a small one.
  void hoard(Lane& lane, const LaneMessage& call) {
    const std::string much(20u << 20, 'x');
    const agentd_status before = emit_text(lane, call.token, AGENTD_ACT_SYSTEM_MESSAGE, much);
    for (const std::uint32_t index : {0u, 1u}) {
      Lane other = region_->service_lane(index, Lane::Side::kWorker);
      LaneMessage more;
      std::string none;
      begin(other, LaneOp::kService, 60u << 20);
      region_->ring(index);
      (void)other.receive(more, none, {});  // "go on": the host has room for it
    }
    const agentd_status beside = emit_text(lane, call.token, AGENTD_ACT_SYSTEM_MESSAGE, much);
    emit_text(lane, call.token, AGENTD_ACT_BLOCK, std::to_string(before) + " " + std::to_string(beside));
    tell(lane, message_of(LaneOp::kDone), {});
  }

  // Another thread writes over the lane while this one talks.
  [[noreturn]] void scribble(Lane& lane) {
    char* const memory = memory_of(lane);
    std::thread([memory] {
      unsigned seed = static_cast<unsigned>(::getpid());
      for (;;) {
        seed = seed * 1664525u + 1013904223u;
        const std::size_t at = 64 + (seed >> 8) % 4000;  // past the words whose turn it is
        reinterpret_cast<volatile char*>(memory)[at] = static_cast<char>(seed >> 24);
      }
    }).detach();
    for (;;) emit_block(lane, 0, std::string(500, 'x'));
  }

  const std::string rule_;
  std::unique_ptr<AnswerRegion> region_;
};

}  // namespace
}  // namespace agentd

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  agentd::Hostile(argv[1]).run();
  for (;;) ::pause();
}
