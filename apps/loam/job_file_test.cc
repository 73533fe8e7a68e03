// SPDX-License-Identifier: Apache-2.0
#include "loam/job_file.h"

#include <gmock/gmock.h>

#include "io/file.h"
#include "io/temp_directory.h"
#include "jobs/job_spec.h"
#include "loam/json_text.h"
#include "loam/workdir_scan.h"

namespace loam::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json job_with_parameters() {
  return {{"command", "python3"},
          {"arguments", {"--steps", "{{steps}}"}},
          {"parameters", {{"steps", 300}, {"learning_rate", 0.1}}}};
}

TEST(SetParametersTest, DeclaredOnesAreSetAndFilledIn) {
  Json job = job_with_parameters();
  ASSERT_TRUE(set_parameters(job, {"steps=1400", "learning_rate=a=b"}));
  EXPECT_EQ(job["parameters"]["steps"], "1400");
  EXPECT_EQ(job["parameters"]["learning_rate"], "a=b");
  const auto spec = jobs::parse_job_spec(job);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_THAT(spec->arguments, ElementsAre("--steps", "1400"));
}

TEST(SetParametersTest, AnUnknownOneNamesTheNearest) {
  Json job = job_with_parameters();
  const Status misspelt = set_parameters(job, {"stpes=1"});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(misspelt.error().message, HasSubstr("did you mean 'steps'?"));
  const Status far = set_parameters(job, {"batch=1"});
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().message, HasSubstr("learning_rate, steps"));
  EXPECT_FALSE(set_parameters(job, {"steps"}));
  EXPECT_FALSE(set_parameters(job, {"=1"}));
  Json none{{"command", "true"}};
  const Status undeclared = set_parameters(none, {"steps=1"});
  ASSERT_FALSE(undeclared);
  EXPECT_THAT(undeclared.error().message, HasSubstr("declares no parameters"));
}

TEST(SecretValuesTest, ComeFromTheEnvironment) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "KEY") return "s3cret";
    return std::nullopt;
  };
  EXPECT_EQ(*secret_values({{"secrets", {"KEY"}}}, environment), Json({{"KEY", "s3cret"}}));
  EXPECT_EQ(*secret_values({{"command", "x"}}, environment), Json::object());
  const auto missing = secret_values({{"secrets", {"KEY", "OTHER"}}}, environment);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("OTHER"));
}

TEST(WorkdirRootTest, IsRelativeToTheJobFile) {
  const io::TempDirectory directory;
  ASSERT_TRUE(io::make_directories(directory / "code/src"));
  const auto root = [&](const std::string& workdir) {
    return workdir_root({{"workdir", workdir}}, directory / "code/train.yaml");
  };
  EXPECT_EQ(**root("src/"), directory / "code/src");
  EXPECT_EQ(**root("."), directory / "code/.");
  EXPECT_EQ(**root(directory / "code"), directory / "code");
  EXPECT_FALSE(*root(std::string(64, 'a')));
  EXPECT_FALSE(root("nowhere"));
  EXPECT_FALSE(*workdir_root(Json::object(), "train.yaml"));
}

TEST(ScanWorkdirTest, ListsWhatIsNotIgnoredAndHashesIt) {
  const io::TempDirectory directory;
  ASSERT_TRUE(io::make_directories(directory / "src/__pycache__"));
  ASSERT_TRUE(io::make_directories(directory / "data/deep"));
  for (const char* name : {"train.py", "src/a.py", "src/__pycache__/a.pyc", "data/deep/x", "b"}) {
    ASSERT_TRUE(io::write_file_atomic(directory / name, "abc"));
  }
  ASSERT_TRUE(io::write_file_atomic(directory / ".loamignore", "data/\n*.pyc\n.loamignore\n"));
  ASSERT_EQ(0, symlink("train.py", (directory / "link.py").c_str()));
  const auto rules = read_ignore_rules(directory.path());
  ASSERT_TRUE(rules);
  auto files = scan_workdir(directory.path(), *rules);
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::string> paths;
  for (const auto& file : *files) {
    paths.push_back(file.path);
    EXPECT_EQ(file.size, 3);
    EXPECT_EQ(file.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  }
  EXPECT_THAT(paths, ElementsAre("b", "link.py", "src/a.py", "train.py"));
  EXPECT_EQ(total_bytes(*files), 12);

  ASSERT_EQ(0, symlink("src", (directory / "dirlink").c_str()));
  const auto linked = scan_workdir(directory.path(), *rules);
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("dirlink"));
}

TEST(JsonTextTest, WrongKindsAreTheFallback) {
  const Json json{{"a", 1}, {"b", nullptr}, {"c", "x"}, {"d", true}};
  EXPECT_EQ(text_of(json, "a"), "1");
  EXPECT_EQ(text_of(json, "b", "?"), "?");
  EXPECT_EQ(text_of(json, "d"), "true");
  EXPECT_EQ(text_of(json, "none"), "");
  EXPECT_EQ(whole_of(json, "c", 7), 7);
  EXPECT_EQ(number_of(Json(), "c", 0.5), 0.5);
  EXPECT_TRUE(member_of(Json::array(), "x").is_null());
}

}  // namespace
}  // namespace loam::cli
