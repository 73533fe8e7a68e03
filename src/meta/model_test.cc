// SPDX-License-Identifier: Apache-2.0
// Random operations on the namespace and on a plain tree in memory: every result has to agree, and
// after each round the whole tree, its link counts and its usage. The operations are spread over
// two programs' connections to one database, transaction by transaction. A seed that fails is run
// again alone with LOAM_SIM_SEED=n.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "meta/meta_testing.h"

namespace loam::meta {
namespace {

using testing::must;
using testing::World;

constexpr int kSeeds = 30;
constexpr int kRounds = 12;
constexpr int kStepsPerRound = 100;

// The reference: what POSIX says a tree does, with no thought of speed.
struct Node {
  std::int64_t inode = 0;
  InodeType type = InodeType::kFile;
  std::int64_t size = 0;
  std::int64_t generation = 0;
  std::map<std::string, Node*> children;
  // Where its links are, oldest first; the home is among them.
  std::vector<std::pair<Node*, std::string>> links;
  std::pair<Node*, std::string> home;
  bool gone = false;  // a directory that was removed

  bool is_directory() const { return type == InodeType::kDirectory; }
};

using Spot = std::pair<Node*, std::string>;
using Outcome = std::optional<ErrorCode>;  // nothing: success

class Model {
 public:
  Model() {
    root_ = add(InodeType::kDirectory);
    root_->inode = kRootInode;
  }
  Node* root() { return root_; }
  std::vector<Node*>& nodes() { return order_; }

  static Outcome check_parent(const Spot& spot) {
    if (spot.first->gone) return ErrorCode::kNotFound;
    if (!spot.first->is_directory()) {
      return spot.first->links.empty() && spot.first->type != InodeType::kFile
                 ? ErrorCode::kNotFound
                 : ErrorCode::kNotDirectory;
    }
    return {};
  }
  static Node* at(const Spot& spot) {
    const auto found = spot.first->children.find(spot.second);
    return found == spot.first->children.end() ? nullptr : found->second;
  }

  Outcome make(const Spot& spot, InodeType type) {
    if (const Outcome bad = check_parent(spot)) return bad;
    if (at(spot) != nullptr) return ErrorCode::kAlreadyExists;
    Node* node = add(type);
    put(node, spot);
    node->home = spot;
    return {};
  }
  Outcome link(Node* node, const Spot& spot) {
    if (node->gone || (node->links.empty() && node->type != InodeType::kFile && node != root_)) {
      return ErrorCode::kNotFound;
    }
    if (node->is_directory()) return ErrorCode::kPermissionDenied;
    if (const Outcome bad = check_parent(spot)) return bad;
    if (node->links.empty()) return ErrorCode::kNotFound;
    if (at(spot) != nullptr) return ErrorCode::kAlreadyExists;
    put(node, spot);
    return {};
  }
  Outcome unlink(const Spot& spot) {
    if (const Outcome bad = check_parent(spot)) return bad;
    Node* node = at(spot);
    if (node == nullptr) return ErrorCode::kNotFound;
    if (node->is_directory()) return ErrorCode::kIsDirectory;
    take(node, spot);
    return {};
  }
  Outcome rmdir(const Spot& spot) {
    if (const Outcome bad = check_parent(spot)) return bad;
    Node* node = at(spot);
    if (node == nullptr) return ErrorCode::kNotFound;
    if (!node->is_directory()) return ErrorCode::kNotDirectory;
    if (!node->children.empty()) return ErrorCode::kNotEmpty;
    take(node, spot);
    return {};
  }
  Outcome rename(const Spot& from, const Spot& to, RenameMode mode) {
    if (const Outcome bad = check_parent(from)) return bad;
    if (const Outcome bad = check_parent(to)) return bad;
    Node* moved = at(from);
    Node* old = at(to);
    if (moved == nullptr) return ErrorCode::kNotFound;
    if (old != nullptr && mode == RenameMode::kNoReplace) return ErrorCode::kAlreadyExists;
    if (old == nullptr && mode == RenameMode::kExchange) return ErrorCode::kNotFound;
    if (is_above(moved, to.first)) return ErrorCode::kInvalidArgument;
    if (moved == old) return {};
    if (mode == RenameMode::kExchange) {
      if (is_above(old, from.first)) return ErrorCode::kInvalidArgument;
      from.first->children[from.second] = old;
      to.first->children[to.second] = moved;
      relocate(moved, from, to);
      relocate(old, to, from);
      return {};
    }
    if (old != nullptr) {
      if (moved->is_directory() && !old->is_directory()) return ErrorCode::kNotDirectory;
      if (!moved->is_directory() && old->is_directory()) return ErrorCode::kIsDirectory;
      if (old->is_directory() && !old->children.empty()) return ErrorCode::kNotEmpty;
      take(old, to);
    }
    from.first->children.erase(from.second);
    to.first->children[to.second] = moved;
    relocate(moved, from, to);
    return {};
  }

  static Usage usage(const Node* directory) {
    Usage out;
    for (const auto& [name, child] : directory->children) {
      if (child->home.first != directory || child->home.second != name) continue;
      ++out.files;
      if (child->is_directory()) {
        const Usage below = usage(child);
        out.bytes += below.bytes;
        out.files += below.files;
      } else {
        out.bytes += child->size;
      }
    }
    return out;
  }

 private:
  Node* add(InodeType type) {
    owned_.push_back(std::make_unique<Node>());
    owned_.back()->type = type;
    order_.push_back(owned_.back().get());
    return order_.back();
  }
  static void put(Node* node, const Spot& spot) {
    spot.first->children[spot.second] = node;
    node->links.push_back(spot);
  }
  static void take(Node* node, const Spot& spot) {
    spot.first->children.erase(spot.second);
    std::erase(node->links, spot);
    if (node->is_directory()) node->gone = true;
    if (node->home == spot && !node->links.empty()) node->home = node->links.front();
  }
  // A link that moves is as young as one that is made.
  static void relocate(Node* node, const Spot& from, const Spot& to) {
    std::erase(node->links, from);
    node->links.push_back(to);
    if (node->home == from) node->home = to;
  }
  static bool is_above(const Node* node, const Node* below) {
    for (; below != nullptr; below = below->home.first) {
      if (below == node) return true;
    }
    return false;
  }

  std::vector<std::unique_ptr<Node>> owned_;
  std::vector<Node*> order_;
  Node* root_ = nullptr;
};

class Comparison {
 public:
  explicit Comparison(std::uint64_t seed)
      : world_(seed), random_(seed ^ 0x9e3779b97f4a7c15ULL), other_(world_.database().open()) {
    ref_ = world_.begin("n", 3'600'000);
  }

  void run() {
    for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
      // Half of the rounds share a commit, which is faster; the others alternate between programs.
      if (round % 2 == 0) {
        world_.together([&] { steps(kStepsPerRound); });
      } else {
        steps(kStepsPerRound / 5);
      }
      compare();
    }
  }

 private:
  static constexpr std::array<const char*, 5> kNames{"a", "b", "c", "d", "e"};

  std::size_t pick(std::size_t bound) { return random_.below(bound); }
  Node* any_node() { return model_.nodes()[pick(model_.nodes().size())]; }
  // Mostly a directory that is there.
  Node* parent() {
    for (int i = 0; i < 20; ++i) {
      Node* node = any_node();
      if (node->is_directory() && !node->gone) return node;
    }
    return any_node();
  }
  Spot spot() { return {parent(), kNames[pick(kNames.size())]}; }
  static Place place(const Spot& spot) { return {spot.first->inode, spot.second}; }

  template <typename F>
  auto write(F operation) {
    return world_.write_to(pick(2) == 0 ? *world_.database() : *other_, std::move(operation));
  }
  template <typename T>
  static Outcome outcome(const Result<T>& result) {
    return result ? Outcome() : Outcome(result.error().code);
  }
  void agree(const char* what, const Outcome& real, const Outcome& wanted) {
    const auto name = [](const Outcome& o) { return o ? error_code_name(*o) : "success"; };
    EXPECT_EQ(name(real), name(wanted)) << what;
  }

  void steps(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i)
      step();
  }
  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
        return make(InodeType::kFile);
      case 2:
      case 3:
        return make(InodeType::kDirectory);
      case 4:
        return make(InodeType::kSymlink);
      case 5:
        return link();
      case 6:
        return remove();
      case 7:
      case 8:
      case 9:
        return rename();
      case 10:
        return resize();
      default:
        if (pick(4) == 0) must(write([](Operation& op) { return fold_usage(op, 3); }));
        return resize();
    }
  }

  void make(InodeType type) {
    const Spot where = spot();
    const Result<Attributes> real = write([&](Operation& op) -> Result<Attributes> {
      if (type == InodeType::kDirectory) return make_directory(op, place(where), {});
      if (type == InodeType::kSymlink) return make_symlink(op, place(where), "target", {});
      return TRY(create_file(op, place(where), {}, true)).attributes;
    });
    agree("make", outcome(real), model_.make(where, type));
    if (!real) return;
    model_.nodes().back()->inode = real->inode;
    model_.nodes().back()->size = real->size;
  }
  void link() {
    Node* node = any_node();
    const Spot where = spot();
    const auto real =
        write([&](Operation& op) { return link_inode(op, node->inode, place(where)); });
    agree("link", outcome(real), model_.link(node, where));
  }
  void remove() {
    const Spot where = spot();
    if (pick(2) == 0) {
      agree("unlink", outcome(write([&](Operation& op) { return unlink_entry(op, place(where)); })),
            model_.unlink(where));
    } else {
      agree("rmdir",
            outcome(write([&](Operation& op) { return remove_directory(op, place(where)); })),
            model_.rmdir(where));
    }
  }
  void rename() {
    const Spot from = spot();
    const Spot to = spot();
    const auto mode = static_cast<RenameMode>(pick(3));
    agree("rename", outcome(write([&](Operation& op) {
            return rename_entry(op, place(from), place(to), mode);
          })),
          model_.rename(from, to, mode));
  }
  ObjectId reserve(const Node* node) {
    return must(write([&](Operation& op) { return reserve_object(op, ref_, node->inode); }));
  }
  // One whose bytes go to the store first. Some never get further.
  ObjectId start_direct() {
    for (bool useful = false;; useful = true) {
      const ObjectId object = must(write([&](Operation& op) { return reserve_unbound(op, ref_); }));
      const std::string path = std::string("/") + kNames[pick(kNames.size())];
      must(write([&](Operation& op) { return start_direct_upload(op, ref_, object, path); }));
      if (useful || pick(4) != 0) return object;
      must(write([&](Operation& op) { return abandon_object(op, ref_, object); }));
    }
  }
  // By truncation, or by a commit of a new object that may be stored at once or before.
  void resize() {
    Node* node = any_node();
    if (node->type != InodeType::kFile) return;
    const auto size = static_cast<std::int64_t>(pick(100));
    if (pick(2) == 0) {
      must(write([&](Operation& op) { return setattr(op, node->inode, {.size = size}); }));
      if (size != node->size) ++node->generation;
    } else {
      const auto behind = static_cast<std::int64_t>(pick(2));
      const std::int64_t base = std::max<std::int64_t>(node->generation - behind, 0);
      const bool direct = pick(3) == 0;
      const ObjectId object = direct ? start_direct() : reserve(node);
      const Committed done = must(write([&](Operation& op) -> Result<Committed> {
        if (!direct) {
          return commit_content(op, ref_, World::whole(node->inode, base, object, size, {"n"}));
        }
        TRY_VOID(bind_object(op, ref_, object, node->inode));
        return commit_content(op, ref_, World::whole_stored(node->inode, base, object, size));
      }));
      EXPECT_EQ(done.generation, ++node->generation);
      EXPECT_EQ(done.overwrote, base != node->generation - 1);
      if (!direct && size > 0 && pick(2) == 0) {
        must(write([&](Operation& op) { return start_upload(op, ref_, object); }));
        must(write([&](Operation& op) { return finish_upload(op, ref_, object, {}); }));
      }
    }
    node->size = size;
  }

  void compare() {
    EXPECT_EQ(world_.problems(), "");
    must(world_.write([](Operation& op) { return fold_all_usage(op); }));
    EXPECT_EQ(world_.problems(), "");
    for (const Node* node : model_.nodes()) {
      if (node->is_directory() && !node->gone) compare_directory(node);
    }
  }
  void compare_directory(const Node* node) {
    std::map<std::string, Attributes> real;
    for (const ListedEntry& entry : must(world_.read(
             [&](db::Session& s) { return readdir(s, node->inode, 0, kMaxListedEntries); }))) {
      real[entry.name] = entry.attributes;
    }
    ASSERT_EQ(real.size(), node->children.size());
    std::int64_t subdirectories = 0;
    for (const auto& [name, child] : node->children) {
      const Attributes& attributes = real[name];
      EXPECT_EQ(attributes.inode, child->inode);
      EXPECT_EQ(attributes.type, child->type);
      EXPECT_EQ(attributes.size, child->size);
      EXPECT_EQ(attributes.generation, child->generation);
      if (!child->is_directory()) {
        EXPECT_EQ(attributes.nlink, child->links.size());
      }
      subdirectories += child->is_directory() ? 1 : 0;
    }
    const auto found = must(world_.read([&](db::Session& s) { return getattr(s, node->inode); }));
    EXPECT_EQ(found.nlink, 2 + subdirectories);
    const Usage usage =
        must(world_.read([&](db::Session& s) { return disk_usage(s, node->inode); }));
    EXPECT_EQ(usage.bytes, Model::usage(node).bytes);
    EXPECT_EQ(usage.files, Model::usage(node).files);
  }

  World world_;
  SeededRandom random_;
  std::unique_ptr<db::Database> other_;
  NodeRef ref_;
  Model model_;
};

TEST(ModelTest, TheNamespaceDoesWhatATreeInMemoryDoes) {
  const char* chosen = std::getenv("LOAM_SIM_SEED");
  const std::uint64_t first = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10);
  const std::uint64_t last = chosen == nullptr ? kSeeds : first;
  for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("LOAM_SIM_SEED=" + std::to_string(seed));
    Comparison(seed).run();
  }
}

}  // namespace
}  // namespace loam::meta
