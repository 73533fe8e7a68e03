// SPDX-License-Identifier: Apache-2.0
// S3Store against a real service: LOAM_TEST_S3_URL names a bucket that may be written to, and the AWS_*
// variables say how. e2e/test_s3.py starts one and runs these.
#include "object/s3_store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>

#include "base/encoding.h"
#include "object/conformance.h"

namespace loam::object {

// Below: without a service there is nothing to make stores of, and the suite is not instantiated.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreConformance);

namespace {

using testing::ElementsAre;

std::string test_url() {
  const char* url = std::getenv("LOAM_TEST_S3_URL");
  return url == nullptr ? "" : url;
}

// A store of its own under a fresh prefix of the bucket. `more` is appended to the options.
std::shared_ptr<S3Store> make_s3(const std::string& more = "") {
  SystemRandom random;
  std::string url = test_url();
  const std::size_t at = std::min(url.find('?'), url.size());
  url.insert(at, "/" + random_id(random, "test-"));
  url += (url.find('?') == std::string::npos ? "?" : "&") + more;
  if (more.empty()) url.pop_back();
  auto options = parse_s3_url(url, process_environment());
  if (!options) return nullptr;
  return std::move(S3Store::open(*std::move(options)).value());
}

std::vector<StoreFactory> factories() {
  std::vector<StoreFactory> out;
  if (!test_url().empty()) {
    out.push_back({"s3", [] { return make_s3(); }, /*etags_name_content=*/true});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(S3, StoreConformance, testing::ValuesIn(factories()),
                         [](const testing::TestParamInfo<StoreFactory>& of) {
                           return of.param.name;
                         });

class S3StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test_url().empty()) {
      GTEST_SKIP() << "LOAM_TEST_S3_URL names no S3 service; e2e/test_s3.py runs this with one";
    }
    store_ = make_s3("part_bytes=5M");
    ASSERT_NE(store_, nullptr);
  }
  std::string get(const std::string& key) {
    const auto bytes = get_bytes(*store_, key, 1 << 30);
    return bytes ? *bytes : "<" + bytes.error().message + ">";
  }
  static std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      out[i] = static_cast<char>((i * 2'654'435'761U) >> 13U);
    return out;
  }

  std::shared_ptr<S3Store> store_;
};

}  // namespace
}  // namespace loam::object
