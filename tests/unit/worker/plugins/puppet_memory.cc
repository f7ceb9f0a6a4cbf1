// SPDX-License-Identifier: Apache-2.0
// puppet_memory.cc - ways to take memory, in MiB.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "tests/unit/worker/plugins/puppet.h"
#include "tests/unit/worker/plugins/ways_out.h"

namespace puppet {

using namespace ways_out;

std::string take_shared(std::size_t mib) {
  void* const memory = ::mmap(nullptr, mib << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED, -1, 0);
  if (memory == MAP_FAILED) return result(-1);
  for (std::size_t at = 0; at < mib; ++at) static_cast<volatile char*>(memory)[at << 20] = 1;
  return result(::munmap(memory, mib << 20));
}

// Pages that are made read-only once they are filled are not counted as data any more.
std::string take_sealed(std::size_t mib) {
  constexpr std::size_t kPiece = 8u << 20;
  std::vector<void*> pieces;
  std::string out = "ok";
  for (std::size_t taken = 0; taken < mib << 20 && out == "ok"; taken += kPiece) {
    void* const piece = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (piece == MAP_FAILED) {
      out = ::strerrorname_np(errno);
      break;
    }
    *static_cast<volatile char*>(piece) = 1;
    pieces.push_back(piece);
    if (::mprotect(piece, kPiece, PROT_READ) != 0) out = ::strerrorname_np(errno);
  }
  for (void* const piece : pieces) ::munmap(piece, kPiece);
  return out;
}

// Threads that allocate at once, from arenas and stacks of their own; how many of them could.
std::string allocate_in_threads(int count) {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0}, good{0};
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        ++ready;
        while (ready < count) ::usleep(100);
        std::vector<void*> blocks;
        for (int block = 0; block < 256; ++block) blocks.push_back(std::malloc(16 * 1024));
        if (std::count(blocks.begin(), blocks.end(), nullptr) == 0) ++good;
        for (void* const block : blocks) {
          if (block != nullptr) std::memset(block, 1, 16 * 1024);
          std::free(block);
        }
      });
  } catch (const std::exception&) {
    ready = count;
  }
  for (std::thread& each : threads) each.join();
  return std::to_string(good.load());
}

std::string take_queue() {
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  if (queue >= 0) ::msgctl(queue, IPC_RMID, nullptr);
  return result(queue);
}

std::string take_segment() {
  const int segment = ::shmget(IPC_PRIVATE, 1u << 20, 0600);
  if (segment >= 0) ::shmctl(segment, IPC_RMID, nullptr);
  return result(segment);
}

std::string take_semaphores() {
  const int set = ::semget(IPC_PRIVATE, 1, 0600);
  if (set >= 0) ::semctl(set, 0, IPC_RMID);
  return result(set);
}

}  // namespace puppet
