// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>

#include "db/database_testing.h"

namespace loam::db::testing {

// The value, or an exception that fails the test with the error's text.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return std::move(*result);
}
inline void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().to_string());
}

// What a call failed with; kInternal with a failed expectation if it did not.
template <typename T>
ErrorCode code_of(const Result<T>& result) {
  if (!result) return result.error().code;
  ADD_FAILURE() << "the call was expected to fail";
  return ErrorCode::kInternal;
}

// A test's calls on a database: each in a transaction of its own, or several in one.
class Transactions {
 public:
  template <typename F>
  auto write(Database& database, F run) -> std::invoke_result_t<F, Session&> {
    if (open_ == nullptr) return database.write_value(std::move(run));
    must(open_->exec("SAVEPOINT test"));
    auto out = run(*open_);
    if (!out) must(open_->exec("ROLLBACK TO test"));
    must(open_->exec("RELEASE test"));
    return out;
  }
  template <typename F>
  auto read(Database& database, F run) -> std::invoke_result_t<F, Session&> {
    return open_ != nullptr ? run(*open_) : database.read_value(std::move(run));
  }
  // What `calls` writes shares one commit, a call that fails being undone alone as ever. Tests of
  // many small operations would else spend their time on the way to the writer's thread.
  void together(Database& database, const std::function<void()>& calls) {
    std::exception_ptr thrown;
    must(database.write([&](Session& session) -> Status {
      open_ = &session;
      try {
        calls();
      } catch (...) {
        thrown = std::current_exception();
      }
      open_ = nullptr;
      return {};
    }));
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  Session* open_ = nullptr;  // inside together()
};

}  // namespace loam::db::testing
