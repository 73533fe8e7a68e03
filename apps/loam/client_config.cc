// SPDX-License-Identifier: Apache-2.0
#include "loam/client_config.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/json.h"
#include "io/file.h"

namespace loam::cli {

namespace {

constexpr std::int64_t kMaxConfigBytes = 64 << 10;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

// Adds the scheme that people leave out.
Result<std::string> normal_url(const std::string& text, std::string_view source) {
  std::string out = trimmed(text);
  while (out.ends_with('/'))
    out.pop_back();
  if (out.find("://") == std::string::npos) out = "http://" + out;
  const bool known = out.starts_with("http://") || out.starts_with("https://");
  if (!known || out.ends_with("://") || out.find_first_of(" ?#") != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' (from {}) is not a server's URL; write for example "
                            "http://127.0.0.1:8080",
                            text, source));
  }
  return out;
}

// One URL, or several that are separated by commas.
Result<std::string> normal_server(const std::string& text, std::string_view source) {
  std::string out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    out += (out.empty() ? "" : ",") + TRY(normal_url(text.substr(from, end - from), source));
    from = end + 1;
  }
  return out;
}

Result<std::optional<ClientConfig>> read_config_file(const std::string& path) {
  if (path.empty()) return std::optional<ClientConfig>();
  const auto text = io::read_file(path, kMaxConfigBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<ClientConfig>();
  if (!text) return fail(text.error());
  const auto parsed = [&]() -> Result<ClientConfig> {
    const Json json = TRY(parse_json(*text));
    if (!json.is_object()) return fail(ErrorCode::kInvalidArgument, "it is not a JSON object");
    ClientConfig out;
    out.server = TRY(normal_server(TRY(json_string(json, "server")), path));
    out.token = TRY(json_string(json, "token", ""));
    out.token_source = path;
    return out;
  }();
  if (!parsed) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot be used: {}; correct it, or remove it and use LOAM_SERVER "
                            "and LOAM_TOKEN",
                            path, parsed.error().message));
  }
  return std::optional<ClientConfig>(*parsed);
}

Result<std::string> read_token_file(const std::string& path) {
  const auto text = io::read_file(path, kMaxConfigBytes);
  if (!text) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the token file cannot be read: {}; name another with --token-file",
                            text.error().message));
  }
  std::string token = trimmed(*text);
  if (token.empty() || token.find_first_of(" \t\r\n") != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the token file {} must hold one token and nothing else", path));
  }
  return token;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

std::string client_config_path(const Environment& environment) {
  const std::string base = environment("XDG_CONFIG_HOME").value_or("");
  if (base.starts_with('/')) return base + "/loam/client.json";
  const std::string home = environment("HOME").value_or("");
  return home.empty() ? "" : home + "/.config/loam/client.json";
}

Result<ClientConfig> resolve_client_config(const ClientFlags& flags,
                                           const Environment& environment) {
  const auto file = TRY(read_config_file(client_config_path(environment)));
  ClientConfig out;
  if (!flags.server.empty()) {
    out.server = TRY(normal_server(flags.server, "--server"));
  } else if (const std::string named = environment("LOAM_SERVER").value_or(""); !named.empty()) {
    out.server = TRY(normal_server(named, "LOAM_SERVER"));
  } else if (file) {
    out.server = file->server;
  } else {
    return fail(ErrorCode::kUnavailable,
                "no server is known; start one with 'loam up', or name one with --server or "
                "LOAM_SERVER");
  }
  out.ca_file = flags.ca_file.empty() ? environment("LOAM_CA_FILE").value_or("") : flags.ca_file;
  if (!flags.token_file.empty()) {
    out.token = TRY(read_token_file(flags.token_file));
    out.token_source = flags.token_file;
  } else if (const std::string token = trimmed(environment("LOAM_TOKEN").value_or(""));
             !token.empty()) {
    out.token = token;
    out.token_source = "LOAM_TOKEN";
  } else if (file && file->server == out.server) {
    out.token = file->token;
    out.token_source = file->token_source;
  }
  return out;
}

Status save_client_config(const std::string& path, const std::string& server,
                          const std::string& token) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no place for the client's configuration", path));
  }
  TRY_VOID(io::make_directories(path.substr(0, slash), 0700));
  const Json json{{"server", server}, {"token", token}};
  return io::write_file_atomic(path, json.dump(2) + "\n", 0600);
}

}  // namespace loam::cli
