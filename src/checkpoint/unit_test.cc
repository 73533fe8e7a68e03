// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/unit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "checkpoint/open_files.h"
#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::checkpoint {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

CheckpointSpec spec_of(UnitKind unit, std::string match,
                       CompleteWhen when = CompleteWhen::kRename) {
  CheckpointSpec spec;
  spec.path = "ckpt";
  spec.unit = unit;
  spec.match = std::move(match);
  spec.complete_when = when;
  return spec;
}

std::vector<std::string> names_of(const std::vector<Unit>& units) {
  std::vector<std::string> names;
  for (const Unit& unit : units)
    names.push_back(unit.name);
  return names;
}

std::string reason_for(const UnitScan& scan, const std::string& name) {
  for (const SkippedUnit& skipped : scan.skipped) {
    if (skipped.name == name) return skipped.reason;
  }
  return "";
}

class UnitFinderTest : public testing::Test {
 protected:
  void make_dir(const std::string& name) { ASSERT_TRUE(io::make_directories(dir_ / name)); }
  void make_file(const std::string& name, std::string_view content = "x") {
    ASSERT_TRUE(io::write_file_atomic(dir_ / name, content));
  }
  UnitFinder finder(CheckpointSpec spec) {
    return UnitFinder::create(std::move(spec), clock_,
                              [this](const std::string&) { return Result<bool>(open_); })
        .value();
  }

  io::TempDirectory dir_;
  ManualClock clock_;
  bool open_ = false;
};

TEST_F(UnitFinderTest, OrdersByNumberAndMatchesWholeNames) {
  for (const char* name :
       {"step-9", "step-100", "step-50.tmp", "tmp-step-50", "step-", "step-0010"})
    make_dir(name);
  make_file("step-70");
  UnitFinder units = finder(spec_of(UnitKind::kDirectory, "step-(\\d+)"));
  const UnitScan scan = units.scan(dir_.path()).value();
  EXPECT_THAT(names_of(scan.complete), ElementsAre("step-9", "step-0010", "step-100"));
  EXPECT_EQ(scan.complete[1].step, 10);
  EXPECT_EQ(scan.complete[2].path, dir_ / "step-100");
  ASSERT_EQ(scan.skipped.size(), 1U);
  EXPECT_EQ(reason_for(scan, "step-70"), "it is no directory");
}

TEST_F(UnitFinderTest, TmpIsNotAUnitUntilItIsRenamed) {
  make_dir("step-50.tmp");
  UnitFinder units = finder(spec_of(UnitKind::kDirectory, "step-(\\d+)"));
  EXPECT_THAT(units.scan(dir_.path())->complete, IsEmpty());
  ASSERT_EQ(::rename((dir_ / "step-50.tmp").c_str(), (dir_ / "step-50").c_str()), 0);
  EXPECT_THAT(names_of(units.scan(dir_.path())->complete), ElementsAre("step-50"));
  // Even a pattern that takes anything does not take a restore under way.
  UnitFinder any = finder(spec_of(UnitKind::kDirectory, ".*?(\\d+).*"));
  make_dir("step-60.loam-tmp");
  EXPECT_THAT(names_of(any.scan(dir_.path())->complete), ElementsAre("step-50"));
}

TEST_F(UnitFinderTest, ReasonsForOddSteps) {
  for (const char* name : {"s9223372036854775807", "s9223372036854775808", "s-1", "s", "sx"}) {
    make_file(name);
  }
  UnitFinder units = finder(spec_of(UnitKind::kFile, "s(.*)"));
  const UnitScan scan = units.scan(dir_.path()).value();
  EXPECT_THAT(names_of(scan.complete), ElementsAre("s9223372036854775807"));
  EXPECT_EQ(scan.skipped.size(), 4U);
  EXPECT_EQ(reason_for(scan, "s9223372036854775808"),
            "its step 9223372036854775808 is not below 2^63");
  EXPECT_EQ(reason_for(scan, "sx"), "its step 'x' is no whole number");
}

TEST_F(UnitFinderTest, WaitsForMarkers) {
  CheckpointSpec spec = spec_of(UnitKind::kDirectory, "step-(\\d+)", CompleteWhen::kMarker);
  spec.marker = "DONE";
  make_dir("step-1");
  UnitFinder in_directory = finder(spec);
  EXPECT_EQ(reason_for(*in_directory.scan(dir_.path()), "step-1"),
            "its marker DONE is not there yet");
  make_file("step-1/DONE");
  EXPECT_THAT(names_of(in_directory.scan(dir_.path())->complete), ElementsAre("step-1"));

  spec.unit = UnitKind::kFile;
  spec.match = "m(\\d+)\\.pt";
  UnitFinder beside_file = finder(spec);
  make_file("m5.pt");
  EXPECT_THAT(beside_file.scan(dir_.path())->complete, IsEmpty());
  make_file("m5.pt.DONE");
  EXPECT_THAT(names_of(beside_file.scan(dir_.path())->complete), ElementsAre("m5.pt"));
}

TEST_F(UnitFinderTest, QuietMeansUnchangedAndClosed) {
  CheckpointSpec spec = spec_of(UnitKind::kDirectory, "step-(\\d+)", CompleteWhen::kQuiet);
  spec.quiet_for = seconds(30);
  UnitFinder units = finder(spec);
  make_dir("step-1/sub");
  make_file("step-1/sub/w", "one");
  EXPECT_THAT(units.scan(dir_.path())->complete, IsEmpty());
  clock_.advance(seconds(29));
  EXPECT_THAT(units.scan(dir_.path())->complete, IsEmpty());
  // The same size, but written: the 30 seconds begin again.
  make_file("step-1/sub/w", "two");
  clock_.advance(seconds(2));
  EXPECT_EQ(reason_for(*units.scan(dir_.path()), "step-1"), "it changed less than 30.0 s ago");
  clock_.jump_wall(std::chrono::hours(1));
  EXPECT_THAT(units.scan(dir_.path())->complete, IsEmpty());
  clock_.advance(seconds(30));
  open_ = true;
  EXPECT_EQ(reason_for(*units.scan(dir_.path()), "step-1"), "it is open for writing");
  open_ = false;
  EXPECT_THAT(names_of(units.scan(dir_.path())->complete), ElementsAre("step-1"));
}

TEST_F(UnitFinderTest, ADirectoryThatIsNotThereYetHoldsNothing) {
  UnitFinder units = finder(spec_of(UnitKind::kDirectory, "step-(\\d+)"));
  EXPECT_THAT(units.scan(dir_ / "none")->complete, IsEmpty());
  make_file("file");
  EXPECT_FALSE(units.scan(dir_ / "file"));
}

TEST_F(UnitFinderTest, RefusesBadSpecs) {
  const auto code = [&](const CheckpointSpec& spec) {
    return UnitFinder::create(spec, clock_).error().code;
  };
  EXPECT_EQ(code(spec_of(UnitKind::kFile, "step-(")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(spec_of(UnitKind::kFile, "step-\\d+")), ErrorCode::kInvalidArgument);
  CheckpointSpec marker = spec_of(UnitKind::kFile, "(\\d+)", CompleteWhen::kMarker);
  for (const char* name : {"", "..", "a/b"}) {
    marker.marker = name;
    EXPECT_EQ(code(marker), ErrorCode::kInvalidArgument) << name;
  }
  CheckpointSpec quiet = spec_of(UnitKind::kFile, "(\\d+)", CompleteWhen::kQuiet);
  EXPECT_EQ(code(quiet), ErrorCode::kInvalidArgument);
  quiet.quiet_for = seconds(1);
  EXPECT_EQ(code(quiet), ErrorCode::kInvalidArgument);  // nobody to ask about open files
}

TEST(OpenFiles, SeesWritersByDescriptorAndByMapping) {
  const io::TempDirectory dir;
  ASSERT_TRUE(io::make_directories(dir / "unit/sub"));
  ASSERT_TRUE(io::write_file_atomic(dir / "unit/sub/f", std::string(4096, 'x')));
  const std::vector<pid_t> self = {::getpid()};
  const auto is_open = [&] { return is_open_for_writing(dir / "unit", self).value(); };
  EXPECT_FALSE(is_open());
  {
    const io::Fd reader = io::open_file(dir / "unit/sub/f", O_RDONLY).value();
    EXPECT_FALSE(is_open());
    const io::Fd writer = io::open_file(dir / "unit/sub/f", O_WRONLY | O_APPEND).value();
    EXPECT_TRUE(is_open());
    EXPECT_TRUE(is_open_for_writing(dir / "unit/sub/f", self).value());
    EXPECT_FALSE(is_open_for_writing(dir / "unit", {}).value());
  }
  EXPECT_FALSE(is_open());
  void* mapping = MAP_FAILED;
  {
    const io::Fd both = io::open_file(dir / "unit/sub/f", O_RDWR).value();
    mapping = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, both.get(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
  }
  EXPECT_TRUE(is_open());
  ::munmap(mapping, 4096);
  EXPECT_FALSE(is_open());
}

TEST(OpenFiles, SeesOtherProcessesAndForgivesDeadOnes) {
  const io::TempDirectory dir;
  ASSERT_TRUE(io::write_file_atomic(dir / "f", "x"));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open((dir / "f").c_str(), O_RDWR);
    const bool told = ::write(ready[1], "r", 1) == 1;
    ::pause();
    ::_exit(fd < 0 || !told);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::vector<pid_t> pids = {child};
  EXPECT_TRUE(is_open_for_writing(dir / "f", pids).value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_open_for_writing(dir / "f", pids).value());
  EXPECT_EQ(is_open_for_writing(dir / "none", pids).error().code, ErrorCode::kNotFound);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace loam::checkpoint
