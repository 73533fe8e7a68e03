// SPDX-License-Identifier: Apache-2.0
#include "object/s3_credentials.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"
#include "io/file.h"

namespace loam::object {

namespace {

// Temporary keys are renewed this long before they end, as AWS's own tools do.
constexpr std::int64_t kEarlyMs = 5 * 60 * 1000;
// Keys whose end is not known are looked up again this often: a file may have been rotated.
constexpr std::int64_t kLookAgainUs = 5LL * 60 * 1'000'000;
// After a failure, or for keys that are about to end and come back the same.
constexpr std::int64_t kRetryUs = 10LL * 1'000'000;
// Refused keys are looked up again at most this often.
constexpr std::int64_t kAskAgainUs = 1'000'000;
constexpr std::int64_t kMaxFileBytes = 1 << 20;

class EnvironmentSource final : public CredentialSource {
 public:
  explicit EnvironmentSource(Environment environment) : environment_(std::move(environment)) {}
  Result<std::optional<LoadedKeys>> load() override {
    const auto id = environment_("AWS_ACCESS_KEY_ID");
    const auto secret = environment_("AWS_SECRET_ACCESS_KEY");
    if (!id && !secret) return std::nullopt;
    if (!id || !secret) {
      return fail(ErrorCode::kUnauthenticated,
                  "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set");
    }
    return LoadedKeys{{*id, *secret, environment_("AWS_SESSION_TOKEN").value_or("")}, {}};
  }
  std::string name() const override { return "environment"; }

 private:
  Environment environment_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The keys of one section of an INI file.
std::map<std::string, std::string> section_of(std::string_view text, std::string_view wanted) {
  std::map<std::string, std::string> out;
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      inside = trimmed(line.substr(1, line.size() - 2)) == wanted;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    out[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  return out;
}

// ~/.aws/credentials, or a profile of ~/.aws/config.
class FileSource final : public CredentialSource {
 public:
  FileSource(std::string path, std::string section, bool demanded)
      : path_(std::move(path)), section_(std::move(section)), demanded_(demanded) {}

  Result<std::optional<LoadedKeys>> load() override {
    const auto text = io::read_file(path_, kMaxFileBytes);
    if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
    if (!text) return fail(text.error());
    const auto values = section_of(*text, section_);
    const auto value = [&](const char* name) {
      const auto found = values.find(name);
      return found == values.end() ? std::string() : found->second;
    };
    for (const char* name : {"source_profile", "sso_session", "sso_start_url"}) {
      if (demanded_ && !value(name).empty() && value("aws_access_key_id").empty()) {
        return fail(ErrorCode::kUnimplemented,
                    fmt::format("the profile '{}' in {} uses {}, which this version does not; put "
                                "keys into the environment, or a web identity",
                                section_, path_, name));
      }
    }
    if (value("aws_access_key_id").empty() || value("aws_secret_access_key").empty()) {
      return std::nullopt;
    }
    return LoadedKeys{
        {value("aws_access_key_id"), value("aws_secret_access_key"), value("aws_session_token")},
        {}};
  }
  std::string name() const override { return fmt::format("{} [{}]", path_, section_); }

 private:
  const std::string path_;
  const std::string section_;
  const bool demanded_;  // the user has named this profile
};

}  // namespace

std::vector<std::unique_ptr<CredentialSource>> file_sources(const S3Options& options,
                                                            const Environment& environment) {
  const std::string home = environment("HOME").value_or("/root");
  const bool demanded = !options.profile.empty();
  const std::string profile = demanded ? options.profile : "default";
  std::vector<std::unique_ptr<CredentialSource>> out;
  out.push_back(std::make_unique<FileSource>(
      environment("AWS_SHARED_CREDENTIALS_FILE").value_or(home + "/.aws/credentials"), profile,
      demanded));
  out.push_back(std::make_unique<FileSource>(
      environment("AWS_CONFIG_FILE").value_or(home + "/.aws/config"),
      profile == "default" ? profile : "profile " + profile, demanded));
  return out;
}

std::vector<std::unique_ptr<CredentialSource>> credential_sources(const S3Options& options,
                                                                  const Environment& environment,
                                                                  net::HttpClient& http) {
  std::vector<std::unique_ptr<CredentialSource>> out;
  auto files = file_sources(options, environment);
  // Who names a profile means it, whatever else the environment holds.
  if (!options.profile.empty()) return files;
  out.push_back(std::make_unique<EnvironmentSource>(environment));
  out.push_back(web_identity_source(options, environment, http));
  for (auto& file : files)
    out.push_back(std::move(file));
  out.push_back(container_source(environment, http));
  out.push_back(instance_source(environment, http));
  return out;
}

bool Credentials::is_fresh_locked() const {
  if (!current_) return false;
  const std::int64_t age_us = clock_.boot_us() - loaded_boot_us_;
  if (age_us < kRetryUs) return true;
  if (current_->expires_ms) return clock_.wall_ms() < *current_->expires_ms - kEarlyMs;
  return age_us < kLookAgainUs;
}

Status Credentials::load_locked() {
  for (const auto& source : sources_) {
    auto loaded = TRY(source->load());
    if (!loaded) continue;
    current_ = std::move(loaded);
    current_source_ = source->name();
    loaded_boot_us_ = clock_.boot_us();
    return {};
  }
  std::string names;
  for (const auto& source : sources_)
    names += (names.empty() ? "" : ", ") + source->name();
  return fail(ErrorCode::kUnauthenticated,
              fmt::format("no S3 credentials were found (looked at: {}); set AWS_ACCESS_KEY_ID and "
                          "AWS_SECRET_ACCESS_KEY",
                          names));
}

Result<LoadedKeys> Credentials::get() {
  const std::lock_guard lock(mutex_);
  if (!is_fresh_locked()) {
    const Status loaded = load_locked();
    if (!loaded && !current_) return fail(loaded.error());
    if (!loaded) {
      LOG_WARN("renewing the S3 credentials failed, going on with the old: {}",
               loaded.error().message);
      loaded_boot_us_ = clock_.boot_us();
    }
  }
  return *current_;
}

bool Credentials::refused(const AccessKeys& keys) {
  const std::lock_guard lock(mutex_);
  if (current_ && current_->keys != keys) return true;  // another thread was faster
  // Keys that are refused for another reason must not make every request ask a metadata service.
  const std::int64_t now_us = clock_.boot_us();
  if (asked_again_ && now_us - asked_again_boot_us_ < kAskAgainUs) return false;
  asked_again_ = true;
  asked_again_boot_us_ = now_us;
  const Status loaded = load_locked();
  if (!loaded) LOG_WARN("loading S3 credentials again failed: {}", loaded.error().message);
  return loaded && current_->keys != keys;
}

std::string Credentials::source_name() const {
  const std::lock_guard lock(mutex_);
  return current_source_;
}

}  // namespace loam::object
