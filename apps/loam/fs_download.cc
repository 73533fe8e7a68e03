// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "base/encoding.h"
#include "io/file.h"
#include "loam/file_download.h"
#include "loam/fs_client.h"
#include "loam/fs_copy.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/parallel.h"
#include "loam/progress_bar.h"
#include "loam/work_queue.h"

namespace loam::cli {

namespace {

bool is_local_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

class Download {
 public:
  Download(const ApiClient& client, std::int64_t total)
      : client_(client), bar_("downloading", total), queue_(kTransferThreads) {}

  Status add(const FsEntry& entry, const std::string& path, const std::string& local) {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    if (entry.type == "file") {
      return queue_.add([this, entry, path, local] { return get(entry, path, local); });
    }
    if (entry.type == "symlink") return link(entry, local);
    if (entry.is_directory()) return add_directory(path, local);
    return fail(ErrorCode::kUnimplemented, fmt::format("{} is a {}, which is not copied",
                                                       printable(fs_text(path)), entry.type));
  }
  Result<FsCopied> finish() {
    TRY_VOID(queue_.finish());
    return FsCopied{files_, bytes_};
  }

 private:
  Status add_directory(const std::string& path, const std::string& local) {
    TRY_VOID(io::make_directories(local));
    return for_each_page(client_, path, [&](const FsPage& page) -> Status {
      for (const FsEntry& entry : page.entries) {
        // Whatever a server says, nothing is written outside.
        TRY_VOID(io::check_relative_path(entry.name));
        if (entry.name.find('/') != std::string::npos) {
          return fail(ErrorCode::kDataCorrupt, "the server gave a name with a '/' in it");
        }
        TRY_VOID(add(entry, join_path(path, entry.name), join_path(local, entry.name)));
      }
      return {};
    });
  }

  static Status link(const FsEntry& entry, const std::string& local) {
    struct stat status {};
    if (::lstat(local.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) ::unlink(local.c_str());
    if (::symlink(entry.target.c_str(), local.c_str()) == 0) return {};
    return fail(io::error_from_errno(errno, "symlink " + printable(local)));
  }

  // One file, with tries of its own, all of one generation.
  Status get(const FsEntry& entry, const std::string& path, const std::string& local) {
    const auto got = get_file(client_, fs_url("content", path), local, bar_);
    if (!got) {
      if (got.error().code == ErrorCode::kCanceled) return fail(got.error());
      return fail(got.error().code,
                  fmt::format("{}: {}", printable(fs_text(path)), got.error().message));
    }
    PartialFile& file = **got;
    TRY_VOID(file.keep(entry.mtime_ns / 1'000'000));
    if (::chmod(local.c_str(), static_cast<mode_t>(entry.mode & 0777)) != 0) {
      return fail(io::error_from_errno(errno, "chmod " + printable(local)));
    }
    ++files_;
    bytes_ += file.length();
    return {};
  }

  const ApiClient& client_;
  ProgressBar bar_;
  std::atomic<std::int64_t> files_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  WorkQueue queue_;  // last: its threads use the rest
};

}  // namespace

Result<FsCopied> fs_download(const ApiClient& client, const CopyEnd& from, const CopyEnd& to,
                             bool recursive) {
  const FsEntry source = TRY(fs_stat(client, from.path, Links::kFollow));
  const bool directory = source.is_directory();
  if (directory && !recursive) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is a directory; copy it with -r", printable(fs_text(from.path))));
  }
  const std::string local = copy_destination(from, directory, to, is_local_directory(to.path));
  if (const std::size_t slash = local.rfind('/'); slash != std::string::npos && slash > 0) {
    TRY_VOID(io::make_directories(local.substr(0, slash)));
  }
  std::int64_t total = source.size;
  if (directory) total = whole_of(TRY(client.get(fs_url("du", from.path))), "bytes");
  Download download(client, total);
  TRY_VOID(download.add(source, from.path, local));
  return download.finish();
}

}  // namespace loam::cli
