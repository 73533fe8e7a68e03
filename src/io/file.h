// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::io {

// An owned descriptor; closes on destruction. Movable, not copyable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

// The one mapping from errno to meaning; `what` begins the message ("open /a/b").
Error error_from_errno(int error_number, std::string_view what);

Result<Fd> open_file(const std::string& path, int flags, unsigned mode = 0644);
// Reads up to out.size() bytes at `offset`, short only at the end of the file.
Result<std::size_t> read_at(int fd, std::span<std::byte> out, std::int64_t offset);
// Writes at the descriptor's position until all is written.
Status write_all(int fd, std::span<const std::byte> bytes);
Status sync_file(int fd, std::string_view what);

// The whole file, or kTooLarge over `limit` bytes.
Result<std::string> read_file(const std::string& path, std::int64_t limit);
// Temporary name in the same directory, fsync, rename, fsync of the directory: after success the
// new content survives a power loss, and at no time is there a mixture.
Status write_file_atomic(const std::string& path, std::string_view content, unsigned mode = 0644);
Status sync_directory(const std::string& path);
// mkdir -p; existing directories are fine.
Status make_directories(const std::string& path, unsigned mode = 0755);
// The same, and each directory that was made survives a power loss.
Status make_directories_durable(const std::string& path, unsigned mode = 0755);
// rm -r without following links and without crossing into other file systems; a missing path is
// fine. Directories of ours without write permission are made writable first. Deeper than
// kMaxTreeDepth is kTooLarge.
Status remove_tree(const std::string& path);

inline constexpr std::size_t kMaxTreeDepth = 256;

struct FileEntry {
  std::string path;  // relative to the root, '/'-separated
  std::int64_t size = 0;
  unsigned mode = 0;  // permission bits
};
// All regular files below `root`, sorted by bytes of the path. Symbolic links are not followed:
// wherever they point they are reported in `links`, and callers decide. Other kinds (sockets,
// pipes) and empty directories are left out. kTooLarge over `max_files` files and links together or
// deeper than kMaxTreeDepth; kNotFound without a directory at `root`, or if one vanished during the
// walk.
struct Tree {
  std::vector<FileEntry> files;
  std::vector<std::string> links;
};
Result<Tree> list_tree(const std::string& root, std::size_t max_files);

// Confines: a relative path from outside may not be absolute, hold "..", "." or empty
// segments, NUL bytes, or be longer than 4096 bytes. kInvalidArgument names the path.
Status check_relative_path(std::string_view path);

}  // namespace loam::io
