// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/text.h"

#include <algorithm>
#include <cstdio>

#include "core/base/bytes.h"

namespace workspace_tools {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_binary(std::string_view text) { return text.substr(0, 8192).find('\0') != std::string_view::npos; }

std::string shortened(std::string_view line) {
  if (line.size() <= kLineBytes) return agentd::to_utf8(line);
  return agentd::to_utf8(agentd::utf8_prefix(line, kLineBytes)) + " [... the line has " + std::to_string(line.size()) +
         " bytes]";
}

std::string numbered(std::uint64_t number, std::string_view line) {
  char label[32];
  std::snprintf(label, sizeof label, "%6llu\t", static_cast<unsigned long long>(number));
  return label + shortened(line);
}

std::string capped(std::string text, std::size_t most) {
  text = agentd::to_utf8(text);
  if (text.size() <= most) return text;
  const std::string_view head = agentd::utf8_prefix(text, most / 2);
  const std::string_view tail = agentd::utf8_suffix(text, most / 2);
  return std::string(head) + "\n[... " + std::to_string(text.size() - head.size() - tail.size()) +
         " bytes left out ...]\n" + std::string(tail);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string normal_path(std::string_view cwd, std::string_view path) {
  const std::string full = path.starts_with('/') ? std::string(path) : std::string(cwd) + "/" + std::string(path);
  std::string_view rest = full;
  std::string out;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else {
      out.append("/").append(part);
    }
  }
  return out.empty() ? "/" : out;
}

}  // namespace workspace_tools
