// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jobs/jobs_testing.h"
#include "jobs/spec_reader.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using ::testing::HasSubstr;
using testing::must;

Json full() {
  return must(parse_json(R"json({
    "name": "emoji", "pool": "spot", "command": "python3",
    "arguments": ["train.py", "--steps", "{{steps}}", 7, true],
    "parameters": {"steps": 300, "out": "models"},
    "environment": {"OMP_NUM_THREADS": "2", "OUT": "{{out}}"},
    "secrets": ["WANDB_API_KEY"],
    "resources": {"gpus": 2, "gpu_class": ["b", "a"], "vram_gb": 16.5, "max_price_per_hour": 0.4},
    "sync": {"before": [{"from": "/datasets/emoji", "to": "data/"}],
             "after": [{"from": "out/", "to": "/users/ann/{{out}}"}]},
    "checkpoint": {"path": "ckpt/", "match": "step-(\\d+)", "complete_when": "quiet",
                   "quiet_for": 2.5, "keep_last": 4},
    "progress": {"pattern": "step (\\d+)", "timeout": "5m"},
    "priority": -3, "retry": {"max_failures": 9}, "heartbeat_interval": 0.5, "lease_ttl": "1500ms",
    "grace_period": 0, "isolation_limit": "2h"})json"));
}

TEST(JobSpecTest, ReadsEveryKeyAndFillsParameters) {
  const JobSpec spec = must(parse_job_spec(full()));
  EXPECT_EQ(spec.name, "emoji");
  EXPECT_EQ(spec.pool, "spot");
  EXPECT_EQ(spec.arguments, (std::vector<std::string>{"train.py", "--steps", "300", "7", "true"}));
  EXPECT_EQ(spec.environment.at("OUT"), "models");
  EXPECT_EQ(spec.after.at(0).to, "/users/ann/models");
  EXPECT_EQ(spec.resources.gpu_class, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.checkpoint->quiet_ms, 2'500);
  EXPECT_EQ(spec.progress->timeout_ms, 300'000);
  EXPECT_EQ(spec.heartbeat_ms, 500);
  EXPECT_EQ(spec.lease_ttl_ms, 1'500);
  EXPECT_EQ(spec.grace_ms, 0);
  EXPECT_EQ(spec.isolation_ms, 7'200'000);
  EXPECT_EQ(spec.priority, -3);
  EXPECT_EQ(spec.max_failures, 9);
}

TEST(JobSpecTest, DefaultsAreThoseOfTheDocumentation) {
  const JobSpec spec = must(parse_job_spec({{"command", "true"}}));
  EXPECT_EQ(spec.pool, "any");
  EXPECT_EQ(spec.heartbeat_ms, 30'000);
  EXPECT_EQ(spec.lease_ttl_ms, 75'000);
  EXPECT_EQ(spec.max_failures, 3);
  EXPECT_FALSE(spec.checkpoint);
  // The TTL follows the heartbeat unless it is given.
  EXPECT_EQ(must(parse_job_spec({{"command", "true"}, {"heartbeat_interval", 60}})).lease_ttl_ms,
            150'000);
}

TEST(JobSpecTest, StoredFormLoadsBackToItself) {
  const Json once = must(parse_job_spec(full())).to_json();
  const JobSpec again = must(load_job_spec(dump_json(once)));
  EXPECT_EQ(again.to_json(), once);
}

TEST(JobSpecTest, StoredTextThatLooksLikeAParameterIsTheUsersOwn) {
  Json file{{"command", "echo"}, {"arguments", {"{{p}}"}}, {"parameters", {{"p", "{{q}}"}}}};
  const JobSpec spec = must(parse_job_spec(file));
  EXPECT_EQ(spec.arguments.at(0), "{{q}}");
  EXPECT_EQ(must(load_job_spec(dump_json(spec.to_json()))).arguments.at(0), "{{q}}");
}

struct BadCase {
  const char* name;
  const char* patch;    // merged over a good file
  const char* message;  // part of the error's text
  ErrorCode code = ErrorCode::kInvalidArgument;
};

const BadCase kBadCases[] = {
    {"unknown_key", R"({"comand": "x"})", "did you mean 'command'"},
    {"unknown_nested", R"({"checkpoint": {"keeplast": 3}})", "did you mean 'checkpoint.keep_last'"},
    {"far_from_any", R"({"zzzzzzzzzz": 1})", "'zzzzzzzzzz' is not a known key"},
    {"later_budget", R"({"budget": {"usd": 1}})", "'budget'", ErrorCode::kUnimplemented},
    {"later_webhook", R"({"webhook": "https://x"})", "'webhook'", ErrorCode::kUnimplemented},
    {"later_during", R"({"sync": {"during": []}})", "'sync.during'", ErrorCode::kUnimplemented},
    {"later_cpus", R"({"resources": {"cpus": 2}})", "'resources.cpus'", ErrorCode::kUnimplemented},
    {"no_command", R"({"command": null})", "'command' is required"},
    {"empty_command", R"({"command": ""})", "'command' is required"},
    {"command_list", R"({"command": ["a"]})", "'command'"},
    {"negative_ttl", R"({"lease_ttl": -5})", "'lease_ttl'"},
    {"zero_ttl", R"({"lease_ttl": 0})", "'lease_ttl'"},
    {"ttl_below_two_heartbeats", R"({"lease_ttl": 10, "heartbeat_interval": 6})", "at least twice"},
    {"ttl_text", R"({"lease_ttl": "soon"})", "not a duration"},
    {"heartbeat_too_fast", R"({"heartbeat_interval": 0.01})", "'heartbeat_interval'"},
    {"bad_pattern", R"({"checkpoint": {"match": "step-(\\d+"}})", "does not compile"},
    {"no_group", R"({"checkpoint": {"match": "step-\\d+"}})", "needs one group"},
    {"backreference", R"({"progress": {"pattern": "(a)\\1"}})", "'progress.pattern'"},
    {"huge_pattern", R"({"progress": {"pattern": "((a{1000}){1000}).*"}})", "'progress.pattern'"},
    {"ckpt_escapes", R"({"checkpoint": {"path": "../ckpt"}})", "'checkpoint.path'"},
    {"ckpt_absolute", R"({"checkpoint": {"path": "/ckpt"}})", "'checkpoint.path'"},
    {"marker_alone", R"({"checkpoint": {"marker": "done"}})", "'checkpoint.marker'"},
    {"marker_path", R"({"checkpoint": {"complete_when": "marker", "marker": "a/b"}})", "marker"},
    {"quiet_without_time", R"({"checkpoint": {"complete_when": "quiet"}})", "quiet_for"},
    {"unit", R"({"checkpoint": {"unit": "tree"}})", "must be one of: file, directory"},
    {"to_escapes", R"({"sync": {"before": [{"from": "/d", "to": "a/../../b"}]}})",
     "'sync.before[0].to'"},
    {"from_escapes", R"({"sync": {"after": [{"from": "..", "to": "/d"}]}})",
     "'sync.after[0].from'"},
    {"store_relative", R"({"sync": {"before": [{"from": "d", "to": "d"}]}})",
     "'sync.before[0].from'"},
    {"store_dots", R"({"sync": {"before": [{"from": "/a/../jobs/x", "to": "d"}]}})",
     "absolute store path"},
    {"servers_own", R"({"sync": {"before": [{"from": "/jobs/j-1/", "to": "d"}]}})",
     "belongs to the server", ErrorCode::kPermissionDenied},
    {"rule_not_object", R"({"sync": {"before": ["/d"]}})", "must be a mapping"},
    {"unknown_parameter", R"({"arguments": ["{{nope}}"]})", "'{{nope}}' names no parameter"},
    {"unknown_parameter_env", R"({"environment": {"A": "{{x}}"}})", "'environment'"},
    {"reserved_env", R"({"environment": {"LOAM_X": "1"}})", "LOAM_ is reserved"},
    {"bad_env_name", R"({"environment": {"A-B": "1"}})", "A-B"},
    {"nested_env", R"({"environment": {"A": {"b": 1}}})", "'environment.A'"},
    {"bad_secret", R"({"secrets": ["1X"]})", "'secrets'"},
    {"nul", R"({"arguments": ["a\u0000b"]})", "without NUL"},
    {"gpus_negative", R"({"resources": {"gpus": -1}})", "'resources.gpus'"},
    {"gpus_fraction", R"({"resources": {"gpus": 1.5}})", "'resources.gpus'"},
    {"class_text", R"({"resources": {"gpu_class": "a100"}})", "must be a list"},
    {"failures_zero", R"({"retry": {"max_failures": 0}})", "'retry.max_failures'"},
    {"retry_text", R"({"retry": "often"})", "'retry' must be a mapping"},
    {"priority", R"({"priority": 1001})", "'priority'"},
    {"workdir", R"({"workdir": "."})", "'workdir'"},
    {"arguments_text", R"({"arguments": "a b"})", "'arguments' must be a list"},
};

class BadJobSpecTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadJobSpecTest, IsRefusedByName) {
  Json file{{"command", "true"}};
  Json patch = must(parse_json(GetParam().patch));
  if (patch.contains("checkpoint")) {
    file["checkpoint"] = {{"path", "ckpt"}, {"match", "(\\d+)"}};
  }
  file.merge_patch(patch);
  const auto spec = parse_job_spec(file);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, GetParam().code) << spec.error().message;
  EXPECT_THAT(spec.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, BadJobSpecTest, ::testing::ValuesIn(kBadCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(JobSpecTest, OnlyAMappingIsAJob) {
  for (const Json& input : {Json(), Json(3), Json("x"), Json::array()}) {
    EXPECT_EQ(code_of(parse_job_spec(input)), ErrorCode::kInvalidArgument);
  }
}

TEST(JobSpecTest, EqualRequirementsHaveEqualText) {
  const auto key = [](const char* text) {
    const JobSpec spec =
        must(parse_job_spec({{"command", "x"}, {"resources", must(parse_json(text))}}));
    return spec.resources.key(spec.pool);
  };
  EXPECT_EQ(key(R"({"gpu_class": ["a", "b"]})"), key(R"({"gpu_class": ["b", "a"]})"));
  EXPECT_EQ(key(R"({"vram_gb": 8})"), key(R"({"vram_gb": 8.0})"));
  EXPECT_NE(key(R"({"gpus": 1})"), key(R"({"gpus": 2})"));
  EXPECT_NE(key(R"({})"), key(R"({"max_price_per_hour": 1})"));
}

TEST(JobSpecTest, DurationsHaveUnits) {
  EXPECT_EQ(must(parse_duration_ms("30")), 30'000);
  EXPECT_EQ(must(parse_duration_ms("2.5s")), 2'500);
  EXPECT_EQ(must(parse_duration_ms("500ms")), 500);
  EXPECT_EQ(must(parse_duration_ms("5m")), 300'000);
  EXPECT_EQ(must(parse_duration_ms("2h")), 7'200'000);
  for (const char* bad : {"", "s", "5 d", "nan", "inf", "1e300", "5days"}) {
    EXPECT_EQ(code_of(parse_duration_ms(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

// Whatever a user sends is refused or becomes a job that stores and loads unchanged.
RC_GTEST_PROP(JobSpecProperty, WhatIsAcceptedRoundTrips, ()) {
  const auto text = rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ab/.{}-_ \\(d+)0:\n\xc3\xa4")));
  Json file{{"command", *text}, {"arguments", {*text, *text}}, {"name", *text}};
  file["parameters"] = {{"a", *text}};
  file["sync"] = {{"before", {{{"from", "/" + *text}, {"to", *text}}}}};
  if (*rc::gen::arbitrary<bool>()) file["checkpoint"] = {{"path", *text}, {"match", *text}};
  file["grace_period"] = *rc::gen::inRange(-2, 4'000);
  const auto spec = parse_job_spec(file);
  if (!spec) return;
  const auto again = load_job_spec(dump_json(spec->to_json()));
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->to_json() == spec->to_json());
}

}  // namespace
}  // namespace loam::jobs
