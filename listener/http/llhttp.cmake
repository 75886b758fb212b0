# llhttp reads HTTP, as Node.js does. Debian 13 packages it as a library (libllhttp-dev), Debian 12
# as the C sources in node-llhttp; those are compiled here, in llhttp's strict mode. apt does not
# update what is compiled in, so the binary tells its package and version (state/version.h.in).
set(RECLAIM_COMPILED_IN "")
pkg_check_modules(LLHTTP IMPORTED_TARGET libllhttp)
if(LLHTTP_FOUND)
  add_library(llhttp ALIAS PkgConfig::LLHTTP)
else()
  find_path(LLHTTP_INCLUDE llhttp.h PATH_SUFFIXES llhttp
    PATHS /usr/share/include REQUIRED)
  find_path(LLHTTP_SOURCES llhttp.c PATHS /usr/share/llhttp REQUIRED)
  add_library(llhttp STATIC
    ${LLHTTP_SOURCES}/api.c ${LLHTTP_SOURCES}/http.c ${LLHTTP_SOURCES}/llhttp.c)
  target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE})
  target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
  target_compile_options(llhttp PRIVATE -w)
  target_link_libraries(llhttp PRIVATE reclaim_options)  # hardened as what is ours
  execute_process(COMMAND dpkg-query --show "--showformat=\${Package} \${Version}" node-llhttp
    OUTPUT_VARIABLE RECLAIM_COMPILED_IN COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LLHTTP_SOURCES}/llhttp.c)
endif()
