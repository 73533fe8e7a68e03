// SPDX-License-Identifier: Apache-2.0
#include "control/shared_keys.h"

#include "base/clock.h"
#include "io/file.h"
#include "jobs/setting.h"

namespace loam::control {

namespace {

constexpr const char* kSetting = "server_key";
constexpr std::string_view kKey = "key:";
constexpr std::string_view kFingerprint = "fingerprint:";

Result<std::optional<std::string>> stored(db::Database& database) {
  return database.read_value([](db::Session& s) { return jobs::setting(s, kSetting); });
}

template <typename F>
Status write(db::Database& database, Random& random, F operation) {
  const SystemClock clock;
  return database.write([&](db::Session& session) -> Status {
    jobs::Operation op = TRY(jobs::Operation::begin(session, clock, random));
    return operation(op);
  });
}

Result<ServerKeys> own_keys(db::Database& database, const std::string& file, Random& random) {
  const auto loaded = TRY(stored(database));
  if (loaded && loaded->starts_with(kKey)) {
    const std::string text = loaded->substr(kKey.size());
    const auto existing = io::read_file(file, 4'096);
    if (!existing && existing.error().code != ErrorCode::kNotFound) return fail(existing.error());
    if (!existing) TRY_VOID(io::write_file_atomic(file, text + "\n", 0600));
    if (existing && TRY(ServerKeys::parse(*existing, file)).text() != text) {
      return fail(ErrorCode::kConflict,
                  file + " is another key than the database was loaded with; move it away");
    }
    TRY_VOID(write(database, random,
                   [](jobs::Operation& op) { return jobs::remove_setting(op, kSetting); }));
  }
  return ServerKeys::load_or_create(file, random);
}

// Two servers may start at once: what the transaction finds is what counts.
Result<std::string> agree(db::Database& database, const std::string& mine, Random& random) {
  std::string agreed;
  TRY_VOID(write(database, random, [&](jobs::Operation& op) -> Status {
    const auto present = TRY(jobs::setting(op.session, kSetting));
    agreed = present.value_or(mine);
    return present ? Status() : jobs::set_setting(op, kSetting, mine);
  }));
  return agreed;
}

Result<ServerKeys> keys_from_file(db::Database& database, const std::string& file, Random& random) {
  ServerKeys keys = TRY(ServerKeys::parse(TRY(io::read_file(file, 4'096)), file));
  const std::string mine = std::string(kFingerprint) + keys.fingerprint();
  const std::string agreed = TRY(agree(database, mine, random));
  if (agreed == mine) return keys;
  return fail(ErrorCode::kConflict,
              file + (agreed.starts_with(kKey)
                          ? " cannot be used: this database holds its key itself"
                          : " is another key than the other servers of this database use"));
}

}  // namespace

Result<ServerKeys> keys_of(db::Database& database, const KeyPlace& place, Random& random) {
  if (!place.key_file.empty()) return keys_from_file(database, place.key_file, random);
  if (!database.shared()) return own_keys(database, place.state_file, random);
  std::string mine = random_token(random, 32);
  if (const auto earlier = io::read_file(place.state_file, 4'096)) {
    mine = TRY(ServerKeys::parse(*earlier, place.state_file)).text();
  }
  const std::string agreed = TRY(agree(database, std::string(kKey) + mine, random));
  if (agreed.starts_with(kKey)) {
    return ServerKeys::parse(agreed.substr(kKey.size()), "the database's key");
  }
  return fail(ErrorCode::kConflict,
              "the servers of this database keep their key in a file; name it with --key-file");
}

}  // namespace loam::control
