// SPDX-License-Identifier: Apache-2.0
#include "agent/node_agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "agent/process_tree.h"
#include "base/log.h"
#include "io/file.h"

namespace loam::agent {

namespace {

constexpr std::chrono::milliseconds kClaimWait{20'000};
constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::milliseconds kLastRetry{5'000};
constexpr std::chrono::milliseconds kGpuSample{1'000};

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "node";
}

std::string machine_id() {
  auto text = io::read_file("/etc/machine-id", 256);
  if (!text) return "";
  while (!text->empty() && text->back() == '\n')
    text->pop_back();
  return *text;
}

}  // namespace

NodeAgent::NodeAgent(net::HttpClient& http, const Clock& clock, Random& random, NodeOptions options)
    : clock_(clock),
      random_(random),
      options_(std::move(options)),
      api_(http, options_.server_url, options_.ca_file) {
  if (options_.name.empty()) options_.name = host_name();
}

NodeAgent::~NodeAgent() {
  stop();
}

bool NodeAgent::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [this] { return over() || finished_; });
  return !over();
}

Json NodeAgent::enrolment() const {
  Json gpus = Json::array();
  for (const Gpu& gpu : gpus_) {
    gpus.push_back({{"index", gpu.index},
                    {"uuid", gpu.uuid},
                    {"name", gpu.name},
                    {"gpu_class", gpu.gpu_class},
                    {"memory_bytes", gpu.memory_bytes}});
  }
  Json out{{"name", options_.name},       {"machine_id", machine_id()},
           {"slots", options_.slots},     {"gpus", std::move(gpus)},
           {"version", options_.version}, {"price_per_hour", options_.price_per_hour}};
  if (!gpus_.empty()) {
    out["gpu_class"] = gpus_.front().gpu_class;
    std::int64_t least = gpus_.front().memory_bytes;
    for (const Gpu& gpu : gpus_)
      least = std::min(least, gpu.memory_bytes);
    out["vram_gb"] = static_cast<double>(least) / (1 << 30);
  }
  return out;
}

Status NodeAgent::enrol() {
  gpus_ = TRY(find_gpus());
  if (options_.slots <= 0) {
    options_.slots = std::max<std::int64_t>(1, static_cast<std::int64_t>(gpus_.size()));
  }
  TRY_VOID(io::make_directories(options_.directory, 0700));
  TRY_VOID(io::remove_tree(options_.directory + "/attempts"));
  TRY_VOID(io::make_directories(options_.directory + "/attempts", 0700));
  api_.set_token(options_.pool_token);
  std::chrono::milliseconds wait = kFirstRetry;
  while (!over()) {
    auto answer = api_.post("/v1/nodes", enrolment(), {});
    if (answer) {
      node_id_ = TRY(json_string(*answer, "node"));
      api_.set_token(TRY(json_string(*answer, "token")));
      heartbeat_ = std::chrono::milliseconds(TRY(json_int(*answer, "heartbeat_ms")));
      timeline_ = std::make_unique<Timeline>(clock_, options_.slots);
      running_.resize(static_cast<std::size_t>(options_.slots));
      LOG_INFO("enrolled as {} in pool {} with {} slots and {} GPUs", node_id_,
               TRY(json_string(*answer, "pool")), options_.slots, gpus_.size());
      return {};
    }
    if (!is_retryable(answer.error().code)) return fail(answer.error());
    LOG_WARN("cannot enrol yet: {}", answer.error().to_string());
    pause(wait);
    wait = std::min(wait * 2, kLastRetry);
  }
  return fail(ErrorCode::kCanceled, "ended before the node was enrolled");
}

Status NodeAgent::run() {
  TRY_VOID(become_subreaper());
  TRY_VOID(enrol());
  std::vector<std::thread> slots;
  for (std::int64_t i = 0; i < options_.slots; ++i) {
    slots.emplace_back([this, i] { slot_loop(i); });
  }
  std::thread heartbeats([this] { heartbeat_loop(); });
  std::thread commands([this] { command_loop(); });
  std::thread gpus;
  if (!gpus_.empty()) gpus = std::thread([this] { gpu_loop(); });
  for (std::thread& slot : slots)
    slot.join();
  finished_ = true;
  wake_.notify_all();
  heartbeats.join();
  commands.join();
  if (gpus.joinable()) gpus.join();
  if (!stopping_) leave();
  return {};
}

void NodeAgent::drain() {
  if (draining_.exchange(true)) return;
  LOG_INFO("draining");
  wake_.notify_all();
  const std::lock_guard lock(mutex_);
  for (const auto& runner : running_) {
    if (runner) runner->drain();
  }
}

void NodeAgent::stop() {
  stopping_ = true;
  wake_.notify_all();
  const std::lock_guard lock(mutex_);
  for (const auto& runner : running_) {
    if (runner) runner->abandon();
  }
}

std::vector<std::string> NodeAgent::slot_gpus(std::int64_t slot) const {
  const std::int64_t each = static_cast<std::int64_t>(gpus_.size()) / options_.slots;
  std::vector<std::string> out;
  for (std::int64_t i = slot * each; i < (slot + 1) * each; ++i) {
    out.push_back(gpus_[static_cast<std::size_t>(i)].uuid);
  }
  return out;
}

void NodeAgent::slot_loop(std::int64_t slot) {
  std::chrono::milliseconds wait = kFirstRetry;
  while (!over()) {
    if (claim_and_run(slot)) {
      wait = kFirstRetry;
      continue;
    }
    if (over()) return;
    pause(wait);
    wait = std::min(wait * 2, kLastRetry);
  }
}

bool NodeAgent::claim_and_run(std::int64_t slot) {
  // The id is kept while no answer comes, so that a lease whose answer was lost is not left behind.
  const std::string claim_id = random_token(random_, 16);
  std::optional<Json> claim;
  std::int64_t sent = 0;
  while (!claim) {
    if (over()) return true;
    sent = clock_.boot_us();
    auto answer = api_.post("/v1/node/claim",
                            {{"claim", claim_id}, {"slot", slot}, {"wait_ms", kClaimWait.count()}},
                            {.deadline = kClaimWait + std::chrono::seconds(15),
                             .canceled = [this] { return stopping_.load(); }});
    if (!answer) {
      if (over() || !is_retryable(answer.error().code)) {
        if (!over()) LOG_WARN("claiming failed: {}", answer.error().to_string());
        return over();
      }
      LOG_DEBUG("no answer to a claim: {}", answer.error().to_string());
      if (!pause(kFirstRetry)) return true;
      continue;
    }
    if (answer->is_null()) return true;  // nothing to do within the wait
    claim = std::move(*answer);
  }
  const auto terms = [&]() -> Result<LeaseTerms> {
    return LeaseTerms{TRY(json_string(*claim, "job")),       TRY(json_int(*claim, "epoch")),
                      TRY(json_string(*claim, "token")),     slot,
                      TRY(json_int(*claim, "ttl_ms")),       TRY(json_int(*claim, "heartbeat_ms")),
                      TRY(json_int(*claim, "isolation_ms")), sent};
  }();
  if (!terms) {
    LOG_ERROR("the server's claim makes no sense: {}", terms.error().message);
    return false;
  }
  AttemptPlace place{
      .directory = fmt::format("{}/attempts/{}-{}", options_.directory, terms->job, terms->epoch),
      .gpu_uuids = slot_gpus(slot),
      .has_gpus = !gpus_.empty(),
      .node_id = node_id_,
      .watchdog = options_.watchdog};
  const auto runner = std::make_shared<AttemptRunner>(api_, *timeline_, clock_, random_,
                                                      std::move(*claim), *terms, std::move(place));
  {
    const std::lock_guard lock(mutex_);
    running_[static_cast<std::size_t>(slot)] = runner;
    if (draining_) runner->drain();
    if (stopping_) runner->abandon();
  }
  runner->run();
  const std::lock_guard lock(mutex_);
  running_[static_cast<std::size_t>(slot)].reset();
  return true;
}

void NodeAgent::heartbeat_loop() {
  bool told_draining = false;
  while (!finished_ && !stopping_) {
    if (draining_ && !told_draining) {
      told_draining = api_.post("/v1/node/drain", Json::object(), {}).has_value();
    }
    // A renewal tells the same of its slot, so while all slots renew there is nothing to send.
    const auto due = [this] {
      return std::chrono::microseconds(timeline_->acknowledged_us() - timeline_->now_us()) +
             heartbeat_;
    };
    const bool sent = due() > std::chrono::microseconds(0) || send_heartbeat();
    const auto wait = sent ? std::max<std::chrono::microseconds>(due(), kFirstRetry)
                           : std::chrono::microseconds(heartbeat_);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, wait,
                   [&] { return finished_ || stopping_ || (draining_ && !told_draining); });
  }
}

bool NodeAgent::send_heartbeat() {
  const Timeline::Report report = timeline_->report();
  const auto answer =
      api_.post("/v1/node/heartbeat", {{"now_us", report.now_us}, {"segments", report.segments}},
                {.deadline = std::max(heartbeat_, std::chrono::milliseconds(2'000)),
                 .canceled = [this] { return finished_ || stopping_; }});
  if (!answer) {
    LOG_DEBUG("a heartbeat failed: {}", answer.error().to_string());
    return false;
  }
  timeline_->acknowledge(report);
  return true;
}

void NodeAgent::gpu_loop() {
  const std::size_t each = gpus_.size() / static_cast<std::size_t>(options_.slots);
  std::int64_t last_us = timeline_->now_us();
  while (!finished_ && !stopping_) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kGpuSample, [this] { return finished_ || stopping_; });
    }
    std::map<int, int> busy;  // percent by index
    for (const GpuUse& use : sample_gpus())
      busy[use.index] = use.busy_percent;
    const std::int64_t now_us = timeline_->now_us();
    for (std::size_t slot = 0; slot < static_cast<std::size_t>(options_.slots); ++slot) {
      std::int64_t sum = 0;
      bool all = each > 0;
      for (std::size_t i = slot * each; all && i < (slot + 1) * each; ++i) {
        const auto it = busy.find(gpus_[i].index);
        all = it != busy.end();
        if (all) sum += it->second;
      }
      if (!all) continue;
      timeline_->add_gpu_use(static_cast<std::int64_t>(slot),
                             (now_us - last_us) * sum / (100 * static_cast<std::int64_t>(each)));
    }
    last_us = now_us;
  }
}

void NodeAgent::command_loop() {
  while (!finished_ && !stopping_) {
    const auto answer = api_.get("/v1/node/commands?wait_ms=20000",
                                 {.deadline = std::chrono::seconds(40),
                                  .canceled = [this] { return finished_ || stopping_; }});
    if (!answer) {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::seconds(1), [this] { return finished_ || stopping_; });
      continue;
    }
    if (!answer->is_object()) continue;
    const Json jobs = answer->value("renew", Json::array());
    const std::lock_guard lock(mutex_);
    for (const auto& runner : running_) {
      if (!runner) continue;
      if (std::find(jobs.begin(), jobs.end(), runner->job()) != jobs.end()) runner->renew_soon();
    }
  }
}

void NodeAgent::leave() {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Timeline::Report report = timeline_->report();
    const auto answer =
        api_.post("/v1/node/leave", {{"now_us", report.now_us}, {"segments", report.segments}},
                  {.deadline = std::chrono::seconds(5)});
    if (answer) {
      LOG_INFO("left");
      return;
    }
    LOG_WARN("cannot say goodbye: {}", answer.error().to_string());
    std::this_thread::sleep_for(kFirstRetry);
  }
}

}  // namespace loam::agent
