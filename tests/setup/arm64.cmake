# Cross-compilation for arm64 with Debian's compiler and libraries (dpkg --add-architecture arm64);
# what CMake or ctest runs of it runs under QEMU. tests/setup/on_arm64.sh has the packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(RECLAIM_OBJCOPY /usr/bin/aarch64-linux-gnu-objcopy CACHE FILEPATH "objcopy for arm64")
