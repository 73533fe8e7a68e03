// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace loam::net {

// Where one thread waits for one answer of an io thread.
class Rendezvous;

// The io thread's end of a rendezvous. If it is dropped without an answer (the connection or the
// server has gone) the waiting thread gets kUnavailable, so that nobody waits for ever, and from
// then on nothing touches memory that the waiting thread lent.
class Completion {
 public:
  explicit Completion(std::shared_ptr<Rendezvous> rendezvous);
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  // The first answer counts.
  void answer(Result<std::size_t> result);

 private:
  std::shared_ptr<Rendezvous> rendezvous_;
};
using CompletionPtr = std::shared_ptr<Completion>;

// The waiting thread's end.
class PendingAnswer {
 public:
  PendingAnswer();
  // May be called once, and its result must be moved away, not copied, into what goes to the io
  // thread: a copy kept on the waiting side would never be dropped.
  CompletionPtr take_completion();
  Result<std::size_t> wait();

 private:
  std::shared_ptr<Rendezvous> rendezvous_;
};

}  // namespace loam::net
