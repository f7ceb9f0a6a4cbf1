# SPDX-License-Identifier: Apache-2.0
# Packs the vocabularies of this folder and puts them into agentd_tokens. The sums are those of the
# unpacked files.
set(cl100k_base_sum 223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7)
set(o200k_base_sum 446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d)

find_library(LZMA_LIBRARY NAMES lzma REQUIRED)
find_path(LZMA_INCLUDE_DIR lzma.h REQUIRED)
agentd_library(third_lzma ${LZMA_INCLUDE_DIR} ${LZMA_LIBRARY})
add_executable(pack_vocabulary ${CMAKE_CURRENT_LIST_DIR}/pack.cc)
target_link_libraries(pack_vocabulary PRIVATE agentd_flags agentd_base third_lzma)

foreach(encoding cl100k_base o200k_base)
  set(packed ${CMAKE_CURRENT_LIST_DIR}/${encoding}.tiktoken.xz)
  set(${encoding}_image ${CMAKE_CURRENT_BINARY_DIR}/${encoding}.image)
  add_custom_command(OUTPUT ${${encoding}_image} DEPENDS ${packed} pack_vocabulary
    COMMAND pack_vocabulary ${packed} ${${encoding}_sum} ${${encoding}_image}
    COMMENT "Packing the vocabulary ${encoding}" VERBATIM)
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/images.cc.in ${CMAKE_CURRENT_BINARY_DIR}/bpe_images.cc @ONLY)
# No LTO: the symbols are the assembler's.
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/bpe_images.cc PROPERTIES
  COMPILE_OPTIONS -fno-lto OBJECT_DEPENDS "${cl100k_base_image};${o200k_base_image}")
target_sources(agentd_tokens PRIVATE bpe.cc bpe_classes.cc bpe_estimator.cc bpe_merge.cc bpe_split.cc
  ${CMAKE_CURRENT_BINARY_DIR}/bpe_images.cc)
