// SPDX-License-Identifier: Apache-2.0
#include "core/cage/orders.h"

#include <charconv>

namespace agentd::cage {
namespace {

// One letter and its value, then a NUL.
enum Letter : char {
  kApart = 'a',
  kConfines = 'c',
  kSockets = 's',
  kLocalSockets = 'u',
  kReadable = 'r',
  kWritable = 'w',
  kDevice = 'd',
  kNoted = 'i',
  kProxy = 'p',
  kMachine = 'm',
  kOwner = 'o',
  kLock = 'l',
  kProcesses = 'n',
  kFileBytes = 'f',
};

constexpr std::uint64_t kDescriptorMax = 9;

// A path with a NUL names no file: it opens nothing, instead of what follows the NUL.
void put(std::string& out, Letter letter, std::string_view value) {
  if (value.find('\0') != std::string_view::npos) return;
  out += static_cast<char>(letter);
  out += value;
  out += '\0';
}

void put(std::string& out, Letter letter, std::uint64_t value) { put(out, letter, std::to_string(value)); }

bool parse(std::string_view text, std::uint64_t* out) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return failed == std::errc() && end == text.data() + text.size();
}

std::string text_of_note(const Noted& note) {
  std::string out;
  for (const std::uint64_t number : {static_cast<std::uint64_t>(note.as), note.identity.device, note.identity.inode,
                                     std::uint64_t{note.identity.kind}})
    out += std::to_string(number) + " ";
  return out + note.path;
}

// Four numbers with a space behind each, then the path.
bool take_note(Orders& out, std::string_view value) {
  std::uint64_t numbers[4] = {};
  for (std::uint64_t& number : numbers) {
    const std::size_t end = value.find(' ');
    if (end == std::string_view::npos || !parse(value.substr(0, end), &number)) return false;
    value.remove_prefix(end + 1);
  }
  if (numbers[0] > static_cast<std::uint64_t>(Noted::As::kEmpty) || numbers[3] > UINT32_MAX) return false;
  out.noted.push_back({std::string(value),
                       static_cast<Noted::As>(numbers[0]),
                       {numbers[1], numbers[2], static_cast<std::uint32_t>(numbers[3])}});
  return true;
}

bool take_number(Orders& out, char letter, std::uint64_t number) {
  switch (letter) {
    case kApart:
      out.apart = number != 0;
      return true;
    case kConfines:
      out.confines = number != 0;
      return true;
    case kMachine:
      out.reaches_machine = number != 0;
      return true;
    case kSockets:
      out.sockets = static_cast<CagedCalls::Sockets>(number);
      return number <= static_cast<std::uint64_t>(CagedCalls::Sockets::kAll);
    case kLocalSockets:
      out.local_sockets = number != 0;
      return true;
    case kOwner:
      out.owner = static_cast<int>(number);
      return number >= 3 && number <= kDescriptorMax;
    case kLock:
      out.lock = static_cast<int>(number);
      return number >= 3 && number <= kDescriptorMax;
    case kProcesses:
      out.processes_max = number;
      return true;
    case kFileBytes:
      out.file_bytes_max = number;
      return true;
    default:
      return false;
  }
}

bool take(Orders& out, char letter, std::string_view value) {
  switch (letter) {
    case kReadable:
      out.readable.emplace_back(value);
      return true;
    case kWritable:
      out.writable.emplace_back(value);
      return true;
    case kDevice:
      out.devices.emplace_back(value);
      return true;
    case kNoted:
      return take_note(out, value);
    case kProxy:
      out.proxy = value;
      return true;
    default:
      std::uint64_t number = 0;
      return parse(value, &number) && take_number(out, letter, number);
  }
}

}  // namespace

std::string text_of(const Orders& orders) {
  std::string out;
  put(out, kApart, std::uint64_t{orders.apart});
  put(out, kConfines, std::uint64_t{orders.confines});
  put(out, kSockets, static_cast<std::uint64_t>(orders.sockets));
  put(out, kLocalSockets, std::uint64_t{orders.local_sockets});
  for (const std::string& path : orders.readable) put(out, kReadable, path);
  for (const std::string& path : orders.writable) put(out, kWritable, path);
  for (const std::string& path : orders.devices) put(out, kDevice, path);
  for (const Noted& note : orders.noted) put(out, kNoted, text_of_note(note));
  if (!orders.proxy.empty()) put(out, kProxy, orders.proxy);
  put(out, kMachine, std::uint64_t{orders.reaches_machine});
  if (orders.owner >= 0) put(out, kOwner, static_cast<std::uint64_t>(orders.owner));
  if (orders.lock >= 0) put(out, kLock, static_cast<std::uint64_t>(orders.lock));
  put(out, kProcesses, orders.processes_max);
  put(out, kFileBytes, orders.file_bytes_max);
  return out;
}

Result<Orders> parse_orders(std::string_view text) {
  Orders out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos || end == 0 || !take(out, text[0], text.substr(1, end - 1)))
      return Error{Code::kInvalid, "the orders of the sandbox are of another build of agentd; install it again"};
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace agentd::cage
