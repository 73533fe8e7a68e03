// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/job_spec.h"
#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using ::testing::HasSubstr;
using testing::must;

TEST(JobFileTest, PlainScalarsHaveTypesAndQuotedOnesAreText) {
  const Json json = must(
      job_file_to_json("int: 300\nneg: -7\nhalf: 0.5\nyes: true\nno: False\nnothing: ~\nempty:\n"
                       "quoted: \"300\"\nsingle: 'true'\nword: yes please\nversion: 1.2.3\n"
                       "hex: 0x1f\nblock: |\n  12\n"));
  EXPECT_EQ(json.at("int"), Json(300));
  EXPECT_EQ(json.at("neg"), Json(-7));
  EXPECT_EQ(json.at("half"), Json(0.5));
  EXPECT_EQ(json.at("yes"), Json(true));
  EXPECT_EQ(json.at("no"), Json(false));
  EXPECT_TRUE(json.at("nothing").is_null());
  EXPECT_TRUE(json.at("empty").is_null());
  EXPECT_EQ(json.at("quoted"), Json("300"));
  EXPECT_EQ(json.at("single"), Json("true"));
  EXPECT_EQ(json.at("word"), Json("yes please"));
  EXPECT_EQ(json.at("version"), Json("1.2.3"));
  EXPECT_EQ(json.at("hex"), Json("0x1f"));
  EXPECT_EQ(json.at("block"), Json("12\n"));
}

// Bytes that are no text would be replaced one by one, and two keys could become the same.
TEST(JobFileTest, OnlyUtf8TextIsRead) {
  using namespace std::string_literals;
  for (const std::string& bad : {"\x9a"s + "name: a\n\xef\xbf\xbdname: b\n", "name: \xff\n"s,
                                 "name: a\0b\n"s, "\xff\xfen\0a\0:\0 \0x\0"s}) {
    const auto file = job_file_to_json(bad);
    ASSERT_FALSE(file.has_value());
    EXPECT_THAT(file.error().message, HasSubstr("UTF-8"));
  }
  EXPECT_EQ(must(job_file_to_json("name: größe\n")).at("name"), Json("größe"));
}

// A user who writes 0755 does not mean 755.0.
TEST(JobFileTest, NumbersUsedAsTextKeepTheirText) {
  const JobSpec spec = must(parse_job_spec(must(job_file_to_json(
      "command: a\n"
      "arguments: [0755, 1.10, 1e6, +5, -0, 007, .5, 3, 0.5, 99999999999999999999, 1_000]\n"
      "environment: {A: 2.50}\n"
      "resources: {vram_gb: 16.0, max_price_per_hour: 0.40}\n"
      "lease_ttl: 7.50e1\n"))));
  EXPECT_EQ(spec.arguments,
            (std::vector<std::string>{"0755", "1.10", "1e6", "+5", "-0", "007", ".5", "3", "0.5",
                                      "99999999999999999999", "1_000"}));
  EXPECT_EQ(spec.environment.at("A"), "2.50");
  EXPECT_EQ(spec.resources.vram_gb, 16);
  EXPECT_EQ(spec.resources.max_price_per_hour, 0.4);
  EXPECT_EQ(spec.lease_ttl_ms, 75'000);
  for (const char* bad : {"priority: 010", "priority: 1e1", "priority: x", "priority: 1.0",
                          "resources: {vram_gb: 0x10}", "resources: {vram_gb: 016}"}) {
    EXPECT_EQ(code_of(parse_job_spec(must(job_file_to_json("command: a\n" + std::string(bad))))),
              ErrorCode::kInvalidArgument)
        << bad;
  }
}

TEST(JobFileTest, TagsAreRefusedByName) {
  for (const auto& [text, tag] : std::vector<std::pair<std::string, std::string>>{
           {"a: 1\nb: !!str 12", "line 2: tags are not supported, and here is 'tag:yaml.org"},
           {"a: !local x", "'!local'"},
           {"a: !!seq [1]", "tag:yaml.org,2002:seq"},
           {"!!map {a: 1}", "tag:yaml.org,2002:map"}}) {
    const auto json = job_file_to_json(text);
    EXPECT_EQ(code_of(json), ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(json.error().message, HasSubstr(tag));
  }
}

TEST(JobFileTest, JsonIsAccepted) {
  const std::string text = R"({"command": "sh", "arguments": ["-c", "3", 3], "a": {"b": null}})";
  EXPECT_EQ(must(job_file_to_json(text)), must(parse_json(text)));
}

TEST(JobFileTest, AliasesAreExpanded) {
  const Json json = must(job_file_to_json("a: &x {k: 1}\nb: *x\n"));
  EXPECT_EQ(json.at("b"), json.at("a"));
}

TEST(JobFileTest, DuplicateKeysAreRefusedWithTheirLine) {
  const auto json = job_file_to_json("command: a\nname: x\ncommand: b\n");
  EXPECT_EQ(code_of(json), ErrorCode::kInvalidArgument);
  EXPECT_THAT(json.error().message, HasSubstr("line 3"));
  EXPECT_THAT(json.error().message, HasSubstr("'command' appears twice"));
}

TEST(JobFileTest, BrokenYamlIsAnErrorAndNotAnException) {
  for (const char* bad : {"a: [1", "a: b: c", "\tx: 1", "*nowhere", "? [a]\n: b\n", "a: 'x"}) {
    EXPECT_EQ(code_of(job_file_to_json(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(JobFileTest, AliasBombsAreBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k)
      bomb += (k > 0 ? ", " : "") + below;
    bomb += "]\n";
  }
  const auto json = job_file_to_json(bomb);
  EXPECT_EQ(code_of(json), ErrorCode::kInvalidArgument);
  EXPECT_THAT(json.error().message, HasSubstr("too large"));
}

TEST(JobFileTest, SizeAndDepthAreBounded) {
  EXPECT_EQ(code_of(job_file_to_json(std::string(kMaxJobFileBytes + 1, ' '))),
            ErrorCode::kTooLarge);
  for (const std::size_t depth : {40, 400, 4'000, 100'000}) {
    EXPECT_EQ(code_of(job_file_to_json(std::string(depth, '['))), ErrorCode::kInvalidArgument);
    const std::string closed = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(code_of(job_file_to_json(closed)), ErrorCode::kInvalidArgument);
  }
}

TEST(JobFileTest, TheJobOfTheReadmeIsAJob) {
  const JobSpec spec = must(parse_job_spec(must(job_file_to_json(R"(
name: emoji-diffusion
command: python3
arguments: [train.py, --steps, "{{steps}}"]
parameters: {steps: 300}
environment: {OMP_NUM_THREADS: "2"}
resources: {gpus: 1, gpu_class: [rtx4090], vram_gb: 16, max_price_per_hour: 0.40}
sync:
  before: [{from: /datasets/emoji, to: data/}]
  after:  [{from: out/, to: /users/ann/models/emoji}]
checkpoint: {path: ckpt/, unit: directory, match: 'step-(\d+)', complete_when: rename, keep_last: 2}
progress: {pattern: 'step (\d+)'}
retry: {max_failures: 3}
heartbeat_interval: 30
lease_ttl: 75
)"))));
  EXPECT_EQ(spec.arguments.back(), "300");
  EXPECT_EQ(spec.environment.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(spec.resources.max_price_per_hour, 0.4);
  EXPECT_EQ(spec.checkpoint->match, "step-(\\d+)");
}

}  // namespace
}  // namespace loam::jobs
