// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/unit.h"

#include <dirent.h>
#include <fmt/format.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/units.h"
#include "io/file.h"

namespace loam::checkpoint {

namespace {

constexpr std::size_t kMaxFingerprintFiles = 100'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

Result<std::vector<std::string>> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (directory == nullptr) {
    if (errno == ENOENT) return names;
    return fail(io::error_from_errno(errno, "list " + path));
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    if (names.size() > kMaxDirectoryEntries) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the checkpoint directory {} holds more than {} names",
                              printable(path), kMaxDirectoryEntries));
    }
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) return fail(io::error_from_errno(errno, "list " + path));
  return names;
}

void append_stat(std::string& text, const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return;
  text += fmt::format("{} {} {} {}\n", path, st.st_ino, st.st_size, nanoseconds(st.st_ctim));
}

// Changes when anything in the unit does: a file's size, content (by its change time) or name.
Result<std::string> fingerprint(const std::string& path, UnitKind kind) {
  std::string text;
  append_stat(text, path);
  if (kind == UnitKind::kDirectory) {
    const io::Tree tree = TRY(io::list_tree(path, kMaxFingerprintFiles));
    for (const io::FileEntry& file : tree.files)
      append_stat(text, path + "/" + file.path);
    for (const std::string& link : tree.links)
      append_stat(text, path + "/" + link);
  }
  return sha256_hex(text);
}

Status check_spec(const CheckpointSpec& spec, const OpenForWriting& is_open) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (spec.complete_when == CompleteWhen::kMarker) {
    if (!io::check_relative_path(spec.marker) || spec.marker.find('/') != std::string::npos) {
      return refuse(
          fmt::format("checkpoint.marker '{}' must be a file name", printable(spec.marker)));
    }
  }
  if (spec.complete_when == CompleteWhen::kQuiet) {
    if (spec.quiet_for.count() <= 0) return refuse("checkpoint.quiet_for must be above zero");
    if (!is_open)
      return refuse("checkpoints that are complete when quiet need a look at open files");
  }
  return {};
}

}  // namespace

std::string_view unit_kind_name(UnitKind kind) {
  return kind == UnitKind::kFile ? "file" : "directory";
}

Result<UnitFinder> UnitFinder::create(CheckpointSpec spec, const Clock& clock,
                                      OpenForWriting is_open) {
  TRY_VOID(check_spec(spec, is_open));
  RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_unique<RE2>(spec.match, options);
  if (!pattern->ok()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("checkpoint.match '{}' is no pattern: {}",
                                                         printable(spec.match), pattern->error()));
  }
  if (pattern->NumberOfCapturingGroups() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("checkpoint.match '{}' needs a group for the step, as in 'step-(\\d+)'",
                            printable(spec.match)));
  }
  return UnitFinder(std::move(spec), std::move(pattern), clock, std::move(is_open));
}

UnitFinder::UnitFinder(CheckpointSpec spec, std::unique_ptr<re2::RE2> pattern, const Clock& clock,
                       OpenForWriting is_open)
    : spec_(std::move(spec)),
      pattern_(std::move(pattern)),
      clock_(&clock),
      is_open_(std::move(is_open)) {}
UnitFinder::UnitFinder(UnitFinder&&) noexcept = default;
UnitFinder& UnitFinder::operator=(UnitFinder&&) noexcept = default;
UnitFinder::~UnitFinder() = default;

Result<UnitScan> UnitFinder::scan(const std::string& directory) {
  const std::vector<std::string> names = TRY(names_in(directory));
  UnitScan result;
  std::map<std::string, Quiet> before = std::exchange(quiet_, {});
  for (const std::string& name : names) {
    std::int64_t step = 0;
    std::string reason;
    if (!read_step(name, step, reason)) continue;
    if (!reason.empty()) {
      result.skipped.push_back({name, std::move(reason)});
      continue;
    }
    if (auto known = before.extract(name)) quiet_.insert(std::move(known));
    judge(directory, name, step, result);
  }
  std::sort(result.complete.begin(), result.complete.end(), [](const Unit& a, const Unit& b) {
    return std::tie(a.step, a.name) < std::tie(b.step, b.name);
  });
  std::sort(result.skipped.begin(), result.skipped.end(),
            [](const SkippedUnit& a, const SkippedUnit& b) { return a.name < b.name; });
  if (spec_.unit == UnitKind::kDirectory) count_newest(result);
  return result;
}

void UnitFinder::count_newest(UnitScan& result) {
  if (result.complete.empty()) return;
  Unit& unit = result.complete.back();
  if (unit.inode == newest_.inode && unit.modified_ns == newest_.modified_ns) {
    // The first count is the one to go by; what is missing since was deleted.
    unit.files = newest_.files;
    return;
  }
  const Result<io::Tree> tree = io::list_tree(unit.path, kMaxFingerprintFiles);
  if (tree) unit.files = static_cast<std::int64_t>(tree->files.size() + tree->links.size());
  newest_ = unit;
}

bool UnitFinder::read_step(const std::string& name, std::int64_t& step, std::string& reason) const {
  if (name == "." || name == ".." || name.ends_with(kRestoreSuffix)) return false;
  re2::StringPiece groups[2];
  if (!pattern_->Match(name, 0, name.size(), RE2::ANCHOR_BOTH, groups, 2)) return false;
  if (!is_valid_utf8(name)) {
    reason = "its name is not UTF-8";
    return true;
  }
  const char* end = groups[1].data() + groups[1].size();
  const auto [stop, error] = std::from_chars(groups[1].data(), end, step);
  if (error == std::errc::result_out_of_range) {
    reason = fmt::format("its step {} is not below 2^63", groups[1].as_string());
  } else if (error != std::errc() || stop != end || step < 0) {
    reason = fmt::format("its step '{}' is no whole number", printable(groups[1].as_string()));
  }
  return true;
}

void UnitFinder::judge(const std::string& directory, const std::string& name, std::int64_t step,
                       UnitScan& result) {
  Unit unit;
  unit.step = step;
  unit.name = name;
  unit.path = directory + "/" + name;
  struct stat st {};
  if (::lstat(unit.path.c_str(), &st) != 0) return;  // rotated away meanwhile
  const bool fits = spec_.unit == UnitKind::kFile ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode);
  if (!fits) {
    result.skipped.push_back({name, fmt::format("it is no {}", unit_kind_name(spec_.unit))});
    return;
  }
  unit.inode = st.st_ino;
  unit.modified_ns = nanoseconds(st.st_mtim);
  Verdict verdict = is_complete(unit);
  if (verdict.complete) {
    result.complete.push_back(std::move(unit));
  } else {
    result.skipped.push_back({name, std::move(verdict.reason)});
  }
}

UnitFinder::Verdict UnitFinder::is_complete(const Unit& unit) {
  switch (spec_.complete_when) {
    case CompleteWhen::kRename:
      return {true, ""};
    case CompleteWhen::kQuiet:
      return is_quiet(unit);
    case CompleteWhen::kMarker:
      break;
  }
  const bool inside = spec_.unit == UnitKind::kDirectory;
  const std::string marker = unit.path + (inside ? "/" : ".") + spec_.marker;
  struct stat st {};
  if (::lstat(marker.c_str(), &st) == 0) return {true, ""};
  return {false, fmt::format("its marker {} is not there yet", printable(spec_.marker))};
}

UnitFinder::Verdict UnitFinder::is_quiet(const Unit& unit) {
  const Result<std::string> print = fingerprint(unit.path, spec_.unit);
  if (!print) return {false, print.error().message};
  const std::int64_t now_us = clock_->boot_us();
  Quiet& quiet = quiet_[unit.name];
  if (quiet.fingerprint != *print) quiet = Quiet{*print, now_us};
  const std::chrono::microseconds passed(now_us - quiet.since_us);
  if (passed < spec_.quiet_for) {
    return {false,
            fmt::format("it changed less than {} ago",
                        format_duration_us(std::chrono::microseconds(spec_.quiet_for).count()))};
  }
  const Result<bool> open = is_open_(unit.path);
  if (!open) return {false, "cannot tell who holds it open: " + open.error().message};
  if (*open) return {false, "it is open for writing"};
  return {true, ""};
}

}  // namespace loam::checkpoint
