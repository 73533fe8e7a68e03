// SPDX-License-Identifier: Apache-2.0
#include "loam/client.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <deque>

#include "io/file.h"
#include "io/temp_directory.h"
#include "loam/event_stream.h"
#include "loam/parallel.h"

namespace loam::cli {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto it = values.find(name);
    if (it == values.end()) return std::nullopt;
    return it->second;
  };
}

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(save_client_config(directory_ / "loam/client.json", "http://kept:1", "kept-token"));
  }
  Environment with_file(std::map<std::string, std::string> more = {}) {
    more["XDG_CONFIG_HOME"] = directory_.path();
    return environment(std::move(more));
  }
  io::TempDirectory directory_;
};

TEST_F(ConfigTest, TheFileIsPrivateAndUsedLast) {
  struct stat status {};
  ASSERT_EQ(0, stat((directory_ / "loam/client.json").c_str(), &status));
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto kept = resolve_client_config({}, with_file());
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->server, "http://kept:1");
  EXPECT_EQ(kept->token, "kept-token");
  const auto named = resolve_client_config(
      {.server = "flag:2/"}, with_file({{"LOAM_SERVER", "http://env:3"}, {"LOAM_TOKEN", " t \n"}}));
  ASSERT_TRUE(named);
  EXPECT_EQ(named->server, "http://flag:2");
  EXPECT_EQ(named->token, "t");
}

TEST_F(ConfigTest, ItsTokenGoesToItsServerOnly) {
  EXPECT_EQ(resolve_client_config({.server = "http://other"}, with_file())->token, "");
  EXPECT_EQ(resolve_client_config({}, with_file({{"LOAM_SERVER", "kept:1"}}))->token, "kept-token");
}

TEST_F(ConfigTest, TokenFiles) {
  ASSERT_TRUE(io::write_file_atomic(directory_ / "t", "from-file\n"));
  ASSERT_TRUE(io::write_file_atomic(directory_ / "two", "a b\n"));
  EXPECT_EQ(resolve_client_config({.token_file = directory_ / "t"}, with_file())->token,
            "from-file");
  EXPECT_FALSE(resolve_client_config({.token_file = directory_ / "two"}, with_file()));
  EXPECT_FALSE(resolve_client_config({.token_file = directory_ / "none"}, with_file()));
}

TEST_F(ConfigTest, BadOnesAreRefusedWithWhatToDo) {
  ASSERT_TRUE(io::write_file_atomic(directory_ / "loam/client.json", "{"));
  const auto broken = resolve_client_config({}, with_file());
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("client.json"));
  const auto none = resolve_client_config({}, environment({}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(none.error().message, HasSubstr("loam up"));
  EXPECT_FALSE(resolve_client_config({.server = "ftp://x"}, environment({})));
  EXPECT_EQ(client_config_path(environment({{"HOME", "/home/ann"}})),
            "/home/ann/.config/loam/client.json");
}

// Answers from a script; what it was asked is kept.
class ScriptedHttp final : public net::HttpClient {
 public:
  Result<net::HttpResponse> send(const net::ClientRequest& request) override {
    requests.push_back(request);
    if (answers.empty()) return fail(ErrorCode::kUnavailable, "connection refused");
    Result<net::HttpResponse> answer = std::move(answers.front());
    answers.pop_front();
    if (!answer || !request.sink || answer->status != 200) return answer;
    if (const Status sunk = request.sink(std::as_bytes(std::span(answer->body))); !sunk) {
      return fail(sunk.error());
    }
    return answer;
  }
  std::deque<Result<net::HttpResponse>> answers;
  std::vector<net::ClientRequest> requests;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    auto http = std::make_unique<ScriptedHttp>();
    http_ = http.get();
    client_.emplace(ClientConfig{"http://h:1", "secret", "LOAM_TOKEN"}, std::move(http),
                    RetryPolicy{.tries = 3, .first_delay = milliseconds(1)});
  }
  void answer(int status, std::string body) {
    http_->answers.push_back(net::HttpResponse{.status = status, .body = std::move(body)});
  }
  void lose() { http_->answers.push_back(fail(ErrorCode::kUnavailable, "reset")); }

  ScriptedHttp* http_ = nullptr;
  std::optional<ApiClient> client_;
};

TEST_F(ClientTest, GetsAreRepeatedAndCarryTheToken) {
  lose();
  answer(503, R"({"error":"unavailable","message":"busy"})");
  answer(200, R"({"ok":true})");
  const auto got = client_->get("/v1/jobs");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, Json({{"ok", true}}));
  ASSERT_EQ(http_->requests.size(), 3U);
  EXPECT_EQ(http_->requests[0].url, "http://h:1/v1/jobs");
  EXPECT_EQ(http_->requests[0].headers.get("Authorization"), "Bearer secret");
}

TEST_F(ClientTest, OtherCallsAreNotRepeated) {
  lose();
  EXPECT_FALSE(client_->call("POST", "/v1/tokens", Json::object(), {}));
  EXPECT_EQ(http_->requests.size(), 1U);
}

TEST_F(ClientTest, ErrorsSayWhatToDo) {
  const auto silent = client_->get("/v1/jobs");
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(silent.error().message, HasSubstr("start one with 'loam up'"));
  EXPECT_EQ(http_->requests.size(), 3U);
  answer(401, R"({"error":"unauthenticated","message":"no such token"})");
  EXPECT_THAT(client_->get("/x").error().message, HasSubstr("the token came from LOAM_TOKEN"));
  answer(404, R"({"error":"not_found","message":"no job j-1"})");
  const auto missing = client_->get("/x");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "no job j-1");
  answer(200, "<html>");
  EXPECT_THAT(client_->get("/x").error().message, HasSubstr("is http://h:1 a loam server?"));
}

TEST_F(ClientTest, AStreamGoesOnAfterTheLastEvent) {
  answer(200, "id: 1\ndata: a\n\nid: 2\ndata: b\n\n");
  lose();
  answer(200, "id: 3\ndata: c\n\nid: 4\ndata: d\n\n");
  std::string seen;
  const Status followed =
      follow_stream(*client_, {.path = "/v1/events"}, [&](const SseEvent& event) -> Result<Next> {
        seen += event.data;
        return event.id == "3" ? Next::kStop : Next::kMore;
      });
  ASSERT_TRUE(followed) << followed.error().message;
  EXPECT_EQ(seen, "abc");
  ASSERT_EQ(http_->requests.size(), 3U);
  EXPECT_FALSE(http_->requests[0].headers.get("Last-Event-ID"));
  EXPECT_EQ(http_->requests[1].headers.get("Last-Event-ID"), "2");
  EXPECT_EQ(http_->requests[2].headers.get("Last-Event-ID"), "2");
}

TEST_F(ClientTest, AStreamEndsWithItsHandlersErrorOrARefusal) {
  answer(200, "data: a\n\n");
  const auto failing = [](const SseEvent&) -> Result<Next> {
    return fail(ErrorCode::kDataCorrupt, "the handler's reason");
  };
  EXPECT_EQ(follow_stream(*client_, {.path = "/x"}, failing).error().message,
            "the handler's reason");
  answer(403, R"({"error":"permission_denied","message":"no"})");
  EXPECT_EQ(follow_stream(*client_, {.path = "/x"}, failing).error().code,
            ErrorCode::kPermissionDenied);
}

TEST(JobPathTest, AnIdIsOneSegment) {
  EXPECT_EQ(job_path("j-1", "/logs"), "/v1/jobs/j-1/logs");
  EXPECT_EQ(job_path("../nodes"), "/v1/jobs/..%2Fnodes");
}

}  // namespace
}  // namespace loam::cli
