// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <filesystem>

#include "base/encoding.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "loam/file_upload.h"
#include "loam/fs_client.h"
#include "loam/fs_copy.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/parallel.h"
#include "loam/work_queue.h"

namespace loam::cli {

namespace {

namespace fs = std::filesystem;

Result<struct stat> look_at(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return status;
  return fail(io::error_from_errno(errno, printable(path)));
}

std::int64_t mtime_of(const struct stat& status) {
  const std::int64_t ns = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  return std::max<std::int64_t>(ns, 0);
}

// Walks a directory without holding its listing: `visit` is called for what is in it, then for what
// is in those that are directories.
Status walk(const std::string& directory,
            const std::function<Status(const std::string& path, const struct stat&)>& visit) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  while (!error && entries != fs::directory_iterator()) {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    const std::string path = entries->path().string();
    const struct stat status = TRY(look_at(path));
    TRY_VOID(visit(path, status));
    if (S_ISDIR(status.st_mode)) TRY_VOID(walk(path, visit));
    entries.increment(error);
  }
  if (!error) return {};
  return fail(io::error_from_errno(error.value(), "list " + printable(directory)));
}

class Upload {
 public:
  Upload(const ApiClient& client, std::int64_t total)
      : client_(client), bar_("uploading", total), queue_(kTransferThreads) {}

  Status add(const std::string& local, const std::string& path, const struct stat& status) {
    if (S_ISDIR(status.st_mode)) return make_directory(path, status);
    if (S_ISREG(status.st_mode)) {
      return queue_.add([this, local, path, status] { return put(local, path, status); });
    }
    if (S_ISLNK(status.st_mode)) return link(local, path);
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is neither a file, a directory nor a symbolic link", printable(local)));
  }
  Result<FsCopied> finish() {
    TRY_VOID(queue_.finish());
    return FsCopied{files_, bytes_};
  }

 private:
  // Before what lies in it.
  Status make_directory(const std::string& path, const struct stat& status) {
    if (path == "/") return {};
    Json body{{"mode", status.st_mode & 07777U}, {"parents", true}};
    put_path(body, "path", path);
    TRY(client_.call("POST", "/v1/fs/mkdir", body, {.repeat = Repeat::kSafe}));
    return {};
  }

  Status link(const std::string& local, const std::string& path) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlink(local.c_str(), target.data(), target.size());
    if (length < 0) return fail(io::error_from_errno(errno, "readlink " + printable(local)));
    target.resize(static_cast<std::size_t>(length));
    if (const auto old = TRY(fs_find(client_, path, Links::kKeep))) {
      if (old->type == "symlink" && old->target == target) return {};
      Json gone{{"kind", "file"}};
      put_path(gone, "path", path);
      TRY(fs_post(client_, "remove", gone));
    }
    Json body = Json::object();
    put_path(body, "path", path);
    put_path(body, "target", target);
    TRY(fs_post(client_, "symlink", body));
    return {};
  }

  Status put(const std::string& local, const std::string& path, const struct stat& status) {
    const io::FileChecksums sums = TRY(io::checksum_file(local));
    const auto blocks = TRY(io::parse_checksums(sums.crc));
    FileUpload upload{.local = local, .size = sums.length};
    upload.path = fmt::format("{}&parents=1&mode={}&mtime_ns={}", fs_url("content", path),
                              status.st_mode & 07777U, mtime_of(status));
    upload.headers.set("Loam-Crc32c",
                       fmt::format("{:08x}", io::crc32c_of_blocks(blocks, sums.length)));
    const auto stored = put_file(client_, upload, bar_);
    if (!stored) {
      return fail(stored.error().code,
                  fmt::format("{}: {}", printable(fs_text(path)), stored.error().message));
    }
    if (whole_of(*stored, "size", -1) != sums.length) {
      return fail(
          ErrorCode::kDataCorrupt,
          fmt::format("{}: the server has {} bytes, not {}; copy it again",
                      printable(fs_text(path)), text_of(*stored, "size", "?"), sums.length));
    }
    ++files_;
    bytes_ += sums.length;
    return {};
  }

  const ApiClient& client_;
  ProgressBar bar_;
  std::atomic<std::int64_t> files_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  WorkQueue queue_;  // last: its threads use the rest
};

// What there is to copy, for the progress bar.
Result<std::int64_t> total_below(const std::string& directory) {
  std::int64_t total = 0;
  TRY_VOID(walk(directory, [&](const std::string&, const struct stat& status) -> Status {
    if (S_ISREG(status.st_mode)) total += status.st_size;
    return {};
  }));
  return total;
}

}  // namespace

Result<FsCopied> fs_upload(const ApiClient& client, const CopyEnd& from, const CopyEnd& to,
                           bool recursive) {
  struct stat source {};
  if (::stat(from.path.c_str(), &source) != 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no {} on this machine; paths of the namespace are written "
                            "fs:/...",
                            printable(from.path)));
  }
  const bool directory = S_ISDIR(source.st_mode);
  if (directory && !recursive) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is a directory; copy it with -r", printable(from.path)));
  }
  const auto place = TRY(fs_find(client, to.path, Links::kFollow));
  const std::string target = copy_destination(from, directory, to, place && place->is_directory());
  Upload upload(client, directory ? TRY(total_below(from.path)) : source.st_size);
  TRY_VOID(upload.add(from.path, target, source));
  if (directory) {
    const std::size_t skip = from.path.size() + (from.path.ends_with('/') ? 0 : 1);
    TRY_VOID(walk(from.path, [&](const std::string& path, const struct stat& status) {
      return upload.add(path, join_path(target, path.substr(skip)), status);
    }));
  }
  return upload.finish();
}

}  // namespace loam::cli
