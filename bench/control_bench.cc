// SPDX-License-Identifier: Apache-2.0
// Loads a running `loam server` as a fleet of nodes would; control.sh starts one for it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <thread>

#include "figures.h"
#include "fleet.h"
#include "http_swarm.h"

namespace loam::bench {

namespace {

constexpr std::size_t kBatch = 100;
constexpr std::size_t kSubmitters = 4;
constexpr std::size_t kClients = 64;
constexpr double kWarmSeconds = 10;

struct Options {
  std::uint16_t port = 0;
  int pid = 0;
  std::string state_dir;
  std::string out;
  std::size_t nodes = 10'000;
  double seconds = 60;
  bool no_wait = false;
  std::string suffix;
};

Status allow_connections(std::size_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t needed = count + 100;
  if (limit.rlim_cur >= needed) return {};
  limit.rlim_cur = needed;
  limit.rlim_max = std::max(limit.rlim_max, needed);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return fail(ErrorCode::kResourceExhausted,
              fmt::format("{} connections need a higher limit of open files", count));
}

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (std::getline(file, token)) return token;
  return fail(ErrorCode::kNotFound, "cannot read " + path);
}

// Adds NAMEs_per_s, and how much of the server's CPU time one took: that figure bears other load on
// the machine better.
Status measure_phase(const std::string& name, const std::string& detail, const Options& options,
                     Figures& figures, const std::function<Result<double>()>& phase) {
  const double cpu_before = TRY(cpu_seconds(options.pid));
  const double seconds = TRY(phase());
  const double cpu = TRY(cpu_seconds(options.pid)) - cpu_before;
  if (options.no_wait) return {};
  const auto count = static_cast<double>(options.nodes);
  figures.add(name + "s_per_s", count / seconds, "1/s", detail);
  figures.add(name + "_cpu_us", cpu / count * 1e6, "us", "CPU time of the server for each");
  return {};
}

Status measure_setup(Fleet& fleet, const Options& options, Figures& figures) {
  const std::string pool_token = TRY(read_token(options.state_dir + "/pool.token"));
  const std::string admin_token = TRY(read_token(options.state_dir + "/admin.token"));
  TRY_VOID(measure_phase("enrol", fmt::format("{} nodes, {} at a time", options.nodes, kClients),
                         options, figures, [&] { return fleet.enrol(pool_token, kClients); }));
  TRY_VOID(measure_phase(
      "submit",
      fmt::format("{} jobs, {} in a call, {} calls at a time", options.nodes, kBatch, kSubmitters),
      options, figures, [&] { return fleet.submit(admin_token, kBatch, kSubmitters); }));
  return measure_phase(
      "claim",
      fmt::format("{} jobs, each by a node of its own, {} at a time", options.nodes, kClients),
      options, figures, [&] { return fleet.claim(kClients); });
}

void add_renewals(const RenewalRun& run, const Fleet& fleet, const HttpSwarm& swarm,
                  const Options& options, Figures& figures) {
  const std::string load = fmt::format(
      "{} nodes on {} connections, a renewal each {} ms and a heartbeat after {} ms of "
      "silence, over {:.0f} s",
      options.nodes, swarm.open(), fleet.renew_every_ms(), fleet.heartbeat_every_ms(),
      run.window_s);
  const double share = run.server_cpu_s / run.window_s;
  if (options.no_wait) {
    figures.add_latency("renew_nowait", run.renewals_us,
                        "from send to answer, on a server whose commits do not wait for company,");
    figures.add("server_cpu_share_nowait", share, "cores", "the same with that server: " + load);
    return;
  }
  figures.add_latency("renew", run.renewals_us,
                      "from send to answer, the commit's wait for company included,");
  figures.add("renewals_per_s", static_cast<double>(run.renewals_us.size()) / run.window_s, "1/s",
              load);
  if (!run.heartbeats_us.empty()) {
    figures.add_latency("heartbeat", run.heartbeats_us, "from send to answer, counted alike,");
    figures.add("heartbeats_per_s", static_cast<double>(run.heartbeats_us.size()) / run.window_s,
                "1/s", "beside the renewals");
  }
  figures.add("server_cpu_share", share, "cores",
              "user and system time of the server over that window, of one core");
  figures.add("client_late_p99_ms", static_cast<double>(percentile(run.lateness_us, 0.99)) / 1e3,
              "ms", "how late this program itself sent; more than a few ms spoils the latencies");
}

Status run(const Options& options) {
  TRY_VOID(allow_connections(options.nodes));
  Figures figures("control", options.suffix);
  if (!options.no_wait) {
    figures.add("cores", std::thread::hardware_concurrency(), "cores",
                "of the machine, shared by the server and this program");
    figures.add("disk_sync_ms", TRY(sync_ms(options.state_dir)), "ms",
                "median fsync of 4 KiB beside the database");
  }
  HttpSwarm swarm = TRY(HttpSwarm::make(options.port, options.nodes));
  Fleet fleet(swarm, options.nodes);
  TRY_VOID(measure_setup(fleet, options, figures));
  const RenewalRun renewals = TRY(fleet.renew(kWarmSeconds, options.seconds, options.pid));
  add_renewals(renewals, fleet, swarm, options, figures);
  if (!options.no_wait) {
    figures.add("rss_mb", TRY(peak_rss_mb(options.pid)), "MB",
                "largest resident set of the server");
    figures.add("reconnects", static_cast<double>(swarm.reconnects()), "",
                "connections that the server closed while they were idle");
  }
  figures.print();
  return figures.write(options.out, options.no_wait || !options.suffix.empty());
}

}  // namespace

}  // namespace loam::bench

int main(int argc, char** argv) {
  loam::bench::Options options;
  CLI::App app{"Loads a loam server as a fleet of nodes would; see control.sh"};
  app.add_option("--port", options.port, "The server's port on 127.0.0.1")->required();
  app.add_option("--pid", options.pid, "The server's process")->required();
  app.add_option("--state-dir", options.state_dir, "Where its token files are")->required();
  app.add_option("--out", options.out, "File for the figures")->required();
  app.add_option("--nodes", options.nodes, "Nodes, and jobs")
      ->check(CLI::Range(10, 50'000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of the measured window of renewals")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  app.add_flag("--no-wait", options.no_wait,
               "The server's commits do not wait: add only those latencies, to the file there is");
  app.add_option("--suffix", options.suffix,
                 "Ends the name of each figure, which are added to the file there is");
  CLI11_PARSE(app, argc, argv);
  const loam::Status status = loam::bench::run(options);
  if (status) return 0;
  fmt::print(stderr, "control_bench: {}\n", status.error().to_string());
  return 1;
}
