# SPDX-License-Identifier: Apache-2.0
# missing_row.cmake - a row that is missing does not compile, and the compiler says which table lacks it.
#
# cmake -DROOT=source tree -DTO=folder -DHEADER=name -DROW=its beginning -DSOURCE=who reads it -DEXPECT=words
#   -DCOMPILER=c++ -P missing_row.cmake
file(REMOVE_RECURSE ${TO})
file(COPY ${ROOT}/plugin-api/include/agentd DESTINATION ${TO})
file(READ ${TO}/agentd/${HEADER} text)
string(FIND "${text}" "${ROW}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "missing_row: no '${ROW}' in ${HEADER}")
endif()
string(SUBSTRING "${text}" 0 ${at} head)
string(SUBSTRING "${text}" ${at} -1 tail)
# The row ends where the next one, or what follows the list, begins.
string(LENGTH "${tail}" end)
foreach(next "\n  X(" "\n  /*" "\n/*")
  string(FIND "${tail}" "${next}" found)
  if(NOT found EQUAL -1 AND found LESS end)
    set(end ${found})
  endif()
endforeach()
string(SUBSTRING "${tail}" ${end} -1 tail)
file(WRITE ${TO}/agentd/${HEADER} "${head}\\${tail}")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -x c++ -I${TO} -I${ROOT} -I${ROOT}/plugin-api/include
  -I${ROOT}/plugin-api/cpp ${ROOT}/${SOURCE} RESULT_VARIABLE result ERROR_VARIABLE said)
string(FIND "${said}" "${EXPECT}" found)
if(result EQUAL 0 OR found EQUAL -1)
  message(FATAL_ERROR "missing_row: without '${ROW}' ${SOURCE} has to fail with '${EXPECT}', not: ${result} ${said}")
endif()
