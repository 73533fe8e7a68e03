// SPDX-License-Identifier: Apache-2.0
// Credentials that come over HTTP: STS for a web identity, a container's endpoint, and the metadata
// of an EC2 instance.
#include <fmt/format.h>

#include "base/encoding.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "io/file.h"
#include "object/s3_credentials.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

// The metadata service is one hop away or not there at all.
constexpr std::chrono::milliseconds kNearTimeout{1'000};
constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::int64_t kMaxTokenBytes = 64 << 10;

// The JSON that containers and instances answer with.
Result<std::optional<LoadedKeys>> keys_of(std::string_view body, std::string_view what) {
  const auto json = parse_json(body);
  if (!json || !json->is_object()) {
    return fail(ErrorCode::kUnavailable, fmt::format("{} answered something else than JSON", what));
  }
  LoadedKeys out;
  out.keys = {TRY(json_string(*json, "AccessKeyId", "")),
              TRY(json_string(*json, "SecretAccessKey", "")), TRY(json_string(*json, "Token", ""))};
  out.expires_ms = parse_iso_time(TRY(json_string(*json, "Expiration", "")));
  if (out.keys.id.empty() || out.keys.secret.empty()) {
    return fail(ErrorCode::kUnavailable, fmt::format("{} gave no keys", what));
  }
  return out;
}

class WebIdentitySource final : public CredentialSource {
 public:
  WebIdentitySource(const S3Options& options, Environment environment, net::HttpClient& http)
      : region_(options.region),
        ca_file_(options.ca_file),
        environment_(std::move(environment)),
        http_(http) {}

  Result<std::optional<LoadedKeys>> load() override {
    const auto file = environment_("AWS_WEB_IDENTITY_TOKEN_FILE");
    const auto role = environment_("AWS_ROLE_ARN");
    if (!file || !role) return std::nullopt;
    // Read each time: the file is rotated.
    std::string token = TRY(io::read_file(*file, kMaxTokenBytes));
    while (token.ends_with('\n'))
      token.pop_back();
    net::ClientRequest request;
    request.method = "POST";
    request.url = environment_("AWS_ENDPOINT_URL_STS")
                      .value_or(fmt::format("https://sts.{}.amazonaws.com", region_)) +
                  "/";
    request.headers.set("Content-Type", "application/x-www-form-urlencoded");
    request.ca_file = ca_file_;
    request.deadline = kDeadline;
    request.body =
        encode_query({{"Action", "AssumeRoleWithWebIdentity"},
                      {"Version", "2011-06-15"},
                      {"RoleArn", *role},
                      {"RoleSessionName", environment_("AWS_ROLE_SESSION_NAME").value_or("loam")},
                      {"WebIdentityToken", token}});
    const net::HttpResponse response = TRY(http_.send(request));
    if (response.status != 200) {
      const auto error = parse_s3_error(response.body);
      return fail(ErrorCode::kUnauthenticated,
                  fmt::format("STS refused the web identity for {}: {} {}", *role, response.status,
                              error ? printable(error->code + " " + error->message) : ""));
    }
    const StsKeys keys = TRY(parse_sts_keys(response.body));
    LoadedKeys out{{keys.id, keys.secret, keys.token}, {}};
    if (keys.expires_ms > 0) out.expires_ms = keys.expires_ms;
    return out;
  }
  std::string name() const override { return "web identity"; }

 private:
  const std::string region_;
  const std::string ca_file_;
  Environment environment_;
  net::HttpClient& http_;
};

class ContainerSource final : public CredentialSource {
 public:
  ContainerSource(Environment environment, net::HttpClient& http)
      : environment_(std::move(environment)), http_(http) {}

  Result<std::optional<LoadedKeys>> load() override {
    net::ClientRequest request;
    if (const auto path = environment_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
      request.url = "http://169.254.170.2" + *path;
    } else if (const auto url = environment_("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
      request.url = *url;
    } else {
      return std::nullopt;
    }
    std::string token = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
    if (const auto file = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
      token = TRY(io::read_file(*file, kMaxTokenBytes));
      while (token.ends_with('\n'))
        token.pop_back();
    }
    if (!token.empty()) request.headers.set("Authorization", token);
    request.connect_timeout = kNearTimeout;
    request.deadline = kDeadline;
    const net::HttpResponse response = TRY(http_.send(request));
    if (response.status != 200) {
      return fail(ErrorCode::kUnavailable, fmt::format("the container's credentials endpoint "
                                                       "answered {}",
                                                       response.status));
    }
    return keys_of(response.body, "the container's credentials endpoint");
  }
  std::string name() const override { return "container"; }

 private:
  Environment environment_;
  net::HttpClient& http_;
};

// IMDSv2: a session token first, then the role's name, then its keys.
class InstanceSource final : public CredentialSource {
 public:
  InstanceSource(Environment environment, net::HttpClient& http)
      : environment_(std::move(environment)), http_(http) {}

  Result<std::optional<LoadedKeys>> load() override {
    if (environment_("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
    base_ = environment_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
    while (base_.ends_with('/'))
      base_.pop_back();
    const auto token =
        ask("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "300");
    if (!token) return std::nullopt;  // no EC2
    const std::string path = "/latest/meta-data/iam/security-credentials/";
    const auto role = ask("GET", path, kTokenHeader, *token);
    if (!role || role->empty()) return std::nullopt;  // an instance without a role
    const auto body = ask("GET", path + percent_encode(role->substr(0, role->find('\n')), false),
                          kTokenHeader, *token);
    if (!body) return fail(ErrorCode::kUnavailable, "the instance metadata gave no keys");
    return keys_of(*body, "the instance metadata");
  }
  std::string name() const override { return "instance metadata"; }

 private:
  static constexpr std::string_view kTokenHeader = "X-aws-ec2-metadata-token";

  std::optional<std::string> ask(std::string method, const std::string& path,
                                 std::string_view header, const std::string& value) {
    net::ClientRequest request;
    request.method = std::move(method);
    request.url = base_ + path;
    request.headers.set(header, value);
    request.connect_timeout = kNearTimeout;
    request.deadline = kNearTimeout * 3;
    const auto response = http_.send(request);
    if (!response || response->status != 200) return std::nullopt;
    return response->body;
  }

  Environment environment_;
  net::HttpClient& http_;
  std::string base_;
};

}  // namespace

std::unique_ptr<CredentialSource> web_identity_source(const S3Options& options,
                                                      const Environment& environment,
                                                      net::HttpClient& http) {
  return std::make_unique<WebIdentitySource>(options, environment, http);
}
std::unique_ptr<CredentialSource> container_source(const Environment& environment,
                                                   net::HttpClient& http) {
  return std::make_unique<ContainerSource>(environment, http);
}
std::unique_ptr<CredentialSource> instance_source(const Environment& environment,
                                                  net::HttpClient& http) {
  return std::make_unique<InstanceSource>(environment, http);
}

}  // namespace loam::object
