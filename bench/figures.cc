// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "http_swarm.h"

namespace loam::bench {

namespace {

Result<std::string> slurp(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) return fail(ErrorCode::kNotFound, "cannot read " + path);
  return text;
}

}  // namespace

std::int64_t percentile(std::vector<std::int64_t> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

void Figures::add(const std::string& metric, double value, const std::string& unit,
                  const std::string& detail) {
  rows_.push_back({{"metric", metric + suffix_},
                   {"value", std::round(value * 1000) / 1000},
                   {"unit", unit},
                   {"detail", detail}});
}

void Figures::add_latency(const std::string& name, std::vector<std::int64_t> us,
                          const std::string& detail) {
  const std::string from = fmt::format("{} of {}", detail, us.size());
  add(name + "_p50_ms", static_cast<double>(percentile(us, 0.5)) / 1e3, "ms", "median " + from);
  add(name + "_p99_ms", static_cast<double>(percentile(us, 0.99)) / 1e3, "ms",
      "99th percentile " + from);
}

void Figures::print() const {
  for (const Json& row : rows_) {
    fmt::print("{:<32} {:>10.3f} {:<8} {}\n", row["metric"].get<std::string>(),
               row["value"].get<double>(), row["unit"].get<std::string>(),
               row["detail"].get<std::string>());
  }
  std::fflush(stdout);
}

Status Figures::write(const std::string& path, bool append) const {
  Json out{{"bench", bench_}, {"rows", Json::array()}};
  if (append) out = TRY(parse_json(TRY(slurp(path))));
  for (const Json& row : rows_)
    out.at("rows").push_back(row);
  std::ofstream file(path);
  file << dump_json(out) << "\n";
  file.close();
  if (!file) return fail(ErrorCode::kUnavailable, "cannot write " + path);
  return {};
}

Result<double> cpu_seconds(pid_t pid) {
  const std::string text = TRY(slurp(fmt::format("/proc/{}/stat", pid)));
  // The name in brackets may hold spaces; utime and stime are fields 14 and 15, counted from it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field)
    fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) return fail(ErrorCode::kDataCorrupt, "strange /proc/PID/stat");
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<double> peak_rss_mb(pid_t pid) {
  const std::string text = TRY(slurp(fmt::format("/proc/{}/status", pid)));
  const std::size_t at = text.find("VmHWM:");
  if (at == std::string::npos) return fail(ErrorCode::kNotFound, "no VmHWM in /proc/PID/status");
  return std::strtod(text.c_str() + at + 6, nullptr) * 1024 / 1e6;
}

Result<double> sync_ms(const std::string& directory) {
  constexpr int kTimes = 50;
  const std::string path = directory + "/sync-probe";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "cannot write " + path);
  const std::string block(4096, 'x');
  std::vector<std::int64_t> us;
  bool good = true;
  for (int i = 0; i < kTimes && good; ++i) {
    const std::int64_t start = now_us();
    good = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
           fsync(fd) == 0;
    us.push_back(now_us() - start);
  }
  close(fd);
  unlink(path.c_str());
  if (!good) return fail(ErrorCode::kUnavailable, "cannot sync " + path);
  return static_cast<double>(percentile(us, 0.5)) / 1e3;
}

}  // namespace loam::bench
