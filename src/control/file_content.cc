// SPDX-License-Identifier: Apache-2.0
#include "control/file_content.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"
#include "control/meta_operation.h"
#include "io/crc32c.h"
#include "meta/ancestry.h"
#include "meta/content.h"
#include "meta/entry.h"
#include "meta/object.h"
#include "meta/policy.h"
#include "meta/upload.h"

namespace loam::control {

namespace {

constexpr std::size_t kMaxStoredChecksums = (64 << 10) / 4;

// Refuses at the beginning what the commit would refuse, as far as that can be told.
Status check_target(meta::Operation& op, const PutContent& request, const FsPath& target) {
  TRY_VOID(request.may_write(target.path));
  if (target.path == "/") return fail(ErrorCode::kIsDirectory, "'/' is a directory");
  const std::int64_t length = request.length.value_or(0);
  if (target.attributes) {
    if (request.exclusive) {
      return fail(ErrorCode::kAlreadyExists,
                  fmt::format("there is {} already", meta::to_string(target.place)));
    }
    TRY(meta::create_file(op, target.place, request.inode, false));
    TRY_VOID(meta::admit_content(op, *target.attributes, length));
  } else {
    TRY_VOID(meta::check_new_place(target.place));
    const auto parent = TRY(meta::get_writable_directory(op.session, target.place.parent));
    TRY_VOID(meta::admit_growth(op, parent.policies, {length, 1}));
  }
  const std::int64_t generation = target.attributes ? target.attributes->generation : 0;
  if (!request.if_generation || (target.attributes && *request.if_generation == generation)) {
    return {};
  }
  return fail(ErrorCode::kPreconditionFailed,
              target.attributes ? fmt::format("the file has generation {}, not {}", generation,
                                              *request.if_generation)
                                : "there is no such file");
}

// One body on its way into the store and the tree.
class Put {
 public:
  Put(const Services& services, ServerSession& session, const PutContent& request,
      const object::Source& body)
      : services_(services), session_(session), request_(request), body_(body) {}

  Result<PutDone> run() {
    ref_ = TRY(session_.ref());
    auto done = [&]() -> Result<PutDone> {
      TRY_VOID(reserve());
      TRY_VOID(upload());
      return commit();
    }();
    if (done) return done;
    abandon();
    if (done.error().code != ErrorCode::kLeaseLost) return done;
    session_.lost(ref_);
    return fail(ErrorCode::kUnavailable, "the server lost its session meanwhile; try again");
  }

 private:
  Result<FsPath> target(meta::Operation& op) const {
    // Without exclusive a link leads to the file that is meant; with it, it is what is there.
    const LastLink last = request_.exclusive ? LastLink::kKeep : LastLink::kFollow;
    if (!request_.parents) return resolve_path(op.session, request_.path, last);
    return resolve_with_parents(op, request_.path, last, {.mode = 0755});
  }

  // What the body replaces when it is complete: the file that was there at the beginning, also if
  // it has been moved since; if it is gone, what the path leads to now.
  Result<FsPath> target_now(meta::Operation& op) const {
    const auto by_path = target(op);
    if (inode_ == 0 || (by_path && by_path->attributes && by_path->attributes->inode == inode_)) {
      return by_path;
    }
    const auto file = meta::getattr(op.session, inode_);
    if (!file && file.error().code != ErrorCode::kNotFound) return fail(file.error());
    if (!file || file->nlink == 0) return by_path;
    return FsPath{TRY(meta::path_of(op.session, inode_)),
                  TRY(meta::get_home(op.session, *file)).place, *file};
  }

  Status reserve() {
    return write_meta(services_, [&](meta::Operation& op) -> Status {
      const FsPath where = TRY(target(op));
      TRY_VOID(check_target(op, request_, where));
      inode_ = where.attributes ? where.attributes->inode : 0;
      object_ = TRY(meta::reserve_unbound(op, ref_));
      key_ = TRY(meta::start_direct_upload(op, ref_, object_, where.path));
      return {};
    });
  }

  // The plain key is not ours if the store has something there that no row knows of.
  Status avoid_taken_key() {
    const auto there = services_.store.head(key_);
    if (!there && there.error().code == ErrorCode::kNotFound) return {};
    if (!there) return fail(there.error());
    return avoid_key();
  }
  Status avoid_key() {
    key_ = TRY(write_meta(
        services_, [&](meta::Operation& op) { return meta::avoid_plain_key(op, ref_, object_); }));
    return {};
  }

  Status upload() {
    TRY_VOID(avoid_taken_key());
    auto stored = store();
    const bool taken = !stored && (stored.error().code == ErrorCode::kPreconditionFailed ||
                                   stored.error().code == ErrorCode::kConflict);
    if (taken && !begun_) {
      TRY_VOID(avoid_key());
      stored = store();
    } else if (taken) {
      return fail(ErrorCode::kUnavailable, "something came to the file's key meanwhile; try again");
    }
    etag_ = TRY(std::move(stored)).etag;
    return {};
  }

  Result<object::ObjectInfo> store() {
    object::PutOptions options{.if_absent = true};
    if (request_.length) options.length = *request_.length;
    return services_.store.put(
        key_,
        [this](std::span<std::byte> out) -> Result<std::size_t> {
          begun_ = true;
          const std::size_t n = TRY(body_(out));
          sums_.update(out.first(n));
          if (n == 0) TRY_VOID(check_body());
          return n;
        },
        options);
  }

  Status check_body() const {
    if (!request_.crc32c) return {};
    const std::string crc =
        fmt::format("{:08x}", io::crc32c_of_blocks(sums_.values(), sums_.length()));
    if (crc == *request_.crc32c) return {};
    return fail(ErrorCode::kUnprocessable,
                fmt::format("the body's CRC32C is {}, not {} as announced", crc, *request_.crc32c));
  }

  std::string checksums() const {
    const std::vector<std::uint32_t> values = sums_.values();
    if (values.size() > kMaxStoredChecksums) return {};
    return io::pack_checksums(values);
  }

  Result<PutDone> commit() {
    return write_meta(services_, [&](meta::Operation& op) -> Result<PutDone> {
      const FsPath where = TRY(target_now(op));
      TRY_VOID(check_target(op, request_, where));
      const meta::Created file =
          TRY(meta::create_file(op, where.place, request_.inode, request_.exclusive));
      const std::int64_t inode = file.attributes.inode;
      TRY_VOID(meta::bind_object(op, ref_, object_, inode));
      meta::Commit commit{.inode = inode,
                          .base_generation = file.attributes.generation,
                          .object = object_,
                          .object_length = sums_.length(),
                          .crcs = checksums(),
                          .size = sums_.length()};
      if (commit.size > 0) commit.extents = {{0, commit.size, object_, 0}};
      commit.mtime_ns = request_.mtime_ns;
      commit.stored_etag = etag_;
      TRY(meta::commit_content(op, ref_, commit));
      return PutDone{TRY(meta::getattr(op.session, inode)), !file.existed};
    });
  }

  void abandon() {
    if (object_.number == 0) return;
    const Status abandoned = write_meta(
        services_, [&](meta::Operation& op) { return meta::abandon_object(op, ref_, object_); });
    if (!abandoned) LOG_WARN("cannot give an upload up: {}", abandoned.error().to_string());
  }

  const Services& services_;
  ServerSession& session_;
  const PutContent& request_;
  const object::Source& body_;
  meta::NodeRef ref_;
  std::int64_t inode_ = 0;  // of the file that was there at the beginning
  meta::ObjectId object_;
  std::string key_;
  std::string etag_;
  bool begun_ = false;  // bytes have been taken from the body, which cannot be had again
  io::BlockChecksums sums_;
};

}  // namespace

Result<PutDone> put_content(const Services& services, ServerSession& session,
                            const PutContent& request, const object::Source& body) {
  return Put(services, session, request, body).run();
}

}  // namespace loam::control
