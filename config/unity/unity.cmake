# Several sources in one translation unit, because most of a cold compilation is headers and what
# their templates become. RECLAIM_UNITY says of what: `all`, or `tests` alone. With the preset dev,
# what ships is compiled file by file: a missing include is seen there, and a change is cheap. Which
# sources may stand together batches.py finds out at every configuration. CMake's own batches name
# sources by whole paths, so that a compiler cache does not serve another clone.

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

# reclaim_unity(DIRECTORY BYTES): of the targets below it, in batches of so many bytes of sources.
function(reclaim_unity directory bytes)
  reclaim_targets_below(${directory} targets)
  get_property(mutated GLOBAL PROPERTY mutants_sources)
  set(text "")
  foreach(target IN LISTS targets)
    get_target_property(kind ${target} TYPE)
    if(NOT kind MATCHES "LIBRARY|EXECUTABLE" OR kind STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    set(alone "")
    set(first "")
    set(then "")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE OUTPUT_VARIABLE path)
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${path} generated)
      get_source_file_property(own ${path} TARGET_DIRECTORY ${target} COMPILE_DEFINITIONS)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      if(NOT path MATCHES "\\.cpp$" OR generated OR own)
        list(APPEND alone ${source})
      elseif(path IN_LIST mutated)
        list(APPEND first ${path})
      else()
        list(APPEND then ${path})
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES SOURCES "${alone}")
    # Sources with mutants share batches, for the mutants compile those batches once more.
    set(line ${target} ${first} ${then})
    string(APPEND text "${line}\n")
    # An unnamed namespace's type in a class that a source defines for itself is not a fault there.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/batches.txt "${text}")
  execute_process(
    COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/config/unity/batches.py
      ${CMAKE_BINARY_DIR}/batches.txt ${CMAKE_BINARY_DIR}/batches ${bytes}
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" line "${line}")
    list(GET line 0 target)
    list(GET line 1 batch)
    target_sources(${target} PRIVATE ${batch})
    file(READ ${batch} text)
    foreach(source IN LISTS mutated)
      if(text MATCHES "\"${source}\"")
        target_sources(mutants_switched PRIVATE ${batch})
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

if(RECLAIM_UNITY STREQUAL "all")
  reclaim_unity(${CMAKE_SOURCE_DIR} 250000)
elseif(RECLAIM_UNITY STREQUAL "tests")
  # Enough to share headers, and little enough for who changes a test.
  reclaim_unity(${CMAKE_SOURCE_DIR}/tests 60000)
elseif(RECLAIM_UNITY)
  message(FATAL_ERROR "RECLAIM_UNITY is \"${RECLAIM_UNITY}\": it takes nothing, tests or all.")
endif()
