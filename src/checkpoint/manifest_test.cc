// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/units.h"

namespace loam::checkpoint {
namespace {

SetManifest example() {
  SetManifest manifest;
  manifest.step = 50;
  manifest.name = "step-50";
  manifest.files = {{"model.pt", 9, 0644, "e3069283"},
                    {"optim/rank0.pt", 2 * kBlockBytes, 0600, "0000000012345678"},
                    {"optim/rank1.pt", 0, 0644, ""}};
  return manifest;
}

TEST(SetManifest, RoundTrips) {
  EXPECT_EQ(parse_manifest(format_manifest(example())).value(), example());
  EXPECT_EQ(example().total_bytes(), 9 + 2 * kBlockBytes);
  SetManifest file;
  file.unit = UnitKind::kFile;
  file.name = "m\xc3\xa8.pt";
  file.files = {{file.name, 9, 0644, "e3069283"}};
  EXPECT_EQ(parse_manifest(format_manifest(file)).value(), file);
}

TEST(SetManifest, TextIsStable) {
  SetManifest manifest = example();
  manifest.files.resize(1);
  EXPECT_EQ(format_manifest(manifest),
            R"({"files":[{"crc":"e3069283","mode":"0644","path":"model.pt","size":9}],)"
            R"("format_version":1,"name":"step-50","step":50,"unit":"directory"})");
}

TEST(SetManifest, RefusesWhatDoesNotHold) {
  const auto refused = [](const std::function<void(SetManifest&)>& spoil) {
    SetManifest manifest = example();
    spoil(manifest);
    const Status status = check_manifest(manifest);
    return !status && status.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](SetManifest& m) { m.step = -1; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.name = "a/b"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.name = ".."; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.name = "a.loam-tmp"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.name = "\xff"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files.clear(); }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].path = "/etc/passwd"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].path = "../m"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].path = "optim"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].path = "z"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[2].path = m.files[1].path; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].size = -1; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].size = INT64_MAX; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].size = 0; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[1].size += 1; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].crc = "E3069283"; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.files[0].mode = 04755; }));
  EXPECT_TRUE(refused([](SetManifest& m) { m.unit = UnitKind::kFile; }));
  // Between "optim" and "optim/rank0.pt" other names sort.
  EXPECT_TRUE(refused([](SetManifest& m) {
    m.files.insert(m.files.begin() + 1, {{"optim", 0, 0644, ""}, {"optim-x", 0, 0644, ""}});
  }));
  EXPECT_TRUE(refused([](SetManifest& m) {
    m.files.assign(kMaxSetFiles + 1, {"a", 0, 0644, ""});
  }));
}

TEST(SetManifest, ParsesStrictly) {
  const std::string good = format_manifest(example());
  const auto code = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_manifest(text);
    return parsed ? std::string("parsed") : std::string(error_code_name(parsed.error().code));
  };
  EXPECT_EQ(code("\"format_version\":1", "\"format_version\":2"), "unimplemented");
  EXPECT_EQ(code("\"format_version\":1,", ""), "invalid_argument");
  EXPECT_EQ(code("\"step\":50", "\"step\":50,\"extra\":1"), "invalid_argument");
  EXPECT_EQ(code("\"size\":9", "\"size\":9,\"extra\":1"), "invalid_argument");
  EXPECT_EQ(code("\"size\":9", "\"size\":9.5"), "invalid_argument");
  EXPECT_EQ(code("\"mode\":\"0644\"", "\"mode\":\"644\""), "invalid_argument");
  EXPECT_EQ(code("\"mode\":\"0644\"", "\"mode\":\"0688\""), "invalid_argument");
  EXPECT_EQ(code("\"directory\"", "\"folder\""), "invalid_argument");
  EXPECT_EQ(code("\"step\":50", "\"step\":\"50\""), "invalid_argument");
  for (const char* text : {"", "[]", "null", "{\"format_version\":1}"}) {
    EXPECT_FALSE(parse_manifest(text)) << text;
  }
}

TEST(SetManifest, AnyTextParsesToSomethingValidOrAnError) {
  EXPECT_TRUE(rc::check([] {
    std::string text = format_manifest(example());
    const auto edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    }
    const auto parsed = parse_manifest(text);
    if (parsed) RC_ASSERT(check_manifest(*parsed).has_value());
  }));
}

}  // namespace
}  // namespace loam::checkpoint
