// SPDX-License-Identifier: Apache-2.0
#include "core/trust/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "core/base/bytes.h"
#include "core/trust/safe_path.h"

#ifndef MFD_EXEC  // Linux 6.3
#define MFD_EXEC 0x0010U
#endif

namespace agentd {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

UniqueFd memory_file(const std::string& name) {
  const std::string label = "agentd-hook:" + std::string(utf8_prefix(name, 200));
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create(label.c_str(), kFlags | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(label.c_str(), kFlags);  // an older kernel
  return UniqueFd(fd);
}

// Tries what dlopen() does: find the file by its name under /proc and map it executable. One success speaks for all.
bool can_run(const SealedFile& file) {
  static std::atomic<bool> went{false};
  if (went) return true;
  struct stat by_path {
  }, by_fd{};
  if (::stat(file.path.c_str(), &by_path) != 0 || ::fstat(file.fd.get(), &by_fd) != 0) return false;
  if (by_path.st_ino != by_fd.st_ino || by_path.st_dev != by_fd.st_dev) return false;
  void* const mapped = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.fd.get(), 0);
  if (mapped == MAP_FAILED) return false;
  ::munmap(mapped, 1);
  return went = true;
}

Result<SealedFile> seal_in_memory(std::string_view bytes, const std::string& name) {
  SealedFile out;
  out.fd = memory_file(name);
  if (!out.fd.valid()) return errno_error("making a memory file for " + name, errno);
  if (auto wrote = write_all(out.fd.get(), bytes); !wrote)
    return wrote.error().with_context("copying " + name + " into memory");
  if (::fcntl(out.fd.get(), F_ADD_SEALS, kSeals) != 0) return errno_error("sealing the memory file of " + name, errno);
  out.path = "/proc/self/fd/" + std::to_string(out.fd.get());
  if (!can_run(out)) return Error{Code::kDenied, "this kernel does not run code from memory files"};
  return out;
}

}  // namespace

Result<SealedFile> make_private_copy(std::string_view bytes, const std::string& name,
                                     const std::string& private_directory) {
  AGENTD_TRY_VOID(make_private_directory(private_directory));
  std::string pattern = private_directory + "/hook-XXXXXX";
  std::vector<char> path(pattern.begin(), pattern.end());
  path.push_back('\0');
  UniqueFd writer(::mkostemp(path.data(), O_CLOEXEC));
  if (!writer.valid()) return errno_error("making a private copy of " + name, errno);
  SealedFile out;
  out.path = path.data();
  out.private_copy = true;
  auto written = write_all(writer.get(), bytes);
  if (!written || ::fchmod(writer.get(), 0500) != 0) {
    ::unlink(out.path.c_str());
    return written ? errno_error("protecting the copy of " + name, errno)
                   : written.error().with_context("copying " + name + " into " + private_directory);
  }
  out.fd = UniqueFd(::open(out.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!out.fd.valid()) return errno_error("opening the copy of " + name, errno);
  out.digest = hex(sha256(bytes));
  return out;
}

void discard(const SealedFile& file) {
  if (file.private_copy) ::unlink(file.path.c_str());
}

Result<SealedFile> seal(std::string_view bytes, const std::string& name, const std::string& private_directory,
                        Log& log) {
  auto sealed = seal_in_memory(bytes, name);
  if (sealed) {
    sealed->digest = hex(sha256(bytes));
    return sealed;
  }
  if (private_directory.empty()) return sealed.error();
  log.write(LogLevel::kWarning, "host",
            name + " is loaded from a private copy in " + private_directory +
                ", which is weaker than a sealed memory file: " + sealed.error().message);
  return make_private_copy(bytes, name, private_directory);
}

}  // namespace agentd
