// SPDX-License-Identifier: Apache-2.0
#pragma once
// thrown.h - catches at the outermost frame of a thread, where an exception would end the program.
//
// Expected failures are Results. What is still thrown comes from below: no memory, no further thread.
//
// Threading: pure functions.

#include <exception>
#include <new>
#include <string>

namespace agentd {

// Calls `work` and returns what it threw in words, or an empty text. Works without memory.
template <typename Work>
std::string thrown_by(Work&& work) noexcept {
  try {
    work();
    return {};
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    try {
      return *error.what() == '\0' ? "an exception" : error.what();
    } catch (...) {
      return "out of memory";
    }
  } catch (...) {
    return "an exception";
  }
}

}  // namespace agentd
