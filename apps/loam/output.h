// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "base/redact.h"

namespace loam::cli {

// Writing for people and pipes. Unlike fmt::print nothing here throws when the other end has gone
// (`| head`) or the disk is full; finish() in exit_code.h looks at the end. False once it failed.
bool put(std::FILE* stream, std::string_view text);
bool flush(std::FILE* stream);

// True if writing failed because nobody reads any more, which is no error of a command's.
bool reader_gone();

// To stdout: what was asked for.
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  put(stdout, fmt::format(format, std::forward<Args>(args)...));
}

// To stderr: hints and errors, without secrets.
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  put(stderr, redacted(fmt::format(format, std::forward<Args>(args)...)));
}

// Asks on stderr, "[y/N]"; true if the answer on stdin begins with a y.
bool confirmed(std::string_view question);

}  // namespace loam::cli
