// SPDX-License-Identifier: Apache-2.0
#include "net/exchange.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/connection.h"
#include "net/io_loop.h"

namespace loam::net {

namespace {

// One hop to the io thread moves at most this much, so that one transfer cannot hold the thread.
constexpr std::size_t kMaxPiece = 1 << 20;

class ExchangeBodyReader final : public BodyReader {
 public:
  ExchangeBodyReader(ExchangeLink link, std::optional<std::int64_t> length)
      : link_(std::move(link)), length_(length) {}

  Result<std::size_t> read(std::span<std::byte> out) override {
    CHECK(!out.empty());
    if (ended_) return ended_ending_;
    PendingAnswer answer;
    link_.post([out = out.first(std::min(out.size(), kMaxPiece)), done = answer.take_completion()](
                   Connection& connection) { connection.read_body(out, done); });
    Result<std::size_t> result = answer.wait();
    if (!result || *result == 0) {
      ended_ = true;
      ended_ending_ = result;
    }
    return result;
  }

  std::optional<std::int64_t> length() const override { return length_; }

 private:
  const ExchangeLink link_;
  const std::optional<std::int64_t> length_;
  bool ended_ = false;
  Result<std::size_t> ended_ending_ = std::size_t{0};  // how it ended is how it stays
};

class ExchangeBodyWriter final : public BodyWriter {
 public:
  ExchangeBodyWriter(ExchangeLink link, std::optional<std::int64_t> length, bool discard)
      : link_(std::move(link)), left_(length), discard_(discard) {}

  ~ExchangeBodyWriter() override {
    if (!finished_) abort();
  }

  Status write(std::span<const std::byte> bytes) override {
    CHECK(!finished_);
    if (left_) {
      if (static_cast<std::uint64_t>(*left_) < bytes.size()) {
        abort();
        return fail(ErrorCode::kInternal, "more body was written than its length says");
      }
      *left_ -= static_cast<std::int64_t>(bytes.size());
    }
    if (discard_) return {};
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kMaxPiece));
      bytes = bytes.subspan(piece.size());
      TRY_VOID(
          ask([piece](Connection& c, const CompletionPtr& done) { c.write_body(piece, done); }));
    }
    return {};
  }

  Status finish() override {
    CHECK(!finished_);
    if (left_.value_or(0) != 0 && !discard_) {
      abort();
      return fail(ErrorCode::kInternal, "less body was written than its length says");
    }
    finished_ = true;
    return ask([](Connection& c, const CompletionPtr& done) { c.finish_body(done); });
  }

 private:
  Status ask(const std::function<void(Connection&, const CompletionPtr&)>& action) {
    PendingAnswer answer;
    link_.post([action, done = answer.take_completion()](Connection& c) { action(c, done); });
    TRY(answer.wait());
    return {};
  }

  void abort() {
    link_.post([](Connection& connection) { connection.close(); });
  }

  const ExchangeLink link_;
  std::optional<std::int64_t> left_;
  const bool discard_;
  bool finished_ = false;
};

class ExchangeEventStream final : public EventStream {
 public:
  ExchangeEventStream(ExchangeLink link, std::shared_ptr<EventQueue> queue)
      : link_(std::move(link)), queue_(std::move(queue)) {}
  ~ExchangeEventStream() override { close_queue(); }

  bool send(std::string frame) override {
    switch (queue_->add(frame)) {
      case EventQueue::Added::kWake:
        link_.post([](Connection& connection) { connection.pump_events(); });
        return true;
      case EventQueue::Added::kQueued:
        return true;
      case EventQueue::Added::kOverflow:
        link_.post([](Connection& connection) { connection.close(); });
        return false;
      case EventQueue::Added::kClosed:
        return false;
    }
    return false;
  }

  bool has_room() const override { return queue_->has_room(); }
  bool open() const override { return queue_->open() && !link_.gone->load(); }
  void close() override { close_queue(); }

 private:
  void close_queue() {
    if (!queue_->close()) return;
    link_.post([](Connection& connection) { connection.pump_events(); });
  }

  const ExchangeLink link_;
  const std::shared_ptr<EventQueue> queue_;
};

class Exchange final : public Responder {
 public:
  Exchange(ExchangeLink link, bool head) : link_(std::move(link)), head_(head) {}

  ~Exchange() override {
    if (answered_) return;
    respond(error_response(
        Error{ErrorCode::kInternal, "the server gave the request up without an answer"}));
  }

  void send(HttpResponse response) override {
    if (!answered_.exchange(true)) respond(std::move(response));
  }

  Result<std::unique_ptr<BodyWriter>> start(HttpResponse head,
                                            std::optional<std::int64_t> length) override {
    CHECK(length.value_or(0) >= 0);
    if (answered_.exchange(true)) {
      return fail(ErrorCode::kConflict, "the request has been answered already");
    }
    link_.post([head = std::move(head), length](Connection& connection) {
      connection.start_body(head, length);
    });
    return std::unique_ptr<BodyWriter>(std::make_unique<ExchangeBodyWriter>(link_, length, head_));
  }

  std::shared_ptr<EventStream> start_events() override {
    auto queue = std::make_shared<EventQueue>();
    if (answered_.exchange(true)) {
      queue->disconnect();
    } else {
      HttpResponse head;
      head.headers.add("Content-Type", "text/event-stream");
      head.headers.add("Cache-Control", "no-store");
      link_.post([head, queue](Connection& connection) { connection.start_events(head, queue); });
    }
    return std::make_shared<ExchangeEventStream>(link_, std::move(queue));
  }

  bool connected() const override { return !link_.gone->load(); }

 private:
  void respond(HttpResponse response) {
    link_.post([response = std::move(response)](Connection& connection) mutable {
      connection.respond(std::move(response));
    });
  }

  const ExchangeLink link_;
  const bool head_;
  std::atomic<bool> answered_{false};
};

}  // namespace

void ExchangeLink::post(std::function<void(Connection&)> action) const {
  // The loop is held only while posting; its queue may be dropped with it at any time after.
  const std::shared_ptr<IoLoop> target = loop.lock();
  if (!target) return;
  target->post([to = connection, expected = serial, action = std::move(action)] {
    const std::shared_ptr<Connection> held = to.lock();
    if (held && held->serial() == expected) action(*held);
  });
}

ResponderPtr make_responder(ExchangeLink link, bool head) {
  return std::make_shared<Exchange>(std::move(link), head);
}

std::unique_ptr<BodyReader> make_body_reader(ExchangeLink link,
                                             std::optional<std::int64_t> length) {
  return std::make_unique<ExchangeBodyReader>(std::move(link), length);
}

}  // namespace loam::net
