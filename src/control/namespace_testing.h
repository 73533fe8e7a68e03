// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "control/content_reader.h"
#include "control/file_content.h"
#include "control/meta_operation.h"
#include "jobs/jobs_testing.h"
#include "meta/check.h"
#include "meta/schema.h"
#include "object/faulty_store.h"
#include "object/memory_store.h"

namespace loam::control::testing {

using jobs::testing::code_of;
using jobs::testing::must;

// A server's view of a namespace over a store in memory that fails when it is told to.
class NamespaceWorld {
 public:
  NamespaceWorld()
      : store(memory, 1),
        services{jobs_world.db(), store, jobs_world.clock, jobs_world.random},
        session((must(meta::migrate_schema(jobs_world.db())), services), "server") {}

  template <typename F>
  auto write(F operation) {
    return write_meta(services, std::move(operation));
  }
  Result<FsPath> find(const std::string& path, LastLink last = LastLink::kFollow) {
    return services.read([&](db::Session& s) { return resolve_existing(s, path, last); });
  }
  static PutContent at(const std::string& path) {
    PutContent out{.path = path};
    out.may_write = [](const std::string&) { return Status(); };
    return out;
  }
  Result<PutDone> put(const PutContent& request, const std::string& bytes) {
    return put_content(services, session, request, object::source_from(bytes));
  }
  Result<PutDone> put(const std::string& path, const std::string& bytes) {
    return put(at(path), bytes);
  }
  Result<std::string> get(const std::string& path, object::ByteRange range = {}) {
    const FsPath found = TRY(find(path));
    auto file = TRY(
        services.read([&](db::Session& s) { return meta::open_file(s, found.attributes->inode); }));
    range = TRY(object::resolve_range(range, file.attributes.size));
    auto reader = TRY(ContentReader::open(store, std::move(file), range));
    std::string out;
    std::array<std::byte, 100'000> buffer{};
    while (const std::size_t n = TRY(reader.read(buffer)))
      out.append(reinterpret_cast<const char*>(buffer.data()), n);
    return out;
  }
  // Every key in the store.
  std::string keys() {
    std::string out;
    must(object::for_each_object(memory, "", [&](const object::ObjectInfo& info) -> Status {
      out += info.key + "\n";
      return {};
    }));
    return out;
  }
  std::string problems() {
    std::string out;
    for (const std::string& line :
         must(services.read([](db::Session& s) { return meta::check_namespace(s); })))
      out += line + "\n";
    return out;
  }

  jobs::testing::World jobs_world;
  object::MemoryStore memory;
  object::FaultyStore store;
  const Services services;
  ServerSession session;
};

}  // namespace loam::control::testing
