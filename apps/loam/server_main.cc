// SPDX-License-Identifier: Apache-2.0
#include "loam/server_main.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "api/context.h"
#include "api/routes.h"
#include "base/log.h"
#include "control/claim_desk.h"
#include "control/duties.h"
#include "control/event_hub.h"
#include "control/log_tail.h"
#include "control/namespace_keeper.h"
#include "control/nudges.h"
#include "control/peers.h"
#include "control/publisher.h"
#include "control/server_keys.h"
#include "control/server_session.h"
#include "control/services.h"
#include "control/shared_keys.h"
#include "control/sweeper.h"
#include "control/ticker.h"
#include "db/postgres_url.h"
#include "io/file.h"
#include "jobs/token.h"
#include "loam/database_place.h"
#include "loam/database_schema.h"
#include "loam/version.h"
#include "net/http_server.h"
#include "object/store_url.h"

namespace loam::cli {

namespace {

class LocalServer final : public ServerProcess {
 public:
  LocalServer(const ServerOptions& options, std::vector<io::Fd> locks,
              std::unique_ptr<db::Database> db, std::unique_ptr<object::ObjectStore> store,
              control::ServerKeys keys)
      : options_(options),
        locks_(std::move(locks)),
        db_(std::move(db)),
        store_(std::move(store)),
        keys_(std::move(keys)),
        services_{*db_, *store_, clock_, random_},
        name_(random_id(random_, "s-")),
        duties_(services_, name_),
        events_(services_),
        claims_(services_),
        logs_(services_),
        publisher_(services_, duties_, [this] { changed(); }),
        sweeper_(services_, duties_,
                 {.grace = options.sweep_grace,
                  .interval = std::min(options.sweep_grace, std::chrono::milliseconds(10'000))}),
        session_(services_, name_),
        keeper_(services_, duties_, {.grace = options.sweep_grace}),
        peers_(*db_, {events_, claims_, publisher_, nudges_}),
        ticker_(services_, duties_, [this] { changed(); }),
        context_{services_,
                 keys_,
                 events_,
                 claims_,
                 logs_,
                 nudges_,
                 publisher_,
                 peers_,
                 session_,
                 metrics_,
                 {.version = std::string(version()),
                  .node_heartbeat_ms = options.node_heartbeat.count(),
                  .node_ttl_ms = options.node_ttl.count(),
                  .group_commit = options.group_commit}} {}

  ~LocalServer() override { stop(); }

  Status listen() {
    auto router = std::make_shared<net::Router>();
    api::add_routes(*router, context_);
    http_ = TRY(net::HttpServer::start(
        std::move(router),
        {.address = options_.address, .port = options_.port, .tls = options_.tls}));
    return {};
  }

  std::uint16_t port() const override { return http_->port(); }
  std::string url() const override {
    const bool any = options_.address == "0.0.0.0" || options_.address == "::";
    return fmt::format("{}://{}:{}", options_.tls ? "https" : "http",
                       any ? "127.0.0.1" : options_.address, port());
  }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    peers_.stop();
    // What waits is answered first, so that closing the listener does not have to cut it off.
    claims_.stop();
    nudges_.stop();
    events_.stop();
    logs_.stop();
    if (http_) http_->stop(std::chrono::seconds(2));
    ticker_.stop();
    publisher_.stop();
    sweeper_.stop();
    keeper_.stop();
    session_.stop();
    duties_.leave();
  }

 private:
  void changed() {
    events_.poke();
    claims_.poke();
    publisher_.poke();
    peers_.changed();
  }

  const ServerOptions options_;
  const std::vector<io::Fd> locks_;  // one server per state directory and SQLite database
  const SystemClock clock_;
  SystemRandom random_;
  Metrics metrics_;
  std::unique_ptr<db::Database> db_;
  std::unique_ptr<object::ObjectStore> store_;
  const control::ServerKeys keys_;
  const control::Services services_;
  const std::string name_;  // of this process among the servers
  control::Duties duties_;
  control::EventHub events_;
  control::ClaimDesk claims_;
  control::LogTail logs_;
  control::Nudges nudges_;
  control::Publisher publisher_;
  control::Sweeper sweeper_;
  control::ServerSession session_;
  control::NamespaceKeeper keeper_;
  control::Peers peers_;
  control::Ticker ticker_;
  const api::ApiContext context_;
  std::unique_ptr<net::HttpServer> http_;
  bool stopped_ = false;
};

// A connection a node needs a descriptor each, and the usual soft limit is far below the hard one.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) LOG_WARN("cannot raise the limit on open files");
}

Result<io::Fd> lock_file(const std::string& path, std::string_view what) {
  io::Fd lock = TRY(io::open_file(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(
        ErrorCode::kConflict,
        fmt::format("another loam server is running on {}; stop it or choose another", what));
  }
  return lock;
}

Result<std::unique_ptr<object::ObjectStore>> open_store(const ServerOptions& options) {
  if (options.store.empty() && db::is_postgres_url(options.db)) {
    return fail(ErrorCode::kInvalidArgument,
                "with a PostgreSQL database name the --store: all its servers need the same one");
  }
  return object::open_store(options.store.empty() ? options.state_dir + "/store" : options.store);
}

// A token file is written before its hash is stored, so that a crash in between costs a file that
// is overwritten, and never a token that nobody knows.
Status ensure_token(db::Database& db, const std::string& path, const jobs::NewToken& token) {
  const SystemClock clock;
  SystemRandom random;
  if (const auto existing = io::read_file(path, 4'096)) {
    std::string secret = *existing;
    while (secret.ends_with('\n'))
      secret.pop_back();
    const auto known =
        db.read_value([&](db::Session& session) { return jobs::authenticate(session, secret); });
    if (known) return {};
  }
  const std::string secret =
      fmt::format("loam_{}_{}", jobs::token_kind_name(token.kind), random_token(random, 32));
  TRY_VOID(io::write_file_atomic(path, secret + "\n", 0600));
  return db.write([&](db::Session& session) -> Status {
    jobs::Operation op = TRY(jobs::Operation::begin(session, clock, random));
    TRY(jobs::issue_token(op, token, secret));
    return {};
  });
}

}  // namespace

std::string admin_token_path(const std::string& state_dir) {
  return state_dir + "/admin.token";
}
std::string pool_token_path(const std::string& state_dir) {
  return state_dir + "/pool.token";
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const ServerOptions& options) {
  raise_file_limit();
  TRY_VOID(io::make_directories(options.state_dir, 0700));
  std::vector<io::Fd> locks;
  locks.push_back(TRY(lock_file(options.state_dir + "/lock", options.state_dir)));
  const DatabasePlace place = TRY(
      database_place(options.db.empty() ? "sqlite:" + options.state_dir + "/loam.db" : options.db));
  if (!options.db.empty() && !place.sqlite_path.empty()) {
    locks.push_back(TRY(lock_file(place.sqlite_path + ".lock", place.sqlite_path)));
  }
  SystemRandom random;
  auto store = TRY(open_store(options));
  auto db = TRY(open_database(place));
  TRY_VOID(migrate_schemas(*db));
  auto keys = TRY(control::keys_of(
      *db, {.state_file = options.state_dir + "/server.key", .key_file = options.key_file},
      random));
  TRY_VOID(ensure_token(*db, admin_token_path(options.state_dir),
                        {.kind = jobs::TokenKind::kAdmin, .owner = "admin"}));
  TRY_VOID(ensure_token(*db, pool_token_path(options.state_dir),
                        {.kind = jobs::TokenKind::kPool, .pool = "default"}));
  auto server = std::make_unique<LocalServer>(options, std::move(locks), std::move(db),
                                              std::move(store), std::move(keys));
  TRY_VOID(server->listen());
  LOG_INFO("listening on {}", server->url());
  return std::unique_ptr<ServerProcess>(std::move(server));
}

}  // namespace loam::cli
