# Run by CPack over the files of each package: what Debian wants of every package besides.
file(GLOB packages LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(package ${packages})
  cmake_path(GET package FILENAME component)
  if(component STREQUAL runtime)
    set(name reclaim)
  elseif(component STREQUAL debug)
    set(name reclaim-dbgsym)
  elseif(component STREQUAL python)
    set(name python3-reclaim-openstack)
  else()
    continue()
  endif()
  set(doc "${package}/usr/share/doc/${name}")
  file(MAKE_DIRECTORY "${doc}")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright" "${doc}/copyright" COPYONLY)
  if(component STREQUAL runtime)
    execute_process(COMMAND /usr/bin/python3 "${CMAKE_CURRENT_LIST_DIR}/sbom.py"
        "${package}/usr/bin/reclaim" "${CPACK_RECLAIM_BUILD}" "${CPACK_PACKAGE_VERSION}"
      OUTPUT_FILE "${doc}/sbom.cdx.json" COMMAND_ERROR_IS_FATAL ANY)
  endif()
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${doc}/changelog" "reclaim (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * Packaged from its source.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB manuals "${package}/usr/share/man/man*/*.[0-9]")
  execute_process(COMMAND gzip --best --no-name --force "${doc}/changelog" ${manuals}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R go-w,u+rwX,go+rX "${package}")
  # It will hold passwords, and the API's user may pass through its folder.
  if(EXISTS "${package}/etc/reclaim/reclaim.conf")
    file(CHMOD "${package}/etc/reclaim/reclaim.conf" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
  endif()
endforeach()
