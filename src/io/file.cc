// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/encoding.h"
#include "base/fail_point.h"
#include "base/random.h"

namespace loam::io {

namespace {

ErrorCode code_from_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    case EFBIG:
    case E2BIG:
      return ErrorCode::kTooLarge;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EMLINK:
    case ENOMEM:
      return ErrorCode::kResourceExhausted;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EXDEV:
      return ErrorCode::kInvalidArgument;
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
      return ErrorCode::kConflict;
    case EAGAIN:
    case EINTR:
    case ESTALE:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ECONNREFUSED:
    case ECONNRESET:
      return ErrorCode::kUnavailable;
    case ETIMEDOUT:
      return ErrorCode::kDeadlineExceeded;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOTTY:
      return ErrorCode::kUnimplemented;
    default:
      return ErrorCode::kInternal;
  }
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_and_sync(const std::string& path, std::string_view content, unsigned mode) {
  const Fd fd = TRY(open_file(path, O_WRONLY | O_CREAT | O_EXCL, mode));
  TRY_VOID(write_all(fd.get(), std::as_bytes(std::span(content))));
  return sync_file(fd.get(), path);
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error error_from_errno(int error_number, std::string_view what) {
  return Error{
      code_from_errno(error_number),
      fmt::format("{}: {}", printable(what), std::generic_category().message(error_number))};
}

Result<Fd> open_file(const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(error_from_errno(errno, "open " + path));
  return Fd(fd);
}

Result<std::size_t> read_at(int fd, std::span<std::byte> out, std::int64_t offset) {
  CHECK(offset >= 0);
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(error_from_errno(errno, "read"));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(error_from_errno(errno, "write"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Status sync_file(int fd, std::string_view what) {
  // Not repeated on EINTR or anything else: after a failed fsync the kernel may have dropped the
  // dirty pages, and a second call would succeed without them.
  if (::fsync(fd) != 0) return fail(error_from_errno(errno, fmt::format("fsync {}", what)));
  return {};
}

Result<std::string> read_file(const std::string& path, std::int64_t limit) {
  const Fd fd = TRY(open_file(path, O_RDONLY));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(error_from_errno(errno, "stat " + path));
  if (S_ISDIR(st.st_mode)) return fail(error_from_errno(EISDIR, "read " + path));
  const auto too_large = [&] {
    return fail(ErrorCode::kTooLarge,
                fmt::format("{} is longer than {} bytes", printable(path), limit));
  };
  if (st.st_size > limit) return too_large();
  // Files in /proc say 0 and files may grow, so the size is only where to begin. One byte more than
  // that lets the end be seen without another round.
  constexpr std::size_t kStep = 64 * 1024;
  std::size_t room = std::max(kStep, static_cast<std::size_t>(st.st_size) + 1);
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    content.resize(before + room);
    const auto tail = std::as_writable_bytes(std::span(content).subspan(before));
    const std::size_t n = TRY(read_at(fd.get(), tail, static_cast<std::int64_t>(before)));
    content.resize(before + n);
    if (static_cast<std::int64_t>(content.size()) > limit) return too_large();
    if (n < room) return content;
    room = kStep;
  }
}

Status write_file_atomic(const std::string& path, std::string_view content, unsigned mode) {
  SystemRandom random;
  const std::string directory = directory_of(path);
  const std::string temporary = directory + "/.loam-tmp-" + random_token(random, 8);
  Status written = write_and_sync(temporary, content, mode);
  if (written) {
    crash_point();
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      written = fail(error_from_errno(errno, "rename to " + path));
    }
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  crash_point();
  return sync_directory(directory);
}

Status sync_directory(const std::string& path) {
  const Fd fd = TRY(open_file(path, O_RDONLY | O_DIRECTORY));
  return sync_file(fd.get(), path);
}

}  // namespace loam::io
