# SPDX-License-Identifier: Apache-2.0
# Rooms: one target per second-level folder, with the layers of ARCHITECTURE.md.
#
# agentd_room(NAME SOURCES ... USES room ... LIBS target ...) makes the static library agentd_NAME of the
# calling folder. USES may name only rooms that the table below allows; a wrong one stops configuring.

# What each room may include, not counting what those include in turn.
set(AGENTD_MAY_base "")
set(AGENTD_MAY_codec base)
set(AGENTD_MAY_process base)
set(AGENTD_MAY_scrub base codec)
set(AGENTD_MAY_net base codec)
set(AGENTD_MAY_conversation base codec)
set(AGENTD_MAY_model conversation)
set(AGENTD_MAY_tokens conversation)
set(AGENTD_MAY_store conversation scrub)
set(AGENTD_MAY_tools conversation)
set(AGENTD_MAY_hooks conversation)
set(AGENTD_MAY_bridge hooks tools)
set(AGENTD_MAY_compaction tokens hooks model)
set(AGENTD_MAY_recipes compaction codec)
set(AGENTD_MAY_account model store tokens)
set(AGENTD_MAY_agent recipes store tools account)
set(AGENTD_MAY_isolation base)
set(AGENTD_MAY_host bridge isolation process net codec)
set(AGENTD_MAY_worker bridge isolation process)
set(AGENTD_MAY_client net codec)
set(AGENTD_MAY_serve agent net codec)
set(AGENTD_MAY_providers_common model net codec)
set(AGENTD_MAY_providers_anthropic providers_common)
set(AGENTD_MAY_providers_google providers_common)
set(AGENTD_MAY_providers_openai providers_common)
set(AGENTD_MAY_providers_scripted providers_common)

# agent reaches hooks and model through recipes -> compaction; this closes the table over itself.
function(agentd_closure room out)
  set(todo ${AGENTD_MAY_${room}})
  set(seen "")
  while(todo)
    list(POP_FRONT todo next)
    if(NOT next IN_LIST seen)
      list(APPEND seen ${next})
      list(APPEND todo ${AGENTD_MAY_${next}})
    endif()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

function(agentd_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LIBS" ${ARGN})
  agentd_closure(${name} allowed)
  foreach(used ${ROOM_USES})
    if(NOT name STREQUAL app AND NOT used IN_LIST allowed)
      message(FATAL_ERROR "layers: ${name} may not use ${used}")
    endif()
  endforeach()
  add_library(agentd_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(agentd_${name} PUBLIC agentd_flags agentd_api)
  foreach(used ${ROOM_USES})
    target_link_libraries(agentd_${name} PUBLIC agentd_${used})
  endforeach()
  target_link_libraries(agentd_${name} PRIVATE ${ROOM_LIBS})
endfunction()

# Adds the folder if the room is built there.
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
  add_test(NAME unit_${room} COMMAND unit_${room})
  set_tests_properties(unit_${room} PROPERTIES LABELS unit TIMEOUT 400)
endfunction()
