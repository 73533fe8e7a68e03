// SPDX-License-Identifier: Apache-2.0
#include "db/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/json.h"

namespace loam::db {

namespace {

constexpr std::string_view kFormat = "loam-database-dump";
constexpr std::int64_t kVersion = 2;
// The versions of the tables are not content; the header has them.
bool is_version_table(const std::string& name) {
  return name.ends_with("schema_version");
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "" : ", ") + word;
  return out;
}

Json to_json(const Value& value) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(std::int64_t v) const { return v; }
    Json operator()(double v) const { return v; }
    Json operator()(const std::string& v) const {
      return is_valid_utf8(v) ? Json(v) : Json{{"b64", base64_encode(v)}};
    }
  };
  return std::visit(Visitor{}, value);
}

Result<Value> from_json(const Json& json) {
  if (json.is_null()) return Value();
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  return Value(TRY(base64_decode(TRY(json_string(json, "b64")))));
}

// Each line but the last goes into the checksum that the last one holds.
class Lines {
 public:
  explicit Lines(const std::function<Status(const std::string&)>& line) : line_(line) {}
  Status add(const Json& json) {
    const std::string text = dump_json(json);
    sum_.update(std::as_bytes(std::span(text)));
    return line_(text);
  }
  Status end(std::int64_t rows) {
    return line_(dump_json({{"end", true}, {"rows", rows}, {"sha256", sum_.finish_hex()}}));
  }

 private:
  const std::function<Status(const std::string&)>& line_;
  Sha256 sum_;
};

tl::unexpected<Error> malformed(std::int64_t number, const std::string& why) {
  return fail(ErrorCode::kDataCorrupt, fmt::format("line {} of the dump: {}", number, why));
}

class Loader {
 public:
  Loader(Session& session, std::istream& in) : session_(session), in_(in) {}

  Result<std::int64_t> run(const Schemas& schemas, std::span<const std::string_view> seeded) {
    TRY_VOID(check_header(schemas));
    TRY_VOID(make_room(seeded));
    while (true) {
      const Json line = TRY(next());
      if (line.is_array()) {
        TRY_VOID(insert(line));
      } else if (line.is_object() && line.contains("table")) {
        TRY_VOID(begin_table(line));
      } else {
        return end(line);
      }
    }
  }

 private:
  // The next line; the checksum covers all that came before it.
  Result<Json> next() {
    if (!text_.empty()) sum_.update(std::as_bytes(std::span(text_)));
    ++number_;
    if (!std::getline(in_, text_)) return malformed(number_, "the dump ends too early");
    auto json = parse_json(text_);
    if (!json) return malformed(number_, json.error().message);
    return json;
  }

  Status check_header(const Schemas& schemas) {
    const Json header = TRY(next());
    if (!header.is_object() || header.value("format", "") != kFormat) {
      return malformed(number_, "this is no dump of a loam database");
    }
    if (TRY(json_int(header, "version")) != kVersion) {
      return fail(ErrorCode::kUnimplemented,
                  "the dump has a format that this version of loam "
                  "does not know");
    }
    const Json dumped = header.value("schemas", Json());
    if (dumped == Json(schemas)) return {};
    return fail(ErrorCode::kConflict,
                fmt::format("the dump has the schema versions {}, this program {}; load it with "
                            "the loam that wrote it",
                            dump_json(dumped), dump_json(Json(schemas))));
  }

  Status make_room(std::span<const std::string_view> seeded) {
    for (const Table& table : TRY(session_.tables())) {
      if (is_version_table(table.name)) continue;
      left_[table.name] = table.columns;
      if (std::find(seeded.begin(), seeded.end(), table.name) != seeded.end()) {
        TRY(session_.exec("DELETE FROM " + table.name));
      } else if (TRY(session_.row("SELECT 1 FROM " + table.name + " LIMIT 1"))) {
        return fail(ErrorCode::kConflict,
                    fmt::format("the database is in use (its table {} has rows); load into an "
                                "empty one",
                                table.name));
      }
    }
    return {};
  }

  Status begin_table(const Json& line) {
    const std::string name = TRY(json_string(line, "table"));
    const auto known = left_.find(name);
    std::vector<std::string> columns;
    for (const Json& column : line.value("columns", Json::array()))
      columns.push_back(column.is_string() ? column.get<std::string>() : "");
    if (known == left_.end() || known->second != columns) {
      return malformed(number_, fmt::format("the database has no table '{}' with these columns",
                                            printable(name)));
    }
    left_.erase(known);
    columns_ = columns.size();
    std::string marks;
    for (std::size_t i = 0; i < columns_; ++i)
      marks += i == 0 ? "?" : ", ?";
    insert_ = fmt::format("INSERT INTO {} ({}) VALUES ({})", name, joined(columns), marks);
    return {};
  }

  Status insert(const Json& line) {
    if (insert_.empty() || line.size() != columns_)
      return malformed(number_, "a row that fits no table");
    std::vector<Value> values;
    for (const Json& value : line) {
      auto one = from_json(value);
      if (!one) return malformed(number_, one.error().message);
      values.push_back(std::move(*one));
    }
    TRY(session_.execute(insert_, values));
    ++rows_;
    return {};
  }

  Result<std::int64_t> end(const Json& line) {
    if (!line.is_object() || !line.contains("end")) return malformed(number_, "what is this?");
    if (TRY(json_string(line, "sha256")) != sum_.finish_hex() ||
        TRY(json_int(line, "rows")) != rows_) {
      return malformed(number_, "the checksum does not match; the dump is damaged");
    }
    if (!left_.empty()) return malformed(number_, "it lacks the table " + left_.begin()->first);
    return rows_;
  }

  Session& session_;
  std::istream& in_;
  Sha256 sum_;
  std::string text_;
  std::int64_t number_ = 0;
  std::int64_t rows_ = 0;
  std::map<std::string, std::vector<std::string>> left_;  // tables that have not come yet
  std::string insert_;
  std::size_t columns_ = 0;
};

}  // namespace

Result<std::int64_t> dump(Database& database, const Schemas& schemas,
                          const std::function<Status(const std::string& line)>& line) {
  bool begun = false;
  return database.read_value([&](Session& session) -> Result<std::int64_t> {
    // A snapshot that was lost cannot be continued, and what was written stays written.
    if (std::exchange(begun, true)) {
      return fail(ErrorCode::kInternal, "the connection was lost; dump again");
    }
    Lines lines(line);
    TRY_VOID(lines.add({{"format", kFormat}, {"version", kVersion}, {"schemas", schemas}}));
    std::int64_t rows = 0;
    for (const Table& table : TRY(session.tables())) {
      if (is_version_table(table.name)) continue;
      TRY_VOID(lines.add({{"table", table.name}, {"columns", table.columns}}));
      const std::string columns = joined(table.columns);
      const std::string sql =
          fmt::format("SELECT {} FROM {} ORDER BY {}", columns, table.name, columns);
      TRY_VOID(session.for_each(sql, [&](const Row& row) -> Status {
        Json values = Json::array();
        for (std::size_t i = 0; i < row.size(); ++i)
          values.push_back(to_json(row.value(i)));
        ++rows;
        return lines.add(values);
      }));
    }
    TRY_VOID(lines.end(rows));
    return rows;
  });
}

Result<std::int64_t> load(Database& database, const Schemas& schemas,
                          std::span<const std::string_view> seeded,
                          const std::function<std::unique_ptr<std::istream>()>& open) {
  return database.write_value([&](Session& session) -> Result<std::int64_t> {
    const auto in = open();
    return Loader(session, *in).run(schemas, seeded);
  });
}

}  // namespace loam::db
