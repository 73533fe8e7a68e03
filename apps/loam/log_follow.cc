// SPDX-License-Identifier: Apache-2.0
#include "loam/log_follow.h"

#include <fmt/format.h>

#include "loam/event_stream.h"
#include "loam/interrupt.h"
#include "loam/job_watch.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

constexpr std::chrono::milliseconds kStall{60'000};
constexpr std::chrono::milliseconds kBetweenLooks{1'000};

std::string log_url(const std::string& job, const std::optional<std::int64_t>& attempt,
                    bool follow) {
  std::string url = job_path(job, follow ? "/logs?follow=1" : "/logs");
  if (attempt) url += fmt::format("{}attempt={}", follow ? "&" : "?", *attempt);
  return url;
}

// A reader that has gone (`| head`) ends the command quietly.
Status put_text(std::FILE* out, std::string_view text) {
  if (put(out, text) && flush(out)) return {};
  return fail(ErrorCode::kCanceled, "nobody reads the output");
}

// Follows one attempt to its end. The server begins at the attempt's first chunk on every
// connection, so the chunks that were printed are counted here.
Status follow_attempt(const ApiClient& client, const std::string& job, std::int64_t attempt,
                      std::FILE* out) {
  std::int64_t next_seq = 0;
  const StreamOptions options{.path = log_url(job, attempt, /*follow=*/true)};
  return follow_stream(client, options, [&](const SseEvent& sse) -> Result<Next> {
    if (sse.type == "end") return Next::kStop;
    if (sse.type != "log") return Next::kMore;
    const Json chunk = TRY(parse_json(sse.data));
    const std::int64_t seq = TRY(json_int(chunk, "seq"));
    if (seq < next_seq) return Next::kMore;
    next_seq = seq + 1;
    TRY_VOID(put_text(out, text_of(chunk, "text")));
    return Next::kMore;
  });
}

}  // namespace

Status print_log(const ApiClient& client, const LogOptions& options, std::FILE* out) {
  net::ClientRequest request;
  request.url = log_url(options.job, options.attempt, /*follow=*/false);
  request.deadline = std::chrono::milliseconds(0);
  request.stall_timeout = kStall;
  bool begun = false;
  request.sink = [&](std::span<const std::byte> bytes) {
    begun = true;
    return put_text(out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const auto response = client.send(request);
  if (response) return {};
  // What was printed cannot be taken back, so only a call that brought nothing is repeated.
  if (begun || !is_retryable(response.error().code)) return fail(response.error());
  TRY(client.send(request));
  return {};
}

Status follow_log(const ApiClient& client, const LogOptions& options, std::FILE* out) {
  if (options.attempt) {
    TRY(client.get(job_path(options.job)));  // no stream for a job that is not there
    return follow_attempt(client, options.job, *options.attempt, out);
  }
  std::int64_t last = 0;
  while (true) {
    const Json job = TRY(client.get(job_path(options.job)));
    const std::int64_t latest = TRY(json_int(job, "epoch"));
    if (latest > last) {
      // At the start the latest attempt; then each one, however fast they came.
      const std::int64_t next = last == 0 ? latest : last + 1;
      if (last > 0) note("loam: attempt {}\n", next);
      TRY_VOID(follow_attempt(client, options.job, next, out));
      last = next;
      continue;
    }
    if (is_terminal(text_of(job, "status"))) return {};
    TRY_VOID(pause_for(kBetweenLooks));
  }
}

}  // namespace loam::cli
