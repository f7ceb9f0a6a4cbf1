// SPDX-License-Identifier: Apache-2.0
#pragma once
// secret_text.h - bytes that only this process has: a forked copy of it finds zeros there, a core dump leaves them out,
// and they are overwritten at the end.
//
// Threading: thread-compatible.

#include <cstddef>
#include <string_view>
#include <utility>

namespace agentd {

class SecretText {
 public:
  SecretText() = default;
  // Space for that many bytes, all zero. When memory is short, room() is 0.
  explicit SecretText(std::size_t bytes);
  SecretText(SecretText&& other) noexcept { swap(other); }
  SecretText& operator=(SecretText&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SecretText();

  char* data() { return data_; }
  std::size_t room() const { return room_; }
  std::string_view first(std::size_t bytes) const { return {data_, bytes}; }

 private:
  void swap(SecretText& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(room_, other.room_);
  }
  char* data_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace agentd
