// SPDX-License-Identifier: Apache-2.0
#include "meta/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "meta/ancestry.h"

namespace loam::meta {

namespace {

constexpr std::int64_t kLastClass = 63;
constexpr std::int64_t kMaxHits = 10'000;

// Answers for the directories of one call; files of one directory ask once.
class Below {
 public:
  Below(db::Session& session, std::int64_t root) : session_(session), root_(root) {}
  Result<bool> contains(std::int64_t directory) {
    const auto known = known_.find(directory);
    if (known != known_.end()) return known->second;
    const bool inside = TRY(is_within(session_, directory, root_));
    known_.emplace(directory, inside);
    return inside;
  }

 private:
  db::Session& session_;
  std::int64_t root_;
  std::unordered_map<std::int64_t, bool> known_;
};

Result<std::vector<db::Row>> candidates(db::Session& session, const FindQuery& query,
                                        const FindPosition& after, std::int64_t limit) {
  static const std::string kSql = fmt::format(
      "SELECT d.parent, {} FROM inode i JOIN dentry d ON d.id = i.home WHERE i.type = 1 AND "
      "i.size_class = ? AND i.mtime_ns <= ? AND i.size >= ? AND "
      "(i.mtime_ns, i.size, i.id) > (?, ?, ?) ORDER BY i.mtime_ns, i.size, i.id LIMIT ?",
      kAttributeColumns);
  return session.rows(kSql, after.size_class, query.max_mtime_ns, query.min_size, after.mtime_ns,
                      after.size, after.inode, limit);
}

}  // namespace

Result<FindAnswer> find_files(db::Session& session, const FindQuery& query) {
  TRY(get_directory(session, query.directory));
  const auto limit = static_cast<std::size_t>(std::clamp<std::int64_t>(query.limit, 1, kMaxHits));
  FindAnswer out;
  Below below(session, query.directory);
  FindPosition position = query.after;
  const std::int64_t first = size_class(std::max<std::int64_t>(query.min_size, 0));
  if (position.size_class < first) position = {.size_class = first};
  std::int64_t left = kMaxExamined;
  while (position.size_class <= kLastClass) {
    // Below the root everything is a hit, so no more is read than asked for.
    const std::int64_t page = std::min<std::int64_t>(
        left, query.directory == kRootInode ? static_cast<std::int64_t>(limit) : 1'000);
    const auto rows = TRY(candidates(session, query, position, page));
    for (const db::Row& row : rows) {
      const Attributes file = attributes_from(row, 1);
      position = {position.size_class, file.mtime_ns, file.size, file.inode};
      if (!TRY(below.contains(row.integer(0)))) continue;
      out.hits.push_back({TRY(path_of(session, file.inode)), file});
      if (out.hits.size() == limit) break;
    }
    left -= static_cast<std::int64_t>(rows.size());
    if (out.hits.size() == limit || left <= 0) {
      out.next = position;
      return out;
    }
    if (static_cast<std::int64_t>(rows.size()) < page) {
      position = {.size_class = position.size_class + 1};
    }
  }
  return out;
}

}  // namespace loam::meta
