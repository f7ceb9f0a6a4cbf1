// SPDX-License-Identifier: Apache-2.0
#pragma once
// conversations.h - conversations of tests of files, and their exports.
//
// Threading: for tests, thread-compatible.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/store/store.h"
#include "core/transfer/bring.h"
#include "core/transfer/log_file.h"

namespace agentd::testing {

inline Record message_of(Role role, std::vector<Block> blocks) {
  MessageRecord record;
  record.message.role = role;
  record.message.blocks = std::move(blocks);
  if (role == Role::kUser) record.source = "user";
  return write_message(record);
}
inline Record user(const std::string& text) { return message_of(Role::kUser, {Block::of_text(text)}); }
inline Record answer(const std::string& text) { return message_of(Role::kAssistant, {Block::of_text(text)}); }

class Conversations {
 public:
  const Clock& clock() const { return clock_; }
  IdSource& ids() { return ids_; }
  static std::unique_ptr<Store> store() {
    static const SystemClock clock;
    return make_memory_store(clock);
  }

  // A new conversation with a genesis.
  Ulid begin(Store& store) {
    const Ulid id = ids_.next();
    GenesisRecord genesis;
    genesis.conversation_id = id.text();
    genesis.project_id = "p";
    genesis.cwd = "/w";
    append(store, id, {write_genesis(genesis)});
    return id;
  }
  static void append(Store& store, const Ulid& id, const std::vector<Record>& records,
                     const std::vector<std::string>& blobs = {}) {
    const auto info = store.info(id);
    const auto done = store.append(id, info ? info->revision : 0, records, blobs);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
  }
  static void erase(Store& store, const Ulid& id, std::uint64_t seq, const Record& now) {
    EraseRequest request;
    request.records = {{seq, now.payload}};
    const auto done = store.erase(id, store.info(id)->revision, request);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
  }
  static Record boundary(const Ulid& id, std::uint64_t base, std::uint64_t summary, std::vector<SeqRange> kept) {
    BoundaryRecord record;
    record.id = id.text();
    record.trigger = record.reason = "manual";
    record.method = "summary";
    record.result = "applied";
    record.base_seq = base;
    record.summary_seq = summary;
    record.kept = std::move(kept);
    return write_boundary(record);
  }

  static std::string exported(const Store& store, const Ulid& id, const std::string& version = "1.0") {
    auto file = LogExport::begin(store, id, version, 1'790'000'000'000);
    EXPECT_TRUE(file) << (file ? "" : file.error().message);
    std::string out;
    while (file) {
      const auto piece = (*file)->next();
      EXPECT_TRUE(piece) << (piece ? "" : piece.error().message);
      if (!piece || piece->empty()) break;
      out += *piece;
    }
    return out;
  }
  // Reads and brings it.
  Result<Brought> brought(Store& store, std::string_view bytes) {
    AGENTD_TRY(LogFile file, read_log_file(bytes));
    return bring_log(store, ids_, clock_, std::move(file));
  }

  // A conversation of that seed, with everything that a log can have.
  Ulid random(Store& store, unsigned seed) {
    std::mt19937 rng(seed);
    const auto below = [&](std::uint64_t most) { return rng() % most; };
    const Ulid id = begin(store);
    std::vector<std::uint64_t> erasable;
    const auto head = [&] { return store.info(id)->revision; };
    std::uint64_t reverted = 0;
    for (int step = 0; step < 25; ++step) {
      const std::string text = "text " + std::to_string(step) + " \xe2\x98\x83 \"\\\n" + std::string(below(200), 'x');
      switch (below(8)) {
        case 0:
          append(store, id, {user(text), answer(text)}, {"a system prompt", "tools " + std::to_string(below(3))});
          erasable.push_back(head());
          break;
        case 1: {
          Block image;
          image.kind = BlockKind::kImage;
          image.name = "image/png";
          image.opaque = base64("\x89PNG" + std::string(below(100'000), 'p'));
          append(store, id, {message_of(Role::kUser, {Block::of_text(text), image})});
          erasable.push_back(head());
          break;
        }
        case 2: {
          const std::string call = "call_" + std::to_string(step);
          ToolResultRecord result;
          result.call_id = call;
          result.name = "bash";
          result.text = text;
          result.status = "ok";
          append(store, id,
                 {message_of(Role::kAssistant, {Block::tool_use(call, "bash", R"({"command":"ls"})")}),
                  write_tool_result(result)});
          break;
        }
        case 3: {
          const std::uint64_t base = head();
          Record summary = message_of(Role::kSummary, {Block::of_text("summary " + text)});
          append(store, id,
                 {summary, boundary(ids_.next(), base, base + 1, {{std::max<std::uint64_t>(base, 2) - 1, base}})});
          reverted = base + 2;
          break;
        }
        case 4:
          if (reverted != 0 && reverted == store.info(id)->boundary_seq) {
            RevertRecord revert;
            revert.to_seq = std::exchange(reverted, 0);
            append(store, id, {write_revert(revert)});
            reverted = 0;
            return finish(store, id, erasable);
          }
          append(store, id, {user(text)});
          break;
        case 5:
          if (erasable.empty()) break;
          erase(store, id, erasable.back(), answer("[erased]"));
          erasable.pop_back();
          break;
        case 6: {
          UsageRecord usage;
          usage.usage.input = below(1'000'000);
          usage.purpose = "turn";
          append(store, id, {write_usage(usage)});
          break;
        }
        default:
          append(store, id, {write_meta({"a title " + std::to_string(step)})});
      }
    }
    return finish(store, id, erasable);
  }

 private:
  // An erasure of an erase record, when there is one.
  Ulid finish(Store& store, const Ulid& id, std::vector<std::uint64_t>& erasable) {
    if (erasable.empty()) return id;
    const std::uint64_t seq = erasable.back();
    erase(store, id, seq, answer("[first]"));
    return id;
  }

  const SystemClock clock_;
  IdSource ids_{clock_};
};

}  // namespace agentd::testing
