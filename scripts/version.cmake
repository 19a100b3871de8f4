# SPDX-License-Identifier: Apache-2.0
# Writes version.h if its contents changed.
set(build unknown)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE rc)
  if(rc EQUAL 0)
    set(build ${said})
  endif()
endif()
set(text "#define FARE_VERSION \"${VERSION}\"\n#define FARE_DATE \"${DATE}\"\n#define FARE_BUILD \"${build}\"\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
