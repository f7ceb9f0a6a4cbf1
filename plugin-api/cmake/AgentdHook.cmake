# SPDX-License-Identifier: Apache-2.0
# agentd_add_hook(NAME SOURCE...): the module NAME.so (NAME.dll for Windows), which exports its entry and
# nothing else. The target agentd::sdk carries the headers: hook.h for C, hook.hpp for C++20, fake_host.hpp
# for unit tests of a hook.
#
# An installed agentd brings this file by find_package(agentd); a source tree by include().
if(NOT TARGET agentd::sdk)
  add_library(agentd::sdk INTERFACE IMPORTED)
  get_filename_component(agentd_plugin_api ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
  foreach(agentd_headers include cpp testing)  # a hook in C brings the first alone
    if(EXISTS ${agentd_plugin_api}/${agentd_headers})
      set_property(TARGET agentd::sdk APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES
        ${agentd_plugin_api}/${agentd_headers})
    endif()
  endforeach()
endif()

# The list of what a module exports lies beside this file when installed.
set(AGENTD_HOOK_MAP ${CMAKE_CURRENT_LIST_DIR}/hook.map)
if(NOT EXISTS ${AGENTD_HOOK_MAP})
  set(AGENTD_HOOK_MAP ${CMAKE_CURRENT_LIST_DIR}/../template/hook.map)
endif()

function(agentd_add_hook name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE agentd::sdk)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(CXX IN_LIST languages)
    target_compile_features(${name} PRIVATE cxx_std_20)
  endif()
  if(C IN_LIST languages)
    target_compile_features(${name} PRIVATE c_std_11)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(WIN32)
    target_link_options(${name} PRIVATE -static)  # no DLL of the compiler beside it
  else()
    target_link_options(${name} PRIVATE -Wl,--version-script=${AGENTD_HOOK_MAP} -Wl,-z,defs)
  endif()
endfunction()
