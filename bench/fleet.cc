// SPDX-License-Identifier: Apache-2.0
#include "fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/json.h"
#include "figures.h"

namespace loam::bench {

namespace {

constexpr std::int64_t kMostUs = 300'000'000;       // a phase that is counted
constexpr std::int64_t kMostAnswerUs = 30'000'000;  // the last answers of the renewal phase
constexpr std::int64_t kLongestWaitUs = 5'000;

Status expect(const Answer& answer, int status, std::string_view what) {
  if (answer.status == status) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("{} was answered {}: {}", what, answer.status, answer.body));
}

}  // namespace

template <typename Start>
Result<double> Fleet::all(std::size_t count, std::size_t width, Start start) {
  const std::int64_t began = now_us();
  std::size_t next = 0;
  while (next < count || swarm_.in_flight() > 0) {
    while (next < count && swarm_.in_flight() < width)
      TRY_VOID(start(next++));
    TRY_VOID(swarm_.poll(kLongestWaitUs));
    if (now_us() - began > kMostUs) return fail(ErrorCode::kDeadlineExceeded, "took too long");
  }
  return static_cast<double>(now_us() - began) / 1e6;
}

Result<double> Fleet::enrol(const std::string& pool_token, std::size_t width) {
  return all(nodes_.size(), width, [&](std::size_t i) {
    const std::string body = fmt::format(
        R"({{"name":"bench-{0}","machine_id":"{0:032x}","slots":1,"gpus":[{{"index":0,)"
        R"("uuid":"GPU-{0:032x}","name":"Bench","gpu_class":"bench","memory_bytes":85899345920}}],)"
        R"("gpu_class":"bench","vram_gb":80,"price_per_hour":1.5,"version":"bench"}})",
        i);
    return swarm_.send(i, post("/v1/nodes", pool_token, "", body),
                       [this, i](const Answer& answer) { return enrolled(i, answer); });
  });
}

Status Fleet::enrolled(std::size_t index, const Answer& answer) {
  TRY_VOID(expect(answer, 201, "enrolling"));
  const Json body = TRY(parse_json(answer.body));
  Node& node = nodes_[index];
  node.token = TRY(json_string(body, "token"));
  heartbeat_ms_ = TRY(json_int(body, "heartbeat_ms"));
  // The timeline begins a little late, so that no segment ends after what the server may know.
  node.enrolled_us = now_us();
  return {};
}

Result<double> Fleet::submit(const std::string& admin_token, std::size_t batch, std::size_t width) {
  const std::size_t calls = (nodes_.size() + batch - 1) / batch;
  return all(calls, width, [&](std::size_t i) {
    const std::size_t jobs = std::min(batch, nodes_.size() - i * batch);
    std::string body = R"({"jobs":[)";
    for (std::size_t j = 0; j < jobs; ++j) {
      body += fmt::format(R"({}{{"name":"bench-{}","command":"python train.py --seed $SEED",)"
                          R"("environment":{{"SEED":"{}"}},"resources":{{"gpus":1}},)"
                          R"("checkpoint":{{"path":"checkpoints","match":"step-([0-9]+)$"}}}})",
                          j == 0 ? "" : ",", i * batch + j, i * batch + j);
    }
    body += "]}";
    return swarm_.send(i, post("/v1/jobs", admin_token, "", body),
                       [jobs](const Answer& answer) -> Status {
                         TRY_VOID(expect(answer, 201, "submitting"));
                         const Json answered = TRY(parse_json(answer.body));
                         if (answered.value("jobs", Json()).size() == jobs) return {};
                         return fail(ErrorCode::kInternal, "jobs are missing from an answer");
                       });
  });
}

Result<double> Fleet::claim(std::size_t width) {
  return all(nodes_.size(), width, [&](std::size_t i) {
    const std::string body =
        fmt::format(R"({{"claim":"{}","slot":0,"wait_ms":0}})", random_token(random_, 16));
    return swarm_.send(i, post("/v1/node/claim", nodes_[i].token, "", body),
                       [this, i](const Answer& answer) { return claimed(i, answer); });
  });
}

Status Fleet::claimed(std::size_t index, const Answer& answer) {
  TRY_VOID(expect(answer, 200, "claiming"));
  const Json body = TRY(parse_json(answer.body));
  Node& node = nodes_[index];
  node.job = TRY(json_string(body, "job"));
  node.epoch = TRY(json_int(body, "epoch"));
  node.lease = fmt::format("Loam-Lease: {}.{}\r\n", node.epoch, TRY(json_string(body, "token")));
  node.running_us = now_us() - node.enrolled_us;
  renew_ms_ = TRY(json_int(body, "heartbeat_ms"));
  return {};
}

std::string Fleet::report(const Node& node, std::int64_t now) const {
  const std::int64_t position = now - node.enrolled_us;
  const std::int64_t length = position - node.running_us;
  const std::int64_t steps = length / 500'000;  // of half a second: bucket floor(8 log2(500000))
  return fmt::format(
      R"("now_us":{0},"segments":[{{"slot":0,"start_us":{1},"end_us":{0},"class":"run",)"
      R"("data_wait_us":{2},"checkpoint_us":0,"steps":[[151,{3},{4}]],"job":"{5}","epoch":{6},)"
      R"("step_from":0,"step_to":{3}}}])",
      position, node.running_us, length / 100, std::max<std::int64_t>(steps, 1),
      std::max<std::int64_t>(steps, 1) * 500'000, node.job, node.epoch);
}

Status Fleet::send_renewal(std::size_t index, bool measured, RenewalRun& run) {
  const Node& node = nodes_[index];
  const std::int64_t now = now_us();
  const std::int64_t ran_us = now - node.enrolled_us - node.running_us;
  const std::string body =
      fmt::format(R"({{"phase":"running","step":{0},"written_step":{1},"first_step_ago_us":{2},)"
                  R"("save_cost_us":400000,{3}}})",
                  ran_us / 500'000, ran_us / 50'000'000 * 100, ran_us, report(node, now));
  return swarm_.send(
      index, post(fmt::format("/v1/node/jobs/{}/renew", node.job), node.token, node.lease, body),
      [measured, &run](const Answer& answer) -> Status {
        TRY_VOID(expect(answer, 200, "renewing"));
        const Json answered = TRY(parse_json(answer.body));
        if (TRY(json_int(answered, "ttl_ms")) <= 0) {
          return fail(ErrorCode::kInternal, "a renewal was answered without a time to live");
        }
        if (measured) run.renewals_us.push_back(answer.latency_us);
        return {};
      });
}

Status Fleet::send_heartbeat(std::size_t index, bool measured, RenewalRun& run) {
  const Node& node = nodes_[index];
  return swarm_.send(index,
                     post("/v1/node/heartbeat", node.token, "", "{" + report(node, now_us()) + "}"),
                     [measured, &run](const Answer& answer) -> Status {
                       TRY_VOID(expect(answer, 200, "a heartbeat"));
                       if (measured) run.heartbeats_us.push_back(answer.latency_us);
                       return {};
                     });
}

Result<RenewalRun> Fleet::renew(double warm_s, double seconds, int server_pid) {
  RenewalRun run;
  const std::int64_t start = now_us();
  const std::int64_t renew_us = renew_ms_ * 1'000;
  const std::int64_t heartbeat_us = std::min(heartbeat_ms_ * 1'000, renew_us);
  Window window{.start_us = start + static_cast<std::int64_t>(warm_s * 1e6)};
  window.end_us = window.start_us + static_cast<std::int64_t>(seconds * 1e6);
  using Due = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto offset =
        renew_us * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(nodes_.size());
    nodes_[i].next_renewal_us = start + offset;
    due.emplace(start + offset % heartbeat_us, i);
  }
  std::int64_t now = start;
  std::int64_t cpu_from_us = 0;
  double cpu_from = 0;
  while ((now = now_us()) < window.end_us) {
    if (cpu_from_us == 0 && now >= window.start_us) {
      cpu_from = TRY(cpu_seconds(server_pid));
      cpu_from_us = now;
    }
    while (due.top().first <= now) {
      const auto [due_us, i] = due.top();
      due.pop();
      if (swarm_.busy(i)) return fail(ErrorCode::kDeadlineExceeded, "an answer is overdue");
      const bool measured = window.has(now);
      if (measured) run.lateness_us.push_back(now_us() - due_us);
      Node& node = nodes_[i];
      const bool renewal = due_us >= node.next_renewal_us;
      if (renewal) node.next_renewal_us += renew_us;
      TRY_VOID(renewal ? send_renewal(i, measured, run) : send_heartbeat(i, measured, run));
      due.emplace(std::min(due_us + heartbeat_us, node.next_renewal_us), i);
    }
    TRY_VOID(swarm_.poll(std::clamp<std::int64_t>(due.top().first - now_us(), 0, kLongestWaitUs)));
  }
  run.server_cpu_s = TRY(cpu_seconds(server_pid)) - cpu_from;
  run.window_s = static_cast<double>(now_us() - cpu_from_us) / 1e6;
  while (swarm_.in_flight() > 0) {
    TRY_VOID(swarm_.poll(kLongestWaitUs));
    if (now_us() > window.end_us + kMostAnswerUs) {
      return fail(ErrorCode::kDeadlineExceeded, "answers are overdue");
    }
  }
  return run;
}

}  // namespace loam::bench
