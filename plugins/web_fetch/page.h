// SPDX-License-Identifier: Apache-2.0
#pragma once
// page.h - a web page as text that a model can read: Markdown without scripts, styles and navigation.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace web_fetch {

struct Page {
  std::string title, text;  // valid UTF-8
};

// `charset`: as the server has named it; empty = by the page. `url`: of the page, for its links. kUnavailable: libxml2
// is not installed.
agentd::Result<Page> readable(std::string_view html, std::string_view charset, std::string_view url);

// The text in UTF-8; what is not valid in its charset is replaced. An unknown charset is taken for UTF-8.
std::string in_utf8(std::string_view text, std::string_view charset);

// The URL that a page at `base` means by `reference` (RFC 3986, 5.2; dots in paths stay). Without a fragment.
std::string resolved_url(std::string_view base, std::string_view reference);

}  // namespace web_fetch
