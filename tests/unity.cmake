# Several sources in one translation unit, because most of a cold compilation is headers and what
# their templates become. RECLAIM_UNITY says of what: `tests`, or `all` for the sanitizers. With the
# preset dev, what ships is compiled file by file, for a missing include has to be seen. Which
# sources may stand together tests/tidy/batches.py finds out at every configuration. CMake's own
# batches name sources by whole paths, so that a compiler cache does not serve another clone.

# The targets of a directory and of those below it, except where each is one source anyway.
function(reclaim_targets_below directory out)
  get_property(found DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  list(FILTER below EXCLUDE REGEX "tests/(mutants|fuzz|tidy)$")
  foreach(each IN LISTS below)
    reclaim_targets_below(${each} more)
    list(APPEND found ${more})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(reclaim_unity directory)
  reclaim_targets_below(${directory} targets)
  set(text "")
  foreach(target IN LISTS targets)
    get_target_property(kind ${target} TYPE)
    if(NOT kind MATCHES "LIBRARY|EXECUTABLE" OR kind STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    string(APPEND text "${target}")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} generated)
      if(source MATCHES "\\.cpp$" AND NOT generated)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
        string(APPEND text ";${source}")
      endif()
    endforeach()
    string(APPEND text "\n")
    # An unnamed namespace's type in a class that a source defines for itself is not a fault there.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/batches.txt "${text}")
  execute_process(
    COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tests/tidy/batches.py
      ${CMAKE_BINARY_DIR}/batches.txt ${CMAKE_BINARY_DIR}/batches
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" sources "${line}")
    list(POP_FRONT sources target batch)
    target_sources(${target} PRIVATE ${batch})
    list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/)
    # Part of the batch, and so not compiled.
    set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES
      HEADER_FILE_ONLY ON)
  endforeach()
endfunction()

if(RECLAIM_UNITY STREQUAL "all")
  reclaim_unity(${CMAKE_SOURCE_DIR})
elseif(RECLAIM_UNITY STREQUAL "tests")
  reclaim_unity(${CMAKE_SOURCE_DIR}/tests)
elseif(RECLAIM_UNITY)
  message(FATAL_ERROR "RECLAIM_UNITY is \"${RECLAIM_UNITY}\": it takes nothing, tests or all.")
endif()
