// SPDX-License-Identifier: Apache-2.0
#include "loam/workdir_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/units.h"
#include "io/file.h"
#include "loam/interrupt.h"
#include "loam/progress_bar.h"

namespace loam::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxIgnoreBytes = 256 << 10;

class Scanner {
 public:
  Scanner(std::string root, const IgnoreRules& rules) : root_(std::move(root)), rules_(rules) {}

  Result<std::vector<jobs::WorkdirFile>> run() {
    TRY_VOID(visit("", 0));
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  std::string absolute(const std::string& relative) const {
    return relative.empty() ? root_ : root_ + "/" + relative;
  }

  // `directory` is relative to the root, "" for the root itself.
  Status visit(const std::string& directory, std::size_t depth) {
    if (depth > io::kMaxTreeDepth) {
      return fail(ErrorCode::kTooLarge, fmt::format("{} is nested too deep", absolute(directory)));
    }
    std::error_code error;
    fs::directory_iterator it(absolute(directory), error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
      const std::string name = it->path().filename().string();
      TRY_VOID(take(directory.empty() ? name : directory + "/" + name, depth));
    }
    if (error) return fail(io::error_from_errno(error.value(), "list " + absolute(directory)));
    return {};
  }

  Status take(const std::string& path, std::size_t depth) {
    struct stat own {};
    if (::lstat(absolute(path).c_str(), &own) != 0) {
      return fail(io::error_from_errno(errno, "look at " + absolute(path)));
    }
    if (rules_.ignores(path, S_ISDIR(own.st_mode))) return {};
    if (S_ISDIR(own.st_mode)) return visit(path, depth + 1);
    if (S_ISLNK(own.st_mode)) return take_link(path);
    return S_ISREG(own.st_mode) ? add(path, own) : Status();
  }

  Status take_link(const std::string& path) {
    struct stat target {};
    if (::stat(absolute(path).c_str(), &target) == 0 && S_ISREG(target.st_mode)) {
      return add(path, target);
    }
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is a link that leads to no file, and cannot be uploaded; list it in "
                    ".loamignore, or put what it leads to in its place",
                    printable(absolute(path))));
  }

  Status add(const std::string& path, const struct stat& status) {
    if (!is_valid_utf8(path)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the name of {} is not UTF-8; rename it or list it in .loamignore",
                              printable(absolute(path))));
    }
    bytes_ += status.st_size;
    if (files_.size() >= jobs::kMaxWorkdirFiles || bytes_ > jobs::kMaxWorkdirBytes) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("{} holds over {} files or {}; list what the job does not need in "
                              ".loamignore, and put data into the store (loam store cp) and under "
                              "sync.before",
                              root_, jobs::kMaxWorkdirFiles, format_bytes(jobs::kMaxWorkdirBytes)));
    }
    files_.push_back({path, status.st_size, static_cast<unsigned>(status.st_mode & 0777), ""});
    return {};
  }

  const std::string root_;
  const IgnoreRules& rules_;
  std::vector<jobs::WorkdirFile> files_;
  std::int64_t bytes_ = 0;
};

// Sets the size to what was hashed, in case the file has grown since it was listed.
Status hash_file(const std::string& absolute, jobs::WorkdirFile& file, ProgressBar& bar) {
  const io::Fd fd = TRY(io::open_file(absolute, O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> buffer(1 << 20);
  Sha256 hash;
  file.size = 0;
  while (true) {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    const std::size_t n = TRY(io::read_at(fd.get(), buffer, file.size));
    if (n == 0) break;
    hash.update(std::span(buffer).first(n));
    file.size += static_cast<std::int64_t>(n);
    bar.add(static_cast<std::int64_t>(n));
  }
  file.sha256 = hash.finish_hex();
  return {};
}

}  // namespace

Result<IgnoreRules> read_ignore_rules(const std::string& root) {
  const auto text = io::read_file(root + "/.loamignore", kMaxIgnoreBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return IgnoreRules();
  if (!text) return fail(text.error());
  return IgnoreRules::parse(*text);
}

Result<std::vector<jobs::WorkdirFile>> scan_workdir(const std::string& root,
                                                    const IgnoreRules& rules) {
  std::vector<jobs::WorkdirFile> files = TRY(Scanner(root, rules).run());
  ProgressBar bar("hashing", total_bytes(files));
  for (jobs::WorkdirFile& file : files)
    TRY_VOID(hash_file(root + "/" + file.path, file, bar));
  return files;
}

std::int64_t total_bytes(const std::vector<jobs::WorkdirFile>& files) {
  std::int64_t total = 0;
  for (const jobs::WorkdirFile& file : files)
    total += file.size;
  return total;
}

}  // namespace loam::cli
