// SPDX-License-Identifier: Apache-2.0
#pragma once
// curl_client.h - an HTTP client over libcurl, which is loaded by the first request.
//
// Threading: as HttpClient.

#include <memory>
#include <string>

#include "core/net/http.h"

namespace agentd {

// `clock` outlives it.
std::unique_ptr<HttpClient> make_http_client(const Clock& clock, HttpSettings settings = {});

// The version of libcurl, or why it cannot be loaded; for `agentd doctor`.
Result<std::string> http_library_version();

}  // namespace agentd
