# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the one function that turns a folder of src/ into a library and its test.

set(LOAM_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize=")
option(LOAM_FUZZ "Build the fuzzers (needs clang)" OFF)

find_program(LOAM_CCACHE ccache)
if(LOAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The settings that ccache needs beside precompiled headers, and for sharing its cache between clones.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LOAM_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fpch-preprocess)
  endif()
endif()
find_program(LOAM_MOLD mold)
if(LOAM_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(LOAM_COMPILER_WARNINGS -Wno-stringop-overread)
else()
  # What clang adds to the same flags and g++ has no word for.
  set(LOAM_COMPILER_WARNINGS -Wno-missing-braces -Wno-unused-lambda-capture -Wno-unused-result)
endif()
add_compile_options(-pthread -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                    -Woverloaded-virtual -Wconversion -Wno-sign-conversion
                    -Wno-missing-field-initializers ${LOAM_COMPILER_WARNINGS} -Werror
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(LOAM_SANITIZE)
  add_compile_options(-fsanitize=${LOAM_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOAM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # With the sanitizers' calls between them, g++ 12 takes moved strings for accesses out of bounds.
    # The release build, without them, keeps the warning.
    add_compile_options(-Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()

if(LOAM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "LOAM_FUZZ needs clang; use 'cmake --preset fuzz'")
  endif()
  # Coverage for libFuzzer in all code; its main function comes with the fuzzers alone.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# Headers that nearly every file needs and that take most of its compile time. Sources still include
# what they use; "make lint" checks that each header compiles alone.
set(LOAM_PCH <nlohmann/json.hpp> <fmt/format.h> <tl/expected.hpp> <algorithm> <atomic> <chrono>
             <condition_variable> <functional> <map> <memory> <mutex> <optional> <span> <string>
             <string_view> <thread> <unordered_map> <variant> <vector>)
function(loam_precompile target)
  get_property(owner GLOBAL PROPERTY loam_pch_owner)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${LOAM_PCH})
    set_property(GLOBAL PROPERTY loam_pch_owner ${target})
  endif()
endfunction()

# loam_library(NAME LINK libs...): src/NAME/*.cc but the tests become loam_NAME, and
# src/NAME/*_test.cc become the test program NAME_test.
function(loam_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(loam_${name} STATIC ${sources})
    target_include_directories(loam_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(loam_${name} PUBLIC ${ARG_LINK})
    loam_precompile(loam_${name})
    set(self loam_${name})
  else()
    add_library(loam_${name} INTERFACE)
    target_include_directories(loam_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(loam_${name} INTERFACE ${ARG_LINK})
    set(self loam_${name})
  endif()
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${self} GTest::gtest GTest::gmock GTest::gtest_main
                                               rapidcheck)
    loam_precompile(${name}_test)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES TIMEOUT 300)
  endif()
endfunction()
