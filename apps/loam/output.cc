// SPDX-License-Identifier: Apache-2.0
#include "loam/output.h"

#include <array>
#include <atomic>
#include <cerrno>

namespace loam::cli {

namespace {
// errno is long gone when a command ends, so this is remembered.
std::atomic<bool> broken_pipe{false};

bool check(bool written) {
  if (!written && errno == EPIPE) broken_pipe = true;
  return written;
}
}  // namespace

bool put(std::FILE* stream, std::string_view text) {
  return check(std::fwrite(text.data(), 1, text.size(), stream) == text.size());
}

bool flush(std::FILE* stream) {
  return check(std::fflush(stream) == 0);
}

bool confirmed(std::string_view question) {
  note("{} [y/N] ", question);
  flush(stderr);
  std::array<char, 16> answer{};
  if (std::fgets(answer.data(), static_cast<int>(answer.size()), stdin) == nullptr) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

bool reader_gone() {
  return broken_pipe;
}

}  // namespace loam::cli
