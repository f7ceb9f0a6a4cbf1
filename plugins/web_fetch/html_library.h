// SPDX-License-Identifier: Apache-2.0
#pragma once
// html_library.h - the functions of libxml2 that read HTML, loaded by the first page.
//
// Threading: load() is thread-safe; libxml2 is, for documents of their own.

#include <libxml/HTMLparser.h>

#include "core/base/result.h"

namespace web_fetch {

struct HtmlLibrary {
  decltype(&::xmlInitParser) init = nullptr;
  decltype(&::htmlReadMemory) read = nullptr;
  decltype(&::xmlFreeDoc) free_document = nullptr;
  decltype(&::xmlDocGetRootElement) root = nullptr;

  // The same object each time; the library stays until the process ends. kUnavailable names the package to install.
  static agentd::Result<const HtmlLibrary*> load();
};

}  // namespace web_fetch
