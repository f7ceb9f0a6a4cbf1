# SPDX-License-Identifier: Apache-2.0
# Libraries from the system. What the program links is linked statically, so that it starts in the time
# that a plain C program takes; libcurl is loaded when a request is made (core/net).
find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS program_options)
find_library(LMDB_LIBRARY NAMES liblmdb.a lmdb REQUIRED)
find_path(LMDB_INCLUDE_DIR lmdb.h REQUIRED)
find_library(SECCOMP_LIBRARY NAMES libseccomp.a seccomp REQUIRED)
find_path(SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)
find_library(YAML_CPP_LIBRARY NAMES libyaml-cpp.a yaml-cpp REQUIRED)
find_path(TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/document.h REQUIRED)
find_library(CRYPTO_LIBRARY NAMES libcrypto.a crypto REQUIRED)
find_library(RE2_LIBRARY NAMES re2 REQUIRED)  # loaded when it is needed, never linked
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_path(CURL_INCLUDE_DIR curl/curl.h PATH_SUFFIXES x86_64-linux-gnu REQUIRED)
find_path(EDIT_INCLUDE_DIR histedit.h REQUIRED)  # loaded by chat, never linked
find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)  # loaded by the first search, never linked
find_path(XML_INCLUDE_DIR libxml/HTMLparser.h PATH_SUFFIXES libxml2 REQUIRED)  # loaded by the first page, never linked
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)

function(agentd_library target include_dir)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${include_dir})
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

agentd_library(third_boost ${Boost_INCLUDE_DIRS})
agentd_library(third_options ${Boost_INCLUDE_DIRS} Boost::program_options)
agentd_library(third_lmdb ${LMDB_INCLUDE_DIR} ${LMDB_LIBRARY} Threads::Threads)
agentd_library(third_yaml /usr/include ${YAML_CPP_LIBRARY})
agentd_library(third_toml ${TOML_INCLUDE_DIR})
agentd_library(third_seccomp ${SECCOMP_INCLUDE_DIR} ${SECCOMP_LIBRARY})
agentd_library(third_json ${RAPIDJSON_INCLUDE_DIR})
agentd_library(third_crypto /usr/include ${CRYPTO_LIBRARY})
agentd_library(third_re2 ${RE2_INCLUDE_DIR} ${CMAKE_DL_LIBS})
agentd_library(third_curl ${CURL_INCLUDE_DIR} ${CMAKE_DL_LIBS})
agentd_library(third_edit ${EDIT_INCLUDE_DIR} ${CMAKE_DL_LIBS})
agentd_library(third_sqlite ${SQLITE_INCLUDE_DIR} ${CMAKE_DL_LIBS})
agentd_library(third_xml ${XML_INCLUDE_DIR} ${CMAKE_DL_LIBS})
agentd_library(third_spdlog ${SPDLOG_INCLUDE_DIR})
target_compile_definitions(third_spdlog INTERFACE SPDLOG_HEADER_ONLY SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
target_compile_definitions(third_boost INTERFACE BOOST_DLL_USE_STD_FS)
if(AGENTD_TESTS)
  find_package(GTest REQUIRED)
endif()
