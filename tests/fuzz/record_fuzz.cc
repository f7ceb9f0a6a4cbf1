// SPDX-License-Identifier: Apache-2.0
// A plugin's record and its rows as any bytes: refused with a sentence, or read as the host knows
// them.
//
// The input is the record; behind it the rows. Addresses in it are replaced by those of memory that
// is as large as the contract demands, and not a byte larger.
#include <algorithm>
#include <vector>

#include "core/bridge/module.h"
#include "core/bridge/record.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;

agentd_plugin* handed_out = nullptr;

agentd_status AGENTD_CALL entry(agentd_negotiate* io) noexcept {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = handed_out;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL create(const agentd_call*, void**) noexcept { return AGENTD_OK; }
agentd_status AGENTD_CALL handler(void*, const agentd_call*) noexcept { return AGENTD_OK; }

// A text of the record: what it claims, within reason, of bytes that are there.
void point(agentd_str& text, const std::vector<char>& memory) {
  if (text.ptr == nullptr) return;
  text.len = std::min<std::size_t>(text.len % 600, memory.size());
  text.ptr = memory.data() + (memory.size() - text.len);
}

// The rows, in memory of their own. Counts and strides that the host must refuse stay as they are;
// of those that it reads there are never more than some thousand bytes, since large ones only take
// time.
std::vector<char> place_rows(agentd_list& list, std::string_view from) {
  constexpr std::uint32_t kBytesMax = 1u << 15;
  const bool readable = list.count <= 1024 && list.stride <= kRecordBytesMax;
  if (readable && list.stride != 0) list.count = std::min(list.count, kBytesMax / list.stride);
  std::vector<char> memory(readable ? std::size_t{list.count} * list.stride : 1, '\0');
  for (std::size_t i = 0; i < memory.size() && !from.empty(); ++i) memory[i] = from[i % from.size()];
  for (std::size_t at = 0; list.stride >= sizeof(agentd_hook) && at + sizeof(agentd_hook) <= memory.size();
       at += list.stride) {
    agentd_hook row;
    std::memcpy(&row, memory.data() + at, sizeof(row));
    if (row.fn != nullptr) row.fn = handler;
    std::memcpy(memory.data() + at, &row, sizeof(row));
  }
  if (list.first != nullptr) list.first = memory.data();
  return memory;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t claimed = 0;
  if (size < sizeof(claimed)) return 0;
  std::memcpy(&claimed, data, sizeof(claimed));
  // Readable for what it claims, up to the limit; at least for the first release's record.
  std::vector<char> record(std::clamp<std::size_t>(claimed, sizeof(agentd_plugin), kRecordBytesMax), '\0');
  std::memcpy(record.data(), data, std::min(size, record.size()));
  const std::string_view rest =
      size > record.size() ? fuzz::view(data + record.size(), size - record.size()) : std::string_view();
  agentd_plugin plugin;
  std::memcpy(&plugin, record.data(), sizeof(plugin));
  const std::vector<char> text(rest.begin(),
                               rest.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(rest.size(), 600)));
  point(plugin.id, text);
  point(plugin.version, text);
  if (plugin.create != nullptr) plugin.create = create;
  const std::vector<char> rows = place_rows(plugin.hooks, rest);
  std::memcpy(record.data(), &plugin, sizeof(plugin));
  handed_out = reinterpret_cast<agentd_plugin*>(record.data());
  const auto read = read_plugin(ModuleEntry{entry});
  if (!read) {
    fuzz::require(!read.error().message.empty(), "a refusal has its sentence");
    return 0;
  }
  ++fuzz::got_through;
  fuzz::require(read->plugin.size == sizeof(agentd_plugin), "the record has this host's size");
  fuzz::require(read->plugin.concurrency <= AGENTD_CONCURRENT, "the concurrency is known");
  fuzz::require(!read->id.empty() && read->id.size() <= 256, "the id has a limit");
  for (const agentd_hook& row : read->rows) fuzz::require(row.fn == handler, "a row has its function");
  return 0;
}
