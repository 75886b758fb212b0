# Several sources in one translation unit, because most of a cold compilation is headers and what
# their templates become. RECLAIM_UNITY says of what: `tests`, or `all` for the sanitizers. With the
# preset dev, what ships is compiled file by file, for a missing include has to be seen. Which
# sources may stand together tests/tidy/batches.py finds out at every configuration.

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
      if(source MATCHES "\\.cpp$")
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
        string(APPEND text ";${source}")
      endif()
    endforeach()
    string(APPEND text "\n")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # An unnamed namespace's type in a class that a source defines for itself is not a fault there.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/unity-targets.txt "${text}")
  execute_process(
    COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tests/tidy/batches.py
      ${CMAKE_BINARY_DIR}/unity-targets.txt
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/unity-groups.txt COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${CMAKE_BINARY_DIR}/unity-groups.txt lines)
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" line "${line}")
    list(POP_FRONT line target group)
    set_source_files_properties(${line} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

if(RECLAIM_UNITY STREQUAL "all")
  reclaim_unity(${CMAKE_SOURCE_DIR})
elseif(RECLAIM_UNITY STREQUAL "tests")
  reclaim_unity(${CMAKE_SOURCE_DIR}/tests)
elseif(RECLAIM_UNITY)
  message(FATAL_ERROR "RECLAIM_UNITY is \"${RECLAIM_UNITY}\": it takes nothing, tests or all.")
endif()
