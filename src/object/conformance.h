// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "object/object_store.h"

namespace loam::object {

// Makes an empty store. What the store stands on (a directory, a server) goes into the deleter of
// the pointer, or beside it in one shared structure.
struct StoreFactory {
  std::string name;
  std::function<std::shared_ptr<ObjectStore>()> make;
  // Its ETags may be made of the content, as those of S3 are.
  bool etags_name_content = false;
  // Keeps keys as paths of a tree, as MinIO does: refuses "a//b" and "a/../b", and does not list
  // "a/b" beside "a".
  bool keeps_a_tree = false;
};
inline std::ostream& operator<<(std::ostream& out, const StoreFactory& factory) {
  return out << factory.name;
}

// The tests are in conformance_test.cc. Another store's test adds itself with
//   INSTANTIATE_TEST_SUITE_P(S3, StoreConformance, testing::Values(StoreFactory{"s3", make_s3}));
class StoreConformance : public testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override {
    store_ = GetParam().make();
    ASSERT_NE(store_, nullptr);
  }
  void put(const std::string& key, std::string_view bytes) {
    const auto info = put_bytes(*store_, key, bytes);
    ASSERT_TRUE(info) << info.error().to_string();
  }
  // The bytes, or the name of the error in angle brackets.
  std::string get(const std::string& key) {
    const auto bytes = get_bytes(*store_, key, 1 << 30);
    return bytes ? *bytes : "<" + std::string(error_code_name(bytes.error().code)) + ">";
  }

  std::shared_ptr<ObjectStore> store_;
};

}  // namespace loam::object
