// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "net/tls_identity.h"

namespace loam::net {

// The server's side of TLS over one socket that does not block; used by one io thread. The socket
// stays the caller's, who waits for its readiness.
class TlsStream {
 public:
  enum class State {
    kDone,       // `bytes` of them
    kWantRead,   // try again when the socket can be read
    kWantWrite,  // try again when the socket can be written
    kEnd,        // the client sends no more
    kFailed,     // the connection is of no use any more; `error` says why
  };
  struct Outcome {
    State state = State::kDone;
    std::size_t bytes = 0;
    std::string error;
  };

  // `socket` outlives this. Null if OpenSSL is out of memory.
  static std::unique_ptr<TlsStream> make(TlsIdentity& identity, int socket);

  Outcome handshake();
  Outcome read(std::span<std::byte> out);
  // Whether there is something to read, without taking it.
  Outcome peek();
  // After kWantWrite the next call begins with the same bytes, wherever they lie then.
  Outcome write(std::span<const std::byte> bytes);
  // Says that nothing more will be sent; does not wait.
  void send_farewell();
  // Decrypted bytes are here already, of which the socket will not tell.
  bool has_pending() const { return SSL_pending(ssl_.get()) > 0; }

 private:
  struct SslDelete {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  explicit TlsStream(SSL* ssl) : ssl_(ssl) {}
  Outcome outcome(int result, std::size_t bytes);

  std::unique_ptr<SSL, SslDelete> ssl_;
};

}  // namespace loam::net
