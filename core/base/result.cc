// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace agentd {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kBusy:
      return "busy";
    case Code::kConflict:
      return "conflict";
    case Code::kDenied:
      return "denied";
    case Code::kCancelled:
      return "cancelled";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::with_context(std::string_view doing) const { return {code, std::string(doing) + ": " + message}; }

namespace {
Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case EXDEV:
      return Code::kDenied;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
      return Code::kInvalid;
    case EBUSY:
    case EWOULDBLOCK:
      return Code::kBusy;
    case ECANCELED:
    case EINTR:
      return Code::kCancelled;
    default:
      return Code::kUnavailable;
  }
}

// Advice for an error that is a limit of this process; empty for others.
std::string_view advice_on(int error_number) {
  switch (error_number) {
    case EFBIG:
      return ": the file size limit of this process is reached; raise it with 'ulimit -f'";
    case EMFILE:
      return ": the open file limit of this process is reached; raise it with 'ulimit -n'";
    default:
      return {};
  }
}
}  // namespace

Error errno_error(std::string_view doing, int error_number) {
  return {code_of(error_number), std::string(doing) + ": " + std::generic_category().message(error_number) +
                                     std::string(advice_on(error_number))};
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "agentd: bug: %s does not hold at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace agentd
