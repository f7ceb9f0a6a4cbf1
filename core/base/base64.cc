// SPDX-License-Identifier: Apache-2.0
#include "core/base/base64.h"

#include <openssl/evp.h>

#include <algorithm>

#include "core/base/result.h"

namespace agentd {

std::string base64(std::string_view bytes) {
  AGENTD_ASSERT(bytes.size() <= std::size_t{1} << 30);
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  // EVP_EncodeBlock writes a zero after the text, where the string has its own.
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  return out;
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  });
}

std::string from_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3, '\0');
  const int length =
      ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(std::max(length, 0)));
  return out;
}

std::string base64_head(std::string_view text) { return from_base64(text.substr(0, 16)); }

}  // namespace agentd
