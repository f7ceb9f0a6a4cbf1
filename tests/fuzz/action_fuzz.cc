// SPDX-License-Identifier: Apache-2.0
// What a hostile worker may send: any bytes as the arguments of a service call. Either they are
// refused, or every address in them lies within them and the actions that come out are whole.
#include <string>

#include "core/bridge/actions.h"
#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;

class Bounds {
 public:
  explicit Bounds(std::string_view bytes) : first_(bytes.data()), size_(bytes.size()) {}
  void holds(const void* at, std::uint64_t bytes) const {
    const auto from = reinterpret_cast<std::uintptr_t>(at), start = reinterpret_cast<std::uintptr_t>(first_);
    fuzz::require(from >= start && bytes <= size_ && from - start <= size_ - bytes, "an address lies within");
  }

  void record(const Shape& shape, const void* at) const {
    holds(at, shape.bytes);
    const auto* const bytes = static_cast<const std::byte*>(at);
    for (const Shape::Member& member : shape.members) follow(member, bytes + member.offset);
  }

 private:
  void follow(const Shape::Member& member, const std::byte* at) const {
    switch (member.kind) {
      case Shape::Kind::kText: {
        agentd_str text;
        std::memcpy(&text, at, sizeof(text));
        if (text.ptr != nullptr) holds(text.ptr, text.len);
        fuzz::require(text.ptr != nullptr || text.len == 0, "no text without memory");
        return;
      }
      case Shape::Kind::kList: {
        agentd_list list;
        std::memcpy(&list, at, sizeof(list));
        if (list.count != 0) holds(list.first, std::uint64_t{list.count} * list.stride);
        for (std::uint32_t i = 0; i < list.count; ++i)
          record(*member.of, static_cast<const std::byte*>(list.first) + std::size_t{i} * list.stride);
        return;
      }
      case Shape::Kind::kPointer: {
        const void* to = nullptr;
        std::memcpy(&to, at, sizeof(to));
        if (to != nullptr) record(*member.of, to);
        return;
      }
    }
  }

  const void* first_;
  std::size_t size_;
};

std::string_view bytes_of(FlatBytes& flat) { return {reinterpret_cast<const char*>(flat.data()), flat.size()}; }

void take_args(std::string_view bytes) {
  FlatBytes flat(bytes);
  const auto args = open_args({flat.data(), flat.size()});
  if (!args) return;
  ++fuzz::got_through;
  const ServiceArgs& from = **args;
  const Shape& shape = *args_shape(from.op, static_cast<std::uint32_t>(from.number[0]));
  Bounds(bytes_of(flat)).record(shape, *args);
  // What was read is written again and read once more: the flat form leaves no choice.
  std::string again;
  fuzz::require(static_cast<bool>(flatten(shape, *args, again)), "what was read can be written");
  FlatBytes copy(again);
  fuzz::require(static_cast<bool>(open_args({copy.data(), copy.size()})), "and be read again");
  const auto op = static_cast<ServiceOp>(from.op);
  if (op == ServiceOp::kEmit && from.record[0] != nullptr) {
    const auto action = copy_action(static_cast<const agentd_action*>(from.record[0]));
    if (action) fuzz::require(action->kind == from.number[0], "an action is of its kind");
  }
  if (op == ServiceOp::kCountMessages) (void)copy_messages(from.list);
}

void take_reply(std::string_view bytes) {
  FlatBytes flat(bytes);
  const auto reply = relocate(boot_reply_shape(), {flat.data(), flat.size()});
  if (reply) Bounds(bytes_of(flat)).record(boot_reply_shape(), *reply);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  take_args(fuzz::view(data, size));
  take_reply(fuzz::view(data, size));
  return 0;
}
