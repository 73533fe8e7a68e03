// SPDX-License-Identifier: Apache-2.0
#include "meta/check.h"

#include <fmt/format.h>

#include <array>

namespace loam::meta {

namespace {

struct Rule {
  std::string_view broken;  // what a row of the query is
  std::string_view sql;     // yields one number of what is concerned
};

constexpr std::array kTreeRules{
    Rule{"dentry whose parent is no directory",
         "SELECT d.id FROM dentry d LEFT JOIN inode p ON p.id = d.parent WHERE p.id IS NULL OR "
         "p.type <> 2"},
    Rule{"dentry without an inode",
         "SELECT d.id FROM dentry d LEFT JOIN inode i ON i.id = d.inode WHERE i.id IS NULL"},
    Rule{"inode whose home is not its own",
         "SELECT i.id FROM inode i LEFT JOIN dentry d ON d.id = i.home WHERE i.id <> 1 AND i.nlink "
         "> "
         "0 AND (d.id IS NULL OR d.inode <> i.id OR d.extra <> 0)"},
    Rule{"inode with several homes",
         "SELECT inode FROM dentry WHERE extra = 0 GROUP BY inode HAVING count(*) <> 1"},
    Rule{"inode with a wrong link count",
         "SELECT i.id FROM inode i LEFT JOIN (SELECT inode, count(*) AS n FROM dentry GROUP BY "
         "inode) c ON c.inode = i.id WHERE i.type <> 2 AND i.nlink <> coalesce(c.n, 0)"},
    Rule{"directory with a wrong link count",
         "SELECT i.id FROM inode i LEFT JOIN (SELECT d.parent, count(*) AS n FROM dentry d JOIN "
         "inode s ON s.id = d.inode WHERE s.type = 2 GROUP BY d.parent) c ON c.parent = i.id WHERE "
         "i.type = 2 AND i.nlink <> 2 + coalesce(c.n, 0)"},
    Rule{
        "directory with several names",
        "SELECT d.inode FROM dentry d JOIN inode i ON i.id = d.inode WHERE i.type = 2 AND (d.extra "
        "<> 0 OR i.id = 1)"},
    Rule{
        "directory that is not below the root",
        "WITH RECURSIVE down (dir) AS (SELECT id FROM inode WHERE id = 1 UNION SELECT d.inode FROM "
        "down JOIN dentry d ON d.parent = down.dir JOIN inode i ON i.id = d.inode WHERE i.type = "
        "2) "
        "SELECT id FROM inode WHERE type = 2 AND id NOT IN (SELECT dir FROM down)"},
    Rule{"inode without links that is no orphan",
         "SELECT i.id FROM inode i LEFT JOIN orphan r ON r.inode = i.id WHERE (i.nlink = 0) <> "
         "(r.inode IS NOT NULL)"},
    Rule{"orphan without an inode",
         "SELECT r.inode FROM orphan r LEFT JOIN inode i ON i.id = r.inode WHERE i.id IS NULL"},
    Rule{"symbolic link without a target, or a target without one",
         "SELECT coalesce(i.id, s.inode) FROM inode i LEFT JOIN symlink s ON s.inode = i.id WHERE "
         "(i.type = 3) <> (s.inode IS NOT NULL)"},
    Rule{"inode in the wrong size class",
         "SELECT id FROM inode WHERE (size = 0 AND size_class <> 0) OR (size > 0 AND size_class < "
         "63 AND (size >> CAST(size_class AS INTEGER) <> 0 OR size >> CAST(size_class - 1 AS "
         "INTEGER) = 0))"},
    // A directory's usage and delta are what its entries count and what the directories in it have
    // handed up: true before folding as well as after.
    Rule{"directory whose usage does not add up",
         "SELECT p.id FROM inode p LEFT JOIN (SELECT d.parent, sum(CASE WHEN i.type = 2 THEN "
         "coalesce(u.bytes, 0) ELSE i.size END) AS bytes, sum(1 + coalesce(u.files, 0)) AS files "
         "FROM dentry d JOIN inode i ON i.id = d.inode LEFT JOIN usage u ON u.dir = i.id WHERE "
         "d.extra = 0 GROUP BY d.parent) c ON c.parent = p.id LEFT JOIN usage u ON u.dir = p.id "
         "LEFT "
         "JOIN usage_delta w ON w.dir = p.id AND w.folding = 0 WHERE p.type = 2 AND "
         "(coalesce(u.bytes, 0) + coalesce(w.bytes, 0) <> coalesce(c.bytes, 0) OR "
         "coalesce(u.files, 0) + coalesce(w.files, 0) <> coalesce(c.files, 0))"},
    Rule{"usage of what is no directory",
         "SELECT u.dir FROM (SELECT dir FROM usage UNION SELECT dir FROM usage_delta UNION SELECT "
         "dir FROM policy UNION SELECT dir FROM quota) u LEFT JOIN inode i ON i.id = u.dir AND "
         "i.type = 2 WHERE i.id IS NULL"},
    Rule{"number beyond the last one given out",
         "SELECT n.change FROM namespace n WHERE n.inode < (SELECT max(id) FROM inode) OR n.dentry "
         "< "
         "(SELECT coalesce(max(id), 0) FROM dentry) OR n.object < (SELECT coalesce(max(number), 0) "
         "FROM object) OR n.change < (SELECT coalesce(max(id), 0) FROM change)"},
};

constexpr std::array kContentRules{
    Rule{"extent whose object is missing, retired or another file's",
         "SELECT e.inode FROM extent e LEFT JOIN object o ON o.number = e.object WHERE o.number IS "
         "NULL OR o.state NOT IN (2, 3) OR o.inode <> e.inode"},
    Rule{"extent beyond its object",
         "SELECT e.inode FROM extent e JOIN object o ON o.number = e.object WHERE e.object_offset "
         "< 0 "
         "OR e.length <= 0 OR e.object_offset + e.length > o.length"},
    Rule{"extent of no kept generation, or beyond its size",
         "SELECT e.inode FROM extent e LEFT JOIN inode i ON i.id = e.inode AND i.generation = "
         "e.generation LEFT JOIN file_version v ON v.inode = e.inode AND v.generation = "
         "e.generation "
         "WHERE e.file_offset + e.length > coalesce(i.size, v.size, -1)"},
    Rule{
        "file whose extents overlap",
        "SELECT x.inode FROM (SELECT inode, file_offset, lag(file_offset + length) OVER (PARTITION "
        "BY inode, generation ORDER BY file_offset) AS before FROM extent) x WHERE x.before > "
        "x.file_offset"},
    Rule{
        "version of no file, or not an older one",
        "SELECT v.inode FROM file_version v LEFT JOIN inode i ON i.id = v.inode WHERE i.id IS NULL "
        "OR i.type <> 1 OR v.generation >= i.generation"},
    Rule{"object that no file needs and is not retired",
         "SELECT o.number FROM object o WHERE o.state IN (2, 3) AND NOT EXISTS (SELECT 1 FROM "
         "extent "
         "e WHERE e.inode = o.inode AND e.object = o.number)"},
    Rule{
        "staged object without a holder, or a holder of another",
        "SELECT o.number FROM object o WHERE (o.state = 2) <> EXISTS (SELECT 1 FROM holder h WHERE "
        "h.object = o.number)"},
    Rule{
        "holder of an unknown object",
        "SELECT h.object FROM holder h LEFT JOIN object o ON o.number = h.object WHERE o.number IS "
        "NULL"},
    Rule{"retired object without its row, or the other way round",
         "SELECT o.number FROM object o WHERE (o.state = 4) <> EXISTS (SELECT 1 FROM retired r "
         "WHERE "
         "r.object = o.number)"},
    Rule{"stored object without a key, or a key where none is",
         "SELECT number FROM object WHERE (state = 3 AND keyed = 0) OR (keyed = 1) <> (key IS NOT "
         "NULL)"},
    Rule{"object without a file that is not just being written, or was",
         "SELECT number FROM object WHERE inode = 0 AND state NOT IN (1, 4, 5)"},
    Rule{"key with another key inside",
         "SELECT a.number FROM object a JOIN object b ON b.key > a.key || ? AND b.key < a.key || ? "
         "WHERE a.key IS NOT NULL"},
};

Status apply(db::Session& session, const Rule& rule, std::size_t limit,
             std::vector<std::string>& out) {
  const bool about_keys = rule.sql.find('?') != std::string_view::npos;
  const auto rows =
      about_keys ? TRY(session.rows(rule.sql, "/", "0")) : TRY(session.rows(rule.sql));
  for (std::size_t i = 0; i < std::min(rows.size(), limit); ++i)
    out.push_back(fmt::format("{}: {}", rule.broken, rows[i].integer(0)));
  return {};
}

}  // namespace

Result<std::vector<std::string>> check_namespace(db::Session& session, std::size_t limit) {
  std::vector<std::string> out;
  for (const Rule& rule : kTreeRules)
    TRY_VOID(apply(session, rule, limit, out));
  for (const Rule& rule : kContentRules)
    TRY_VOID(apply(session, rule, limit, out));
  return out;
}

}  // namespace loam::meta
