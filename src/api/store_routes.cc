// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/object_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "jobs/job_spec.h"

namespace loam::api {

namespace {

constexpr std::int64_t kMaxObjectBytes = std::int64_t{5} << 40;  // as S3

enum class Access { kRead, kWrite };

// The key of the path in the URL, if the caller has the right to it.
Result<std::string> permitted_key(const ApiContext& context, const net::HttpRequest& request,
                                  const std::string& rest, Access access) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const std::string path = "/" + rest;
  TRY_VOID(jobs::check_store_path(path));
  if (path.ends_with('/')) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' names a directory", path));
  }
  const bool allowed =
      access == Access::kRead ? principal.may_read(path) : principal.may_write(path);
  if (!allowed) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("{} may not {} {}", principal.owner,
                            access == Access::kRead ? "read" : "write", path));
  }
  return rest;
}

void get(const ApiContext& context, const net::HttpRequest& request,
         const net::ResponderPtr& responder) {
  const auto key = permitted_key(context, request, request.params.at("path"), Access::kRead);
  if (!key) return responder->send(net::error_response(key.error()));
  send_object(context.services.store, *key, request, responder);
}

void put(const ApiContext& context, const net::HttpRequest& request, net::BodyReader& body,
         const net::ResponderPtr& responder) {
  const auto stored = [&]() -> Result<object::ObjectInfo> {
    const std::string key =
        TRY(permitted_key(context, request, request.params.at("path"), Access::kWrite));
    return store_body(context.services.store, key, body, request.headers.get("Loam-Crc32c"));
  }();
  if (!stored) return responder->send(net::error_response(stored.error()));
  respond(responder, 201, Json{{"size", stored->size}, {"etag", stored->etag}});
}

Result<Json> remove(const ApiContext& context, const net::HttpRequest& request) {
  const std::string key =
      TRY(permitted_key(context, request, request.params.at("path"), Access::kWrite));
  TRY_VOID(context.services.store.remove(key));
  return Json::object();
}

bool may_list(const jobs::Principal& principal, const std::string& path) {
  return path == "/" ? principal.is_admin() : principal.may_read(path);
}

// Lists what lies below a path: objects, and with delimiter=1 only the next level.
Result<Json> list(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const std::string path = request.query_value("prefix").value_or("/");
  if (path != "/") TRY_VOID(jobs::check_store_path(path));
  if (!may_list(principal, path)) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("{} may not list {}", principal.owner, path));
  }
  object::ListOptions options;
  options.after = request.query_value("after").value_or("");
  options.token = request.query_value("token").value_or("");
  options.limit = static_cast<std::size_t>(TRY(query_int(request, "limit", 1000, 1, 1000)));
  options.delimiter = request.query_value("delimiter").has_value();
  const std::string prefix = path.substr(1);
  const object::ListPage page = TRY(context.services.store.list(prefix, options));
  Json objects = Json::array();
  for (const object::ObjectInfo& info : page.objects) {
    objects.push_back({{"path", "/" + info.key},
                       {"size", info.size},
                       {"etag", info.etag},
                       {"modified", format_utc(info.modified_ms)}});
  }
  Json prefixes = Json::array();
  for (const std::string& below : page.prefixes)
    prefixes.push_back("/" + below);
  return Json{{"objects", std::move(objects)},
              {"prefixes", std::move(prefixes)},
              {"next_after", page.next_after ? Json(*page.next_after) : Json()},
              {"next_token", page.token}};
}

}  // namespace

void add_store_routes(net::Router& router, const ApiContext& context) {
  const net::RouteOptions transfer{.lane = net::Lane::kTransfer, .max_body_bytes = kMaxObjectBytes};
  router.add("GET", "/v1/store", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return list(context, request); }));
  router.add("GET", "/v1/store/{path...}", {.lane = net::Lane::kTransfer},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               get(context, request, responder);
             });
  router.add_stream(
      "PUT", "/v1/store/{path...}", transfer,
      [&context](const net::HttpRequest& request, net::BodyReader& body,
                 const net::ResponderPtr& responder) { put(context, request, body, responder); });
  router.add("DELETE", "/v1/store/{path...}", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return remove(context, request); }));
}

}  // namespace loam::api
