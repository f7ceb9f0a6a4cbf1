// SPDX-License-Identifier: Apache-2.0
#include "providers/scripted/scripted.h"

#include <fcntl.h>

#include <cerrno>
#include <map>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/codec/json.h"
#include "providers/common/errors.h"
#include "providers/scripted/render.h"
#include "providers/scripted/script.h"

namespace agentd {
namespace {

constexpr std::uint64_t kStateBytesMax = 64 * 1024;
// Text reaches the sink in pieces of about a word, as from a real model.
constexpr std::size_t kDeltaBytes = 24;

// The number of played turns of each purpose.
using Positions = std::map<std::string, std::uint64_t, std::less<>>;

Result<Positions> read_positions(const std::string& path) {
  auto text = read_file(path, kStateBytesMax);
  if (!text && text.error().code == Code::kNotFound) return Positions();
  if (!text) return text.error();
  const auto document = JsonDocument::parse(*text);
  if (!document || !document->root().is_object())
    return Error{Code::kCorrupt, path +
                                     ":1:1: the state of the script is broken; delete the file to start "
                                     "the script again"};
  Positions out;
  const JsonView root = document->root();
  for (std::size_t i = 0; i < root.size(); ++i) out[std::string(root.key_at(i))] = root.at(i).uint_or(0);
  return out;
}

Result<void> write_positions(const std::string& path, const Positions& positions) {
  JsonWriter out;
  out.begin_object();
  for (const auto& [purpose, played] : positions) out.member(purpose, played);
  out.end_object();
  return write_file_atomically(path, std::string(out.text()) + "\n", 0600);
}

Result<void> append_line(const std::string& path, std::string line) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error("recording a request in " + path, errno);
  return write_all(fd.get(), line += '\n');
}

class Scripted final : public ModelProvider {
 public:
  Scripted(ScriptedOptions options, Script script, Positions played, const Clock& clock)
      : options_(std::move(options)), script_(std::move(script)), clock_(clock), played_(std::move(played)) {
    for (const ScriptedTurn& turn : script_.turns) turns_[turn.purpose].push_back(&turn);
  }

  std::string_view name() const override { return "scripted"; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override {
    (void)deadline;  // a turn waits only for its delay_ms and pace_ms
    if (cancel.cancelled()) return failed(ModelErrorKind::kCancelled, "the request was cancelled");
    std::uint64_t number = 0;
    auto turn = take(request, number);
    if (!turn) return turn.error();
    if (auto unmet = check((*turn)->expect, request); !unmet.empty())
      return failed(ModelErrorKind::kScript, place(**turn) + unmet);
    return play(**turn, number, sink, cancel);
  }

 private:
  static ModelError failed(ModelErrorKind kind, std::string message) {
    ModelError error;
    error.kind = kind;
    error.message = std::move(message);
    error.retryable = may_pass(kind);
    return error;
  }

  std::string place(const ScriptedTurn& turn) const { return script_.path + ":" + std::to_string(turn.line) + ": "; }

  // Turn `index` of a purpose; null beyond the last one. `count` = the number of turns.
  const ScriptedTurn* find(std::string_view purpose, std::uint64_t index, std::uint64_t& count) const {
    const auto queue = turns_.find(purpose);
    count = queue == turns_.end() ? 0 : queue->second.size();
    if (count == 0 || (index >= count && !script_.repeats)) return nullptr;
    return queue->second[index % count];
  }

  // The next turn of the request's purpose; counts it as played. `number` counts from 1.
  Result<const ScriptedTurn*, ModelError> take(const ModelRequest& request, std::uint64_t& number) {
    const MutexLock lock(mutex_);
    std::uint64_t& played = played_[request.purpose];
    number = played + 1;
    if (!options_.record_path.empty())
      if (auto kept = append_line(options_.record_path, record_request(request, number)); !kept)
        return failed(ModelErrorKind::kScript, kept.error().message);
    std::uint64_t count = 0;
    const ScriptedTurn* const turn = find(request.purpose, played, count);
    if (turn == nullptr)
      return failed(ModelErrorKind::kScript, script_.path + ": the script has no turn left for '" +
                                                 one_line(request.purpose, 40) + "': it has " + std::to_string(count) +
                                                 " and this is request " + std::to_string(number));
    ++played;
    if (!options_.state_path.empty())
      if (auto kept = write_positions(options_.state_path, played_); !kept)
        return failed(ModelErrorKind::kScript, kept.error().message);
    return turn;
  }

  // How the request violates the turn's expectations; empty when it does not.
  static std::string check(const ScriptedExpect& expect, const ModelRequest& request) {
    if (expect.contains.empty() && expect.not_contains.empty()) return {};
    const std::string text = render_request(request);
    for (const std::string& part : expect.contains)
      if (text.find(part) == std::string::npos)
        return "the request does not contain '" + one_line(part, 120) + "', which this turn expects";
    for (const std::string& part : expect.not_contains)
      if (text.find(part) != std::string::npos)
        return "the request contains '" + one_line(part, 120) + "', which this turn forbids";
    return {};
  }

  ModelResult play(const ScriptedTurn& turn, std::uint64_t number, ModelSink& sink, const CancelToken& cancel) {
    if (turn.delay.count() != 0 && !clock_.sleep(turn.delay, cancel))
      return failed(ModelErrorKind::kCancelled, "the request was cancelled");
    ModelResponse response;
    response.message.role = Role::kAssistant;
    response.request_id = "scripted_" + turn.purpose + "_" + std::to_string(number);
    if (!say(turn, response.message, sink, cancel))
      return interrupted(failed(ModelErrorKind::kCancelled, "the request was cancelled"), std::move(response.message));
    if (turn.error) return fail(turn, std::move(response.message));
    call(turn, number, response.message, sink);
    response.stop_reason = turn.stop_reason.value_or(turn.calls.empty() ? StopReason::kEndTurn : StopReason::kToolUse);
    response.usage = turn.usage;
    return response;
  }

  // False: it was cancelled, and the message has what was said before.
  bool say(const ScriptedTurn& turn, Message& message, ModelSink& sink, const CancelToken& cancel) const {
    const auto stream = [&](std::string_view text, Block block, void (ModelSink::*to)(std::string_view)) {
      while (!text.empty()) {
        if (turn.pace.count() != 0 && !clock_.sleep(turn.pace, cancel)) break;
        std::string_view piece = utf8_prefix(text, kDeltaBytes);
        if (piece.empty()) piece = text.substr(0, kDeltaBytes);  // not UTF-8
        (sink.*to)(piece);
        block.text += piece;
        text.remove_prefix(piece.size());
      }
      if (!block.text.empty()) message.blocks.push_back(std::move(block));
      return text.empty();
    };
    Block thinking;
    thinking.kind = BlockKind::kThinking;
    thinking.opaque = turn.signature;
    return stream(turn.thinking, std::move(thinking), &ModelSink::on_thinking) &&
           stream(turn.text, Block::of_text(""), &ModelSink::on_text);
  }

  static void call(const ScriptedTurn& turn, std::uint64_t number, Message& message, ModelSink& sink) {
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      const ScriptedCall& one = turn.calls[i];
      const std::string made = "call_" + (turn.purpose == "turn" ? "" : turn.purpose + "_") + std::to_string(number) +
                               "_" + std::to_string(i + 1);
      message.blocks.push_back(Block::tool_use(one.id.empty() ? made : one.id, one.name, one.input_json));
      sink.on_tool_call(message.blocks.back().call_id, one.name);
    }
  }

  ModelError fail(const ScriptedTurn& turn, Message partial) const {
    const std::string_view advice = advice_for(turn.error->kind);
    std::string said =
        turn.error->message.empty() ? "scripted error: " + std::string(name_of(turn.error->kind)) : turn.error->message;
    if (turn.error->message.empty() && !advice.empty()) said += "; " + std::string(advice);
    ModelError error = failed(turn.error->kind, std::move(said));
    error.http_status = turn.error->status;
    return interrupted(std::move(error), std::move(partial));
  }

  static ModelError interrupted(ModelError error, Message partial) {
    error.partial = std::move(partial);
    error.partial.flags = AGENTD_MESSAGE_INTERRUPTED;
    return error;
  }

  const ScriptedOptions options_;
  const Script script_;
  const Clock& clock_;
  Mutex mutex_;
  Positions played_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<const ScriptedTurn*>, std::less<>> turns_;  // of each purpose, in order
};

}  // namespace

Result<std::unique_ptr<ModelProvider>> make_scripted_provider(ScriptedOptions options, const Clock& clock) {
  AGENTD_TRY(Script script, load_script(options.script_path));
  Positions played;
  if (!options.state_path.empty()) {
    AGENTD_TRY(played, read_positions(options.state_path));
  }
  if (played.empty() && options.start_turn != 0) played["turn"] = options.start_turn;
  return std::unique_ptr<ModelProvider>(
      std::make_unique<Scripted>(std::move(options), std::move(script), std::move(played), clock));
}

}  // namespace agentd
