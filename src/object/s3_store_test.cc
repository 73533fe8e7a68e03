// SPDX-License-Identifier: Apache-2.0
// S3Store against a real service: LOAM_TEST_S3_URL names a bucket that may be written to, and the
// AWS_* variables say how. e2e/test_s3.py starts one and runs these.
#include "object/s3_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

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

// Which service that is, if it is one that needs to be known.
bool is_minio() {
  const char* name = std::getenv("LOAM_TEST_S3_SERVICE");
  return name != nullptr && std::string_view(name) == "minio";
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
    out.push_back({"s3", [] { return make_s3(); }, /*etags_name_content=*/true, is_minio()});
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

TEST_F(S3StoreTest, KnowsWhatTheServiceDoesWithConditions) {
  const auto support = store_->conditions().support();
  ASSERT_TRUE(support) << support.error().message;
  EXPECT_TRUE(support->put_if_absent);
  EXPECT_TRUE(support->put_if_match);
  EXPECT_TRUE(store_->list("", {})->objects.empty()) << "the probe was left behind";
}

TEST_F(S3StoreTest, OddKeysComeBackAsTheyWent) {  // K1
  std::vector<std::string> keys = {
      "a/\n", "a//b", "a/./b", "a/../b", "a/", "/lead", "\xc3\xa9", "e\xcc\x81", "+ %20 & ? # ' \"",
      std::string(255, 'c'), "\x01", "\xf0\x9f\x98\x80", "trailing ", " ", ".", "..", "../..", "//",
      "a\tb", "a\rb", "<x>&amp;]]>", "a\\b", "%2F", "100%", "~*()!$,;=:@[]{}|^`", "\xef\xbf\xbf",
      "\x7f", std::string(900, 'k') + "/",
      // The longest there may be, with the prefix of the test.
      std::string(kMaxKeyBytes - store_->endpoint().options().prefix.size(), 'l')};
  std::erase_if(keys, [&](const std::string& key) {
    const auto put = put_bytes(*store_, key, "at " + key);
    if (put) return false;
    EXPECT_EQ(put.error().code, ErrorCode::kInvalidArgument) << put.error().message;
    // A tree has no such paths, and no names that long.
    const std::string path = "/" + key + "/";
    const bool pathless = path.find("//") != path.npos || path.find("/./") != path.npos ||
                          path.find("/../") != path.npos || key.size() > 255;
    EXPECT_TRUE(is_minio() && pathless) << printable(key);
    return true;
  });
  std::vector<std::string> expected = keys;
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> listed;
  ASSERT_TRUE(for_each_object(*store_, "", [&](const ObjectInfo& object) -> Status {
    listed.push_back(object.key);
    return {};
  }));
  EXPECT_EQ(listed, expected);
  for (const std::string& key : keys) {
    EXPECT_EQ(get(key), "at " + key) << printable(key);
    EXPECT_TRUE(store_->copy(key, "copy")) << printable(key);
    EXPECT_EQ(get("copy"), "at " + key) << printable(key);
  }
  expected.push_back("copy");
  ASSERT_TRUE(store_->remove_all(expected));
  EXPECT_TRUE(store_->list("", {})->objects.empty());
}

TEST_F(S3StoreTest, BytesThatAreNotUtf8AreRefusedOrKept) {  // never anything in between
  const std::string key = "bad \xff\xfe bytes";
  if (!put_bytes(*store_, key, "x")) return;
  EXPECT_EQ(get(key), "x");
  EXPECT_EQ(store_->list("", {})->objects.at(0).key, key);
}

TEST_F(S3StoreTest, LargeObjectsGoInParts) {  // C6
  const std::string bytes = pattern(23'000'001);
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{23'000'001}}) {
    PutOptions options;
    options.length = length;
    const auto info = store_->put("large", source_from(bytes), options);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->size, 23'000'001);
    EXPECT_NE(info->etag.find('-'), std::string::npos) << "not a multipart upload: " << info->etag;
    EXPECT_EQ(store_->head("large")->etag, info->etag);
    EXPECT_EQ(get("large"), bytes);
  }
  const auto reader = store_->get("large", {5'000'000, 11'000'000}, "").value();
  std::string part(11'000'000, '\0');
  std::size_t done = 0;
  while (const std::size_t n = *reader->read(std::as_writable_bytes(std::span(part)).subspan(done)))
    done += n;
  EXPECT_EQ(done, part.size());
  EXPECT_TRUE(part == bytes.substr(5'000'000, 11'000'000));
  ASSERT_TRUE(store_->copy("large", "copied"));
  EXPECT_EQ(get("copied"), bytes);
}

TEST_F(S3StoreTest, ConditionsHoldForLargeObjectsToo) {
  const std::string bytes = pattern(6'000'000);
  PutOptions absent;
  absent.if_absent = true;
  const auto first = store_->put("large", source_from(bytes), absent);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(store_->put("large", source_from(bytes), absent).error().code,
            ErrorCode::kPreconditionFailed);
  PutOptions match;
  match.if_match = "another";
  EXPECT_EQ(store_->put("large", source_from(bytes), match).error().code,
            ErrorCode::kPreconditionFailed);
  match.if_match = first->etag;
  EXPECT_TRUE(store_->put("large", source_from(bytes + "x"), match));
  EXPECT_TRUE(store_->multipart()->list_uploads("")->empty());
}

TEST_F(S3StoreTest, AFailedLargePutLeavesNoUpload) {
  int calls = 0;
  const Source broken = [&](std::span<std::byte> out) -> Result<std::size_t> {
    if (++calls == 4) return fail(ErrorCode::kCanceled, "given up");
    return out.size();
  };
  EXPECT_EQ(store_->put("large", broken, {}).error().code, ErrorCode::kCanceled);
  EXPECT_TRUE(store_->multipart()->list_uploads("")->empty());
  EXPECT_TRUE(store_->list("", {})->objects.empty());
}

TEST_F(S3StoreTest, AnInterruptedUploadGoesOn) {
  MultipartUploads& uploads = *store_->multipart();
  const std::string bytes = pattern(12'000'000);
  const std::string id = uploads.begin_upload("large").value();
  ASSERT_TRUE(uploads.put_part("large", id, 2, std::string_view(bytes).substr(6'000'000)));
  // MinIO shows uploads to those only who know their keys.
  const auto pending = uploads.list_uploads(is_minio() ? "large" : "").value();
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].key, "large");
  EXPECT_EQ(pending[0].upload_id, id);
  auto parts = uploads.list_parts("large", id).value();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].number, 2);
  EXPECT_EQ(parts[0].size, 6'000'000);
  const auto first = uploads.put_part("large", id, 1, std::string_view(bytes).substr(0, 6'000'000));
  parts.insert(parts.begin(), first.value());
  EXPECT_EQ(uploads.complete_upload("large", id, parts, {})->size, 12'000'000);
  EXPECT_EQ(get("large"), bytes);
  EXPECT_EQ(uploads.list_parts("large", id).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(uploads.abort_upload("large", id)) << "aborting what is gone is no error";
}

TEST_F(S3StoreTest, PresignedRequestsReachOneThingOnly) {
  const auto http = net::make_curl_client();
  const auto send = [&](const PresignedRequest& made, const std::string& body) {
    net::ClientRequest request;
    request.method = made.method;
    request.url = made.url;
    for (const auto& [name, value] : made.headers)
      request.headers.add(name, value);
    request.body = body;
    return http->send(request).value();
  };
  const std::string key = is_minio() ? "odd + key?&/\xc3\xa9" : "odd + key?&/../\xc3\xa9";
  MultipartUploads& uploads = *store_->multipart();
  const std::string id = uploads.begin_upload(key).value();
  const std::chrono::seconds soon(60);
  const auto part = store_->presign_put_part(key, id, 1, 5, soon).value();
  const net::HttpResponse stored = send(part, "hello");
  ASSERT_EQ(stored.status, 200) << stored.body;
  EXPECT_EQ(send(part, "hello, more").status, 403) << "more bytes than were granted";
  const std::string etag = stored.headers.get("ETag").value();
  ASSERT_TRUE(uploads.complete_upload(key, id, {{1, etag.substr(1, etag.size() - 2), 5}}, {}));
  auto range = store_->presign_get(key, {1, 3}, store_->head(key)->etag, soon).value();
  EXPECT_EQ(send(range, "").body, "ell");
  range.headers[0].second = "bytes=0-4";
  EXPECT_EQ(send(range, "").status, 403) << "another range than was granted";
  const auto whole = store_->presign_get(key, {}, "", soon).value();
  EXPECT_EQ(send(whole, "").body, "hello");
  auto other = whole;
  other.url.replace(other.url.find("odd"), 3, "bad");
  EXPECT_EQ(send(other, "").status, 403) << "another key than was granted";
  EXPECT_EQ(send(store_->presign_put("new", 2, soon).value(), "ok").status, 200);
  EXPECT_EQ(get("new"), "ok");
}

TEST_F(S3StoreTest, ListsThousands) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2'300; ++i)
    keys.push_back(fmt::format("d{}/{:05}", i % 7, i));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < keys.size(); i = next++)
        EXPECT_TRUE(put_bytes(*store_, keys[i], "x"));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> listed;
  ASSERT_TRUE(for_each_object(*store_, "", [&](const ObjectInfo& object) -> Status {
    listed.push_back(object.key);
    return {};
  }));
  EXPECT_EQ(listed, keys);
  ListOptions options;
  options.delimiter = true;
  options.limit = 2;
  std::vector<std::string> prefixes;
  for (;;) {
    const ListPage page = store_->list("", options).value();
    prefixes.insert(prefixes.end(), page.prefixes.begin(), page.prefixes.end());
    if (!advance(options, page)) break;
  }
  EXPECT_THAT(prefixes, ElementsAre("d0/", "d1/", "d2/", "d3/", "d4/", "d5/", "d6/"));
  ASSERT_TRUE(store_->remove_all(keys));
  EXPECT_TRUE(store_->list("", {})->objects.empty());
}

}  // namespace
}  // namespace loam::object
