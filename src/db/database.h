// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace loam::db {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

inline Value to_value(std::nullptr_t) {
  return std::monostate{};
}
inline Value to_value(double value) {
  return value;
}
inline Value to_value(std::string value) {
  return value;
}
inline Value to_value(std::string_view value) {
  return std::string(value);
}
inline Value to_value(const char* value) {
  return std::string(value);
}
template <typename T>
requires std::is_integral_v<T> Value to_value(T value) {
  return static_cast<std::int64_t>(value);
}
template <typename T>
Value to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : Value{};
}

// One row of a result. Reading a column as another type than it has is a bug in the statement, so
// it fails a CHECK; NULL is read through the opt_ forms.
class Row {
 public:
  explicit Row(std::vector<Value> values) : values_(std::move(values)) {}
  std::size_t size() const { return values_.size(); }
  const Value& value(std::size_t column) const { return values_.at(column); }
  std::int64_t integer(std::size_t column) const;
  double real(std::size_t column) const;
  const std::string& text(std::size_t column) const;
  bool boolean(std::size_t column) const { return integer(column) != 0; }
  bool is_null(std::size_t column) const;
  std::optional<std::int64_t> opt_integer(std::size_t column) const;
  std::optional<std::string> opt_text(std::size_t column) const;

 private:
  std::vector<Value> values_;
};

struct Table {
  std::string name;
  std::vector<std::string> columns;
};

// A connection inside a transaction. Statements use '?' for their arguments and are prepared once
// per connection, so their text should be constant. Not for concurrent use, valid only during the
// operation it was given to. After a statement has failed, the operation has failed: it returns
// that error or undoes the statement with a savepoint.
//
// The SQL is what SQLite and PostgreSQL have in common. Columns are BIGINT, DOUBLE PRECISION or
// TEXT; TEXT holds any bytes and compares byte by byte on both (README.md).
class Session {
 public:
  virtual ~Session() = default;
  virtual Result<std::vector<Row>> query(std::string_view sql, std::span<const Value> args) = 0;
  // The number of rows changed.
  virtual Result<std::int64_t> execute(std::string_view sql, std::span<const Value> args) = 0;
  // As execute(), for a change whose count does not matter. It may travel with the next statement,
  // which sees it, and an error may show there or at the operation's end.
  virtual Status execute_later(std::string_view sql, std::span<const Value> args) {
    auto changed = execute(sql, args);
    if (!changed) return fail(std::move(changed).error());
    return {};
  }
  // Hands on the rows of a query without arguments one by one, for results that may not fit into
  // memory; an error of `each` ends it.
  virtual Status for_each(std::string_view sql, const std::function<Status(const Row&)>& each) = 0;
  // Every table of this database by name, its columns in the order of their declaration.
  virtual Result<std::vector<Table>> tables() = 0;

  template <typename... Args>
  Result<std::vector<Row>> rows(std::string_view sql, const Args&... args) {
    const std::vector<Value> values{to_value(args)...};
    return query(sql, values);
  }
  // The first row, if there is one.
  template <typename... Args>
  Result<std::optional<Row>> row(std::string_view sql, const Args&... args) {
    auto all = rows(sql, args...);
    if (!all) return fail(std::move(all).error());
    if (all->empty()) return std::optional<Row>();
    return std::optional<Row>(std::move(all->front()));
  }
  template <typename... Args>
  Result<std::int64_t> exec(std::string_view sql, const Args&... args) {
    const std::vector<Value> values{to_value(args)...};
    return execute(sql, values);
  }
  template <typename... Args>
  Status exec_later(std::string_view sql, const Args&... args) {
    const std::vector<Value> values{to_value(args)...};
    return execute_later(sql, values);
  }
};

using Operation = std::function<Status(Session&)>;

struct WriteOptions {
  // How long the operation may wait for others to share its commit. 0 commits as soon as the writer
  // is free; what has queued up meanwhile shares the commit anyway.
  std::chrono::milliseconds may_wait{0};
  // Whether this write counts as a crash point. Background ticks that change no promise do not.
  bool crash_point = true;
};

// A database. Any thread may call it. Writes of all programs over it run one after the other, each
// seeing all that were committed before it. An operation that returns an error leaves no trace; one
// that returns success has been committed durably when write() returns. Operations may run more
// than once or in another order than they were queued, so they touch nothing but their session and
// what they assign to their own results.
class Database {
 public:
  virtual ~Database() = default;
  // A consistent snapshot; writes fail.
  virtual Status read(const Operation& operation) = 0;
  virtual Status write(Operation operation, WriteOptions options = {}) = 0;
  // As write(), without waiting: `done` is called once from the writer thread and must not block.
  virtual void write_async(Operation operation, WriteOptions options,
                           std::function<void(Status)> done) = 0;

  // Whether other programs may work on this database beside this one.
  virtual bool shared() const { return false; }
  // Tells the other programs over this database something, soon and at most 4,000 bytes. A hint: it
  // may be lost, and does not wait for anything. Nothing on a database that is not shared.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it.
  virtual void broadcast(std::string /*message*/) {}
  // Calls `handler`, from one thread and without overlap, with what others broadcast. Set at most
  // once; an empty one ends it, and none is running when this returns.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it.
  virtual void on_broadcast(std::function<void(const std::string&)> /*handler*/) {}

  // read() and write() for operations with a value.
  template <typename F>
  auto read_value(F operation) -> std::invoke_result_t<F, Session&> {
    std::invoke_result_t<F, Session&> out = fail(ErrorCode::kInternal, "the operation did not run");
    const Status status = read([&](Session& s) -> Status {
      out = operation(s);
      return out ? Status() : Status(fail(out.error()));
    });
    if (!status) return fail(status.error());
    return out;
  }
  template <typename F>
  auto write_value(F operation, WriteOptions options = {}) -> std::invoke_result_t<F, Session&> {
    std::invoke_result_t<F, Session&> out = fail(ErrorCode::kInternal, "the operation did not run");
    const Status status = write(
        [&](Session& s) -> Status {
          out = operation(s);
          return out ? Status() : Status(fail(out.error()));
        },
        options);
    if (!status) return fail(status.error());
    return out;
  }
};

// A step of the schema; `sql` may hold several statements separated by ';'.
struct Migration {
  int version = 0;
  std::string_view sql;
};
// Brings the database to the last of `migrations` (ascending from 1), one transaction each. Refuses
// a database that is newer than this program (kConflict). Each folder with tables counts its own
// steps, in a table whose name ends in "schema_version".
Status migrate(Database& database, std::span<const Migration> migrations,
               const std::string& version_table = "schema_version");

}  // namespace loam::db
