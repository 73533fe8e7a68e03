// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/leased_job.h"
#include "api/object_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "base/encoding.h"
#include "base/units.h"
#include "control/grants.h"
#include "jobs/log_index.h"

namespace loam::api {

namespace {

constexpr std::int64_t kMaxLogChunk = 256 << 10;
constexpr std::int64_t kMostLogChunks = 1'000'000'000;

void upload(const ApiContext& context, const net::HttpRequest& request, net::BodyReader& body,
            const net::ResponderPtr& responder) {
  const auto stored = [&]() -> Result<object::ObjectInfo> {
    const LeasedJob job = TRY(leased_job(context, request));
    const std::string key = TRY(control::writable_key(job.lease, request.params.at("path")));
    return store_body(context.services.store, key, body, request.headers.get("Loam-Crc32c"));
  }();
  if (!stored) return responder->send(net::error_response(stored.error()));
  net::HttpResponse response =
      net::json_response(200, dump_json({{"etag", stored->etag}, {"size", stored->size}}));
  response.headers.set("ETag", stored->etag);
  responder->send(std::move(response));
}

void download(const ApiContext& context, const net::HttpRequest& request,
              const net::ResponderPtr& responder) {
  const auto key = [&]() -> Result<std::string> {
    const LeasedJob job = TRY(leased_job(context, request));
    const Json ref = TRY(parse_json(request.params.at("ref")));
    return context.services.read(
        [&](db::Session& s) { return control::readable_key(s, job.lease, job.spec, ref); });
  }();
  if (!key) return responder->send(net::error_response(key.error()));
  send_object(context.services.store, *key, request, responder);
}

Result<Json> inputs(const ApiContext& context, const net::HttpRequest& request) {
  const LeasedJob job = TRY(leased_job(context, request));
  const std::string& text = request.params.at("index");
  const auto index = parse_whole_number(text);
  if (!index || *index >= static_cast<std::int64_t>(job.spec.before.size())) {
    return fail(ErrorCode::kNotFound, fmt::format("the job declares no input {}", printable(text)));
  }
  const control::InputPage page = TRY(control::list_input(
      context.services.store, job.spec.before[static_cast<std::size_t>(*index)],
      request.query_value("after").value_or(""), request.query_value("token").value_or("")));
  Json files = Json::array();
  for (const control::InputFile& file : page.files) {
    files.push_back({{"path", file.path}, {"size", file.size}, {"etag", file.etag}});
  }
  return Json{{"files", std::move(files)},
              {"next_after", page.next_after.empty() ? Json() : Json(page.next_after)},
              {"next_token", page.next_token}};
}

void add_log(const ApiContext& context, const net::HttpRequest& request, net::BodyReader& body,
             const net::ResponderPtr& responder) {
  const auto added = [&]() -> Result<Json> {
    const LeasedJob job = TRY(leased_job(context, request));
    const auto seq = parse_whole_number(request.params.at("seq"));
    if (!seq || *seq > kMostLogChunks) {
      return fail(ErrorCode::kInvalidArgument, "a log chunk's number must be a whole number");
    }
    jobs::LogChunk chunk;
    chunk.seq = *seq;
    chunk.start = TRY(query_int(request, "offset", 0, 0, INT64_MAX));
    chunk.gap = TRY(query_int(request, "gap", 0, 0, INT64_MAX));
    chunk.at = TRY(query_int(request, "at_ms", context.services.clock.wall_ms(), 0, INT64_MAX));
    chunk.last = TRY(query_int(request, "last", 0, 0, 1)) == 1;
    chunk.key = fmt::format("{}log/{:08}", job.lease.prefix, chunk.seq);
    const object::ObjectInfo stored =
        TRY(store_body(context.services.store, chunk.key, body, std::nullopt));
    chunk.bytes = stored.size;
    TRY_VOID(context.services.write(
        [&](jobs::Operation& op) { return jobs::add_log_chunk(op, job.ref, chunk); }));
    context.logs.poke();
    return Json::object();
  }();
  respond(responder, 200, added);
}

}  // namespace

void add_transfer_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/node/jobs/{job}/inputs/{index}", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return inputs(context, request); }));
  router.add("GET", "/v1/node/jobs/{job}/download/{ref...}", {.lane = net::Lane::kTransfer},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               download(context, request, responder);
             });
  router.add_stream("PUT", "/v1/node/jobs/{job}/upload/{path...}",
                    {.lane = net::Lane::kTransfer, .max_body_bytes = kMaxObjectBytes},
                    [&context](const net::HttpRequest& request, net::BodyReader& body,
                               const net::ResponderPtr& responder) {
                      upload(context, request, body, responder);
                    });
  router.add_stream("PUT", "/v1/node/jobs/{job}/logs/{seq}",
                    {.lane = net::Lane::kTransfer, .max_body_bytes = kMaxLogChunk},
                    [&context](const net::HttpRequest& request, net::BodyReader& body,
                               const net::ResponderPtr& responder) {
                      add_log(context, request, body, responder);
                    });
}

}  // namespace loam::api
