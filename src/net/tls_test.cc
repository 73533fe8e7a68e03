// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "net/test_support.h"
#include "net/tls_identity.h"

namespace loam::net {
namespace {

using testing::CertificateOptions;
using testing::eventually;
using ::testing::HasSubstr;
using testing::milliseconds;
using testing::TestAuthority;
using testing::TestTlsClient;

// A server with TLS whatever the rest of this program runs over.
class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    router_->add("GET", "/hello", {}, [](const HttpRequest&, const ResponderPtr& responder) {
      responder->send(testing::text_response("hello"));
    });
    router_->add("GET", "/events", {}, [this](const HttpRequest&, const ResponderPtr& responder) {
      events_ = responder->start_events();
      ready_ = true;
    });
  }
  void TearDown() override {
    if (server_) server_->stop(milliseconds(0));
  }

  void start(const CertificateOptions& certificate = {}) {
    authority_.make("server", certificate);
    auto loaded = load("server");
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    identity_ = *loaded;
    auto started = HttpServer::start(router_, {.tls = identity_});
    ASSERT_TRUE(started) << started.error().to_string();
    server_ = std::move(*started);
  }
  Result<std::shared_ptr<TlsIdentity>> load(const std::string& certificate,
                                            const std::string& key = "server") {
    return TlsIdentity::load(authority_.file(certificate + ".pem"), authority_.file(key + ".key"));
  }
  Result<HttpResponse> get(const std::string& ca_file, const std::string& host = "127.0.0.1") {
    ClientRequest request;
    request.url = "https://" + host + ":" + std::to_string(server_->port()) + "/hello";
    return make_curl_client(ca_file)->send(request);
  }
  void expect_refused(const Result<HttpResponse>& answer, const std::string& reason) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument) << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr(reason));
  }
  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    return fd;
  }
  // The serial number of the certificate that a new connection sees.
  long shown() const {
    const int fd = connect();
    const auto client = TestTlsClient::connect(fd);
    const long out = client ? client->serial() : -1;
    ::close(fd);
    return out;
  }

  TestAuthority authority_;
  std::shared_ptr<Router> router_ = std::make_shared<Router>();
  std::shared_ptr<EventStream> events_;
  std::atomic<bool> ready_{false};
  std::shared_ptr<TlsIdentity> identity_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsTest, AClientThatKnowsTheAuthorityIsServed) {
  start();
  const auto answer = get(authority_.ca_file());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(TlsTest, ClientsRefuseWhatTheyCannotTrust) {
  start();
  const TestAuthority other;
  expect_refused(get(other.ca_file()), "certificate");
  expect_refused(get(""), "certificate");  // the system's authorities do not know ours
  expect_refused(get(authority_.file("missing.pem")), "missing.pem");
}

TEST_F(TlsTest, ClientsRefuseAnotherHostsCertificate) {
  start({.names = "DNS:elsewhere.example"});
  expect_refused(get(authority_.ca_file()), "127.0.0.1");
}

TEST_F(TlsTest, ClientsRefuseAnExpiredCertificate) {
  start({.begins_in_s = -7'200, .ends_in_s = -3'600});
  expect_refused(get(authority_.ca_file()), "expired");
}

TEST_F(TlsTest, PlainHttpIsAnsweredWithWhatToDo) {
  start();
  ClientRequest request;
  request.url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/hello";
  const auto answer = make_curl_client()->send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 400);
  EXPECT_THAT(answer->body, HasSubstr("https://"));
}

TEST_F(TlsTest, OnlyTls12AndLaterAndHttp11) {
  start();
  const auto handshake = [&](int version, const std::string& protocol) {
    const int fd = connect();
    const auto client = TestTlsClient::connect(fd, version, protocol);
    const std::string out = client ? client->version() : "refused";
    ::close(fd);
    return out;
  };
  EXPECT_EQ(handshake(TLS1_1_VERSION, ""), "refused");
  EXPECT_EQ(handshake(TLS1_2_VERSION, ""), "TLSv1.2");
  EXPECT_EQ(handshake(TLS1_3_VERSION, "http/1.1"), "TLSv1.3");
  EXPECT_EQ(handshake(TLS1_3_VERSION, "h2"), "refused");
}

TEST_F(TlsTest, ASilentHandshakeAndGarbageDoNotStay) {
  authority_.make("server");
  auto started =
      HttpServer::start(router_, {.request_timeout = milliseconds(100), .tls = *load("server")});
  ASSERT_TRUE(started);
  server_ = std::move(*started);
  const int silent = connect();
  const int garbage = connect();
  ASSERT_EQ(4, ::send(garbage, "\x16\x03\x01\xff", 4, MSG_NOSIGNAL));
  ASSERT_TRUE(eventually([&] { return server_->connections() == 2; }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  ::close(silent);
  ::close(garbage);
}

TEST_F(TlsTest, ANewCertificateIsForNewConnectionsAndOldOnesGoOn) {
  start();
  const long first = shown();
  const int fd = connect();
  const auto old = TestTlsClient::connect(fd);
  ASSERT_TRUE(old);
  const std::string ask = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(static_cast<ssize_t>(ask.size()), old->send(ask.data(), ask.size()));
  ASSERT_TRUE(eventually([&] { return ready_.load(); }));

  EXPECT_FALSE(identity_->changed());
  authority_.make("server");
  EXPECT_TRUE(identity_->changed());
  ASSERT_TRUE(identity_->reload());
  EXPECT_FALSE(identity_->changed());
  EXPECT_GT(shown(), first);

  ASSERT_TRUE(events_->send("data: still here\n\n"));
  std::string got;
  char buffer[4096];
  while (got.find("still here") == std::string::npos) {
    const ssize_t n = old->receive(buffer, sizeof(buffer));
    ASSERT_GT(n, 0) << got;
    got.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
}

TEST_F(TlsTest, ABadNewCertificateLeavesTheOldOneInUse) {
  start();
  const long first = shown();
  std::ofstream(authority_.file("server.pem")) << "nonsense";
  EXPECT_TRUE(identity_->changed());
  EXPECT_FALSE(identity_->reload());
  EXPECT_FALSE(identity_->changed());  // it is tried again when the files are others, not for ever
  EXPECT_EQ(shown(), first);
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreRefusedWithTheReason) {
  authority_.make("server");
  authority_.make("other");
  const auto reason = [&](const std::string& certificate, const std::string& key) {
    const auto loaded = load(certificate, key);
    if (loaded) return std::string("loaded");
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
    return loaded.error().message;
  };
  EXPECT_EQ(reason("server", "server"), "loaded");
  EXPECT_THAT(reason("server", "other"), HasSubstr("does not belong to the certificate"));
  EXPECT_THAT(reason("missing", "server"), HasSubstr("No such file"));
  EXPECT_THAT(reason("server", "missing"), HasSubstr("No such file"));
  std::ofstream(authority_.file("other.key")) << "nonsense";
  EXPECT_THAT(reason("server", "other"), HasSubstr("not a PEM private key"));
  ASSERT_EQ(0, chmod(authority_.file("server.key").c_str(), 0604));
  EXPECT_THAT(reason("server", "server"), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace loam::net
