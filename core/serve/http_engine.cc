// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_engine.h"

#include <pthread.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace agentd::serve {

void HttpEngine::run() {
  ::pthread_setname_np(::pthread_self(), "agentd-http");
  io.run();
  {
    const MutexLock lock(mutex);
    ended = true;
  }
  // Tasks that were posted before find their connections closed.
  io.restart();
  io.poll();
  gate = {};
  handler = {};
}

void HttpEngine::run_first() {
  std::function<void()> task;
  {
    const MutexLock lock(mutex);
    task = std::move(tasks.front());
    tasks.pop_front();
  }
  task();
}

void HttpEngine::admit(const std::shared_ptr<EngineConnection>& connection) {
  const std::string peer = connection->peer_key();
  const bool full = connections.size() >= limits.connections && !close_waiting(nullptr);
  if (full || (peers[peer] >= limits.connections_per_peer && !close_waiting(&peer))) {
    ++refused;
    return;
  }
  ++accepted;
  ++peers[peer];
  connections.insert(connection);
  {
    const MutexLock lock(mutex);
    ++open;
  }
  connection->start();
}

void HttpEngine::remove(const std::shared_ptr<EngineConnection>& connection) {
  if (connections.erase(connection) == 0) return;
  if (const auto peer = peers.find(connection->peer_key()); --peer->second == 0) peers.erase(peer);
  const MutexLock lock(mutex);
  if (--open == 0) drained.notify_all();
}

bool HttpEngine::close_waiting(const std::string* peer) {
  for (const auto loss :
       {EngineConnection::Loss::kAnswered, EngineConnection::Loss::kSilent, EngineConnection::Loss::kIdle})
    for (EngineConnection* const each : waiting) {
      if (each->loss() != loss || (peer != nullptr && each->peer_key() != *peer)) continue;
      ++refused;
      each->close(false);
      return true;
    }
  return false;
}

void HttpEngine::make_room() {
  while (*stream_bytes > limits.streams_bytes) {
    std::shared_ptr<EngineConnection> slowest;
    std::size_t most = 0;
    for (const auto& each : connections)
      if (const std::size_t bytes = each->waiting_bytes(); bytes > most) {
        most = bytes;
        slowest = each;
      }
    if (!slowest) return;  // what waits is of streams that are about to begin or have ended
    slowest->drop_stream();
  }
}

void HttpEngine::close_doors() {
  for (const auto& door : std::exchange(doors, {})) door->close();
}

void HttpEngine::begin_drain() {
  draining = true;
  close_doors();
  for (const auto& each : std::vector(connections.begin(), connections.end())) each->drain();
  const MutexLock lock(mutex);
  doors_closed = true;
  drained.notify_all();
}

void HttpEngine::break_off() {
  for (const auto& each : std::vector(connections.begin(), connections.end())) {
    {
      const MutexLock lock(mutex);
      broken_off = broken_off || each->owes_answer();
    }
    each->close(each->owes_answer());
  }
}

void HttpEngine::stop() {
  close_doors();
  for (const auto& each : std::vector(connections.begin(), connections.end())) each->close(false);
  keeps_running.reset();
}

}  // namespace agentd::serve
