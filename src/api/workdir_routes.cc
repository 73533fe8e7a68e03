// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/object_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "jobs/workdir.h"

namespace loam::api {

namespace {

constexpr std::int64_t kMaxManifestBytes = 16 << 20;

// Registers a work directory if all its content is here, and says what is missing if not: the
// client uploads that and calls again.
Result<Json> register_workdir(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const auto files = TRY(jobs::parse_workdir(TRY(body_object(request))));
  Json missing = Json::array();
  for (const jobs::WorkdirFile& file : files) {
    const auto info = context.services.store.head(jobs::workdir_blob_key(file.sha256));
    if (info && info->size == file.size) continue;
    if (!info && info.error().code != ErrorCode::kNotFound) return fail(info.error());
    missing.push_back(file.sha256);
  }
  const std::string id = jobs::workdir_id(files);
  if (missing.empty()) {
    TRY_VOID(context.services.write(
        [&](jobs::Operation& op) { return jobs::add_workdir(op, principal.owner, files); }));
  }
  return Json{{"id", id}, {"missing", std::move(missing)}};
}

// Stores a file's content under its hash, which is checked while it streams in.
Result<Json> put_blob(const ApiContext& context, const net::HttpRequest& request,
                      net::BodyReader& body) {
  TRY(user_caller(context, request));
  const std::string& sha256 = request.params.at("sha256");
  if (sha256.size() != 64 || !hex_decode(sha256)) {
    return fail(ErrorCode::kInvalidArgument, "the path must end in a SHA-256 in hexadecimal");
  }
  Sha256 hash;
  const object::Source source = [&](std::span<std::byte> out) -> Result<std::size_t> {
    const std::size_t n = TRY(body.read(out));
    if (n > 0) {
      hash.update(out.first(n));
    } else if (hash.finish_hex() != sha256) {
      return fail(ErrorCode::kUnprocessable,
                  fmt::format("the body's SHA-256 is not {}; did the file change?", sha256));
    }
    return n;
  };
  object::PutOptions options;
  if (const auto length = body.length()) options.length = *length;
  TRY(context.services.store.put(jobs::workdir_blob_key(sha256), source, options));
  return Json::object();
}

}  // namespace

void add_workdir_routes(net::Router& router, const ApiContext& context) {
  router.add(
      "POST", "/v1/workdirs", {.lane = net::Lane::kTransfer, .max_body_bytes = kMaxManifestBytes},
      answering(200,
                [&context](const auto& request) { return register_workdir(context, request); }));
  router.add_stream("PUT", "/v1/workdirs/blobs/{sha256}",
                    {.lane = net::Lane::kTransfer, .max_body_bytes = jobs::kMaxWorkdirBytes},
                    [&context](const net::HttpRequest& request, net::BodyReader& body,
                               const net::ResponderPtr& responder) {
                      respond(responder, 201, put_blob(context, request, body));
                    });
}

}  // namespace loam::api
