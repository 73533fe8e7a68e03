// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/grant.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string kind;
  std::string owner;
  std::string pool;
  std::vector<std::string> grants;
  std::vector<std::string> ids;
  bool json = false;
};

Result<Json> token_request(const Options& options) {
  const bool pool = options.kind == "pool";
  const auto refuse = [&](std::string_view problem) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a token of kind {} {}", options.kind, problem));
  };
  if (pool && options.pool.empty()) return refuse("needs --pool");
  if (pool && !options.owner.empty()) return refuse("has no --owner");
  if (pool && !options.grants.empty()) return refuse("reaches no files: leave out --grant");
  if (!pool && options.owner.empty()) return refuse("needs --owner");
  if (!pool && !options.pool.empty()) return refuse("has no --pool");
  Json body{{"kind", options.kind}};
  if (pool) {
    body["pool"] = options.pool;
    return body;
  }
  body["owner"] = options.owner;
  if (options.grants.empty()) return body;
  body["grants"] = Json::array();
  for (const std::string& grant : options.grants)
    body["grants"].push_back(TRY(parse_grant(grant)));
  return body;
}

Result<int> create(const Options& options) {
  const Json body = TRY(token_request(options));
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json token = TRY(client.call("POST", "/v1/tokens", body, {}));
  if (options.json) {
    print_json(token);
  } else {
    print("{}\n", text_of(token, "token"));
  }
  note("token {}: it is shown this once; 'loam token revoke {}' ends it\n", text_of(token, "id"),
       text_of(token, "id"));
  return kExitOk;
}

Result<int> list(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json answer = TRY(client.get("/v1/tokens"));
  if (options.json) {
    print_json(answer);
    return kExitOk;
  }
  Table table({{"ID"}, {"KIND"}, {"OWNER"}, {"POOL"}, {"GRANTS"}, {"CREATED"}});
  for (const Json& token : member_of(answer, "tokens")) {
    table.add({{text_of(token, "id")},
               {text_of(token, "kind")},
               {text_of(token, "owner")},
               {text_of(token, "pool")},
               {grants_text(member_of(token, "grants"))},
               {text_of(token, "created")}});
  }
  print_table(table);
  return kExitOk;
}

Result<int> revoke(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  for (const std::string& id : options.ids) {
    TRY(client.call("DELETE", "/v1/tokens/" + percent_encode(id, false), Json(), {}));
    print("{} revoked\n", id);
  }
  return kExitOk;
}

void add_create(CLI::App& token, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = token.add_subcommand("create", "Make a token and print it");
  command->footer(
      "A user token submits jobs and reaches the store as its grants say: without --grant,\n"
      "/users/OWNER to read and write and /datasets to read. A pool token lets machines join the "
      "pool.\n"
      "\n"
      "Examples:\n"
      "  loam token create --kind user --owner ann\n"
      "  loam token create --kind user --owner ci --grant /datasets --grant /users/ci:rw\n"
      "  loam token create --kind pool --pool spot > pool-token");
  command->add_option("--kind", options->kind, "What it is for")
      ->required()
      ->check(CLI::IsMember({"user", "pool", "admin"}))
      ->option_text("user|pool|admin");
  command->add_option("--owner", options->owner, "Whose it is (user, admin)")->type_name("OWNER");
  command->add_option("--pool", options->pool, "The pool that nodes join with it")
      ->type_name("POOL");
  command->add_option("--grant", options->grants, "A path prefix of the store; may be given again")
      ->type_name("PREFIX[:rw]")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print JSON: {id, token}");
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("token create", create(*options)); });
}

void add_list(CLI::App& token, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = token.add_subcommand("list", "List the tokens, without their secrets");
  command->footer("Example:\n  loam token list");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("token list", list(*options)); });
}

void add_revoke(CLI::App& token, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = token.add_subcommand("revoke", "End tokens at once");
  command->footer("Example:\n  loam token revoke t-5c1v...");
  command->add_option("ID", options->ids, "The tokens, by the ids that 'loam token list' shows")
      ->required()
      ->option_text("...");
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("token revoke", revoke(*options)); });
}

}  // namespace

void add_token_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("token", "Make, list and revoke tokens (for the admin)");
  command->group(kOtherCommands);
  add_create(*command, exit_code);
  add_list(*command, exit_code);
  add_revoke(*command, exit_code);
  command->footer("Example:\n  loam token create --kind user --owner ann");
  command->require_subcommand(1);
}

}  // namespace loam::cli
