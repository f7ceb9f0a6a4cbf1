// SPDX-License-Identifier: Apache-2.0
#include "core/net/curl_library.h"

#include <dlfcn.h>

#include "core/base/linker.h"

namespace agentd {
namespace {

Error cannot_load(const std::string& why) {
  return {Code::kUnavailable,
          "libcurl cannot be loaded (" + why + "); install it, on Debian with: apt install libcurl4"};
}

// Fills slots one after another and remembers the first missing name.
struct Resolver {
  void* library;
  const char* missing = nullptr;

  template <typename Function>
  void get(Function& slot, const char* name) {
    slot = reinterpret_cast<Function>(::dlsym(library, name));
    if (slot == nullptr && missing == nullptr) missing = name;
  }
};

// Lazy, to save resolving unused names. Never closed: OpenSSL registers exit handlers, and unloading at exit wastes
// time.
void* open_in_turn(const char* file) {
  const LinkerTurn turn;
  return ::dlopen(file, RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

Result<std::unique_ptr<const CurlLibrary>> CurlLibrary::load(const char* file) {
  // The largest libraries that libcurl depends on, if it was built with them. Plugins are loaded in between, and the
  // first commit is made. A missing library is not an error.
  for (const char* const below : {"libcrypto.so.3", "libssl.so.3", "libgssapi_krb5.so.2", "librtmp.so.1"})
    open_in_turn(below);
  void* const library = open_in_turn(file);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return cannot_load(why == nullptr ? file : why);
  }
  auto curl = std::make_unique<CurlLibrary>();
  Resolver resolve{library};
  resolve.get(curl->global_init, "curl_global_init");
  resolve.get(curl->version, "curl_version");
  resolve.get(curl->easy_init, "curl_easy_init");
  resolve.get(curl->easy_cleanup, "curl_easy_cleanup");
  resolve.get(curl->easy_setopt, "curl_easy_setopt");
  resolve.get(curl->easy_pause, "curl_easy_pause");
  resolve.get(curl->easy_strerror, "curl_easy_strerror");
  resolve.get(curl->multi_init, "curl_multi_init");
  resolve.get(curl->multi_cleanup, "curl_multi_cleanup");
  resolve.get(curl->multi_add_handle, "curl_multi_add_handle");
  resolve.get(curl->multi_remove_handle, "curl_multi_remove_handle");
  resolve.get(curl->multi_setopt, "curl_multi_setopt");
  resolve.get(curl->multi_socket_action, "curl_multi_socket_action");
  resolve.get(curl->multi_info_read, "curl_multi_info_read");
  resolve.get(curl->multi_strerror, "curl_multi_strerror");
  resolve.get(curl->share_init, "curl_share_init");
  resolve.get(curl->share_setopt, "curl_share_setopt");
  resolve.get(curl->share_cleanup, "curl_share_cleanup");
  resolve.get(curl->slist_append, "curl_slist_append");
  resolve.get(curl->slist_free_all, "curl_slist_free_all");
  if (resolve.missing != nullptr) return cannot_load(std::string(file) + " is too old: it lacks " + resolve.missing);
  const CURLcode failed = curl->global_init(CURL_GLOBAL_SSL);
  if (failed != CURLE_OK) return cannot_load(curl->easy_strerror(failed));
  return std::unique_ptr<const CurlLibrary>(std::move(curl));
}

}  // namespace agentd
