// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/html_library.h"

#include <dlfcn.h>

#include <string>

#include "core/base/linker.h"

namespace web_fetch {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::Result;

template <typename Function>
bool get(void* library, Function& slot, const char* name) {
  slot = reinterpret_cast<Function>(::dlsym(library, name));
  return slot != nullptr;
}

Error cannot_load(const char* why) {
  return {Code::kUnavailable, "libxml2 cannot be loaded (" + std::string(why == nullptr ? "it is too old" : why) +
                                  "), and pages cannot be read without it; install it, on Debian with: apt install "
                                  "libxml2"};
}

Result<HtmlLibrary> open() {
  void* library = nullptr;
  {
    const agentd::LinkerTurn turn;
    library = ::dlopen("libxml2.so.2", RTLD_LAZY | RTLD_LOCAL);
  }
  if (library == nullptr) return cannot_load(::dlerror());
  HtmlLibrary out;
  if (!get(library, out.init, "xmlInitParser") || !get(library, out.read, "htmlReadMemory") ||
      !get(library, out.free_document, "xmlFreeDoc") || !get(library, out.root, "xmlDocGetRootElement"))
    return cannot_load(nullptr);
  out.init();
  return out;
}

}  // namespace

Result<const HtmlLibrary*> HtmlLibrary::load() {
  static const Result<HtmlLibrary> loaded = open();
  if (!loaded) return loaded.error();
  return &*loaded;
}

}  // namespace web_fetch
