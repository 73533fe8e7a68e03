// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/openapi_document.h"
#include "api/routes.h"
#include "control/duties.h"
#include "control/peers.h"
#include "db/sqlite_database.h"
#include "io/temp_directory.h"
#include "object/memory_store.h"

namespace loam::api {
namespace {

using ::testing::ElementsAreArray;

// What the routes are added with; none of it is called.
class OpenApiTest : public ::testing::Test {
 protected:
  OpenApiTest()
      : db_(*db::open_sqlite({.path = directory_ / "db"})),
        services_{*db_, store_, clock_, random_},
        keys_(*control::ServerKeys::load_or_create(directory_ / "key", random_)),
        duties_(services_, "server"),
        events_(services_),
        claims_(services_),
        logs_(services_),
        publisher_(services_, duties_, [] {}),
        peers_(*db_, {events_, claims_, publisher_, nudges_}),
        session_(services_, "server"),
        context_{services_,  keys_,  events_,  claims_,  logs_, nudges_,
                 publisher_, peers_, session_, metrics_, {}} {
    add_routes(router_, context_);
    auto parsed = parse_json(openapi_document());
    if (parsed) document_ = std::move(*parsed);
  }

  // "GET /v1/jobs/{job}" of every route. OpenAPI has no name for a path's rest, "{name...}" here.
  std::set<std::string> routed() const {
    std::set<std::string> out;
    for (auto [method, pattern] : router_.list()) {
      if (const auto dots = pattern.find("..."); dots != std::string::npos) pattern.erase(dots, 3);
      out.insert(method + " " + pattern);
    }
    return out;
  }

  std::set<std::string> documented() const {
    std::set<std::string> out;
    for (const auto& [path, operations] : document_.at("paths").items()) {
      for (const auto& [method, operation] : operations.items()) {
        std::string name = method;
        for (char& c : name)
          c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        out.insert(name + " " + path);
      }
    }
    return out;
  }

  io::TempDirectory directory_;
  SystemClock clock_;
  SystemRandom random_;
  Metrics metrics_;
  object::MemoryStore store_;
  std::unique_ptr<db::Database> db_;
  control::Services services_;
  control::ServerKeys keys_;
  control::Duties duties_;
  control::EventHub events_;
  control::ClaimDesk claims_;
  control::LogTail logs_;
  control::Nudges nudges_;
  control::Publisher publisher_;
  control::Peers peers_;
  control::ServerSession session_;
  ApiContext context_;
  net::Router router_;
  Json document_;
};

TEST_F(OpenApiTest, DescribesEveryRouteAndNoOther) {
  ASSERT_GT(routed().size(), 40U);
  EXPECT_THAT(documented(), ElementsAreArray(routed()));
}

// "#/components/schemas/Job" and the like.
void collect_references(const Json& node, std::set<std::string>& out) {
  if (node.is_object() && node.contains("$ref")) out.insert(node.at("$ref").get<std::string>());
  if (node.is_structured()) {
    for (const Json& inner : node)
      collect_references(inner, out);
  }
}

TEST_F(OpenApiTest, EveryReferenceLeadsSomewhere) {
  std::set<std::string> references;
  collect_references(document_, references);
  ASSERT_GT(references.size(), 10U);
  for (const std::string& reference : references) {
    ASSERT_EQ(reference.front(), '#') << reference;
    EXPECT_TRUE(document_.contains(Json::json_pointer(reference.substr(1)))) << reference;
  }
}

TEST_F(OpenApiTest, EveryOperationHasANameItsPathParametersAndItsFaults) {
  std::set<std::string> names;
  for (const auto& [path, operations] : document_.at("paths").items()) {
    std::set<std::string> wanted;
    for (std::size_t open = path.find('{'); open != std::string::npos;
         open = path.find('{', open + 1)) {
      wanted.insert(path.substr(open + 1, path.find('}', open) - open - 1));
    }
    for (const auto& [method, operation] : operations.items()) {
      EXPECT_TRUE(names.insert(operation.at("operationId").get<std::string>()).second) << path;
      std::set<std::string> declared;
      for (Json parameter : operation.value("parameters", Json::array())) {
        if (parameter.contains("$ref")) {
          parameter =
              document_.at(Json::json_pointer(parameter.at("$ref").get<std::string>().substr(1)));
        }
        if (parameter.at("in") == "path") declared.insert(parameter.at("name").get<std::string>());
      }
      EXPECT_EQ(declared, wanted) << method << ' ' << path;
      const bool open = operation.at("security").empty();
      for (const char* status : {"400", "500", "401", "403"}) {
        const bool always = *status != '4' || std::string(status) == "400";
        EXPECT_EQ(operation.at("responses").contains(status), always || !open)
            << method << ' ' << path << ' ' << status;
      }
    }
  }
}

}  // namespace
}  // namespace loam::api
