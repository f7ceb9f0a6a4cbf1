// SPDX-License-Identifier: Apache-2.0
#pragma once
// target.h - what a fuzz target is made of: its entry, and bytes that are read like a script.
//
// Every target is built in every build with replay_main.cc, which feeds it its seeds and their
// mutations; with the preset `fuzz` the same function is libFuzzer's.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace agentd::fuzz {

// Ends the program where what must hold does not, in every build.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Inputs that got past every refusal: a target whose seeds all fail at the door tests the door
// alone.
inline std::size_t got_through = 0;

// Numbers out of the input; zeros when it has ended.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool ended() const { return at_ >= size_; }
  std::uint8_t byte() { return ended() ? std::uint8_t{0} : data_[at_++]; }
  std::uint32_t below(std::uint32_t limit) { return limit == 0 ? 0 : byte() % limit; }
  std::uint32_t u32() {
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) out = out << 8 | byte();
    return out;
  }
  std::string_view rest() const {
    return {reinterpret_cast<const char*>(data_) + (ended() ? size_ : at_), ended() ? 0 : size_ - at_};
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace agentd::fuzz
