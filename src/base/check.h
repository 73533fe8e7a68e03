// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loam {

// Prints the condition and where it stands, then aborts. On in every build.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace loam

// CHECK states what must hold for the program to be right; it never guards against bad input.
#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      ::loam::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
