# SPDX-License-Identifier: Apache-2.0
# agentd_flags: the warnings, hardening and sanitizers that every target of this project gets.
add_library(agentd_flags INTERFACE)
target_compile_options(agentd_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:-Wthread-safety>
  -fno-plt -fstack-protector-strong -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 warns of `"x" + std::string` when it optimises (its bug 105651); in precompiled headers by more names.
  set(cries restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    list(APPEND cries array-bounds stringop-overflow stringop-overread)
  endif()
  foreach(name ${cries})
    target_compile_options(agentd_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-${name}>)
  endforeach()
endif()
if(AGENTD_WERROR)
  target_compile_options(agentd_flags INTERFACE -Werror)
endif()
target_include_directories(agentd_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(AGENTD_FUZZ)
  target_compile_options(agentd_flags INTERFACE -fsanitize=fuzzer-no-link
    -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/ignorelist.txt)
endif()
if(AGENTD_SANITIZE)
  target_compile_options(agentd_flags INTERFACE "-fsanitize=${AGENTD_SANITIZE}" -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(agentd_flags INTERFACE "-fsanitize=${AGENTD_SANITIZE}")
else()
  target_compile_options(agentd_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  target_link_options(agentd_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--gc-sections)
  target_compile_options(agentd_flags INTERFACE -ffunction-sections -fdata-sections)
endif()

# agentd_sanitizer_defaults(TARGET...): programs in which modules of other people run.
function(agentd_sanitizer_defaults)
  if(AGENTD_SANITIZE)
    foreach(target ${ARGN})
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/sanitizer_defaults.cc)
    endforeach()
  endif()
endfunction()
