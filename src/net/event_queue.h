// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace loam::net {

// The events of one stream that its client has not taken yet. Any thread adds, the connection's io
// thread takes.
class EventQueue {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;

  enum class Added {
    kWake,      // the io thread must be told to take
    kQueued,    // it has been told already
    kOverflow,  // the client fell too far behind; the stream is over and must be disconnected
    kClosed,
  };
  Added add(std::string_view frame);

  struct Taken {
    std::string bytes;
    bool end = false;  // close() was called and nothing is left after these bytes
  };
  // What came since the last call, which has been written by now.
  Taken take();

  // Nothing more will be added; what is queued is still sent. True for the first call.
  bool close();
  // The client has gone.
  void disconnect();
  bool open() const;
  // Less than half of what may be queued is.
  bool has_room() const;

 private:
  mutable std::mutex mutex_;
  std::string pending_;
  std::size_t in_flight_ = 0;  // bytes that were taken and may not be written yet
  bool awake_ = true;          // a take() is due without another wake
  bool closed_ = false;
  bool disconnected_ = false;
};

}  // namespace loam::net
