// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace agentd {
namespace {

// Every such failure means a lack of memory or descriptors: a later attempt may succeed.
Error unavailable(const char* doing) { return {Code::kUnavailable, errno_error(doing, errno).message}; }

}  // namespace

Result<UniqueFd> make_memory_file(const char* name, std::uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return unavailable("making a memory file");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return unavailable("giving a memory file its size");
  return fd;
}

Result<UniqueFd> reopen_for_reading(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader.valid() || fchmod(fd, S_IRUSR) != 0) return unavailable("opening a memory file for reading");
  return reader;
}

Result<void> back_memory(int fd, std::uint64_t offset, std::uint64_t bytes) {
  int done = 0;
  do {
    done = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (done != 0 && errno == EINTR);
  if (done != 0) return unavailable("allocating memory that a worker shares");
  return {};
}

Result<void> cut_memory(int fd, std::uint64_t bytes) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return unavailable("giving memory back that a worker shared");
  return {};
}

Result<void> seal_memory(int fd, int seals) {
  if (fcntl(fd, F_ADD_SEALS, seals) != 0) return unavailable("sealing a memory file");
  return {};
}

Result<void*> map_answers(int fd, std::size_t bytes) {
  // It is backed already: a page that is never used costs no mapping.
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return unavailable("mapping the answer region");
  return memory;
}

}  // namespace agentd
