// SPDX-License-Identifier: Apache-2.0
#include "core/serve/port_owner.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "core/base/bytes.h"

namespace agentd::serve {
namespace {

namespace fs = std::filesystem;

// "socket:[INODE]" of each socket that listens on the port: the links of its descriptors (proc(5), /proc/net/tcp).
std::set<std::string> listening_sockets(std::uint16_t port) {
  std::set<std::string> out;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, skipped, inode;
      words >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      const std::size_t colon = local.rfind(':');
      if (colon == std::string::npos || state != "0A") continue;
      if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) out.insert("socket:[" + inode + "]");
    }
  }
  return out;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code failed;
  for (fs::directory_iterator each(process / "fd", failed), end; !failed && each != end; each.increment(failed)) {
    std::error_code ended;
    if (sockets.contains(fs::read_symlink(each->path(), ended).string())) return true;
  }
  return false;
}

}  // namespace

std::string port_owner(std::uint16_t port) {
  const std::set<std::string> sockets = listening_sockets(port);
  if (sockets.empty()) return {};
  std::error_code failed;
  for (fs::directory_iterator each("/proc", failed), end; !failed && each != end; each.increment(failed)) {
    const std::string process = each->path().filename().string();
    if (process.find_first_not_of("0123456789") != std::string::npos || !has_one_of(each->path(), sockets)) continue;
    std::string name;
    std::getline(std::ifstream(each->path() / "comm"), name);
    return one_line(to_utf8(name), 64) + " (process " + process + ")";
  }
  return {};
}

}  // namespace agentd::serve
