// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/node_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "control/uploads.h"
#include "jobs/checkpoint_set.h"
#include "jobs/finish.h"
#include "jobs/renew.h"

namespace loam::api {

namespace {

// A set of 100,000 files has a manifest of some 20 MB.
constexpr std::int64_t kMaxManifestBody = 64 << 20;

Result<WritingCall> renew(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  auto renewal = TRY(parse_renewal(TRY(body_object(request))));
  context.metrics.count("loam_renewals_total", 1);
  return [ref, renewal = std::move(renewal)](jobs::Operation& op) -> Result<Json> {
    const jobs::Renewed renewed = TRY(jobs::renew_lease(op, ref, renewal));
    return Json{{"ttl_ms", renewed.ttl_ms}, {"advice", advice_json(renewed.figures)}};
  };
}

// The destinations were allowed at submit; the owner may have lost the right since.
Status owner_may_write(jobs::Operation& op, const jobs::Lease& lease, const std::string& path) {
  const auto principals = TRY(jobs::principals_of(op.session, lease.owner));
  const bool allowed = std::any_of(principals.begin(), principals.end(),
                                   [&](const jobs::Principal& p) { return p.may_write(path); });
  if (allowed) return {};
  return fail(ErrorCode::kPermissionDenied, lease.owner + " may not write " + path);
}

Result<Json> complete(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  const Json body = TRY(body_object(request));
  const jobs::FinalReport report = TRY(parse_final(body));
  TRY_VOID(control::complete_job(context.services, ref, body, report, owner_may_write));
  context.publisher.poke();
  context.changed();
  return Json::object();
}

Result<Json> fail_job(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  const Json body = TRY(body_object(request));
  const jobs::FinalReport report = TRY(parse_final(body));
  const std::string cause = TRY(json_string(body, "cause"));
  if (cause != "program" && cause != "stalled" && cause != "platform") {
    return fail(ErrorCode::kInvalidArgument, "'cause' must be program, stalled or platform");
  }
  TRY_VOID(context.services.write(
      [&](jobs::Operation& op) { return jobs::fail_attempt(op, ref, cause, report); }));
  context.changed();
  return Json::object();
}

Result<Json> release(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  const Json body = TRY(body_object(request));
  const jobs::FinalReport report = TRY(parse_final(body));
  const std::string reason = TRY(json_string(body, "reason", "drained"));
  TRY_VOID(context.services.write(
      [&](jobs::Operation& op) { return jobs::release_attempt(op, ref, reason, report); }));
  context.changed();
  return Json::object();
}

Result<Json> commit(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  TRY_VOID(control::commit_checkpoint(context.services, ref, TRY(body_object(request))));
  context.metrics.count("loam_checkpoints_committed_total", 1);
  context.changed();
  return Json{{"committed", true}};
}

Result<Json> mark_bad(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  const std::string message = TRY(json_string(TRY(body_object(request)), "message", ""));
  TRY_VOID(context.services.write([&](jobs::Operation& op) {
    return jobs::mark_set_bad(op, ref, request.params.at("set"), message);
  }));
  context.changed();
  return Json::object();
}

}  // namespace

void add_attempt_routes(net::Router& router, const ApiContext& context) {
  using Answer = Result<Json> (*)(const ApiContext&, const net::HttpRequest&);
  const auto add = [&](const std::string& path, net::RouteOptions options, Answer answer) {
    router.add("POST", "/v1/node/jobs/{job}/" + path, options,
               answering(200, [&context, answer](const net::HttpRequest& request) {
                 return answer(context, request);
               }));
  };
  router.add("POST", "/v1/node/jobs/{job}/renew", {},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               respond_from_write(context, responder, renew(context, request));
             });
  // Verifying thousands of objects takes a while: it must not stand in the way of renewals.
  const net::RouteOptions slow{.lane = net::Lane::kTransfer, .max_body_bytes = kMaxManifestBody};
  add("checkpoints", slow, commit);
  add("complete", slow, complete);
  add("checkpoints/{set}/bad", {}, mark_bad);
  add("fail", {}, fail_job);
  add("release", {}, release);
}

}  // namespace loam::api
