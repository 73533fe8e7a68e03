// SPDX-License-Identifier: Apache-2.0
#include "api/fs_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "base/clock.h"
#include "control/object_check.h"
#include "jobs/lease_clock.h"
#include "meta/check.h"
#include "meta/loss.h"
#include "meta/object.h"
#include "meta/summary.h"

namespace loam::api {

namespace {

constexpr std::int64_t kShownLosses = 100;

Json session_json(const meta::Summary::Session& session) {
  return {{"node", session.node},
          {"epoch", session.epoch},
          {"behind", session.behind},
          {"left_ms", session.left_ms},
          {"reserved", session.reserved}};
}

Result<Json> losses_json(db::Session& session, std::int64_t after) {
  Json out = Json::array();
  for (const meta::Loss& loss : TRY(meta::list_losses(session, after, kShownLosses))) {
    out.push_back({{"id", loss.id},
                   {"inode", loss.inode},
                   {"generation", loss.generation},
                   {"restored", loss.restored ? Json(*loss.restored) : Json()},
                   {"bytes", loss.bytes},
                   {"node", loss.node},
                   {"at", format_utc(loss.at_ns / 1'000'000)}});
  }
  return out;
}

Result<Json> status(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  const std::int64_t after = TRY(query_int(request, "after", 0, 0, INT64_MAX));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const meta::Summary summary = TRY(meta::summarize(session, TRY(jobs::lease_now(session))));
    Json sessions = Json::array();
    for (const meta::Summary::Session& one : summary.sessions)
      sessions.push_back(session_json(one));
    const auto count = [&](meta::ObjectState state) {
      return summary.objects.at(static_cast<std::size_t>(state));
    };
    return Json{{"sessions", std::move(sessions)},
                {"losses", TRY(losses_json(session, after))},
                {"loss_count", summary.losses},
                {"conflicts", summary.conflicts},
                {"unfolded", summary.unfolded},
                {"orphans", summary.orphans},
                {"objects",
                 {{"writing", count(meta::ObjectState::kWriting)},
                  {"staged", count(meta::ObjectState::kStaged)},
                  {"stored", count(meta::ObjectState::kStored)},
                  {"retired", count(meta::ObjectState::kRetired)},
                  {"deleted", count(meta::ObjectState::kDeleted)}}}};
  });
}

Result<Json> check(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    return Json{{"problems", TRY(meta::check_namespace(session))}};
  });
}

Result<Json> check_objects(const ApiContext& context, const net::HttpRequest& request) {
  TRY(admin_caller(context, request));
  const std::int64_t after = TRY(query_int(request, "after", 0, 0, INT64_MAX));
  const std::int64_t limit = TRY(query_int(request, "limit", 1'000, 1, 1'000));
  const auto checked = TRY(control::check_objects(context.services, after, limit));
  Json problems = Json::array();
  for (const control::ObjectProblem& problem : checked.problems) {
    Json one{{"object", problem.object}, {"problem", problem.problem}};
    put_bytes(one, "path", problem.path);
    problems.push_back(std::move(one));
  }
  return Json{{"problems", std::move(problems)},
              {"checked", checked.checked},
              {"next_after", checked.next ? Json(*checked.next) : Json()}};
}

}  // namespace

void add_fs_admin_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/fs/status", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return status(context, request); }));
  router.add("GET", "/v1/fs/check", {.lane = net::Lane::kTransfer},
             answering(200, [&context](const auto& request) { return check(context, request); }));
  router.add(
      "GET", "/v1/fs/check_objects", {.lane = net::Lane::kTransfer},
      answering(200, [&context](const auto& request) { return check_objects(context, request); }));
}

}  // namespace loam::api
