// SPDX-License-Identifier: Apache-2.0
#pragma once
// listener.h - sockets that listen on this machine and for nobody else: loopback addresses and unix sockets.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

inline constexpr std::size_t kSocketPathMax = 107;  // bytes (sun_path, unix(7))

// The file of a unix socket; it is removed at the end if it is still the one that was made.
class SocketFile {
 public:
  SocketFile() = default;
  SocketFile(std::string path, dev_t device, ino_t inode) : path_(std::move(path)), device_(device), inode_(inode) {}
  SocketFile(SocketFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile() { remove(); }
  void remove();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Neither blocks nor is inherited by commands.
struct Listener {
  SocketFile file{};  // removed after the socket is closed
  UniqueFd fd{};
  std::uint16_t port = 0;  // 0: a unix socket
};

// `address`: of 127.0.0.0/8, or "::1". Port 0: any free one. kDenied: another address; kUnavailable: the port is taken,
// with the program that listens there if it can be seen.
Result<Listener> listen_on(const std::string& address, std::uint16_t port);
// A unix socket with mode 0600. A stale file there is replaced. kInvalid: a path over kSocketPathMax; kDenied: the
// directory is a link, belongs to another user or can be written by others, or the file is something else;
// kUnavailable: another process listens there.
Result<Listener> listen_at(const std::string& path);
// A descriptor that listens already. kInvalid: it does not; kDenied: on an address that is not loopback.
Result<Listener> adopt(UniqueFd fd);

struct Accepted {
  UniqueFd fd{};  // does not block
  HttpPeer peer{};
};
// The next connection that waits, or errno: EAGAIN when there is none.
Result<Accepted, int> accept_from(int listener);

}  // namespace agentd::serve
