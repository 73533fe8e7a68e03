// SPDX-License-Identifier: Apache-2.0
// Credentials and single requests, against a service that answers from a script.
#include "object/s3_endpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::object {
namespace {

using testing::HasSubstr;

class ScriptedHttp final : public net::HttpClient {
 public:
  using Answer = std::function<Result<net::HttpResponse>(const net::ClientRequest&)>;
  Result<net::HttpResponse> send(const net::ClientRequest& request) override {
    const std::lock_guard lock(mutex_);
    requests.push_back(request);
    return answer(request);
  }
  std::vector<net::ClientRequest> requests;
  Answer answer;

 private:
  std::mutex mutex_;
};

net::HttpResponse response(int status, std::string body, const std::string& date = "") {
  net::HttpResponse out;
  out.status = status;
  out.body = std::move(body);
  if (!date.empty()) out.headers.add("Date", date);
  return out;
}

net::HttpResponse refusal(int status, const std::string& code, const std::string& date = "") {
  return response(status, "<Error><Code>" + code + "</Code><Message>m</Message></Error>", date);
}

class S3EndpointTest : public testing::Test {
 protected:
  Environment environment() {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
  }
  S3Endpoint make(const std::string& url = "s3://bucket?endpoint=http://s3.example.org&tries=4") {
    return {parse_s3_url(url, environment()).value(), environment(), http_, clock_, random_};
  }
  std::string authorization(std::size_t request) const {
    return http_.requests.at(request).headers.get("Authorization").value_or("");
  }

  std::map<std::string, std::string> variables_ = {{"AWS_ACCESS_KEY_ID", "ENV"},
                                                   {"AWS_SECRET_ACCESS_KEY", "secret"},
                                                   {"AWS_EC2_METADATA_DISABLED", "true"},
                                                   {"HOME", "/nonexistent"}};
  ScriptedHttp http_;
  ManualClock clock_;
  SeededRandom random_{1};
};

TEST_F(S3EndpointTest, RepeatsWhatPassesAndSignsEachTryAfresh) {
  http_.answer = [&](const net::ClientRequest&) -> Result<net::HttpResponse> {
    clock_.jump_wall(std::chrono::seconds(2));
    switch (http_.requests.size()) {
      case 1:
        return refusal(503, "SlowDown");
      case 2:
        return fail(ErrorCode::kUnavailable, "reset");
      default:
        return response(200, "ok");
    }
  };
  S3Endpoint endpoint = make();
  const auto answer = endpoint.call({.key = "k"});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->repeated);
  EXPECT_EQ(http_.requests.size(), 3U);
  EXPECT_NE(authorization(0), authorization(1));
  EXPECT_NE(authorization(1), authorization(2));
}

TEST_F(S3EndpointTest, GivesUpAfterItsTries) {
  http_.answer = [](const net::ClientRequest&) { return refusal(500, "InternalError"); };
  S3Endpoint endpoint = make();
  const auto answer = endpoint.call({.key = "k"});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("after 4 tries"));
  EXPECT_EQ(http_.requests.size(), 4U);
}

TEST_F(S3EndpointTest, DoesNotRepeatWhatNoRepetitionChanges) {
  http_.answer = [](const net::ClientRequest&) { return refusal(403, "AccessDenied"); };
  S3Endpoint endpoint = make();
  S3Refusal refused;
  EXPECT_EQ(endpoint.call({.key = "k"}, &refused).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(http_.requests.size(), 1U);
}

TEST_F(S3EndpointTest, FindsTheErrorInASuccess) {
  http_.answer = [&](const net::ClientRequest&) {
    return http_.requests.size() == 1 ? refusal(200, "InternalError")
                                      : response(200, "<CopyObjectResult/>");
  };
  S3Endpoint endpoint = make();
  S3Call call{.method = "PUT", .key = "k"};
  call.may_fail_late = true;
  EXPECT_EQ(endpoint.call(call)->http.body, "<CopyObjectResult/>");
  EXPECT_EQ(http_.requests.size(), 2U);
}

// The manual clock stands at 14 November 2023, 22:13:20.
TEST_F(S3EndpointTest, LearnsTheServersClock) {
  for (const char* method : {"GET", "HEAD"}) {
    http_.requests.clear();
    http_.answer = [&](const net::ClientRequest& request) {
      const std::string date = "Tue, 14 Nov 2023 22:33:20 GMT";
      if (request.headers.get("x-amz-date") == "20231114T223320Z") return response(200, "", date);
      // HEAD has no body to say why.
      return request.method == "HEAD" ? response(403, "", date)
                                      : refusal(403, "RequestTimeTooSkewed", date);
    };
    S3Endpoint endpoint = make();
    EXPECT_TRUE(endpoint.call({.method = method, .key = "k"})) << method;
    EXPECT_EQ(http_.requests.size(), 2U);
    EXPECT_EQ(endpoint.clock_offset_ms(), 20 * 60 * 1000);
  }
}

TEST_F(S3EndpointTest, ReadsRotatedCredentialsAgain) {
  io::TempDirectory directory;
  const std::string path = directory / "credentials";
  const auto write = [&](const std::string& id) {
    ASSERT_TRUE(io::write_file_atomic(path,
                                      "# keys\n[other]\naws_access_key_id=NO\n\n[work]\n"
                                      "aws_access_key_id = " +
                                          id + "\naws_secret_access_key = s\n"));
  };
  write("OLD");
  variables_["AWS_SHARED_CREDENTIALS_FILE"] = path;
  variables_["AWS_CONFIG_FILE"] = directory / "none";
  variables_["AWS_PROFILE"] = "work";
  http_.answer = [&](const net::ClientRequest& request) {
    const std::string used = request.headers.get("Authorization").value();
    if (used.find("Credential=NEW/") != std::string::npos) return response(200, "");
    if (http_.requests.size() == 1) write("NEW");
    return refusal(403, "ExpiredToken");
  };
  S3Endpoint endpoint = make();
  EXPECT_TRUE(endpoint.call({.key = "k"}));
  EXPECT_THAT(authorization(0), HasSubstr("Credential=OLD/"));
  EXPECT_EQ(http_.requests.size(), 2U);
}

TEST_F(S3EndpointTest, TakesAndRenewsKeysOfTheInstance) {
  variables_.erase("AWS_ACCESS_KEY_ID");
  variables_.erase("AWS_SECRET_ACCESS_KEY");
  variables_.erase("AWS_EC2_METADATA_DISABLED");
  int handed_out = 0;
  http_.answer = [&](const net::ClientRequest& request) {
    if (request.url == "http://169.254.169.254/latest/api/token") {
      EXPECT_EQ(request.method, "PUT");
      return response(200, "TOKEN");
    }
    const std::string path = "/latest/meta-data/iam/security-credentials/";
    if (request.url.find(path) != std::string::npos) {
      EXPECT_EQ(request.headers.get("X-aws-ec2-metadata-token"), "TOKEN");
      if (request.url.ends_with("/")) return response(200, "role");
      ++handed_out;
      // An hour after the manual clock's beginning.
      return response(200,
                      fmt::format("{{\"AccessKeyId\":\"KEY{}\",\"SecretAccessKey\":\"s\",\"Token\":"
                                  "\"t\",\"Expiration\":\"2023-11-14T23:13:20Z\"}}",
                                  handed_out));
    }
    return response(200, "");
  };
  S3Endpoint endpoint = make();
  ASSERT_TRUE(endpoint.call({.key = "k"}));
  EXPECT_THAT(authorization(http_.requests.size() - 1), HasSubstr("Credential=KEY1/"));
  EXPECT_EQ(http_.requests.back().headers.get("x-amz-security-token"), "t");
  ASSERT_TRUE(endpoint.call({.key = "k"}));
  EXPECT_EQ(handed_out, 1);
  clock_.advance(std::chrono::minutes(56));
  clock_.jump_wall(std::chrono::minutes(56));
  ASSERT_TRUE(endpoint.call({.key = "k"}));
  EXPECT_EQ(handed_out, 2) << "renewed before the end";
}

TEST_F(S3EndpointTest, ExchangesAWebIdentity) {
  io::TempDirectory directory;
  ASSERT_TRUE(io::write_file_atomic(directory / "token", "jwt+/=\n"));
  variables_ = {{"AWS_WEB_IDENTITY_TOKEN_FILE", directory / "token"},
                {"AWS_ROLE_ARN", "arn:aws:iam::1:role/loam"},
                {"AWS_ENDPOINT_URL_STS", "http://sts.example.org"},
                {"HOME", "/nonexistent"}};
  http_.answer = [](const net::ClientRequest& request) {
    if (request.url != "http://sts.example.org/") return response(200, "");
    EXPECT_THAT(request.body, HasSubstr("WebIdentityToken=jwt%2B%2F%3D"));
    EXPECT_THAT(request.body, HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Floam"));
    return response(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
        "<AccessKeyId>STS</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        "<SessionToken>t</SessionToken><Expiration>2033-01-01T00:00:00Z</Expiration>"
        "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  };
  S3Endpoint endpoint = make();
  ASSERT_TRUE(endpoint.call({.key = "k"}));
  EXPECT_THAT(authorization(1), HasSubstr("Credential=STS/"));
}

TEST_F(S3EndpointTest, SaysWhereItLookedForCredentials) {
  variables_.erase("AWS_ACCESS_KEY_ID");
  variables_.erase("AWS_SECRET_ACCESS_KEY");
  S3Endpoint endpoint = make();
  const auto answer = endpoint.call({.key = "k"});
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(answer.error().message, HasSubstr("environment"));
}

TEST_F(S3EndpointTest, AddressesInBothStyles) {
  http_.answer = [](const net::ClientRequest&) { return response(200, ""); };
  ASSERT_TRUE(make("s3://bucket?region=eu-west-1").call({.key = "a/../b c"}));
  EXPECT_EQ(http_.requests.back().url, "https://bucket.s3.eu-west-1.amazonaws.com/a/../b%20c");
  ASSERT_TRUE(make("s3://bucket?endpoint=http://h:1").call({.key = "k", .query = {{"a b", "c"}}}));
  EXPECT_EQ(http_.requests.back().url, "http://h:1/bucket/k?a%20b=c");
}

TEST(S3Options, RefusesWhatItDoesNotKnow) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  for (const char* url :
       {"s3://bucket?endpiont=http://x", "s3://b", "s3://bu/ck et?region=x&tries=0",
        "s3://bucket?endpoint=ftp://x", "s3://bucket?endpoint=http://x/path",
        "s3://bucket?part_bytes=1M", "s3://bucket?path_style=maybe", "http://bucket"}) {
    EXPECT_FALSE(parse_s3_url(url, none)) << url;
  }
  const S3Options options = parse_s3_url("s3://bucket/a/b?region=x&part_bytes=16M", none).value();
  EXPECT_EQ(options.prefix, "a/b/");
  EXPECT_EQ(options.endpoint, "https://s3.x.amazonaws.com");
  EXPECT_FALSE(options.path_style);
  EXPECT_EQ(options.part_bytes, 16 << 20);
}

}  // namespace
}  // namespace loam::object
