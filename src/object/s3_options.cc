// SPDX-License-Identifier: Apache-2.0
#include "object/s3_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "base/encoding.h"
#include "base/redact.h"
#include "object/multipart.h"

namespace loam::object {

namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::array<std::string_view, 12> kOptions = {
    "endpoint",         "region",     "path_style",  "profile", "ca_file",
    "payload_signing",  "part_bytes", "connections", "tries",   "connect_timeout_ms",
    "stall_timeout_ms", "deadline_ms"};

tl::unexpected<Error> bad(std::string_view name, std::string_view value,
                          std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the S3 option {}={} must be {}", name, printable(value), expected));
}

Result<std::int64_t> whole(std::string_view name, std::string_view value, std::int64_t least,
                           std::int64_t most) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < least || out > most) {
    return bad(name, value, fmt::format("a whole number from {} to {}", least, most));
  }
  return out;
}

Result<bool> flag(std::string_view name, std::string_view value) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return bad(name, value, "true or false");
}

Status set_limit(S3Options& options, std::string_view name, const std::string& value) {
  constexpr std::int64_t kDay = 24 * 3600 * 1000;
  if (name == "part_bytes") {
    options.part_bytes = TRY(parse_bytes(value));
    if (options.part_bytes < kMinPartBytes || options.part_bytes > kGiB) {
      return bad(name, value, "from 5M to 1G");
    }
  } else if (name == "connections") {
    options.connections = static_cast<std::size_t>(TRY(whole(name, value, 1, 256)));
    options.parallel_parts = std::min(options.parallel_parts, options.connections);
  } else if (name == "tries") {
    options.tries = static_cast<int>(TRY(whole(name, value, 1, 100)));
  } else if (name == "connect_timeout_ms") {
    options.connect_timeout = std::chrono::milliseconds(TRY(whole(name, value, 1, kDay)));
  } else if (name == "stall_timeout_ms") {
    options.stall_timeout = std::chrono::milliseconds(TRY(whole(name, value, 1, kDay)));
  } else if (name == "deadline_ms") {
    options.deadline = std::chrono::milliseconds(TRY(whole(name, value, 1, kDay)));
  } else {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no option of an s3:// URL; there are: {}", printable(name),
                            fmt::join(kOptions, ", ")));
  }
  return {};
}

Status set_option(S3Options& options, std::optional<bool>& path_style, std::string_view name,
                  const std::string& value) {
  if (name == "endpoint") {
    options.endpoint = value;
  } else if (name == "region") {
    options.region = value;
  } else if (name == "path_style") {
    path_style = TRY(flag(name, value));
  } else if (name == "profile") {
    options.profile = value;
  } else if (name == "ca_file") {
    options.ca_file = value;
  } else if (name == "payload_signing") {
    if (value != "auto" && value != "always" && value != "never") {
      return bad(name, value, "auto, always or never");
    }
    options.payload_signing = value == "auto"     ? PayloadSigning::kAuto
                              : value == "always" ? PayloadSigning::kAlways
                                                  : PayloadSigning::kNever;
  } else {
    return set_limit(options, name, value);
  }
  return {};
}

Status check_endpoint(std::string& endpoint) {
  while (endpoint.ends_with('/'))
    endpoint.pop_back();
  const std::size_t scheme = endpoint.find("://");
  const bool known = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const std::string_view rest = known ? std::string_view(endpoint).substr(scheme + 3) : "";
  if (rest.empty() || rest.find_first_of("/?#@ \r\n") != std::string_view::npos) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the endpoint '{}' must be http:// or https:// with a host and perhaps a "
                    "port, and nothing else",
                    printable(redacted(endpoint))));
  }
  return {};
}

Status check_bucket(std::string_view bucket) {
  // As other programs take them. What stands there is not repeated.
  if (bucket.find_first_of(":@") != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                "an s3:// URL holds no keys; write s3://bucket/prefix and put them into "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or where else the AWS tools look");
  }
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  if (bucket.size() < 3 || bucket.size() > 255 ||
      !std::all_of(bucket.begin(), bucket.end(), allowed)) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is not a bucket's name; write s3://bucket/prefix", printable(bucket)));
  }
  return {};
}

// A bucket in a host's name must be a label that DNS and certificates have room for.
bool fits_host_name(std::string_view bucket) {
  return bucket.size() <= 63 && std::none_of(bucket.begin(), bucket.end(), [](char c) {
           return c == '.' || c == '_' || (c >= 'A' && c <= 'Z');
         });
}

void complete(S3Options& options, const std::optional<bool>& path_style,
              const Environment& environment) {
  const auto either = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      if (auto value = environment(name)) return *value;
    }
    return "";
  };
  if (options.region.empty()) options.region = either({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (options.region.empty()) options.region = "us-east-1";
  if (options.endpoint.empty()) {
    options.endpoint = either({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  }
  // Whoever names an endpoint mostly runs one that has no name per bucket.
  options.path_style = path_style.value_or(!options.endpoint.empty());
  if (options.endpoint.empty()) {
    options.endpoint = fmt::format("https://s3.{}.amazonaws.com", options.region);
  }
  if (options.profile.empty()) options.profile = either({"AWS_PROFILE"});
  if (options.ca_file.empty()) options.ca_file = either({"AWS_CA_BUNDLE"});
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

bool is_s3_option(std::string_view name) {
  return std::find(kOptions.begin(), kOptions.end(), name) != kOptions.end();
}

Result<S3Options> parse_s3_url(std::string_view url, const Environment& environment) {
  if (!url.starts_with(kScheme)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' does not begin with s3://", printable(redacted(url))));
  }
  std::string_view rest = url.substr(kScheme.size());
  S3Options options;
  std::optional<bool> path_style;
  const std::size_t question = rest.rfind('?');
  std::string_view pairs = question == std::string_view::npos ? "" : rest.substr(question + 1);
  rest = rest.substr(0, question);
  while (!pairs.empty()) {
    const std::string_view pair = pairs.substr(0, pairs.find('&'));
    pairs.remove_prefix(std::min(pairs.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("an option of an s3:// URL lacks '=' and a value; there are: {}",
                              fmt::join(kOptions, ", ")));
    }
    TRY_VOID(set_option(options, path_style, pair.substr(0, equals),
                        TRY(percent_decode(pair.substr(equals + 1)))));
  }
  options.bucket = rest.substr(0, rest.find('/'));
  TRY_VOID(check_bucket(options.bucket));
  rest.remove_prefix(std::min(rest.size(), options.bucket.size() + 1));
  options.prefix = rest;
  if (!options.prefix.empty() && !options.prefix.ends_with('/')) options.prefix += '/';
  complete(options, path_style, environment);
  TRY_VOID(check_endpoint(options.endpoint));
  if (!fits_host_name(options.bucket)) options.path_style = true;
  return options;
}

}  // namespace loam::object
