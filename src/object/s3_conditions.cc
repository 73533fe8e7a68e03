// SPDX-License-Identifier: Apache-2.0
#include "object/s3_conditions.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/log.h"
#include "object/s3_multipart.h"
#include "object/s3_read.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

// No object has this ETag.
constexpr const char* kNoEtag = "\"00000000000000000000000000000000\"";

S3Call put_call(const std::string& key, std::string_view body) {
  S3Call call;
  call.method = "PUT";
  call.key = key;
  call.body = body;
  return call;
}

}  // namespace

std::string S3Conditions::new_put_id() {
  return random_token(random_, 16);
}

// Whether the service answers 412. Anything but success and "not implemented" is an error.
Result<bool> S3Conditions::refuses(const S3Call& call) {
  S3Refusal refusal;
  const auto answer = endpoint_.call(call, &refusal);
  if (answer) return false;
  if (refusal.status == 412) return true;
  if (refusal.status == 501 || refusal.status == 400) return false;
  return fail(answer.error());
}

Result<bool> S3Conditions::multipart_refuses(const std::string& key, const char* header,
                                             const std::string& value) {
  const std::string id = TRY(s3_begin_upload(endpoint_, key, ""));
  const UploadedPart part = TRY(s3_put_part(endpoint_, key, id, 1, "probe"));
  const std::string body = complete_body({part});
  S3Call call = complete_call(key, id, body);
  call.headers.emplace_back(header, value);
  const auto refused = refuses(call);
  // Gone already if it was completed.
  if (const Status aborted = s3_abort_upload(endpoint_, key, id); !aborted) {
    LOG_DEBUG("aborting a probe: {}", aborted.error().message);
  }
  return refused;
}

Result<S3Conditions::Support> S3Conditions::probe() {
  const std::string key = endpoint_.options().prefix + random_id(random_, ".loam-probe-");
  TRY(endpoint_.call(put_call(key, "probe")));
  const auto run = [&]() -> Result<Support> {
    Support out;
    S3Call absent = put_call(key, "again");
    absent.headers.emplace_back("If-None-Match", "*");
    out.put_if_absent = TRY(refuses(absent));
    S3Call match = put_call(key, "again");
    match.headers.emplace_back("If-Match", kNoEtag);
    out.put_if_match = TRY(refuses(match));
    // A service that refuses every ETag honours nothing.
    const std::string etag = TRY(s3_head(endpoint_, key, "")).etag;
    match.headers[0].second = quoted_etag(etag);
    if (out.put_if_match && TRY(refuses(match))) {
      match.headers[0].second = etag;
      out.bare_etags = !TRY(refuses(match));
      out.put_if_match = out.bare_etags;
    }
    out.multipart_if_absent = TRY(multipart_refuses(key, "If-None-Match", "*"));
    out.multipart_if_match = TRY(multipart_refuses(key, "If-Match", kNoEtag));
    return out;
  };
  auto out = run();
  S3Call remove;
  remove.method = "DELETE";
  remove.key = key;
  if (const auto removed = endpoint_.call(remove); !removed) {
    LOG_WARN("the probe {} was left behind: {}", key, removed.error().message);
  }
  return out;
}

Result<S3Conditions::Support> S3Conditions::support() {
  const std::lock_guard lock(mutex_);
  if (!support_) support_ = TRY(probe());
  return *support_;
}

Result<NameValues> S3Conditions::headers_for(const std::string& whole_key,
                                             const PutOptions& options, bool multipart) {
  NameValues out;
  if (!options.if_absent && options.if_match.empty()) return out;
  const Support can = TRY(support());
  const bool honoured = options.if_absent
                            ? (multipart ? can.multipart_if_absent : can.put_if_absent)
                            : (multipart ? can.multipart_if_match : can.put_if_match);
  if (honoured && options.if_absent) {
    out.emplace_back("If-None-Match", "*");
  } else if (honoured) {
    const bool bare = can.bare_etags && !multipart;
    out.emplace_back("If-Match", bare ? options.if_match : quoted_etag(options.if_match));
  }
  if (honoured) return out;
  {
    const std::lock_guard lock(mutex_);
    if (!warned_) {
      LOG_WARN(
          "{} ignores preconditions on {}: they are checked beforehand, which two writers at the "
          "same moment can both pass",
          endpoint_.options().endpoint, multipart ? "multipart uploads" : "PUT");
      warned_ = true;
    }
  }
  const auto there = s3_head(endpoint_, whole_key, "");
  if (!there && there.error().code != ErrorCode::kNotFound) return fail(there.error());
  const bool holds = options.if_absent ? !there : there && there->etag == options.if_match;
  if (!holds) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the condition of a put of '{}' does not hold", printable(whole_key)));
  }
  return out;
}

Result<std::optional<ObjectInfo>> S3Conditions::was_ours(const std::string& whole_key,
                                                         const std::string& key,
                                                         const std::string& put_id) {
  S3Call call;
  call.method = "HEAD";
  call.key = whole_key;
  const auto answer = endpoint_.call(call);
  if (!answer && answer.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!answer) return fail(answer.error());
  if (answer->http.headers.get(kPutIdHeader) != put_id) return std::nullopt;
  return TRY(s3_head(endpoint_, whole_key, key));
}

}  // namespace loam::object
