// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/respond.h"
#include "api/routes.h"
#include "base/log.h"
#include "base/units.h"
#include "jobs/job_view.h"
#include "jobs/log_index.h"

namespace loam::api {

namespace {

constexpr std::size_t kPage = 64;

struct LogRequest {
  std::string job;
  std::int64_t epoch = 0;     // 0: no attempt yet
  bool chosen = false;        // the caller named the attempt
  std::int64_t next_seq = 0;  // of a stream that goes on: its first chunk
};

// Where a follower that was cut off goes on: after the chunk with the id "<epoch>.<seq>".
Status resume_after(const std::string& id, LogRequest& log) {
  const std::size_t dot = id.find('.');
  const auto epoch = parse_whole_number(std::string_view(id).substr(0, dot));
  const auto seq = dot == std::string::npos
                       ? std::nullopt
                       : parse_whole_number(std::string_view(id).substr(dot + 1));
  if (!epoch || !seq || *epoch < 1 || *epoch > log.epoch) {
    return fail(ErrorCode::kInvalidArgument, "'Last-Event-ID' must be the id of a log event");
  }
  if (log.chosen && *epoch != log.epoch) return {};
  log.epoch = *epoch;
  log.next_seq = *seq + 1;
  return {};
}

Result<LogRequest> parse(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  LogRequest out{.job = request.params.at("job")};
  const Json job = TRY(context.services.read([&](db::Session& s) {
    return jobs::job_view(s, out.job, visible_owner(principal), /*with_spec=*/false);
  }));
  const std::int64_t latest = TRY(json_int(job, "epoch"));
  out.chosen = request.query_value("attempt").has_value();
  out.epoch = TRY(query_int(request, "attempt", latest, 0, INT64_MAX));
  if (out.epoch > latest) {
    return fail(ErrorCode::kNotFound, fmt::format("job {} has had {} attempts", out.job, latest));
  }
  if (const auto last = request.headers.get("Last-Event-ID")) TRY_VOID(resume_after(*last, out));
  return out;
}

// An attempt that was lost with its node may miss the end of its output; the text says so.
Result<std::string> closing_line(const ApiContext& context, const LogRequest& log, bool complete) {
  if (complete) return std::string();
  const auto attempts =
      TRY(context.services.read([&](db::Session& s) { return jobs::attempt_views(s, log.job); }));
  for (const Json& attempt : attempts) {
    if (TRY(json_int(attempt, "epoch")) != log.epoch) continue;
    const std::string state = TRY(json_string(attempt, "state"));
    if (state == "lost" || state == "canceled") {
      return fmt::format("\n[loam: the attempt was {}; output after this point did not arrive]\n",
                         state);
    }
  }
  return std::string();
}

Status write_text(net::BodyWriter& writer, std::string_view text) {
  return writer.write(std::as_bytes(std::span(text)));
}

Status write_all(const ApiContext& context, const LogRequest& log, net::BodyWriter& writer) {
  std::int64_t next = 0;
  bool complete = false;
  while (true) {
    const auto chunks = TRY(context.services.read(
        [&](db::Session& s) { return jobs::log_chunks(s, log.job, log.epoch, next, kPage); }));
    for (const jobs::LogChunk& chunk : chunks) {
      const auto text = control::log_text(context.services.store, chunk);
      TRY_VOID(write_text(writer, text ? *text : control::gap_marker(chunk.bytes)));
      next = chunk.seq + 1;
      complete = chunk.last;
    }
    if (chunks.size() < kPage) break;
  }
  TRY_VOID(write_text(writer, TRY(closing_line(context, log, complete))));
  return writer.finish();
}

void logs(const ApiContext& context, const net::HttpRequest& request,
          const net::ResponderPtr& responder) {
  const auto log = parse(context, request);
  if (!log) return responder->send(net::error_response(log.error()));
  if (request.query_value("follow")) {
    context.logs.follow({.stream = responder->start_events(),
                         .job = log->job,
                         .epoch = log->epoch,
                         .next_seq = log->next_seq,
                         .only_this = log->chosen});
    return;
  }
  net::HttpResponse head;
  head.headers.set("Content-Type", "text/plain; charset=utf-8");
  head.headers.set("Loam-Attempt", std::to_string(log->epoch));
  auto writer = responder->start(std::move(head), std::nullopt);
  if (!writer) return;
  if (const Status written = write_all(context, *log, **writer); !written) {
    LOG_DEBUG("sending logs of {} ended early: {}", log->job, written.error().to_string());
  }
}

}  // namespace

void add_log_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/jobs/{job}/logs", {.lane = net::Lane::kTransfer},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               logs(context, request, responder);
             });
}

}  // namespace loam::api
