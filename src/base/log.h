// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace loam {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Where and what to log. `file` empty means standard error. May be called once, before threads.
struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file;
  bool json = false;
  std::string component;  // printed on each line: "server", "node a"
};
void log_setup(const LogOptions& options);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

}  // namespace loam

#define LOAM_LOG(level, ...)                                                           \
  do {                                                                                 \
    if (::loam::log_enabled(level)) ::loam::log_line(level, fmt::format(__VA_ARGS__)); \
  } while (false)
#define LOG_DEBUG(...) LOAM_LOG(::loam::LogLevel::kDebug, __VA_ARGS__)
#define LOG_INFO(...) LOAM_LOG(::loam::LogLevel::kInfo, __VA_ARGS__)
#define LOG_WARN(...) LOAM_LOG(::loam::LogLevel::kWarn, __VA_ARGS__)
#define LOG_ERROR(...) LOAM_LOG(::loam::LogLevel::kError, __VA_ARGS__)
