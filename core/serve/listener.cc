// SPDX-License-Identifier: Apache-2.0
#include "core/serve/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/serve/port_owner.h"

namespace agentd::serve {
namespace {

constexpr int kBacklog = 1'024;
constexpr int kSendBuffer = 256 << 10;  // bytes

// An address of a socket in the form of the system's calls.
union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un local;
};

bool is_loopback(const SocketAddress& address) {
  if (address.any.sa_family == AF_INET) return ntohl(address.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return address.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
}

std::uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

Result<SocketAddress> own_address(int fd) {
  SocketAddress out{};
  socklen_t bytes = sizeof out;
  if (::getsockname(fd, &out.any, &bytes) != 0) return errno_error("asking a socket for its address", errno);
  return out;
}

Error only_loopback(const std::string& address) {
  return {Code::kDenied, "the daemon cannot listen on " + address +
                             ": only addresses of this machine are allowed, such as 127.0.0.1 and ::1; for other "
                             "machines put a proxy or SSH in front"};
}

Result<SocketAddress> loopback_address(const std::string& text, std::uint16_t port) {
  SocketAddress out{};
  if (::inet_pton(AF_INET, text.c_str(), &out.v4.sin_addr) == 1) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, text.c_str(), &out.v6.sin6_addr) == 1) {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(port);
  }
  if (!is_loopback(out)) return only_loopback("'" + text + "'");
  return out;
}

Error cannot_bind(const std::string& address, std::uint16_t port, int error_number) {
  const std::string place = address + " port " + std::to_string(port);
  if (error_number != EADDRINUSE) {
    Error error = errno_error("listening on " + place, error_number);
    error.code = error_number == EACCES ? Code::kDenied : Code::kUnavailable;
    return error;
  }
  const std::string owner = port_owner(port);
  return {Code::kUnavailable, place + " is taken" + (owner.empty() ? "" : " by " + owner) +
                                  ": end the program that listens there, or choose another port (0 is any free one)"};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Others must not be able to put their own socket in the place of ours.
Result<void> check_directory(const std::string& directory) {
  const UniqueFd opened(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!opened.valid() || ::fstat(opened.get(), &found) != 0) {
    if (errno == ENOTDIR || errno == ELOOP)
      return Error{Code::kDenied, "the socket's directory " + directory + " is a link or a file: use a directory"};
    return errno_error("opening the socket's directory " + directory, errno);
  }
  if (found.st_uid != ::geteuid())
    return Error{Code::kDenied,
                 "the socket's directory " + directory + " belongs to another user: use one of your own"};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{Code::kDenied,
                 "the socket's directory " + directory + " can be written by others: run chmod go-w on it"};
  return {};
}

// Removes the file of a process that has ended.
Result<void> clear_place(const std::string& path, const SocketAddress& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return errno_error("looking at " + path, errno);
  }
  if (!S_ISSOCK(found.st_mode) || found.st_uid != ::geteuid())
    return Error{Code::kDenied, path + " is not a socket of this user: move it away, or choose another path"};
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return errno_error("opening a socket", errno);
  if (::connect(probe.get(), &address.any, sizeof address.local) == 0 || errno != ECONNREFUSED)
    return Error{Code::kUnavailable, "another agentd serves at " + path + ": end it, or choose another path"};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("removing the stale socket " + path, errno);
  return {};
}

}  // namespace

void SocketFile::remove() {
  struct stat found {};
  const std::string path = std::exchange(path_, {});
  if (path.empty() || ::lstat(path.c_str(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == inode_) ::unlink(path.c_str());
}

Result<Listener> listen_on(const std::string& address, std::uint16_t port) {
  AGENTD_TRY(const SocketAddress wanted, loopback_address(address, port));
  UniqueFd fd(::socket(wanted.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return cannot_bind(address, port, errno);
  const int on = 1;
  // A port whose last connections are still ending is free.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (wanted.any.sa_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const socklen_t bytes = wanted.any.sa_family == AF_INET ? sizeof wanted.v4 : sizeof wanted.v6;
  if (::bind(fd.get(), &wanted.any, bytes) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return cannot_bind(address, port, errno);
  AGENTD_TRY(const SocketAddress bound, own_address(fd.get()));
  return Listener{{}, std::move(fd), port_of(bound)};
}

Result<Listener> listen_at(const std::string& path) {
  if (path.empty() || path.size() > kSocketPathMax || path.find('\0') != std::string::npos)
    return Error{Code::kInvalid, "the socket's path " + path + " has " + std::to_string(path.size()) +
                                     " bytes and may have 1 to " + std::to_string(kSocketPathMax) +
                                     ": choose a shorter one"};
  SocketAddress address{};
  address.local.sun_family = AF_UNIX;
  std::memcpy(address.local.sun_path, path.data(), path.size());
  AGENTD_TRY_VOID(check_directory(directory_of(path)));
  AGENTD_TRY_VOID(clear_place(path, address));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The file gets the mode of its descriptor, so that it is open to others at no time.
  if (!fd.valid() || ::fchmod(fd.get(), 0600) != 0) return errno_error("opening a socket", errno);
  if (::bind(fd.get(), &address.any, sizeof address.local) != 0) return errno_error("making the socket " + path, errno);
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0) return errno_error("looking at " + path, errno);
  SocketFile file(path, made.st_dev, made.st_ino);
  if ((made.st_mode & 077) != 0)
    return Error{Code::kDenied, "the socket " + path + " is open to others: choose a path on another file system"};
  if (::listen(fd.get(), kBacklog) != 0) return errno_error("listening at " + path, errno);
  return Listener{std::move(file), std::move(fd), 0};
}

Result<Listener> adopt(UniqueFd fd) {
  int listens = 0, type = 0;
  socklen_t bytes = sizeof listens, type_bytes = sizeof type;
  const bool stream = ::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &type_bytes) == 0 && type == SOCK_STREAM;
  if (!stream || ::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0)
    return Error{Code::kInvalid, "descriptor " + std::to_string(fd.get()) +
                                     " was passed to the daemon and is not a listening stream socket: check the unit "
                                     "that starts it"};
  AGENTD_TRY(const SocketAddress address, own_address(fd.get()));
  const bool local = address.any.sa_family == AF_UNIX;
  if (!local && !is_loopback(address)) return only_loopback("descriptor " + std::to_string(fd.get()));
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0 || ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0)
    return errno_error("preparing descriptor " + std::to_string(fd.get()), errno);
  return Listener{{}, std::move(fd), local ? std::uint16_t{0} : port_of(address)};
}

Result<Accepted, int> accept_from(int listener) {
  SocketAddress address{};
  socklen_t bytes = sizeof address;
  Accepted out;
  out.fd = UniqueFd(::accept4(listener, &address.any, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!out.fd.valid()) return errno;
  if (address.any.sa_family == AF_UNIX) {
    ucred who{};
    socklen_t who_bytes = sizeof who;
    if (::getsockopt(out.fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &who_bytes) != 0) return errno;
    out.peer.door = HttpPeer::Door::kUnix;
    out.peer.uid = who.uid;
    out.peer.pid = who.pid;
    return out;
  }
  const bool v4 = address.any.sa_family == AF_INET;
  char text[INET6_ADDRSTRLEN] = "";
  const void* const from = v4 ? static_cast<const void*>(&address.v4.sin_addr) : &address.v6.sin6_addr;
  if (::inet_ntop(address.any.sa_family, from, text, sizeof text) != nullptr) out.peer.address = text;
  const int on = 1;
  // Small answers and events go out at once.
  ::setsockopt(out.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The system would hold megabytes for a client that does not read.
  ::setsockopt(out.fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  return out;
}

}  // namespace agentd::serve
