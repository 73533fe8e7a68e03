// SPDX-License-Identifier: Apache-2.0
#include "control/fs_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/encoding.h"
#include "meta/entry.h"

namespace loam::control {

namespace {

tl::unexpected<Error> nothing_at(std::string_view path) {
  return fail(ErrorCode::kNotFound, fmt::format("there is nothing at '{}'", printable(path)));
}

// A walk from the root, one name at a time.
class Walk {
 public:
  Walk(db::Session& session, LastLink last) : session_(session), last_(last) {}

  Result<FsPath> run(std::vector<std::string> names) {
    std::reverse(names.begin(), names.end());
    todo_ = std::move(names);
    at_ = TRY(meta::getattr(session_, meta::kRootInode));
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.back());
      todo_.pop_back();
      TRY_VOID(step(name));
    }
    FsPath out{.path = path(), .attributes = at_};
    if (!above_.empty()) out.place = above_.back();
    return out;
  }

 private:
  std::string path() const {
    std::string out;
    for (const meta::Place& place : above_)
      out += "/" + place.name;
    return out.empty() ? "/" : out;
  }

  Status step(const std::string& name) {
    if (!at_) return nothing_at(path());
    if (!at_->is_directory()) {
      return fail(ErrorCode::kNotDirectory,
                  fmt::format("'{}' is not a directory", printable(path())));
    }
    if (name.empty() || name == ".") return {};
    if (name == "..") return go_up();
    above_.push_back({at_->inode, name});
    const auto entry = TRY(meta::find_entry(session_, above_.back()));
    at_.reset();
    if (!entry) return {};
    at_ = TRY(meta::getattr(session_, entry->inode));
    const bool follow = !todo_.empty() || last_ == LastLink::kFollow;
    return follow && at_->type == meta::InodeType::kSymlink ? follow_link() : Status();
  }

  Status go_up() {
    if (above_.empty()) return {};
    at_ = TRY(meta::getattr(session_, above_.back().parent));
    above_.pop_back();
    return {};
  }

  Status follow_link() {
    if (++followed_ > kMaxLinksFollowed) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("there are too many symbolic links on the way; the last is '{}'",
                              printable(path())));
    }
    const std::string target = TRY(meta::read_symlink(session_, at_->inode));
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= target.size();) {
      const std::size_t end = std::min(target.find('/', at), target.size());
      names.push_back(target.substr(at, end - at));
      at = end + 1;
    }
    todo_.insert(todo_.end(), names.rbegin(), names.rend());
    if (target.front() == '/') above_.resize(1);
    return go_up();
  }

  db::Session& session_;
  const LastLink last_;
  std::vector<std::string> todo_;   // the next name last
  std::vector<meta::Place> above_;  // the entries from the root to here
  std::optional<meta::Attributes> at_;
  int followed_ = 0;
};

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    out += "/" + name;
  return out.empty() ? "/" : out;
}

}  // namespace

Result<FsPath> resolve_path(db::Session& session, std::string_view path, LastLink last) {
  std::vector<std::string> names = TRY(meta::split_path(path));
  // Most paths have no links and lead to something: one look instead of one for each name.
  auto found = meta::lookup(session, meta::kRootInode, names);
  if (found && found->used == names.size() &&
      (last == LastLink::kKeep || found->attributes.type != meta::InodeType::kSymlink)) {
    return FsPath{joined(names), std::move(found->place), found->attributes};
  }
  return Walk(session, last).run(std::move(names));
}

Result<FsPath> resolve_existing(db::Session& session, std::string_view path, LastLink last) {
  FsPath found = TRY(resolve_path(session, path, last));
  if (!found.attributes) return nothing_at(path);
  return found;
}

Result<FsPath> resolve_with_parents(meta::Operation& op, std::string_view path, LastLink last,
                                    const meta::NewInode& parent) {
  auto found = resolve_path(op.session, path, last);
  if (found || found.error().code != ErrorCode::kNotFound) return found;
  const std::vector<std::string> names = TRY(meta::split_path(path));
  std::string above;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    above += "/" + names[i];
    const FsPath directory = TRY(resolve_path(op.session, above, LastLink::kFollow));
    if (!directory.attributes) TRY(meta::make_directory(op, directory.place, parent));
  }
  return resolve_path(op.session, path, last);
}

}  // namespace loam::control
