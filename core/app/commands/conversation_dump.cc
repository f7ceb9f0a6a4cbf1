// SPDX-License-Identifier: Apache-2.0
// conversation_dump.cc - conversation dump: a log with its chain, for programs that are not agentd.
// docs/reference/log-dump.md has the form.
#include <set>

#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr unsigned kDumpFormat = 1;

std::string batch_line(const VerifiedBatch& batch) {
  JsonWriter out;
  out.begin_object().member("type", "batch").member("time_ms", batch.time_ms);
  out.member("previous", hex(batch.previous)).key("records").begin_array();
  for (const StoredRecord& stored : batch.records) {
    const Record& record = stored.record;
    out.begin_object().member("seq", stored.seq).member("kind", static_cast<unsigned>(record.type));
    out.member("name", name_of(record.type)).member("version", static_cast<unsigned>(record.version));
    out.member("flags", static_cast<unsigned>(record.flags)).member("run", record.run).member("turn", record.turn);
    out.member("sha256", hex(stored.digest));
    if (stored.erased_by != 0) out.member("erased_by", stored.erased_by).member("bytes", stored.bytes);
    out.member("payload", record.payload).end_object();
  }
  out.end_array().key("attached").begin_array();
  for (const Digest& digest : batch.attached) out.string(hex(digest));
  out.end_array().member("chain", hex(batch.chain)).end_object();
  return std::string(out.text()) + "\n";
}

std::string blob_line(const Digest& digest, const std::string& text) {
  JsonWriter out;
  out.begin_object().member("type", "blob").member("sha256", hex(digest)).member("text", text).end_object();
  return std::string(out.text()) + "\n";
}

}  // namespace

int dump_command(App& app, const Arguments& arguments) {
  const auto found = existing_conversation(app, arguments.words()[0]);
  if (!found) return app.fail(found.error().code, found.error().message);
  JsonWriter head;
  head.begin_object().member("type", "log").member("format", kDumpFormat);
  head.member("conversation_id", found->id.text()).end_object();
  app.out().print(std::string(head.text()) + "\n");
  std::uint64_t revision = 0;
  Digest chain{};
  std::set<Digest> told;
  Result<void> texts;
  const auto dumped = found->store->verify(found->id, [&](const VerifiedBatch& batch) {
    app.out().print(batch_line(batch));
    revision = batch.records.back().seq;
    chain = batch.chain;
    for (const Digest& digest : batch.attached) {
      if (!told.insert(digest).second) continue;
      const auto text = found->store->blob(digest);
      if (text) app.out().print(blob_line(digest, *text));
      if (!text) texts = text.error();
    }
  });
  if (!dumped) return app.fail(store_exit(dumped.error()), dumped.error().message);
  if (!texts) return app.fail(store_exit(texts.error()), texts.error().message);
  JsonWriter end;
  end.begin_object().member("type", "head").member("revision", revision).member("chain", hex(chain)).end_object();
  app.out().print(std::string(end.text()) + "\n");
  return kExitOk;
}

}  // namespace agentd::app
