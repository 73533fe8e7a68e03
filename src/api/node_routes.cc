// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "api/respond.h"
#include "api/routes.h"
#include "jobs/node.h"

namespace loam::api {

namespace {

constexpr std::int64_t kMaxSlots = 1'024;

Result<jobs::NodeEnrolment> parse_enrolment(const ApiContext& context,
                                            const jobs::Principal& principal, const Json& body) {
  jobs::NodeEnrolment out;
  out.name = TRY(json_string(body, "name"));
  out.pool = principal.pool;
  out.machine_id = TRY(json_string(body, "machine_id", ""));
  out.slots = TRY(json_int(body, "slots", 1));
  out.gpus = body.value("gpus", Json::array());
  out.gpu_class = TRY(json_string(body, "gpu_class", ""));
  out.vram_gb = TRY(json_number(body, "vram_gb", 0));
  out.version = TRY(json_string(body, "version", ""));
  out.ttl_ms = context.options.node_ttl_ms;
  const double price = TRY(json_number(body, "price_per_hour", 0));
  if (out.name.empty() || out.name.size() > 200 || out.slots < 1 || out.slots > kMaxSlots ||
      !out.gpus.is_array() || out.gpus.size() > 1'024 || !(price >= 0 && price < 1e6) ||
      !(out.vram_gb >= 0 && out.vram_gb < 1e6)) {
    return fail(ErrorCode::kInvalidArgument,
                "a node needs a name, 1 to 1024 slots, a list of GPUs and a price of 0 or more");
  }
  out.price_uusd_hour = std::llround(price * 1e6);
  return out;
}

Result<Json> enrol(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(caller(context, request));
  if (principal.kind != jobs::TokenKind::kPool) {
    return fail(ErrorCode::kPermissionDenied, "enrolling a node needs a pool token");
  }
  const Json body = TRY(body_object(request));
  const jobs::NodeEnrolment enrolment = TRY(parse_enrolment(context, principal, body));
  const auto [id, secret] = TRY(context.services.write(
      [&](jobs::Operation& op) -> Result<std::pair<std::string, std::string>> {
        std::string node = TRY(jobs::enrol_node(op, enrolment));
        auto token = TRY(jobs::issue_token(
            op, {.kind = jobs::TokenKind::kNode, .pool = principal.pool, .node = node}));
        return std::pair(std::move(node), std::move(token.secret));
      }));
  context.changed();
  return Json{{"node", id},
              {"token", secret},
              {"pool", principal.pool},
              {"heartbeat_ms", context.options.node_heartbeat_ms},
              {"node_ttl_ms", context.options.node_ttl_ms}};
}

Result<WritingCall> heartbeat(const ApiContext& context, const net::HttpRequest& request) {
  const std::string node = TRY(node_caller(context, request)).node;
  const Json body = TRY(body_object(request));
  const std::int64_t now_us = TRY(json_int(body, "now_us"));
  auto segments = TRY(jobs::parse_segments(body.value("segments", Json())));
  context.metrics.count("loam_heartbeats_total", 1);
  return [&context, node, now_us,
          segments = std::move(segments)](jobs::Operation& op) -> Result<Json> {
    TRY_VOID(jobs::touch_node(op, node, now_us));
    TRY_VOID(jobs::record_segments(op, node, now_us, segments));
    return Json{{"heartbeat_ms", context.options.node_heartbeat_ms}};
  };
}

Result<Json> drain(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal node = TRY(node_caller(context, request));
  TRY_VOID(
      context.services.write([&](jobs::Operation& op) { return jobs::drain_node(op, node.node); }));
  context.peers.dismiss(node.node);
  context.changed();
  return Json::object();
}

Result<Json> leave(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal node = TRY(node_caller(context, request));
  const Json body = TRY(body_object(request));
  const std::int64_t now_us = TRY(json_int(body, "now_us"));
  const auto segments = TRY(jobs::parse_segments(body.value("segments", Json())));
  TRY_VOID(context.services.write([&](jobs::Operation& op) -> Status {
    TRY_VOID(jobs::record_segments(op, node.node, now_us, segments));
    return jobs::leave_node(op, node.node, now_us);
  }));
  context.changed();
  return Json::object();
}

Result<Json> list(const ApiContext& context, const net::HttpRequest& request) {
  TRY(user_caller(context, request));
  const bool all = request.query_value("all").has_value();
  const auto limit = static_cast<std::size_t>(TRY(query_int(request, "limit", 1000, 1, 10'000)));
  const auto nodes =
      TRY(context.services.read([&](db::Session& s) { return jobs::list_nodes(s, all, limit); }));
  return Json{{"nodes", nodes}};
}

}  // namespace

void add_node_routes(net::Router& router, const ApiContext& context) {
  using Answer = Result<Json> (*)(const ApiContext&, const net::HttpRequest&);
  const auto add = [&](std::string method, std::string path, int status, Answer answer) {
    router.add(std::move(method), std::move(path), {},
               answering(status, [&context, answer](const net::HttpRequest& request) {
                 return answer(context, request);
               }));
  };
  add("POST", "/v1/nodes", 201, enrol);
  add("GET", "/v1/nodes", 200, list);
  router.add("POST", "/v1/node/heartbeat", {},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               respond_from_write(context, responder, heartbeat(context, request));
             });
  add("POST", "/v1/node/drain", 200, drain);
  add("POST", "/v1/node/leave", 200, leave);
}

}  // namespace loam::api
