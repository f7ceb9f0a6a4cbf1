// SPDX-License-Identifier: Apache-2.0
#pragma once
// result.h - a value, or the reason why there is none.
//
// Expected failures (of the user, a peer, a plugin, the disk) travel as Result; bugs assert. The member names are those
// of std::expected. The code says what the caller can do next; the message says what failed on what, in lower case,
// without a full stop and without secrets.
//
// Threading: immutable values.

#include <concepts>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace agentd {

enum class Code : std::uint8_t {
  kInvalid,      // fix the call, the flag or the file
  kNotFound,     // look for something else
  kUnavailable,  // try again later
  kBusy,         // another holder has it
  kConflict,     // read again, then retry
  kDenied,       // ask the user
  kCancelled,    // stop quietly
  kCorrupt,      // treat the data as broken
  kInternal,     // report a bug
};

std::string_view name_of(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;

  // The same error with what the caller was doing in front: "opening the store: no space left".
  [[nodiscard]] Error with_context(std::string_view doing) const;
};

// "reading /x: No such file or directory", with the code that corresponds to errno.
[[nodiscard]] Error errno_error(std::string_view doing, int error_number);

// Bugs: prints the condition and aborts, in release builds too.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

#define AGENTD_ASSERT(condition) ((condition) ? (void)0 : ::agentd::assertion_failed(#condition, __FILE__, __LINE__))

// A union, and not a variant: most sources have dozens of these, and a variant takes a fifth of their compile time.
template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), has_value_(true) {}   // NOLINT: implicit, as in expected
  Result(E error) : error_(std::move(error)), has_value_(false) {}  // NOLINT: implicit, as in expected
  Result(Result&& other) noexcept : has_value_(other.has_value_) { take(std::move(other)); }
  Result(const Result& other) requires std::copy_constructible<T> : has_value_(other.has_value_) { take(other); }
  Result& operator=(Result&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    has_value_ = other.has_value_;
    take(std::move(other));
    return *this;
  }
  Result& operator=(const Result& other) requires std::copy_constructible<T> { return *this = Result(other); }
  ~Result() { destroy(); }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  T& value() & { return AGENTD_ASSERT(has_value_), value_; }
  const T& value() const& { return AGENTD_ASSERT(has_value_), value_; }
  T&& value() && { return AGENTD_ASSERT(has_value_), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const E& error() const { return AGENTD_ASSERT(!has_value_), error_; }
  T value_or(T other) const { return has_value_ ? value_ : std::move(other); }

 private:
  template <typename Other>
  void take(Other&& other) {
    if (has_value_)
      ::new (static_cast<void*>(&value_)) T(static_cast<Other&&>(other).value_);
    else
      ::new (static_cast<void*>(&error_)) E(static_cast<Other&&>(other).error_);
  }
  void destroy() {
    if (has_value_)
      value_.~T();
    else
      error_.~E();
  }

  union {
    T value_;
    E error_;
  };
  bool has_value_;
};

template <typename E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(E error) : error_(std::move(error)), failed_(true) {}  // NOLINT: implicit, as in expected

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  const E& error() const { return error_; }

 private:
  E error_{};
  bool failed_ = false;
};

}  // namespace agentd

#define AGENTD_CONCAT_(a, b) a##b
#define AGENTD_CONCAT(a, b) AGENTD_CONCAT_(a, b)
// AGENTD_TRY(auto line, reader.next()): declares `line`, or returns the error from this function.
#define AGENTD_TRY(declaration, expression)                                         \
  auto AGENTD_CONCAT(try_, __LINE__) = (expression);                                \
  if (!AGENTD_CONCAT(try_, __LINE__)) return AGENTD_CONCAT(try_, __LINE__).error(); \
  declaration = std::move(*AGENTD_CONCAT(try_, __LINE__))
#define AGENTD_TRY_VOID(expression)         \
  do {                                      \
    auto try_void = (expression);           \
    if (!try_void) return try_void.error(); \
  } while (false)
