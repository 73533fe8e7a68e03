// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "api/leased_job.h"
#include "api/respond.h"
#include "api/routes.h"
#include "base/encoding.h"
#include "control/grants.h"
#include "object/multipart.h"
#include "object/presign.h"

namespace loam::api {

namespace {

constexpr std::size_t kMaxGrants = 1'000;
// As long as a node may take for one request, retries apart. A prefix is swept much later.
constexpr std::chrono::seconds kGrantValid{900};
// Larger files go up in parts, so that a broken connection costs one part, and several go at once.
constexpr std::int64_t kWholeBytes = 64 << 20;
constexpr std::int64_t kPartBytes = 16 << 20;

// The bytes pass through this server; what the URL names is checked again when it is used.
Json through_server(const std::string& job, std::string_view kind, const std::string& rest) {
  return {{"url", fmt::format("/v1/node/jobs/{}/{}/{}", job, kind, percent_encode(rest, true))},
          {"headers", Json::object()}};
}

Json presigned_json(const object::PresignedRequest& request) {
  Json headers = Json::object();
  for (const auto& [name, value] : request.headers)
    headers[name] = value;
  return {{"url", request.url}, {"headers", std::move(headers)}};
}

// Whole parts of a mebibyte's multiple, few enough for any size that a store takes.
std::int64_t part_bytes(std::int64_t size) {
  const std::int64_t least = (size + object::kMaxParts - 1) / object::kMaxParts;
  const std::int64_t rounded = (least + (1 << 20) - 1) & ~((std::int64_t{1} << 20) - 1);
  return std::max(kPartBytes, rounded);
}

// {"path", "size"}, or the path alone.
Result<Json> grant_put(const ApiContext& context, const LeasedJob& job, const Json& wanted) {
  const bool sized = wanted.is_object();
  if (!sized && !wanted.is_string()) {
    return fail(ErrorCode::kInvalidArgument, "'put' must hold paths or {\"path\", \"size\"}");
  }
  const std::string path = sized ? TRY(json_string(wanted, "path")) : wanted.get<std::string>();
  const std::string key = TRY(control::writable_key(job.lease, path));
  object::ObjectStore& store = context.services.store;
  if (!sized || store.presigner() == nullptr) {
    return through_server(job.lease.job, "upload", path);
  }
  const std::int64_t size = TRY(json_int(wanted, "size"));
  if (size < 0 || size > kMaxObjectBytes) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("a file of {} bytes", size));
  }
  if (size <= kWholeBytes || store.multipart() == nullptr) {
    return presigned_json(TRY(store.presigner()->presign_put(key, size, kGrantValid)));
  }
  return Json{{"upload", TRY(store.multipart()->begin_upload(key))},
              {"part_bytes", part_bytes(size)}};
}

// {"path", "upload", "part", "length"}
Result<Json> grant_part(const ApiContext& context, const LeasedJob& job, const Json& wanted) {
  const std::string path = TRY(json_string(wanted, "path"));
  const std::string key = TRY(control::writable_key(job.lease, path));
  const std::int64_t number = TRY(json_int(wanted, "part"));
  const std::int64_t length = TRY(json_int(wanted, "length"));
  object::Presigner* presigner = context.services.store.presigner();
  if (presigner == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "this store takes no uploads in parts");
  }
  if (number < 1 || number > object::kMaxParts || length < 1 || length > kMaxObjectBytes) {
    return fail(ErrorCode::kInvalidArgument, "a part's number or length is out of range");
  }
  return presigned_json(TRY(presigner->presign_put_part(
      key, TRY(json_string(wanted, "upload")), static_cast<int>(number), length, kGrantValid)));
}

Result<Json> grant_get(const ApiContext& context, const LeasedJob& job, const Json& ref) {
  const std::string key = TRY(context.services.read(
      [&](db::Session& s) { return control::readable_key(s, job.lease, job.spec, ref); }));
  object::Presigner* presigner = context.services.store.presigner();
  if (presigner == nullptr) return through_server(job.lease.job, "download", dump_json(ref));
  return presigned_json(TRY(presigner->presign_get(key, {}, "", kGrantValid)));
}

Result<Json> grants(const ApiContext& context, const net::HttpRequest& request) {
  using Grant = Result<Json> (*)(const ApiContext&, const LeasedJob&, const Json&);
  static constexpr std::array<std::pair<const char*, Grant>, 3> kKinds{
      {{"put", grant_put}, {"part", grant_part}, {"get", grant_get}}};
  const LeasedJob job = TRY(leased_job(context, request));
  const Json body = TRY(body_object(request));
  std::size_t count = 0;
  Json out = Json::object();
  for (const auto& [kind, grant] : kKinds) {
    out[kind] = Json::array();
    const Json wanted = body.value(kind, Json::array());
    if (!wanted.is_array() || (count += wanted.size()) > kMaxGrants) {
      return fail(ErrorCode::kInvalidArgument,
                  "'put', 'part' and 'get' must be lists of at most 1000 in all");
    }
    for (const Json& one : wanted)
      out[kind].push_back(TRY(grant(context, job, one)));
  }
  return out;
}

Result<std::vector<object::UploadedPart>> parse_parts(const Json& list) {
  std::vector<object::UploadedPart> out;
  if (!list.is_array() || list.empty() || list.size() > object::kMaxParts) {
    return fail(ErrorCode::kInvalidArgument, "'parts' must be a list of 1 to 10000");
  }
  for (const Json& part : list) {
    const std::string etag = TRY(json_string(part, "etag"));
    const std::int64_t size = TRY(json_int(part, "size"));
    if (size < 1 || size > kMaxObjectBytes) {
      return fail(ErrorCode::kInvalidArgument, "a part's size is out of range");
    }
    out.push_back({static_cast<int>(out.size()) + 1, etag, size});
  }
  return out;
}

// Puts the parts together. A repeat whose first answer was lost finds the object there.
Result<Json> complete_upload(const ApiContext& context, const net::HttpRequest& request) {
  const LeasedJob job = TRY(leased_job(context, request));
  const Json body = TRY(body_object(request));
  const std::string key = TRY(control::writable_key(job.lease, TRY(json_string(body, "path"))));
  const auto parts = TRY(parse_parts(body.value("parts", Json())));
  object::ObjectStore& store = context.services.store;
  if (store.multipart() == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "this store takes no uploads in parts");
  }
  std::int64_t size = 0;
  for (const object::UploadedPart& part : parts)
    size += part.size;
  // Some services answer the completion of an upload that is gone as one that may yet succeed, so
  // it is looked at first.
  const std::string upload = TRY(json_string(body, "upload"));
  const auto there = store.multipart()->list_parts(key, upload);
  auto info = there ? store.multipart()->complete_upload(key, upload, parts, {})
                    : Result<object::ObjectInfo>(fail(there.error()));
  if (!info && info.error().code == ErrorCode::kNotFound) info = store.head(key);
  if (!info) return fail(info.error());
  if (info->size != size) {
    return fail(ErrorCode::kDataCorrupt,
                fmt::format("{} has {} bytes in the store, {} were announced", printable(key),
                            info->size, size));
  }
  return Json{{"etag", info->etag}, {"size", info->size}};
}

}  // namespace

void add_grant_routes(net::Router& router, const ApiContext& context) {
  router.add("POST", "/v1/node/jobs/{job}/grants", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return grants(context, request); }));
  router.add("POST", "/v1/node/jobs/{job}/uploads", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) {
               return complete_upload(context, request);
             }));
}

}  // namespace loam::api
