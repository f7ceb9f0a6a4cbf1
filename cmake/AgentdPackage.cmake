# SPDX-License-Identifier: Apache-2.0
# cpack reads this once for each kind of package: a .deb belongs under /usr, a tarball is one folder that can lie
# anywhere, with bin/ and lib/ in it.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
