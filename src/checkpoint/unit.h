// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace loam::checkpoint {

// A checkpoint is one file or one directory.
enum class UnitKind { kFile, kDirectory };
std::string_view unit_kind_name(UnitKind kind);  // "file", "directory"

// How a program says that a unit is complete.
enum class CompleteWhen {
  kRename,  // it appears under its final name by rename, so being there is being complete
  kMarker,  // `<unit>/<marker>` of a directory or `<unit>.<marker>` of a file exists
  kQuiet,   // nothing changed for a while and nobody holds it open for writing; a guess, see below
};

// The `checkpoint:` part of a job.
struct CheckpointSpec {
  std::string path;  // the directory where units appear
  UnitKind unit = UnitKind::kDirectory;
  std::string match;  // RE2; must match the whole name, and its first group is the step
  CompleteWhen complete_when = CompleteWhen::kRename;
  std::string marker;                     // for kMarker: a file name
  std::chrono::milliseconds quiet_for{};  // for kQuiet: above zero
};

// A complete unit. `inode` and `modified_ns` are those of the file or directory itself at the time
// of the scan; a snapshot refuses if they have changed since. So it does, where `files` is known,
// if another number of files is below the directory: that is how a deletion which begins in a
// subdirectory shows.
struct Unit {
  std::int64_t step = 0;
  std::string name;
  std::string path;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t files = -1;  // links included; only of the newest unit, the one to take
};

// Something whose name matches but that is no complete unit, with a reason for people.
struct SkippedUnit {
  std::string name;
  std::string reason;
};

struct UnitScan {
  std::vector<Unit> complete;  // ascending by step, by name where steps are equal
  std::vector<SkippedUnit> skipped;
};

inline constexpr std::size_t kMaxDirectoryEntries = 100'000;
// Temporary names of a restore end so; they are never units.
inline constexpr std::string_view kRestoreSuffix = ".loam-tmp";

// Does any process of the attempt hold this file, or a file below this directory, open for writing?
using OpenForWriting = std::function<Result<bool>(const std::string& path)>;

// Finds complete units. Remembers between scans what kQuiet compares, so one finder watches one
// directory; one thread at a time.
//
// kQuiet cannot promise completeness: a program may pause longer than `quiet_for` between two
// files, or write through a memory mapping. It is for programs that offer nothing better.
class UnitFinder {
 public:
  // kInvalidArgument names what is wrong with the spec. `clock` must outlive the finder;
  // `is_open` is only called for kQuiet and required for it.
  static Result<UnitFinder> create(CheckpointSpec spec, const Clock& clock,
                                   OpenForWriting is_open = nullptr);
  UnitFinder(UnitFinder&&) noexcept;
  UnitFinder& operator=(UnitFinder&&) noexcept;
  ~UnitFinder();

  // `directory` is where the spec's path lies on this machine. One that does not exist yet holds
  // nothing. kTooLarge over kMaxDirectoryEntries names.
  Result<UnitScan> scan(const std::string& directory);

 private:
  struct Quiet {
    std::string fingerprint;
    std::int64_t since_us = 0;  // Clock::boot_us
  };
  struct Verdict {
    bool complete = false;
    std::string reason;
  };

  UnitFinder(CheckpointSpec spec, std::unique_ptr<re2::RE2> pattern, const Clock& clock,
             OpenForWriting is_open);
  // False where the name is none of ours at all.
  bool read_step(const std::string& name, std::int64_t& step, std::string& reason) const;
  void judge(const std::string& directory, const std::string& name, std::int64_t step,
             UnitScan& result);
  Verdict is_complete(const Unit& unit);
  Verdict is_quiet(const Unit& unit);
  void count_newest(UnitScan& result);

  CheckpointSpec spec_;
  std::unique_ptr<re2::RE2> pattern_;
  const Clock* clock_;
  OpenForWriting is_open_;
  std::map<std::string, Quiet> quiet_;  // by name; only of names in the last scan
  Unit newest_;                         // of the last scan, so that each is counted once
};

}  // namespace loam::checkpoint
