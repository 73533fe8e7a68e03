// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "net/http_server.h"

namespace loam::net {

class Connection;
class IoLoop;

// The way from any thread to one request of one connection. It owns neither: what it asks for is
// dropped if the connection is gone or has gone on to another request, so that a Responder may
// outlive its connection and even its server.
struct ExchangeLink {
  std::weak_ptr<IoLoop> loop;
  std::weak_ptr<Connection> connection;
  std::uint64_t serial = 0;
  std::shared_ptr<std::atomic<bool>> gone;

  void post(std::function<void(Connection&)> action) const;
};

// `head` says that the request was HEAD, whose bodies are thrown away.
ResponderPtr make_responder(ExchangeLink link, bool head);
std::unique_ptr<BodyReader> make_body_reader(ExchangeLink link, std::optional<std::int64_t> length);

}  // namespace loam::net
