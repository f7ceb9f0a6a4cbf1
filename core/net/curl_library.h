// SPDX-License-Identifier: Apache-2.0
#pragma once
// curl_library.h - the functions of libcurl, loaded on first use.
//
// Loading libcurl and its dependencies costs several milliseconds, which a command without network use must not pay; so
// the program does not link it.
//
// Threading: immutable after load(); libcurl's own rules apply to the handles.

#include <curl/curl.h>

#include <memory>

#include "core/base/result.h"

namespace agentd {

struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_version) version = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_pause) easy_pause = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_strerror) multi_strerror = nullptr;
  decltype(&::curl_share_init) share_init = nullptr;
  decltype(&::curl_share_setopt) share_setopt = nullptr;
  decltype(&::curl_share_cleanup) share_cleanup = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;

  // Loads and initialises the library, which stays until the process ends. kUnavailable names the package to install.
  // `file` differs only in tests.
  static Result<std::unique_ptr<const CurlLibrary>> load(const char* file = "libcurl.so.4");
};

}  // namespace agentd
