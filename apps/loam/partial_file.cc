// SPDX-License-Identifier: Apache-2.0
#include "loam/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/random.h"

namespace loam::cli {

PartialFile::PartialFile(std::string target) : target_(std::move(target)) {
  const std::size_t name = target_.rfind('/') + 1;
  SystemRandom random;
  // The name's own length is left out: it may be the longest that the file system allows.
  path_ = target_.substr(0, name) + random_id(random, ".loam-part-");
}

PartialFile::~PartialFile() {
  if (fd_) ::unlink(path_.c_str());
}

Status PartialFile::open() {
  fd_ = TRY(io::open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC));
  return {};
}

Status PartialFile::write(std::span<const std::byte> bytes) {
  TRY_VOID(io::write_all(fd_.get(), bytes));
  length_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

Status PartialFile::keep(std::optional<std::int64_t> modified_ms) {
  if (modified_ms) {
    const timespec time{.tv_sec = *modified_ms / 1000, .tv_nsec = *modified_ms % 1000 * 1'000'000};
    const std::array<timespec, 2> times = {time, time};
    if (::futimens(fd_.get(), times.data()) != 0) {
      return fail(io::error_from_errno(errno, fmt::format("set the time of {}", path_)));
    }
  }
  if (std::rename(path_.c_str(), target_.c_str()) != 0) {
    return fail(io::error_from_errno(errno, fmt::format("rename {} to {}", path_, target_)));
  }
  fd_.reset();
  return {};
}

}  // namespace loam::cli
