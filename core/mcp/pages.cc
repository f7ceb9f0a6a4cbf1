// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/pages.h"

#include "core/base/base64.h"

namespace agentd::mcp {

std::string write_cursor(std::string_view list, std::string_view after) {
  return base64(std::string(list) + '\n' + std::string(after));
}

std::optional<std::string> read_cursor(std::string_view list, std::string_view cursor) {
  if (!is_base64(cursor)) return std::nullopt;
  const std::string text = from_base64(cursor);
  const std::string head = std::string(list) + '\n';
  if (!text.starts_with(head)) return std::nullopt;
  return text.substr(head.size());
}

}  // namespace agentd::mcp
