// SPDX-License-Identifier: Apache-2.0
// Files of conversations: agentd's own, and those of other agents. What is read is brought into a store, and a log that
// was brought is exported with the same bytes.
#include <string>

#include "core/base/clock.h"
#include "core/transfer/bring.h"
#include "core/transfer/transcript_file.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;

const SystemClock& the_clock() {
  static const SystemClock clock;
  return clock;
}

std::string exported(const Store& store, const Ulid& id, const LogFileHead& like) {
  auto file = LogExport::begin(store, id, like.agentd, like.exported_ms);
  fuzz::require(file.has_value(), "what was brought can be exported");
  std::string out;
  for (;;) {
    const auto piece = (*file)->next();
    fuzz::require(piece.has_value(), "to its end");
    if (piece->empty()) return out;
    out += *piece;
  }
}

void read_own(std::string_view bytes) {
  auto file = read_log_file(bytes);
  if (!file) {
    fuzz::require(file.error().code == Code::kInvalid, "a file is refused as invalid");
    fuzz::require(file.error().message.find('\n') == std::string::npos, "in one line");
    return;
  }
  ++fuzz::got_through;
  IdSource ids(the_clock());
  const auto store = make_memory_store(the_clock());
  const LogFileHead head = file->head;
  const auto brought = bring_log(*store, ids, the_clock(), std::move(*file));
  fuzz::require(brought.has_value(), "what was read can be brought");
  if (brought->what != Brought::What::kNew) return;
  fuzz::require(exported(*store, *Ulid::parse(brought->info.id), head) == bytes, "and its file has the same bytes");
}

void read_other(FileForm form, std::string_view bytes) {
  const auto transcript = read_transcript(form, bytes);
  if (!transcript) return;
  ++fuzz::got_through;
  IdSource ids(the_clock());
  const auto store = make_memory_store(the_clock());
  const auto brought = bring_transcript(*store, ids, the_clock(), *transcript, {"p", "/w"}, sha256(bytes));
  fuzz::require(brought.has_value(), "a transcript that was read can be brought");
  const Ulid id = *Ulid::parse(brought->info.id);
  const auto again = read_log_file(exported(*store, id, {id.text(), "1", 1, 0, {}}));
  fuzz::require(again.has_value(), "and leaves as a file that can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::view(data, size);
  read_own(bytes);
  read_other(FileForm::kClaude, bytes);
  read_other(FileForm::kCodex, bytes);
  return 0;
}
