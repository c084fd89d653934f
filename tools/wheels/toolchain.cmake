# How wheels are linked: against the stand-ins of old_libraries.py, and what is newer comes from the static libstdc++.
# TOPMIX_WHEEL_ARCH and TOPMIX_OLD_LIBRARIES are set in the environment by build.py.
set(arch $ENV{TOPMIX_WHEEL_ARCH})
set(old $ENV{TOPMIX_OLD_LIBRARIES})
if(NOT arch STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)  # this line makes it a cross build
  set(CMAKE_SYSTEM_PROCESSOR ${arch})
endif()
set(CMAKE_CXX_COMPILER $ENV{TOPMIX_WHEEL_COMPILER})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # nothing that is tried is linked, or run
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-nodefaultlibs -Wl,--exclude-libs,ALL -Wl,--no-allow-shlib-undefined")
# The loader opens libpthread.so.0 though nothing is taken from it: see old_libraries.py.
string(CONCAT CMAKE_CXX_STANDARD_LIBRARIES_INIT
       "${old}/compatibility.o -Wl,--as-needed ${old}/libstdc++.so.6 ${old}/libm.so.6 ${old}/libgcc_s.so.1 ${old}/libc.so.6 "
       "-Wl,--no-as-needed ${old}/libpthread.so.0 -l:libstdc++.a -lgcc -l:libc_nonshared.a")
