# SPDX-License-Identifier: Apache-2.0
# Rooms: one target per second-level folder. Which rooms there are, and what each may include, says rooms.txt.
#
# agentd_room(NAME SOURCES ... APART ... LIBS target ...) makes the static library agentd_NAME of the calling folder and
# links it with the rooms of its row. APART: sources that stand in no batch, since a test links others in their place.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt AGENTD_ROOM_ROWS REGEX "^[a-z]")
foreach(row ${AGENTD_ROOM_ROWS})
  if(NOT row MATCHES "^([a-z/_-]+) \\| ([a-z_ -]+) \\|")
    continue()  # what stands behind a semicolon
  endif()
  list(APPEND AGENTD_ROOM_FOLDERS ${CMAKE_MATCH_1})
  string(REPLACE "core/" "" name ${CMAKE_MATCH_1})
  string(REPLACE "/" "_" name ${name})
  string(REPLACE " " ";" uses ${CMAKE_MATCH_2})
  list(REMOVE_ITEM uses "-")
  set(AGENTD_ROOM_${name} "${uses}")
endforeach()

# Compiles the sources of TARGET in batches: most of a source's time goes into what it includes and instantiates. Names
# are therefore unique in a room. The preset `clang` compiles one by one, so that no source leans on its neighbours.
#
# Modules and the programs of sandbox and worker take single sources of some rooms, which stay apart: whatever stands in
# a batch with one of them would be linked, too.
set(AGENTD_APART base codec shell scrub net process cage isolation)
list(TRANSFORM AGENTD_APART PREPEND agentd_)
function(agentd_batches target)
  if(AGENTD_BATCH GREATER 1 AND NOT target IN_LIST AGENTD_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${AGENTD_BATCH})
    # Of an anonymous type in a class of a source, which then is an included file.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(agentd_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;APART;LIBS" ${ARGN})
  if(NOT DEFINED AGENTD_ROOM_${name})
    message(FATAL_ERROR "cmake/rooms.txt has no row for ${name}")
  endif()
  list(APPEND ROOM_SOURCES ${ROOM_APART})
  list(REMOVE_DUPLICATES ROOM_SOURCES)
  add_library(agentd_${name} STATIC ${ROOM_SOURCES})
  set_source_files_properties(${ROOM_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(agentd_${name} PUBLIC agentd_flags agentd_api)
  foreach(used ${AGENTD_ROOM_${name}})
    target_link_libraries(agentd_${name} PUBLIC agentd_${used})
  endforeach()
  target_link_libraries(agentd_${name} PRIVATE ${ROOM_LIBS})
  target_precompile_headers(agentd_${name} REUSE_FROM agentd_headers)
  agentd_batches(agentd_${name})
endfunction()

# Adds the folder if it has something to build.
macro(agentd_add_room folder)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/${folder})
  endif()
endmacro()

# agentd_plugin(NAME SOURCES ...): a bundled hook, built as anybody would build it from the public headers.
function(agentd_plugin name)
  cmake_parse_arguments(PLUGIN "" "" "SOURCES;LIBS" ${ARGN})
  add_library(plugin_${name} MODULE ${PLUGIN_SOURCES})
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hooks)
  target_link_libraries(plugin_${name} PRIVATE agentd_flags agentd_sdk ${PLUGIN_LIBS})
  agentd_batches(plugin_${name})
  if(NOT AGENTD_SANITIZE)
    target_link_options(plugin_${name} PRIVATE -static-libstdc++ -static-libgcc
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/plugin-api/template/hook.map
      $<$<NOT:$<CONFIG:Debug>>:-s>)  # every byte of a module is hashed when it is loaded
  endif()
endfunction()

# agentd_unit_test(ROOM SOURCES ... LIBS ...): one test binary per room.
function(agentd_unit_test room)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(unit_${room} ${TEST_SOURCES})
  target_link_libraries(unit_${room} PRIVATE agentd_flags agentd_sdk ${TEST_LIBS} GTest::gtest_main)
  target_precompile_headers(unit_${room} REUSE_FROM agentd_test_headers)
  agentd_batches(unit_${room})
  add_test(NAME unit_${room} COMMAND unit_${room})
  set_tests_properties(unit_${room} PROPERTIES LABELS unit TIMEOUT 400)
endfunction()
