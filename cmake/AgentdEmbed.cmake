# SPDX-License-Identifier: Apache-2.0
# agentd_embed(TARGET FILE NAME HEADER): FILE becomes `inline constexpr std::string_view NAME` in HEADER.
function(agentd_embed target file name header)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
  string(FIND "${text}" ")EMBED\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} contains the delimiter of embedded text")
  endif()
  file(CONFIGURE OUTPUT ${out} CONTENT
"// Made from ${file}.
#pragma once
#include <string_view>
namespace agentd {
inline constexpr std::string_view ${name} = R\"EMBED(@text@)EMBED\";
}  // namespace agentd
" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
