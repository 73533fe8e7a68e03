// SPDX-License-Identifier: Apache-2.0
#include "object/s3_multipart.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/encoding.h"
#include "object/s3_read.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

// Pages of lists; a service that never ends is not believed.
constexpr int kMaxPages = 100'000;
constexpr std::size_t kMaxPutIds = 100'000;

Status check_part_number(int number) {
  if (number >= 1 && number <= kMaxParts) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a part's number must be 1 to {}, not {}", kMaxParts, number));
}

template <typename Parse>
std::function<Status(const net::HttpResponse&)> must_parse(Parse parse) {
  return [parse](const net::HttpResponse& response) -> Status {
    TRY(parse(response.body));
    return {};
  };
}

}  // namespace

std::string copy_source(const S3Endpoint& endpoint, const std::string& whole_key) {
  return encode_path("/" + endpoint.options().bucket + "/" + whole_key);
}

Result<std::string> s3_begin_upload(S3Endpoint& endpoint, const std::string& key,
                                    const std::string& put_id) {
  S3Call call;
  call.method = "POST";
  call.key = key;
  call.query = {{"uploads", ""}};
  if (!put_id.empty()) call.headers.emplace_back(S3Conditions::kPutIdHeader, put_id);
  call.check = must_parse(parse_s3_upload_id);
  return parse_s3_upload_id(TRY(endpoint.call(call)).http.body);
}

Result<UploadedPart> s3_put_part(S3Endpoint& endpoint, const std::string& key,
                                 const std::string& upload_id, int number, std::string_view bytes) {
  TRY_VOID(check_part_number(number));
  S3Call call;
  call.method = "PUT";
  call.key = key;
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id}};
  call.body = bytes;
  const S3Answer answer = TRY(endpoint.call(call));
  return UploadedPart{number, bare_etag(answer.http.headers.get("ETag").value_or("")),
                      static_cast<std::int64_t>(bytes.size())};
}

Result<UploadedPart> s3_copy_part(S3Endpoint& endpoint, const std::string& key,
                                  const std::string& upload_id, int number,
                                  const std::string& from_key, const std::string& etag,
                                  ByteRange range) {
  TRY_VOID(check_part_number(number));
  S3Call call;
  call.method = "PUT";
  call.key = key;
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id}};
  call.headers = {{"x-amz-copy-source", copy_source(endpoint, from_key)},
                  {"x-amz-copy-source-if-match", quoted_etag(etag)},
                  {"x-amz-copy-source-range", range_header(range)}};
  call.may_fail_late = true;
  call.check = must_parse(parse_s3_etag);
  const S3Answer answer = TRY(endpoint.call(call));
  return UploadedPart{number, TRY(parse_s3_etag(answer.http.body)), range.length};
}

Status s3_abort_upload(S3Endpoint& endpoint, const std::string& key, const std::string& upload_id) {
  S3Call call;
  call.method = "DELETE";
  call.key = key;
  call.query = {{"uploadId", upload_id}};
  const auto answer = endpoint.call(call);
  if (!answer && answer.error().code != ErrorCode::kNotFound) return fail(answer.error());
  return {};
}

std::string complete_body(const std::vector<UploadedPart>& parts) {
  std::string out = "<CompleteMultipartUpload>";
  for (const UploadedPart& part : parts) {
    out += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>\"{}\"</ETag></Part>", part.number,
                       xml_text(part.etag).value_or(""));
  }
  return out + "</CompleteMultipartUpload>";
}

S3Call complete_call(const std::string& key, const std::string& upload_id, std::string_view body) {
  S3Call call;
  call.method = "POST";
  call.key = key;
  call.query = {{"uploadId", upload_id}};
  call.body = body;
  call.may_fail_late = true;
  call.check = must_parse(parse_s3_etag);
  return call;
}

Result<ObjectInfo> s3_complete_upload(S3Endpoint& endpoint, S3Conditions& conditions,
                                      const CompleteRequest& request) {
  std::int64_t size = 0;
  for (std::size_t i = 0; i < request.parts.size(); ++i) {
    CHECK(i == 0 || request.parts[i - 1].number < request.parts[i].number);
    size += request.parts[i].size;
  }
  const std::string body = complete_body(request.parts);
  S3Call call = complete_call(request.whole_key, request.upload_id, body);
  call.headers = TRY(conditions.headers_for(request.whole_key, request.options, true));
  S3Refusal refusal;
  const auto answer = endpoint.call(call, &refusal);
  if (answer) {
    std::string etag = TRY(parse_s3_etag(answer->http.body));
    // Ceph leaves it empty.
    if (etag.empty()) etag = TRY(s3_head(endpoint, request.whole_key, request.key)).etag;
    return ObjectInfo{request.key, size, std::move(etag), endpoint.server_now_ms()};
  }
  const bool doubtful = refusal.repeated && (refusal.status == 404 || refusal.status == 412);
  if (doubtful && !request.put_id.empty()) {
    if (auto ours = TRY(conditions.was_ours(request.whole_key, request.key, request.put_id))) {
      return *std::move(ours);
    }
  }
  // AWS says that the object to match is not there with 404; so it does of a lost upload.
  if (refusal.status == 404 && refusal.body.code == "NoSuchKey" &&
      !request.options.if_match.empty()) {
    return fail(ErrorCode::kPreconditionFailed, answer.error().message);
  }
  return fail(answer.error());
}

Result<std::string> S3Uploads::begin_upload(const std::string& key) {
  TRY_VOID(check_key(whole(key)));
  const std::string put_id = conditions_.new_put_id();
  std::string upload_id = TRY(s3_begin_upload(endpoint_, whole(key), put_id));
  const std::lock_guard lock(mutex_);
  if (put_ids_.size() >= kMaxPutIds) put_ids_.clear();
  put_ids_[upload_id] = put_id;
  return upload_id;
}

// Nothing if another process has begun it.
std::string S3Uploads::take_put_id(const std::string& upload_id) {
  const std::lock_guard lock(mutex_);
  auto node = put_ids_.extract(upload_id);
  return node.empty() ? "" : std::move(node.mapped());
}

Result<UploadedPart> S3Uploads::put_part(const std::string& key, const std::string& upload_id,
                                         int number, std::string_view bytes) {
  TRY_VOID(check_key(whole(key)));
  return s3_put_part(endpoint_, whole(key), upload_id, number, bytes);
}

Result<std::vector<UploadedPart>> S3Uploads::list_parts(const std::string& key,
                                                        const std::string& upload_id) {
  TRY_VOID(check_key(whole(key)));
  std::vector<UploadedPart> out;
  int after = 0;
  for (int page = 0; page < kMaxParts; ++page) {
    S3Call call;
    call.key = whole(key);
    call.query = {{"uploadId", upload_id}, {"part-number-marker", std::to_string(after)}};
    call.check = must_parse(parse_s3_parts);
    const S3Answer answer = TRY(endpoint_.call(call));
    const S3PartsBody body = TRY(parse_s3_parts(answer.http.body));
    out.insert(out.end(), body.parts.begin(), body.parts.end());
    if (!body.truncated || body.next_number <= after) break;
    after = body.next_number;
  }
  return out;
}

Result<ObjectInfo> S3Uploads::complete_upload(const std::string& key, const std::string& upload_id,
                                              const std::vector<UploadedPart>& parts,
                                              const PutOptions& options) {
  TRY_VOID(check_put(whole(key), options));
  const auto descends = [](const UploadedPart& a, const UploadedPart& b) {
    return a.number >= b.number;
  };
  if (parts.empty() || std::adjacent_find(parts.begin(), parts.end(), descends) != parts.end()) {
    return fail(ErrorCode::kInvalidArgument, "an upload is completed with parts in rising order");
  }
  return s3_complete_upload(endpoint_, conditions_,
                            {whole(key), key, upload_id, take_put_id(upload_id), parts, options});
}

Status S3Uploads::abort_upload(const std::string& key, const std::string& upload_id) {
  TRY_VOID(check_key(whole(key)));
  take_put_id(upload_id);
  return s3_abort_upload(endpoint_, whole(key), upload_id);
}

Result<std::vector<PendingUpload>> S3Uploads::list_uploads(const std::string& prefix) {
  const std::size_t skip = endpoint_.options().prefix.size();
  std::vector<PendingUpload> out;
  NameValues marker;
  for (int page = 0; page < kMaxPages; ++page) {
    S3Call call;
    call.query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", whole(prefix)}};
    call.query.insert(call.query.end(), marker.begin(), marker.end());
    call.check = must_parse(parse_s3_uploads);
    const S3Answer answer = TRY(endpoint_.call(call));
    const S3UploadsBody body = TRY(parse_s3_uploads(answer.http.body));
    for (PendingUpload upload : body.uploads) {
      if (!upload.key.starts_with(whole(prefix)) || upload.key.size() <= skip) continue;
      upload.key.erase(0, skip);
      out.push_back(std::move(upload));
    }
    const NameValues next = {{"key-marker", body.next_key}, {"upload-id-marker", body.next_upload}};
    if (!body.truncated || next == marker) break;
    marker = next;
  }
  return out;
}

}  // namespace loam::object
