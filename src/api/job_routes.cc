// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/respond.h"
#include "api/routes.h"
#include "base/digest.h"
#include "jobs/cancel.h"
#include "jobs/exposure.h"
#include "jobs/idempotency.h"
#include "jobs/job_view.h"
#include "jobs/report.h"
#include "jobs/submit.h"

namespace loam::api {

namespace {

constexpr std::int64_t kMaxSubmitBytes = 32 << 20;
constexpr std::size_t kMaxSecretBytes = 64 << 10;

Status check_grants(const jobs::Principal& principal, const jobs::JobSpec& spec) {
  for (const jobs::SyncRule& rule : spec.before) {
    if (principal.may_read(rule.from)) continue;
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("{} may not read {}", principal.owner, rule.from));
  }
  for (const jobs::SyncRule& rule : spec.after) {
    if (principal.may_write(rule.to)) continue;
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("{} may not write {}", principal.owner, rule.to));
  }
  return {};
}

// Takes "secret_values" out of a job as sent and seals one value for each declared secret.
Status seal_secrets(const ApiContext& context, const Json& values, jobs::Submission& submission) {
  for (const std::string& name : submission.spec.secrets) {
    if (!values.is_object() || !values.contains(name) || !values.at(name).is_string()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'secrets' names {}, but no value for it came along; 'loam submit' "
                              "takes it from the environment",
                              name));
    }
    const std::string value = values.at(name).get<std::string>();
    if (value.size() > kMaxSecretBytes) {
      return fail(ErrorCode::kTooLarge, fmt::format("the secret {} is over 64 KiB", name));
    }
    submission.sealed_secrets[name] =
        TRY(context.keys.seal(context.services.random, value, "secret:" + name));
  }
  return {};
}

Result<jobs::Submission> parse_submission(const ApiContext& context,
                                          const jobs::Principal& principal, Json job) {
  Json secret_values;
  if (job.is_object() && job.contains("secret_values")) {
    secret_values = job["secret_values"];
    job.erase("secret_values");
  }
  jobs::Submission submission;
  submission.owner = principal.owner;
  submission.spec = TRY(jobs::parse_job_spec(job));
  TRY_VOID(check_grants(principal, submission.spec));
  TRY_VOID(seal_secrets(context, secret_values, submission));
  return submission;
}

// One job, or {"jobs": […]}; in the latter messages say which.
Result<std::vector<jobs::Submission>> parse_submissions(const ApiContext& context,
                                                        const jobs::Principal& principal,
                                                        const Json& body) {
  std::vector<jobs::Submission> out;
  if (!body.is_object() || !body.contains("jobs")) {
    out.push_back(TRY(parse_submission(context, principal, body)));
    return out;
  }
  const Json& list = body.at("jobs");
  if (!list.is_array() || list.empty() || list.size() > jobs::kMaxJobsPerCall) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'jobs' must be a list of 1 to {}", jobs::kMaxJobsPerCall));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto one = parse_submission(context, principal, list[i]);
    if (!one) {
      return fail(one.error().code, fmt::format("jobs[{}]: {}", i, one.error().message));
    }
    out.push_back(std::move(*one));
  }
  return out;
}

Result<Json> submit_in(jobs::Operation& op, const std::vector<jobs::Submission>& submissions,
                       bool many) {
  const std::vector<std::string> ids = TRY(jobs::submit_jobs(op, submissions));
  if (!many) return jobs::job_view(op.session, ids.front(), std::nullopt, /*with_spec=*/false);
  Json list = Json::array();
  for (const std::string& id : ids)
    list.push_back({{"id", id}});
  return Json{{"jobs", std::move(list)}};
}

Result<Json> submit(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const Json body = TRY(body_object(request));
  const bool many = body.contains("jobs");
  const auto submissions = TRY(parse_submissions(context, principal, body));
  const auto header = request.headers.get("Idempotency-Key");
  if (header && (header->empty() || header->size() > 255)) {
    return fail(ErrorCode::kInvalidArgument, "'Idempotency-Key' must be 1 to 255 bytes");
  }
  const jobs::IdempotencyKey key{principal.owner, "POST /v1/jobs", header.value_or(""),
                                 sha256_hex(request.body)};
  Json answer = TRY(context.services.write([&](jobs::Operation& op) -> Result<Json> {
    if (header) {
      if (const auto earlier = TRY(jobs::earlier_answer(op, key))) return parse_json(*earlier);
    }
    Json fresh = TRY(submit_in(op, submissions, many));
    if (header) TRY_VOID(jobs::remember_answer(op, key, dump_json(fresh)));
    return fresh;
  }));
  context.metrics.count("loam_jobs_submitted_total", static_cast<double>(submissions.size()));
  context.changed();
  return answer;
}

Result<Json> list(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  jobs::JobFilter filter;
  filter.owner = principal.is_admin() ? request.query_value("owner") : visible_owner(principal);
  filter.status = request.query_value("status");
  filter.name = request.query_value("name");
  filter.pool = request.query_value("pool");
  filter.limit = static_cast<std::size_t>(TRY(query_int(request, "limit", 100, 1, 1000)));
  const std::int64_t cursor = TRY(query_int(request, "cursor", 0, 0, INT64_MAX));
  if (cursor > 0) filter.before_seq = cursor;
  const jobs::JobPage page =
      TRY(context.services.read([&](db::Session& s) { return jobs::list_jobs(s, filter); }));
  return Json{{"jobs", page.jobs},
              {"next_cursor", page.next ? Json(std::to_string(*page.next)) : Json()}};
}

// Reads the job only if the caller may see it, so that what follows may take that for granted.
Result<std::string> visible_job(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal principal = TRY(user_caller(context, request));
  const std::string job = request.params.at("job");
  TRY(context.services.read([&](db::Session& s) {
    return jobs::job_view(s, job, visible_owner(principal), /*with_spec=*/false);
  }));
  return job;
}

Result<Json> show(const ApiContext& context, const net::HttpRequest& request) {
  const std::string job = TRY(visible_job(context, request));
  return context.services.read(
      [&](db::Session& s) { return jobs::job_view(s, job, std::nullopt, /*with_spec=*/true); });
}

Result<Json> cancel(const ApiContext& context, const net::HttpRequest& request) {
  const std::string job = TRY(visible_job(context, request));
  const auto node =
      TRY(context.services.write([&](jobs::Operation& op) { return jobs::cancel_job(op, job); }));
  if (node) context.peers.nudge(*node, job);
  context.changed();
  return show(context, request);
}

Result<Json> retry(const ApiContext& context, const net::HttpRequest& request) {
  const std::string job = TRY(visible_job(context, request));
  TRY_VOID(context.services.write([&](jobs::Operation& op) { return jobs::retry_job(op, job); }));
  context.changed();
  return show(context, request);
}

Result<Json> attempts(const ApiContext& context, const net::HttpRequest& request) {
  const std::string job = TRY(visible_job(context, request));
  const auto list =
      TRY(context.services.read([&](db::Session& s) { return jobs::attempt_views(s, job); }));
  return Json{{"attempts", list}};
}

Result<Json> cost(const ApiContext& context, const net::HttpRequest& request) {
  const std::string job = TRY(visible_job(context, request));
  Json report =
      TRY(context.services.read([&](db::Session& s) { return jobs::job_report(s, job); }));
  const auto outputs =
      TRY(context.services.read([&](db::Session& s) { return jobs::published_outputs(s, job); }));
  report["outputs"] = Json::array();
  for (const jobs::OutputFile& file : outputs)
    report["outputs"].push_back("/" + file.destination);
  report["checkpoint_advice"] = advice_json(
      TRY(context.services.read([&](db::Session& s) { return jobs::save_figures(s, job); })));
  return report;
}

}  // namespace

void add_job_routes(net::Router& router, const ApiContext& context) {
  using Answer = Result<Json> (*)(const ApiContext&, const net::HttpRequest&);
  const auto add = [&](std::string method, std::string path, int status, Answer answer,
                       net::RouteOptions options = {}) {
    router.add(std::move(method), std::move(path), options,
               answering(status, [&context, answer](const net::HttpRequest& request) {
                 return answer(context, request);
               }));
  };
  add("POST", "/v1/jobs", 201, submit, {.max_body_bytes = kMaxSubmitBytes});
  add("GET", "/v1/jobs", 200, list);
  add("GET", "/v1/jobs/{job}", 200, show);
  add("DELETE", "/v1/jobs/{job}", 200, cancel);
  add("POST", "/v1/jobs/{job}/cancel", 200, cancel);
  add("POST", "/v1/jobs/{job}/retry", 200, retry);
  add("GET", "/v1/jobs/{job}/attempts", 200, attempts);
  add("GET", "/v1/jobs/{job}/cost", 200, cost);
}

}  // namespace loam::api
