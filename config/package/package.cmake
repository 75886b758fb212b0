# `cpack -G DEB --config build/release/CPackConfig.cmake`: reclaim, reclaim-dbgsym and
# python3-reclaim-openstack. Configure for /usr: -DCMAKE_INSTALL_PREFIX=/usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME reclaim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Reclaim developers <reclaim@example.org>")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "https://specs.openstack.org/openstack/cyborg-specs/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# The install scripts write the prefix into units, so that it has to be the real one.
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime debug python)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_RECLAIM_BUILD ${CMAKE_BINARY_DIR})  # for stage.cmake
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/config/package/stage.cmake)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME reclaim)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# procps: the units reload with /bin/kill.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, procps")
# doctor asks systemd over the bus for the restrictions of the unit.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "default-dbus-system-bus | dbus-system-bus")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS
  "nova-compute, redis-server | valkey-server, reclaim-dbgsym")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
  "gives passthrough devices back to an OpenStack cloud, safely
Reclaim runs beside nova-compute. When an instance is deleted and its
passed-through NVMe drive is left reserved in Placement, it proves that the
drive is not in use, erases it, verifies the erasure, and only then releases
it, with a signed certificate. In doubt the drive stays reserved.
.
The package starts nothing: configure it first, then enable the service.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/config/package/postinst;${CMAKE_SOURCE_DIR}/config/package/prerm"
  "${CMAKE_SOURCE_DIR}/config/package/postrm;${CMAKE_SOURCE_DIR}/config/package/conffiles")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME reclaim-dbgsym)
set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DEBUG_PACKAGE_DEPENDS "reclaim (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEBUG_DESCRIPTION "debug symbols for reclaim
What a debugger needs to read a core dump or a stack of the worker.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-reclaim-openstack)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS
  "python3-openstackclient, python3-openstacksdk, python3-osc-lib")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "openstack client's commands for Reclaim
Commands of the openstack client for the device API of Reclaim, such as
openstack accelerator device clean --wait, and the driver by which the agent
of Cyborg asks Reclaim.")
include(CPack)
