# SPDX-License-Identifier: Apache-2.0
# What an installed agentd consists of, in one place, and the packages that hold the same.
#
# Folders below the prefix are fixed where the program looks for them from its own place: bin/agentd,
# libexec/agentd/agentd-hook-worker, libexec/agentd/agentd-cage, lib/agentd/hooks. The prefix can be moved afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(bundled auto_compact audit_log guardrail redact session_memory web_fetch workspace_tools)
set(api ${PROJECT_SOURCE_DIR}/plugin-api)

# The program, its worker, the hooks that it brings.
install(TARGETS agentd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS agentd-hook-worker agentd-cage RUNTIME DESTINATION libexec/agentd)
list(TRANSFORM bundled PREPEND plugin_ OUTPUT_VARIABLE bundled_targets)
install(TARGETS ${bundled_targets} LIBRARY DESTINATION lib/agentd/hooks)
# All of that, and no test.
add_custom_target(product DEPENDS agentd agentd-hook-worker agentd-cage ${bundled_targets})

# What hooks are written with.
install(DIRECTORY ${api}/include/agentd ${api}/cpp/agentd ${api}/testing/agentd
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY ${api}/template DESTINATION share/agentd)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/agentdConfig.cmake.in
  ${PROJECT_BINARY_DIR}/install/agentdConfig.cmake INSTALL_DESTINATION lib/cmake/agentd
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/agentdConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
configure_file(cmake/agentd.pc.in ${PROJECT_BINARY_DIR}/install/agentd.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/agentdConfig.cmake
  ${PROJECT_BINARY_DIR}/install/agentdConfigVersion.cmake ${api}/cmake/AgentdHook.cmake
  ${api}/template/hook.map DESTINATION lib/cmake/agentd)
install(FILES ${PROJECT_BINARY_DIR}/install/agentd.pc DESTINATION lib/pkgconfig)

# What is read: the manual page, completions, guides.
set(pages ${PROJECT_BINARY_DIR}/core/app/pages)
install(FILES ${pages}/man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME agentd.1)
install(FILES ${pages}/bash DESTINATION share/bash-completion/completions RENAME agentd)
install(FILES ${pages}/zsh DESTINATION share/zsh/site-functions RENAME _agentd)
install(FILES ${pages}/fish DESTINATION share/fish/vendor_completions.d RENAME agentd.fish)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Below docs, as the pages and messages name each other.
install(DIRECTORY docs/guide docs/skills docs/reference docs/internals docs/adr
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

# `make package`: a .deb, and a tarball for everything else. libcurl, RE2, SQLite, libedit and libxml2 are loaded when
# they are needed: no tool sees them in the program.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR agentd)
set(CPACK_PACKAGE_CONTACT "the agentd maintainers <maintainers@agentd.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "a runtime for LLM agents whose behaviour is hooks")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME agentd-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
get_property(re2 GLOBAL PROPERTY AGENTD_RE2_SONAME)
string(REGEX REPLACE "^lib(.*)\\.so\\.(.*)$" "lib\\1-\\2" re2 ${re2})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libcurl4 | libcurl4t64, libedit2, libsqlite3-0, libxml2, ${re2}")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/AgentdPackage.cmake)
include(CPack)
