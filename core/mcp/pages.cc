// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/pages.h"

#include "core/base/base64.h"

namespace agentd::mcp {

std::string write_cursor(std::string_view list, std::string_view after) {
  return base64(std::string(list) + '\n' + std::string(after));
}

std::optional<std::string> read_cursor(std::string_view list, std::string_view cursor) {
  const auto text = read_base64(cursor);
  const std::string head = std::string(list) + '\n';
  if (!text || !text->starts_with(head)) return std::nullopt;
  return text->substr(head.size());
}

std::optional<std::string> read_base64(std::string_view text) {
  if (!is_base64(text)) return std::nullopt;
  std::string out = from_base64(text);
  // It has a zero byte for each sign at the end.
  for (; text.ends_with('='); text.remove_suffix(1)) out.pop_back();
  return out;
}

}  // namespace agentd::mcp
