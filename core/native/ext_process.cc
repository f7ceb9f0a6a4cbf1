// SPDX-License-Identifier: Apache-2.0
// ext_process.cc - agentd.process/1 over the commands of the calling session.
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/bridge/record.h"
#include "core/native/ext_ask.h"

namespace agentd {
namespace {

constexpr std::uint32_t kArgumentsMax = 4096;
constexpr std::uint64_t kOutputDefault = 1u << 20;
constexpr std::uint64_t kOutputDefaultStarted = 64u << 10;
constexpr std::uint64_t kOutputMax = 64u << 20;
constexpr std::uint64_t kPieceDefault = 64u << 10;
constexpr std::uint64_t kPieceMax = 1u << 20;
constexpr Milliseconds kCommandTime{120'000};
constexpr Milliseconds kWriteTime{30'000};             // of a call without a deadline
constexpr std::size_t kProcessOptionsFirstBytes = 64;  // of release 1.0

static_assert(AGENTD_PROCESS_UNREAD == ProcessHost::kUnread);

// ---- requests

Result<std::vector<std::string>> texts_of(const agentd_list& list, const std::string& what) {
  std::vector<std::string> out;
  if (list.count == 0) return out;
  if (list.first == nullptr || list.count > kArgumentsMax || list.stride < sizeof(agentd_str) ||
      list.stride > kRecordBytesMax)
    return Error{Code::kInvalid, what + " is not a list of texts"};
  const auto* at = static_cast<const char*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i, at += list.stride) {
    agentd_str text{};
    std::memcpy(&text, at, sizeof(text));
    if (!is_text(text)) return Error{Code::kInvalid, what + " has a text whose pointer is null"};
    out.emplace_back(view_of(text));
  }
  return out;
}

// "process.run" or "process.start" is for messages.
Result<CommandRequest> request_of(const agentd_process_options& options, const Ask& ask, const SessionCommands& own,
                                  const std::string& function, std::uint64_t kept) {
  CommandRequest out;
  out.cage = ask.files().cage();
  ProcessRequest& process = out.process;
  AGENTD_TRY(process.argv, texts_of(options.argv, "argv of " + function));
  if (process.argv.empty())
    return Error{Code::kInvalid, function + " needs a list of arguments that begins with the program"};
  AGENTD_TRY(process.additions, texts_of(options.environment, "environment of " + function));
  if (!is_text(options.cwd) || !is_text(options.input) || !is_text(options.description))
    return Error{Code::kInvalid, function + " got a text whose pointer is null"};
  process.cwd = ask.absolute(view_of(options.cwd));
  process.input = std::string(view_of(options.input));
  process.output_bytes_max = options.output_bytes_max == 0 ? kept : std::min(options.output_bytes_max, kOutputMax);
  process.spill.directory = own.spill_directory;
  out.description = std::string(view_of(options.description));
  return out;
}

Result<TerminalSize> size_of(std::uint32_t rows, std::uint32_t columns) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (rows == 0 || columns == 0 || rows > kMost || columns > kMost)
    return Error{Code::kInvalid, "a terminal has 1 to 65535 rows and columns"};
  return TerminalSize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
}

Result<CommandRequest> start_request_of(const agentd_process_options& options, const Ask& ask,
                                        const SessionCommands& own) {
  AGENTD_TRY(CommandRequest out, request_of(options, ask, own, "process.start", kOutputDefaultStarted));
  if ((options.flags & ~(AGENTD_PROCESS_TAKES_INPUT | AGENTD_PROCESS_TERMINAL)) != 0)
    return Error{Code::kInvalid, "process.start got a flag that this version does not know"};
  out.time = Milliseconds(options.timeout_ms);
  out.output_bytes_limit = options.output_bytes_limit;
  out.takes_input = (options.flags & AGENTD_PROCESS_TAKES_INPUT) != 0;
  if ((options.flags & AGENTD_PROCESS_TERMINAL) == 0) return out;
  const TerminalSize usual;
  AGENTD_TRY(out.terminal, size_of(options.rows == 0 ? usual.rows : options.rows,
                                   options.columns == 0 ? usual.columns : options.columns));
  return out;
}

Deadline earlier(Deadline one, const Ask& ask) {
  return {std::min(one.at_ns, std::atomic_ref(ask.slot().live().deadline_ns).load())};
}

Deadline deadline_of(const agentd_process_options& options, const Ask& ask) {
  const Milliseconds time = options.timeout_ms == 0 ? kCommandTime : Milliseconds(options.timeout_ms);
  return earlier(Deadline::after(ask.clock(), time), ask);
}

Deadline deadline_of(std::uint32_t wait_ms, const Ask& ask) {
  return earlier(Deadline::after(ask.clock(), Milliseconds(wait_ms)), ask);
}

// ---- answers

std::uint32_t flags_of(const ProcessResult& result) {
  return (result.timed_out ? AGENTD_PROCESS_TIMED_OUT : 0) | (result.cancelled ? AGENTD_PROCESS_CANCELLED : 0) |
         (result.truncated ? AGENTD_PROCESS_TRUNCATED : 0);
}

std::uint32_t flags_of(const CommandState& state) {
  return (state.takes_input ? AGENTD_PROCESS_TAKES_INPUT : 0) | (state.has_terminal ? AGENTD_PROCESS_TERMINAL : 0) |
         (state.spill_full ? AGENTD_PROCESS_SPILL_FULL : 0);
}

std::uint32_t reason_of(EndReason reason) {
  switch (reason) {
    case EndReason::kNone:
      return 0;
    case EndReason::kExited:
      return AGENTD_PROCESS_REASON_EXITED;
    case EndReason::kSignalled:
      return AGENTD_PROCESS_REASON_SIGNALLED;
    case EndReason::kTimedOut:
      return AGENTD_PROCESS_REASON_TIMED_OUT;
    case EndReason::kCancelled:
      return AGENTD_PROCESS_REASON_CANCELLED;
    case EndReason::kEnded:
      return AGENTD_PROCESS_REASON_ENDED;
    case EndReason::kSessionEnded:
      return AGENTD_PROCESS_REASON_SESSION_ENDED;
    case EndReason::kOutputLimit:
      return AGENTD_PROCESS_REASON_OUTPUT_LIMIT;
  }
  return 0;
}

std::uint32_t phase_of(CommandState::Phase phase) {
  switch (phase) {
    case CommandState::Phase::kRunning:
      return AGENTD_PROCESS_STATE_RUNNING;
    case CommandState::Phase::kEnding:
      return AGENTD_PROCESS_STATE_ENDING;
    case CommandState::Phase::kEnded:
      return AGENTD_PROCESS_STATE_ENDED;
  }
  return 0;
}

std::uint64_t ns_of(Milliseconds time) { return static_cast<std::uint64_t>(time.count()) * 1'000'000u; }

void put(const CommandState& from, const Ask& ask, agentd_process_state& to) {
  to = {sizeof(agentd_process_state),
        flags_of(from),
        from.handle,
        phase_of(from.phase),
        reason_of(from.reason),
        from.exit_code,
        from.signal,
        from.output_bytes,
        from.spill_bytes,
        ns_of(from.duration),
        ask.copy(from.command),
        ask.copy(from.description),
        ask.copy(from.spill_path)};
}

// Null: the token has ended, or memory is short.
const agentd_process_state* state_for(const CommandState& from, const Ask& ask) {
  auto* const made = ask.make<agentd_process_state>();
  if (made != nullptr) put(from, ask, *made);
  return made;
}

agentd_status give(const Result<CommandState>& state, const Ask& ask, const agentd_process_state** out) {
  if (!state) return ask.fail(state.error());
  *out = state_for(*state, ask);
  return *out == nullptr ? AGENTD_E_NOT_FOUND : AGENTD_OK;
}

ExtShared& shared_of_process(const agentd_process* table) {
  return *reinterpret_cast<const ExtProcessTable*>(table)->shared;
}

// ---- the functions

agentd_status AGENTD_CALL process_run(const agentd_process* table, agentd_token token,
                                      const agentd_process_options* options,
                                      const agentd_process_result** out) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (options == nullptr || out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::run>);
  auto known = normalise<agentd_process_options>(options, kProcessOptionsFirstBytes, "the options of process.run");
  if (!known) return ask.fail(known.error());
  const SessionCommands own = ask.commands();
  auto request = request_of(*known, ask, own, "process.run", kOutputDefault);
  if (!request) return ask.fail(request.error());
  auto result = own.host->run(std::move(*request), ask.slot().service_cancel(), deadline_of(*known, ask));
  if (!result) return ask.fail(result.error());
  auto* const made = ask.make<agentd_process_result>();
  if (made == nullptr) return AGENTD_E_NOT_FOUND;
  *made = {sizeof(agentd_process_result),
           flags_of(*result),
           result->exit_code,
           result->signal,
           ask.copy(result->output),
           result->output_bytes,
           ns_of(result->duration),
           reason_of(result->reason),
           0,
           ask.copy(result->spill_path),
           result->spill_bytes};
  *out = made;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL process_start(const agentd_process* table, agentd_token token,
                                        const agentd_process_options* options, uint64_t* handle) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (options == nullptr || handle == nullptr) return ask.incomplete(service_facts_of<&agentd_process::start>);
  auto known = normalise<agentd_process_options>(options, kProcessOptionsFirstBytes, "the options of process.start");
  if (!known) return ask.fail(known.error());
  const SessionCommands own = ask.commands();
  auto request = start_request_of(*known, ask, own);
  if (!request) return ask.fail(request.error());
  auto started = own.host->start(std::move(*request));
  if (!started) return ask.fail(started.error());
  *handle = *started;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL process_read(const agentd_process* table, agentd_token token, uint64_t handle,
                                       uint64_t position, uint64_t limit, uint32_t wait_ms,
                                       const agentd_process_piece** out) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::read>);
  const std::uint64_t most = limit == 0 ? kPieceDefault : std::min(limit, kPieceMax);
  auto piece = ask.commands().host->read(handle, position, static_cast<std::size_t>(most), ask.slot().service_cancel(),
                                         deadline_of(wait_ms, ask));
  if (!piece) return ask.fail(piece.error());
  auto* const made = ask.make<agentd_process_piece>();
  const agentd_process_state* const state = state_for(piece->state, ask);
  if (made == nullptr || state == nullptr) return AGENTD_E_NOT_FOUND;
  *made = {sizeof(agentd_process_piece), 0, piece->first, piece->next, ask.copy(piece->bytes), state};
  *out = made;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL process_write(const agentd_process* table, agentd_token token, uint64_t handle,
                                        agentd_str bytes, uint32_t close) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (!is_text(bytes)) return ask.incomplete(service_facts_of<&agentd_process::write>);
  const Deadline deadline = earlier(Deadline::after(ask.clock(), kWriteTime), ask);
  auto wrote = ask.commands().host->write(handle, view_of(bytes), close != 0, ask.slot().service_cancel(), deadline);
  return wrote ? AGENTD_OK : ask.fail(wrote.error());
}

agentd_status AGENTD_CALL process_signal(const agentd_process* table, agentd_token token, uint64_t handle,
                                         uint32_t number) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  constexpr std::uint32_t kMost = 1'000;  // the host checks it
  auto sent = ask.commands().host->signal(handle, static_cast<int>(std::min(number, kMost)));
  return sent ? AGENTD_OK : ask.fail(sent.error());
}

agentd_status AGENTD_CALL process_wait(const agentd_process* table, agentd_token token, uint64_t handle,
                                       uint32_t wait_ms, const agentd_process_state** out) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::wait>);
  return give(ask.commands().host->wait(handle, ask.slot().service_cancel(), deadline_of(wait_ms, ask)), ask, out);
}

agentd_status AGENTD_CALL process_list(const agentd_process* table, agentd_token token, agentd_list* out) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::list>);
  const std::vector<CommandState> all = ask.commands().host->list();
  auto* const rows = ask.make<agentd_process_state>(all.size());
  if (rows == nullptr) return AGENTD_E_NOT_FOUND;
  for (std::size_t i = 0; i < all.size(); ++i) put(all[i], ask, rows[i]);
  *out = {rows, static_cast<std::uint32_t>(all.size()), sizeof(agentd_process_state)};
  return AGENTD_OK;
}

agentd_status AGENTD_CALL process_resize(const agentd_process* table, agentd_token token, uint64_t handle,
                                         uint32_t rows, uint32_t columns) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  const auto size = size_of(rows, columns);
  auto resized = size ? ask.commands().host->resize(handle, *size) : Result<void>(size.error());
  return resized ? AGENTD_OK : ask.fail(resized.error());
}

agentd_status AGENTD_CALL process_end(const agentd_process* table, agentd_token token, uint64_t handle,
                                      const agentd_process_state** out) noexcept {
  const Ask ask(shared_of_process(table), token);
  if (const agentd_status refused = ask.refusal(); refused != AGENTD_OK) return refused;
  if (out == nullptr) return ask.incomplete(service_facts_of<&agentd_process::end>);
  return give(ask.commands().host->end(handle), ask, out);
}

}  // namespace

agentd_process process_functions() {
  return {sizeof(agentd_process),
          0,
          process_run,
          process_start,
          process_read,
          process_write,
          process_signal,
          process_wait,
          process_list,
          process_resize,
          process_end};
}

}  // namespace agentd
