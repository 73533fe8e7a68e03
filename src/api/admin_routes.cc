// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/openapi_document.h"
#include "api/respond.h"
#include "api/routes.h"
#include "jobs/fleet_report.h"
#include "jobs/job_spec.h"

namespace loam::api {

namespace {

Status check_name(std::string_view what, const std::string& name) {
  const bool good =
      !name.empty() && name.size() <= 64 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string::npos &&
      name.front() != '.';
  if (good) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' must be 1 to 64 lower-case letters, digits, '-', '_' or '.'", what));
}

Result<jobs::NewToken> parse_token(const Json& body) {
  jobs::NewToken out;
  const auto kind = jobs::parse_token_kind(TRY(json_string(body, "kind")));
  if (!kind || *kind == jobs::TokenKind::kNode) {
    return fail(ErrorCode::kInvalidArgument, "'kind' must be user, pool or admin");
  }
  out.kind = *kind;
  if (out.kind == jobs::TokenKind::kPool) {
    out.pool = TRY(json_string(body, "pool"));
    TRY_VOID(check_name("pool", out.pool));
    return out;
  }
  out.owner = TRY(json_string(body, "owner"));
  TRY_VOID(check_name("owner", out.owner));
  if (!body.contains("grants")) {
    out.grants = jobs::default_grants(out.owner);
    return out;
  }
  if (!body.at("grants").is_array() || body.at("grants").size() > 1'000) {
    return fail(ErrorCode::kInvalidArgument, "'grants' must be a list of at most 1000");
  }
  for (const Json& grant : body.at("grants")) {
    jobs::Grant one{TRY(json_string(grant, "prefix")), TRY(json_bool(grant, "write", false))};
    TRY_VOID(jobs::check_store_path(one.prefix));
    out.grants.push_back(std::move(one));
  }
  return out;
}

Result<Json> create_token(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  const jobs::NewToken token = TRY(parse_token(TRY(body_object(request))));
  const jobs::IssuedToken issued = TRY(
      context.services.write([&](jobs::Operation& op) { return jobs::issue_token(op, token); }));
  return Json{{"id", issued.id}, {"token", issued.secret}};
}

Result<Json> list_tokens(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  return Json{{"tokens", TRY(context.services.read(jobs::list_tokens))}};
}

Result<Json> revoke_token(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  TRY_VOID(context.services.write(
      [&](jobs::Operation& op) { return jobs::revoke_token(op, request.params.at("token")); }));
  return Json::object();
}

Result<Json> report(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  return context.services.read(jobs::fleet_report);
}

// Ready means that the database answers; the store is tried by a request that must fail cheaply.
Result<Json> ready(const ApiContext& context) {
  TRY(context.services.read(jobs::has_admin));
  const auto probe = context.services.store.head(".loam/ready");
  if (!probe && probe.error().code != ErrorCode::kNotFound) return fail(probe.error());
  return Json{{"ready", true}};
}

void add_metrics_route(net::Router& router, const ApiContext& context) {
  router.add("GET", "/metrics", {},
             [&context](const net::HttpRequest&, const net::ResponderPtr& responder) {
               context.metrics.set("loam_claims_waiting",
                                   static_cast<double>(context.claims.waiting()));
               context.metrics.set("loam_event_subscribers",
                                   static_cast<double>(context.events.subscribers()));
               net::HttpResponse response{.status = 200, .body = context.metrics.text()};
               response.headers.set("Content-Type", "text/plain; version=0.0.4");
               responder->send(std::move(response));
             });
}

}  // namespace

void add_admin_routes(net::Router& router, const ApiContext& context) {
  using Answer = Result<Json> (*)(const ApiContext&, const net::HttpRequest&);
  const auto add = [&](std::string method, std::string path, int status, Answer answer) {
    router.add(std::move(method), std::move(path), {},
               answering(status, [&context, answer](const net::HttpRequest& request) {
                 return answer(context, request);
               }));
  };
  router.add("GET", "/healthz", {}, answering(200, [&context](const auto&) -> Result<Json> {
               return Json{{"ok", true}, {"version", context.options.version}};
             }));
  router.add("GET", "/readyz", {},
             answering(200, [&context](const auto&) { return ready(context); }));
  add_metrics_route(router, context);
  router.add("GET", "/openapi.json", {},
             [](const net::HttpRequest&, const net::ResponderPtr& responder) {
               responder->send(net::json_response(200, std::string(openapi_document())));
             });
  add("POST", "/v1/tokens", 201, create_token);
  add("GET", "/v1/tokens", 200, list_tokens);
  add("DELETE", "/v1/tokens/{token}", 200, revoke_token);
  add("GET", "/v1/report", 200, report);
}

}  // namespace loam::api
