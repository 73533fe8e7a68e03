// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/respond.h"
#include "api/routes.h"
#include "checkpoint/interval.h"
#include "jobs/claim.h"
#include "jobs/workdir.h"

namespace loam::api {

Json advice_json(const jobs::SaveFigures& figures) {
  if (!figures.save_cost_us) return Json();
  const auto advice =
      checkpoint::advise_interval(std::chrono::microseconds(figures.between_interruptions_us),
                                  std::chrono::microseconds(*figures.save_cost_us));
  if (!advice) return Json();
  return {{"checkpoint_interval_s", advice->interval.count()},
          {"loss", advice->loss},
          {"save_cost_s", static_cast<double>(*figures.save_cost_us) / 1e6},
          {"between_interruptions_s", static_cast<double>(figures.between_interruptions_us) / 1e6}};
}

namespace {

constexpr std::int64_t kMaxWaitMs = 30'000;

Result<Json> describe_claim(const ApiContext& context, const jobs::ClaimRequest& request,
                            const jobs::Claimed& claimed) {
  Json out{{"job", claimed.job},
           {"epoch", claimed.epoch},
           {"token", request.token},
           {"owner", claimed.owner},
           {"ttl_ms", claimed.parsed.lease_ttl_ms},
           {"heartbeat_ms", claimed.parsed.heartbeat_ms},
           {"isolation_ms", claimed.parsed.isolation_ms},
           {"spec", TRY(parse_json(claimed.spec))},
           {"secrets", Json::object()},
           {"workdir", nullptr},
           {"candidates", Json::array()},
           {"advice", advice_json(claimed.figures)}};
  for (const auto& [name, sealed] : claimed.sealed_secrets) {
    out["secrets"][name] = TRY(context.keys.unseal(sealed, "secret:" + name));
  }
  if (!claimed.parsed.workdir_id.empty()) {
    out["workdir"] = jobs::workdir_json(TRY(context.services.read(
        [&](db::Session& s) { return jobs::load_workdir(s, claimed.parsed.workdir_id); })));
  }
  for (const jobs::ResumeCandidate& candidate : claimed.candidates) {
    out["candidates"].push_back({{"set", candidate.set},
                                 {"step", candidate.step},
                                 {"manifest", TRY(parse_json(candidate.manifest))}});
  }
  return out;
}

void answer_claim(const ApiContext& context, const jobs::ClaimRequest& request,
                  const net::ResponderPtr& responder, const control::ClaimDesk::Outcome& outcome) {
  if (!outcome) return responder->send(net::error_response(outcome.error()));
  if (!*outcome) return responder->send({.status = 204});
  context.metrics.count("loam_claims_total", 1);
  context.events.poke();
  respond(responder, 200, describe_claim(context, request, **outcome));
}

struct ParsedClaim {
  jobs::ClaimRequest request;
  std::chrono::milliseconds wait{0};
};

Result<ParsedClaim> parse(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal node = TRY(node_caller(context, request));
  const Json body = TRY(body_object(request));
  ParsedClaim out;
  out.request.node = node.node;
  out.request.slot = TRY(json_int(body, "slot"));
  out.request.claim = TRY(json_string(body, "claim"));
  if (out.request.claim.size() < 8 || out.request.claim.size() > 64) {
    return fail(ErrorCode::kInvalidArgument, "'claim' must be 8 to 64 random characters");
  }
  out.request.token = context.keys.lease_token(node.node, out.request.claim);
  const std::int64_t wait_ms = TRY(json_int(body, "wait_ms", 0));
  out.wait = std::chrono::milliseconds(std::clamp<std::int64_t>(wait_ms, 0, kMaxWaitMs));
  return out;
}

// Tries at once; with nothing to claim, the call waits at the desk and holds no thread.
void claim(const ApiContext& context, const net::HttpRequest& request,
           const net::ResponderPtr& responder) {
  const auto parsed = parse(context, request);
  if (!parsed) return responder->send(net::error_response(parsed.error()));
  const auto outcome = context.services.write(
      [&](jobs::Operation& op) { return jobs::claim_job(op, parsed->request); });
  if (!outcome || *outcome || parsed->wait.count() == 0) {
    return answer_claim(context, parsed->request, responder, outcome);
  }
  context.claims.wait(
      {.request = parsed->request,
       .until = std::chrono::steady_clock::now() + parsed->wait,
       .connected = [responder] { return responder->connected(); },
       .answer =
           [&context, claim = parsed->request, responder](const control::ClaimDesk::Outcome& late) {
             answer_claim(context, claim, responder, late);
           }});
}

void commands(const ApiContext& context, const net::HttpRequest& request,
              const net::ResponderPtr& responder) {
  const auto node = node_caller(context, request);
  if (!node) return responder->send(net::error_response(node.error()));
  const auto wait_ms = query_int(request, "wait_ms", kMaxWaitMs, 0, kMaxWaitMs);
  if (!wait_ms) return responder->send(net::error_response(wait_ms.error()));
  context.nudges.wait(node->node, std::chrono::milliseconds(*wait_ms),
                      [responder](const std::vector<std::string>& jobs) {
                        if (jobs.empty()) return responder->send({.status = 204});
                        respond(responder, 200, Json{{"renew", jobs}});
                      });
}

}  // namespace

void add_claim_routes(net::Router& router, const ApiContext& context) {
  router.add("POST", "/v1/node/claim", {},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               claim(context, request, responder);
             });
  router.add("GET", "/v1/node/commands", {},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               commands(context, request, responder);
             });
}

}  // namespace loam::api
