// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/redact.h"

namespace loam {

namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

struct Sink {
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
  std::string component;
};

Sink make_sink(const LogOptions& options) {
  Sink sink;
  sink.json = options.json;
  sink.component = options.component;
  spdlog::sink_ptr target;
  if (options.file.empty()) {
    target = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    target = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
  }
  sink.logger = std::make_shared<spdlog::logger>("loam", std::move(target));
  sink.logger->set_level(to_spdlog(options.level));
  sink.logger->set_pattern(options.json ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %L %v",
                           spdlog::pattern_time_type::utc);
  sink.logger->flush_on(spdlog::level::debug);
  return sink;
}

Sink& sink() {
  static Sink instance = make_sink(LogOptions{});
  return instance;
}

}  // namespace

void log_setup(const LogOptions& options) {
  sink() = make_sink(options);
}

bool log_enabled(LogLevel level) {
  return sink().logger->should_log(to_spdlog(level));
}

void log_line(LogLevel level, std::string_view text) {
  const Sink& target = sink();
  const std::string clean = printable(redacted(text));
  if (target.json) {
    const nlohmann::json line{{"level", spdlog::level::to_string_view(to_spdlog(level)).data()},
                              {"component", target.component},
                              {"message", clean}};
    target.logger->log(to_spdlog(level), "{}", line.dump());
    return;
  }
  target.logger->log(to_spdlog(level), "{}{}{}", target.component,
                     target.component.empty() ? "" : ": ", clean);
}

}  // namespace loam
