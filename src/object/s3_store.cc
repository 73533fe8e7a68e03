// SPDX-License-Identifier: Apache-2.0
#include "object/s3_store.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/encoding.h"
#include "base/units.h"
#include "object/s3_put.h"
#include "object/s3_read.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

// Of parts that are read ahead or on their way, over all objects of a store.
constexpr std::int64_t kPartMemory = 512 * kMiB;
constexpr std::size_t kDeleteBatch = 1'000;  // as S3
// Pages of a list on which everything was left out; a service that never ends is not believed.
constexpr int kMaxEmptyPages = 10'000;
// The greatest character: what is greater than a prefix with this appended lies past the prefix.
constexpr std::string_view kLastCharacter = "\xf4\x8f\xbf\xbf";

std::string md5_base64(std::string_view bytes) {
  std::array<char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                   &length, EVP_md5(), nullptr) == 1);
  return base64_encode(std::string_view(digest.data(), length));
}

}  // namespace

S3Store::S3Store(S3Options options, const Environment& environment)
    : http_(net::make_curl_client()),
      endpoint_(std::move(options), environment, *http_, clock_, random_),
      conditions_(endpoint_, random_),
      uploads_(endpoint_, conditions_),
      pool_(endpoint_.options().connections, kPartMemory) {}

Result<std::unique_ptr<S3Store>> S3Store::open(S3Options options, const Environment& environment) {
  if (options.bucket.empty() || options.endpoint.empty()) {
    return fail(ErrorCode::kInvalidArgument, "an S3 store needs a bucket and an endpoint");
  }
  return std::unique_ptr<S3Store>(new S3Store(std::move(options), environment));
}

Result<std::string> S3Store::whole_key(const std::string& key) const {
  TRY_VOID(check_key(key));
  std::string whole = endpoint_.options().prefix + key;
  TRY_VOID(check_key(whole));
  return whole;
}

std::string S3Store::describe() const {
  const S3Options& options = endpoint_.options();
  return fmt::format("s3://{}/{} at {}", options.bucket, printable(options.prefix),
                     options.endpoint);
}

Result<ObjectInfo> S3Store::put(const std::string& key, const Source& source,
                                const PutOptions& options) {
  TRY_VOID(check_put(key, options));
  TRY(whole_key(key));
  return s3_put({endpoint_, conditions_, pool_}, key, source, options);
}

Result<std::unique_ptr<ObjectReader>> S3Store::get(const std::string& key, ByteRange range,
                                                   const std::string& if_match) {
  return open_s3_reader(endpoint_, pool_, TRY(whole_key(key)), key, range, if_match);
}

Result<ObjectInfo> S3Store::head(const std::string& key) {
  return s3_head(endpoint_, TRY(whole_key(key)), key);
}

Result<ObjectInfo> S3Store::copy(const std::string& from, const std::string& to) {
  TRY(whole_key(from));
  TRY(whole_key(to));
  return s3_copy({endpoint_, conditions_, pool_}, from, to);
}

Status S3Store::remove(const std::string& key) {
  S3Call call;
  call.method = "DELETE";
  call.key = TRY(whole_key(key));
  const auto answer = endpoint_.call(call);
  if (!answer && answer.error().code != ErrorCode::kNotFound) return fail(answer.error());
  return {};
}

Status S3Store::remove_batch(const std::vector<std::string>& keys) {
  std::string body = "<Delete><Quiet>true</Quiet>";
  for (const std::string& key : keys)
    body += fmt::format("<Object><Key>{}</Key></Object>", key);
  body += "</Delete>";
  S3Call call;
  call.method = "POST";
  call.query = {{"delete", ""}};
  call.headers = {{"Content-MD5", md5_base64(body)}};
  call.body = body;
  call.check = [](const net::HttpResponse& response) -> Status {
    const auto failures = TRY(parse_s3_delete(response.body));
    if (failures.empty()) return {};
    const S3DeleteFailure& first = failures.front();
    const bool passing = first.code == "InternalError" || first.code == "SlowDown";
    return fail(passing ? ErrorCode::kUnavailable : ErrorCode::kPermissionDenied,
                fmt::format("{} of the objects were not removed; '{}': {} {}", failures.size(),
                            printable(first.key), printable(first.code), printable(first.message)));
  };
  TRY(endpoint_.call(call));
  return {};
}

Status S3Store::remove_all(const std::vector<std::string>& keys) {
  std::vector<std::string> batch;
  for (const std::string& key : keys) {
    // What XML cannot say goes alone.
    const auto text = xml_text(TRY(whole_key(key)));
    if (!text) {
      TRY_VOID(remove(key));
      continue;
    }
    batch.push_back(*text);
    if (batch.size() == kDeleteBatch) {
      TRY_VOID(remove_batch(batch));
      batch.clear();
    }
  }
  if (!batch.empty()) TRY_VOID(remove_batch(batch));
  return {};
}

// One page of the service, with what is not asked for left out.
Result<ListPage> S3Store::list_once(const std::string& prefix, const ListOptions& options,
                                    std::string& token, bool& more) {
  const std::string& own = endpoint_.options().prefix;
  const std::string asked = own + prefix;
  S3Call call;
  call.query = {{"list-type", "2"},
                {"encoding-type", "url"},
                {"prefix", asked},
                {"max-keys", std::to_string(options.limit)}};
  if (options.delimiter) call.query.emplace_back("delimiter", "/");
  if (!token.empty()) {
    call.query.emplace_back("continuation-token", token);
  } else if (!options.after.empty()) {
    std::string after = own + options.after;
    // Some services list a prefix again as long as there are keys in it after this one.
    if (options.delimiter && after.ends_with('/')) after += kLastCharacter;
    call.query.emplace_back("start-after", after);
  }
  call.check = [](const net::HttpResponse& response) -> Status {
    TRY(parse_s3_list(response.body));
    return {};
  };
  S3ListBody body = TRY(parse_s3_list(TRY(endpoint_.call(call)).http.body));
  more = body.truncated;
  token = body.next_token;
  ListPage page;
  std::string last;
  for (ObjectInfo& object : body.objects) {
    if (object.key.size() <= own.size() || !object.key.starts_with(asked)) continue;
    object.key.erase(0, own.size());
    if (object.key <= options.after) continue;
    last = std::max(last, object.key);
    page.objects.push_back(std::move(object));
  }
  for (std::string& name : body.prefixes) {
    if (name.size() <= own.size() || !name.starts_with(asked)) continue;
    name.erase(0, own.size());
    if (name <= options.after) continue;
    last = std::max(last, name);
    page.prefixes.push_back(std::move(name));
  }
  if (more && !last.empty()) page.next_after = last;
  return page;
}

Result<ListPage> S3Store::list(const std::string& prefix, const ListOptions& options) {
  TRY_VOID(check_list(prefix, options));
  std::string token = options.token;
  for (int pages = 0; pages < kMaxEmptyPages; ++pages) {
    bool more = false;
    ListPage page = TRY(list_once(prefix, options, token, more));
    if (page.next_after) page.token = token;
    if (!more || page.next_after) return page;
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("listing '{}' gave {} empty pages", printable(prefix), kMaxEmptyPages));
}

Result<PresignedRequest> S3Store::presigned(S3Call call, std::chrono::seconds valid) {
  if (valid < std::chrono::seconds(1) || valid > kMaxPresigned) {
    return fail(ErrorCode::kInvalidArgument, "a presigned URL is valid for 1 s to 7 days");
  }
  const S3Endpoint::Presigned made = TRY(endpoint_.presigned(call, valid));
  return PresignedRequest{call.method, made.url, std::move(call.headers), made.expires_ms};
}

Result<PresignedRequest> S3Store::presign_get(const std::string& key, ByteRange range,
                                              const std::string& if_match,
                                              std::chrono::seconds valid) {
  if (range.offset < 0 || range.length == 0 || range.length < -1) {
    return fail(ErrorCode::kInvalidArgument, "a presigned range has at least one byte");
  }
  S3Call call;
  call.key = TRY(whole_key(key));
  if (range.offset > 0 || range.length > 0) {
    call.headers.emplace_back("Range", range_header(range));
  }
  if (!if_match.empty()) call.headers.emplace_back("If-Match", quoted_etag(if_match));
  return presigned(std::move(call), valid);
}

Result<PresignedRequest> S3Store::presign_put_part(const std::string& key,
                                                   const std::string& upload_id, int number,
                                                   std::int64_t length,
                                                   std::chrono::seconds valid) {
  if (number < 1 || number > kMaxParts || length < 0 || upload_id.empty()) {
    return fail(ErrorCode::kInvalidArgument, "a part has an upload, a number from 1 and a length");
  }
  S3Call call;
  call.method = "PUT";
  call.key = TRY(whole_key(key));
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id}};
  call.headers.emplace_back("Content-Length", std::to_string(length));
  return presigned(std::move(call), valid);
}

Result<PresignedRequest> S3Store::presign_put(const std::string& key, std::int64_t length,
                                              std::chrono::seconds valid) {
  if (length < 0) return fail(ErrorCode::kInvalidArgument, "an object has a length");
  S3Call call;
  call.method = "PUT";
  call.key = TRY(whole_key(key));
  call.headers.emplace_back("Content-Length", std::to_string(length));
  return presigned(std::move(call), valid);
}

}  // namespace loam::object
