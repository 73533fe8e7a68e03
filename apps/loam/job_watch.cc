// SPDX-License-Identifier: Apache-2.0
#include "loam/job_watch.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/encoding.h"
#include "loam/event_stream.h"
#include "loam/event_text.h"
#include "loam/exit_code.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/node_names.h"
#include "loam/output.h"
#include "loam/time_text.h"

namespace loam::cli {

namespace {

// Events tell of changes at once; steps are no events, so the job is looked at now and then as
// well. That also ends the watch if a proxy between here and the server swallows events.
constexpr std::chrono::milliseconds kLook{2'000};
constexpr std::chrono::seconds kBetweenSteps{5};

class JobWatch {
 public:
  JobWatch(const ApiClient& client, std::string job, std::FILE* out)
      : client_(client),
        job_(std::move(job)),
        out_(out),
        names_(client),
        colour_(colour_wanted(out)) {}

  Result<Json> run() {
    std::jthread looker([this](const std::stop_token& token) { look(token); });
    // Keep-alive comments come every 15 s.
    const StreamOptions options{.path = "/v1/events?after=0&job=" + percent_encode(job_, false),
                                .stall_timeout = std::chrono::seconds(60),
                                .stop = [this] { return over_.load(); }};
    const Status followed =
        follow_stream(client_, options, [this](const SseEvent& event) { return take(event); });
    looker.request_stop();
    looker.join();
    if (!followed && !over_) return fail(followed.error());
    return client_.get(job_path(job_));
  }

 private:
  Result<Next> take(const SseEvent& sse) {
    const Json event = TRY(parse_json(sse.data));
    line(event);
    const std::string type = text_of(event, "type");
    if (type != "job.completed" && type != "job.failed" && type != "job.canceled") {
      return Next::kMore;
    }
    // The event may be history: a failed job that was then retried.
    const auto job = client_.get(job_path(job_));
    // The looking thread ends the watch if this answer does not come.
    if (!job && is_retryable(job.error().code)) return Next::kMore;
    if (!job) return fail(job.error());
    return is_terminal(text_of(*job, "status")) ? Next::kStop : Next::kMore;
  }

  void line(const Json& event) {
    const std::lock_guard lock(mutex_);
    put(out_, event_line(event, std::ref(names_), colour_) + "\n");
    flush(out_);
  }

  void look(const std::stop_token& token) {
    while (!token.stop_requested() && !interrupted()) {
      const auto next = std::chrono::steady_clock::now() + kLook;
      if (const auto job = client_.get(job_path(job_))) show(*job);
      while (!token.stop_requested() && !interrupted() && std::chrono::steady_clock::now() < next)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  void show(const Json& job) {
    const std::string phase = text_of(job, "phase");
    const std::string step = text_of(job, "step");
    if (phase != phase_ && !phase.empty()) {
      const std::string node = text_of(job, "node_name");
      say(node.empty() ? phase : fmt::format("{} on {}", phase, node));
    }
    phase_ = phase;
    const auto now = std::chrono::steady_clock::now();
    if (!step.empty() && step != step_ && now - step_shown_ >= kBetweenSteps) {
      say(fmt::format("step {}", step));
      step_ = step;
      step_shown_ = now;
    }
    // The event of the end is given one more look's time to arrive and be shown.
    if (is_terminal(text_of(job, "status")) && ended_looks_++ > 0) over_ = true;
  }

  void say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const std::string at = clock_text(format_utc(clock_.wall_ms()));
    put(out_, fmt::format("{}  {}\n", styled(at, Style::kDim, colour_), printable(text)));
    flush(out_);
  }

  const ApiClient& client_;
  const std::string job_;
  std::FILE* const out_;
  SystemClock clock_;
  std::mutex mutex_;  // of out_ and names_
  NodeNames names_;
  const bool colour_;
  std::atomic<bool> over_{false};
  // Of the looking thread.
  std::string phase_;
  std::string step_;
  std::chrono::steady_clock::time_point step_shown_;
  int ended_looks_ = 0;
};

}  // namespace

Result<Json> watch_job(const ApiClient& client, const std::string& job, std::FILE* out) {
  return JobWatch(client, job, out).run();
}

bool is_terminal(std::string_view job_status) {
  return job_status == "completed" || job_status == "failed" || job_status == "canceled";
}

int exit_code_of_job(const Json& job) {
  const std::string status = text_of(job, "status");
  if (status == "completed") return kExitOk;
  return status == "canceled" ? kExitCanceled : kExitFailed;
}

}  // namespace loam::cli
