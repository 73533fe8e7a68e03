// SPDX-License-Identifier: Apache-2.0
#include "api/respond.h"
#include "api/routes.h"
#include "jobs/checkpoint_set.h"
#include "jobs/job_view.h"

namespace loam::api {

namespace {

Status check_visible(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  TRY(context.services.read([&](db::Session& s) {
    return jobs::job_view(s, request.params.at("job"), visible_owner(principal),
                          /*with_spec=*/false);
  }));
  return {};
}

Result<Json> list(const ApiContext& context, const net::HttpRequest& request) {
  TRY_VOID(check_visible(context, request));
  const auto sets = TRY(context.services.read(
      [&](db::Session& s) { return jobs::list_sets(s, request.params.at("job")); }));
  Json out = Json::array();
  for (const jobs::CheckpointSet& set : sets) {
    if (set.state != "deleted" || request.query_value("all")) out.push_back(set.to_json());
  }
  return Json{{"checkpoints", std::move(out)}};
}

Result<Json> pin(const ApiContext& context, const net::HttpRequest& request) {
  TRY_VOID(check_visible(context, request));
  const Json body = TRY(body_object(request));
  const bool pinned = TRY(json_bool(body, "pinned", true));
  TRY_VOID(context.services.write([&](jobs::Operation& op) {
    return jobs::pin_set(op, request.params.at("job"), request.params.at("set"), pinned);
  }));
  context.changed();
  return Json{{"set", request.params.at("set")}, {"pinned", pinned}};
}

}  // namespace

void add_checkpoint_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/jobs/{job}/checkpoints", {},
             answering(200, [&context](const auto& request) { return list(context, request); }));
  router.add("PUT", "/v1/jobs/{job}/checkpoints/{set}/pin", {},
             answering(200, [&context](const auto& request) { return pin(context, request); }));
}

}  // namespace loam::api
