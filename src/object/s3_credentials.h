// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_client.h"
#include "object/s3_options.h"
#include "object/sigv4.h"

namespace loam::object {

struct LoadedKeys {
  AccessKeys keys;
  std::optional<std::int64_t> expires_ms;  // wall time; none if nothing is known
};

// One place where credentials can come from. One thread at a time.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Nothing if this source is not configured here; an error if it is but does not work.
  virtual Result<std::optional<LoadedKeys>> load() = 0;
  virtual std::string name() const = 0;
};

// In the order in which the AWS tools look: environment, web identity, shared files, container
// endpoint, instance metadata. `http` and what `environment` refers to must outlive the sources.
std::vector<std::unique_ptr<CredentialSource>> credential_sources(const S3Options& options,
                                                                  const Environment& environment,
                                                                  net::HttpClient& http);
// Parts of the above; the second lives in s3_credentials_http.cc.
std::vector<std::unique_ptr<CredentialSource>> file_sources(const S3Options& options,
                                                            const Environment& environment);
std::unique_ptr<CredentialSource> web_identity_source(const S3Options& options,
                                                      const Environment& environment,
                                                      net::HttpClient& http);
std::unique_ptr<CredentialSource> container_source(const Environment& environment,
                                                   net::HttpClient& http);
std::unique_ptr<CredentialSource> instance_source(const Environment& environment,
                                                  net::HttpClient& http);

// The keys in use: from the first source that has any, loaded again a few minutes before they
// expire, every few minutes where that is not known, and at once after the server has called them
// expired. While loading again fails the old ones serve on. Any thread.
class Credentials {
 public:
  Credentials(std::vector<std::unique_ptr<CredentialSource>> sources, const Clock& clock)
      : sources_(std::move(sources)), clock_(clock) {}

  Result<LoadedKeys> get();
  // The server has refused these as expired or unknown. True if others are at hand now.
  bool refused(const AccessKeys& keys);
  // "environment"; "nothing" before the first get().
  std::string source_name() const;

 private:
  Status load_locked();
  bool is_fresh_locked() const;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CredentialSource>> sources_;
  const Clock& clock_;
  std::optional<LoadedKeys> current_;
  std::string current_source_ = "nothing";
  std::int64_t loaded_boot_us_ = 0;
  bool asked_again_ = false;
  std::int64_t asked_again_boot_us_ = 0;
};

}  // namespace loam::object
