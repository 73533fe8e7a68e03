// SPDX-License-Identifier: Apache-2.0
#include "api/respond.h"
#include "api/routes.h"
#include "base/units.h"
#include "jobs/event.h"
#include "jobs/job_view.h"

namespace loam::api {

namespace {

Result<Json> list_for_job(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const std::string job = request.params.at("job");
  jobs::EventFilter filter{.job = job};
  filter.after = TRY(query_int(request, "after", 0, 0, INT64_MAX));
  filter.limit = static_cast<std::size_t>(TRY(query_int(request, "limit", 500, 1, 1000)));
  const auto events =
      TRY(context.services.read([&](db::Session& s) -> Result<std::vector<jobs::Event>> {
        TRY(jobs::job_view(s, job, visible_owner(principal), /*with_spec=*/false));
        return jobs::list_events(s, filter);
      }));
  Json out = Json::array();
  for (const jobs::Event& event : events)
    out.push_back(event.to_json());
  return Json{{"events", std::move(out)}};
}

// Where a stream begins: after Last-Event-ID or ?after=, else from now on.
Result<std::int64_t> stream_start(const ApiContext& context, const net::HttpRequest& request) {
  if (const auto last = request.headers.get("Last-Event-ID")) {
    if (const auto seq = parse_whole_number(*last)) return *seq;
    return fail(ErrorCode::kInvalidArgument, "'Last-Event-ID' must be the id of an event");
  }
  if (request.query_value("after")) return query_int(request, "after", 0, 0, INT64_MAX);
  return context.services.read([](db::Session& s) { return jobs::last_event(s); });
}

void stream(const ApiContext& context, const net::HttpRequest& request,
            const net::ResponderPtr& responder) {
  const auto principal = user_caller(context, request);
  if (!principal) return responder->send(net::error_response(principal.error()));
  const auto after = stream_start(context, request);
  if (!after) return responder->send(net::error_response(after.error()));
  context.events.subscribe({.stream = responder->start_events(),
                            .owner = visible_owner(*principal),
                            .job = request.query_value("job"),
                            .after = *after});
}

}  // namespace

void add_event_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/jobs/{job}/events", {}, answering(200, [&context](const auto& request) {
               return list_for_job(context, request);
             }));
  router.add("GET", "/v1/events", {},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               stream(context, request, responder);
             });
}

}  // namespace loam::api
