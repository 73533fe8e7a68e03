// SPDX-License-Identifier: Apache-2.0
// Random operations on every store against a std::map, with keys made to get in each other's way.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "io/temp_directory.h"
#include "object/dir_store.h"
#include "object/faulty_store.h"
#include "object/memory_store.h"

namespace loam::object {
namespace {

using Model = std::map<std::string, std::string>;

const std::vector<std::string>& odd_segments() {
  static const std::vector<std::string> segments = {
      "a", "b", "a-b", "a0", "A", "", ".", "..", "...", "%", "%2F", "a%object", "%object", "%more",
      "a%more", ".loam-tmp", "lock", "\x01", "\n", "\x7f", "\xff\xfe", "\xc3\xa9", " ", "con:*?\\",
      // Around the length at which a segment is cut, and beyond, with neighbours on both sides.
      std::string(239, 'x'), std::string(240, 'x'), std::string(241, 'x'),
      std::string(240, 'x') + "y", std::string(240, 'x') + "\x01", std::string(300, 'x'),
      std::string(238, 'x') + "\x02z", std::string(239, 'x') + "\xff", std::string(400, '\x03'),
      std::string(85, '\x04'), std::string(500, 'x')};
  return segments;
}

rc::Gen<std::string> gen_key() {
  // Few distinct keys, so that operations meet.
  return rc::gen::map(
      rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
                             rc::gen::oneOf(rc::gen::element<std::string>("a", "b", "", "a-b"),
                                            rc::gen::elementOf(odd_segments()))))),
      [](const std::vector<std::string>& segments) {
        std::string key;
        for (const std::string& segment : segments)
          key += (key.empty() ? "" : "/") + segment;
        if (key.empty()) key = "/";
        return key.substr(0, kMaxKeyBytes);
      });
}

// What list() must say, computed the slow way.
ListPage expected_page(const Model& model, const std::string& prefix, const ListOptions& options) {
  ListPage page;
  std::string last;
  for (const auto& [key, bytes] : model) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t slash = options.delimiter ? key.find('/', prefix.size()) : std::string::npos;
    const std::string name = slash == std::string::npos ? key : key.substr(0, slash + 1);
    if (name <= options.after || (!page.prefixes.empty() && page.prefixes.back() == name)) continue;
    if (page.objects.size() + page.prefixes.size() == options.limit) {
      page.next_after = last;
      break;
    }
    last = name;
    if (slash == std::string::npos) {
      page.objects.push_back({key, static_cast<std::int64_t>(bytes.size()), "", 0});
    } else {
      page.prefixes.push_back(name);
    }
  }
  return page;
}

void check_list_against(ObjectStore& store, const Model& model) {
  const std::string some_key = *gen_key();
  std::string prefix = *rc::gen::element<std::string>("", some_key, some_key + "/", "a/", "a");
  prefix = prefix.substr(0, *rc::gen::inRange<std::size_t>(0, prefix.size() + 1));
  if (prefix.size() > kMaxKeyBytes) prefix.resize(kMaxKeyBytes);
  ListOptions options;
  options.limit = *rc::gen::element<std::size_t>(1, 2, 3, 1000);
  options.delimiter = *rc::gen::arbitrary<bool>();
  options.after = *rc::gen::oneOf(rc::gen::just(std::string()), gen_key());
  const ListPage expected = expected_page(model, prefix, options);
  const auto page = store.list(prefix, options);
  RC_ASSERT(page.has_value());
  RC_ASSERT(page->prefixes == expected.prefixes);
  RC_ASSERT(page->next_after == expected.next_after);
  RC_ASSERT(page->objects.size() == expected.objects.size());
  for (std::size_t i = 0; i < expected.objects.size(); ++i) {
    RC_ASSERT(page->objects[i].key == expected.objects[i].key);
    RC_ASSERT(page->objects[i].size == expected.objects[i].size);
  }
}

void step(ObjectStore& store, Model& model) {
  const std::string key = *gen_key();
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
    case 1:
    case 2: {
      const auto bytes = *rc::gen::arbitrary<std::string>();
      PutOptions options;
      options.if_absent = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
      const auto info = store.put(key, source_from(bytes), options);
      const bool refused = options.if_absent && model.contains(key);
      RC_ASSERT(info.has_value() == !refused);
      if (info) model[key] = bytes;
      break;
    }
    case 3:
    case 4: {
      RC_ASSERT(store.remove(key).has_value());
      model.erase(key);
      break;
    }
    case 5: {
      const std::string to = *gen_key();
      const bool there = model.contains(key);
      RC_ASSERT(store.copy(key, to).has_value() == there);
      if (there) model[to] = std::string(model[key]);
      break;
    }
    default:
      check_list_against(store, model);
  }
}

void check_same(ObjectStore& store, const Model& model) {
  Model seen;
  const Status visited = for_each_object(store, "", [&](const ObjectInfo& object) -> Status {
    seen[object.key] = TRY(get_bytes(store, object.key, 1 << 20));
    return {};
  });
  RC_ASSERT(visited.has_value());
  RC_ASSERT(seen == model);
}

void run(ObjectStore& store) {
  Model model;
  const int steps = *rc::gen::inRange(1, 30);
  for (int i = 0; i < steps; ++i)
    step(store, model);
  check_same(store, model);
  for (const auto& [key, bytes] : model)
    RC_ASSERT(store.remove(key).has_value());
  check_same(store, {});
}

TEST(StoreModel, MemoryStore) {
  EXPECT_TRUE(rc::check([] {
    MemoryStore store;
    run(store);
  }));
}

TEST(StoreModel, DirStore) {
  EXPECT_TRUE(rc::check([] {
    const io::TempDirectory directory;
    const auto store = DirStore::open(directory.path());
    RC_ASSERT(store.has_value());
    run(**store);
    // Nothing is left behind: directories go with their last object.
    const io::Tree tree = io::list_tree(directory.path(), 10).value();
    RC_ASSERT(tree.files.size() == 1U);
    RC_ASSERT(tree.files[0].path == ".loam-tmp/lock");
  }));
}

TEST(StoreModel, FileNamesAreReversible) {
  EXPECT_TRUE(rc::check([](const std::string& segment) {
    RC_PRE(segment.find('\0') == std::string::npos && segment.find('/') == std::string::npos);
    RC_ASSERT(decode_segment(encode_segment(segment)) == segment);
  }));
  EXPECT_TRUE(rc::check([](const std::string& name) {
    const auto segment = decode_segment(name);
    if (segment) RC_ASSERT(encode_segment(*segment) == name);
  }));
}

}  // namespace
}  // namespace loam::object
