// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "base/log.h"
#include "db/dump.h"
#include "io/file.h"
#include "loam/commands.h"
#include "loam/database_place.h"
#include "loam/database_schema.h"
#include "loam/exit_code.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

struct Options {
  std::string file;
  std::string db;
};

// A temporary name, renamed when it is whole: a dump is there or not.
Result<std::int64_t> write_dump(db::Database& database, const std::string& path) {
  const std::string partial = path + ".partial";
  const io::Fd fd = TRY(io::open_file(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::string buffer;
  const std::int64_t rows =
      TRY(db::dump(database, schema_versions(), [&](const std::string& line) -> Status {
        buffer += line;
        buffer += '\n';
        if (buffer.size() < kBufferBytes) return {};
        TRY_VOID(io::write_all(fd.get(), std::as_bytes(std::span(buffer))));
        buffer.clear();
        return {};
      }));
  TRY_VOID(io::write_all(fd.get(), std::as_bytes(std::span(buffer))));
  TRY_VOID(io::sync_file(fd.get(), partial));
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    return fail(io::error_from_errno(errno, "rename " + partial));
  }
  return rows;
}

Result<std::int64_t> dump_database(const Options& options) {
  const DatabasePlace place = TRY(database_place(options.db));
  if (!place.sqlite_path.empty() && access(place.sqlite_path.c_str(), F_OK) != 0) {
    return fail(ErrorCode::kNotFound, "there is no database " + place.sqlite_path);
  }
  const auto database = TRY(open_database(place));
  TRY_VOID(migrate_schemas(*database));
  return write_dump(*database, options.file);
}

Result<std::int64_t> load_database(const Options& options) {
  if (access(options.file.c_str(), R_OK) != 0) {
    return fail(ErrorCode::kNotFound, "there is no dump " + options.file);
  }
  const auto database = TRY(open_database(TRY(database_place(options.db))));
  TRY_VOID(migrate_schemas(*database));
  return db::load(*database, schema_versions(), seeded_tables(),
                  [&] { return std::make_unique<std::ifstream>(options.file); });
}

int run(const Options& options, Result<std::int64_t> (*operation)(const Options&),
        std::string_view verb) {
  log_setup({.file = "", .component = "db"});
  const auto rows = operation(options);
  if (!rows) {
    note("loam: {}\n", rows.error().message);
    return rows.error().code == ErrorCode::kInvalidArgument ? kExitUsage : 1;
  }
  print("{} {} rows\n", verb, *rows);
  return kExitOk;
}

}  // namespace

void add_db_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("db", "Move a server's database between SQLite and PostgreSQL");
  command->group(kMachineCommands);
  const auto add = [&](const char* name, const char* what, const char* verb,
                       Result<std::int64_t> (*operation)(const Options&)) {
    auto options = std::make_shared<Options>();
    CLI::App* part = command->add_subcommand(name, what);
    part->add_option("FILE", options->file, "The dump; it holds secrets, as the database does")
        ->required();
    part->add_option("--db", options->db, "sqlite:PATH or postgresql://USER@HOST/DATABASE")
        ->envname("LOAM_DB")
        ->required();
    part->callback(
        [options, operation, verb, &exit_code] { exit_code = run(*options, operation, verb); });
  };
  add("dump", "Write the whole database to a file; servers may run meanwhile", "dumped",
      dump_database);
  add("load", "Read a dump into a new database; one that is in use is refused", "loaded",
      load_database);
  command->require_subcommand(1);
  command->footer(
      "From SQLite to PostgreSQL: stop the server, dump, load, and start it on the new database "
      "with\n"
      "the same --state-dir, whose server.key opens the stored secrets.\n\n"
      "Examples:\n"
      "  loam db dump loam.dump --db sqlite:/var/lib/loam/loam.db\n"
      "  loam db load loam.dump --db postgresql://loam@db.example/loam");
}

}  // namespace loam::cli
