// SPDX-License-Identifier: Apache-2.0
#include "io/copy.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/units.h"
#include "io/file.h"

namespace loam::io {

namespace {

// Errors by which the kernel says that these two files cannot be joined this way, rather than that
// the disk failed.
bool means_unsupported(int error) {
  return error == EOPNOTSUPP || error == EXDEV || error == EINVAL || error == ENOTTY ||
         error == ENOSYS || error == EPERM || error == EBADF;
}

Result<std::int64_t> copy_by_hand(int from, int to, std::int64_t offset) {
  // Small enough that the allocator keeps it: most calls only look for the end of a small file.
  std::vector<std::byte> buffer(static_cast<std::size_t>(64 * kKiB));
  if (::lseek(to, offset, SEEK_SET) < 0) return fail(error_from_errno(errno, "seek"));
  for (;;) {
    const std::size_t n = TRY(read_at(from, buffer, offset));
    TRY_VOID(write_all(to, std::span(buffer).first(n)));
    offset += static_cast<std::int64_t>(n);
    if (n < buffer.size()) return offset;
  }
}

}  // namespace

Result<bool> try_reflink(int from, int to) {
  if (::ioctl(to, FICLONE, from) == 0) return true;
  if (means_unsupported(errno)) return false;
  return fail(error_from_errno(errno, "clone"));
}

Result<std::int64_t> copy_contents(int from, int to) {
  loff_t read_offset = 0;
  loff_t write_offset = 0;
  for (;;) {
    const ssize_t n =
        ::copy_file_range(from, &read_offset, to, &write_offset, static_cast<std::size_t>(kGiB), 0);
    if (n > 0) continue;
    if (n < 0 && errno == EINTR) continue;
    // Some kernels report an end too early on special file systems, so the end is always looked for
    // by hand: one read that returns nothing in the usual case.
    if (n == 0 || means_unsupported(errno)) return copy_by_hand(from, to, read_offset);
    return fail(error_from_errno(errno, "copy"));
  }
}

}  // namespace loam::io
