// SPDX-License-Identifier: Apache-2.0
#include "net/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "net/tls_context.h"

namespace loam::net {

namespace {

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, so a client that leaves could end the
// process; this one does not. Its data is the socket's number.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool may_try_again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int write_socket(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && may_try_again()) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int read_socket(BIO* bio, char* out, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(socket_of(bio), out, static_cast<std::size_t>(size), 0);
  if (n < 0 && may_try_again()) BIO_set_retry_read(bio);
  if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(n);
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF);
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loam socket");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  return method;
}

}  // namespace

std::unique_ptr<TlsStream> TlsStream::make(TlsIdentity& identity, int socket) {
  const SslContextPtr context = identity.impl().current();
  std::unique_ptr<TlsStream> stream(new TlsStream(SSL_new(context.get())));
  BIO* bio = socket_method() == nullptr ? nullptr : BIO_new(socket_method());
  if (!stream->ssl_ || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a BIO keeps a pointer, and here a descriptor in it.
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_.get(), bio, bio);
  SSL_set_accept_state(stream->ssl_.get());
  return stream;
}

TlsStream::Outcome TlsStream::outcome(int result, std::size_t bytes) {
  if (result > 0) return {State::kDone, bytes, {}};
  const int system = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {State::kWantRead, 0, {}};
    case SSL_ERROR_WANT_WRITE:
      return {State::kWantWrite, 0, {}};
    case SSL_ERROR_ZERO_RETURN:
      return {State::kEnd, 0, {}};
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return {State::kFailed, 0, system == 0 ? "the connection ended" : std::strerror(system)};
    default:
      return {State::kFailed, 0, take_ssl_error()};
  }
}

TlsStream::Outcome TlsStream::handshake() {
  ERR_clear_error();
  errno = 0;
  return outcome(SSL_do_handshake(ssl_.get()), 0);
}

TlsStream::Outcome TlsStream::read(std::span<std::byte> out) {
  ERR_clear_error();
  errno = 0;
  std::size_t n = 0;
  const int result = SSL_read_ex(ssl_.get(), out.data(), out.size(), &n);
  return outcome(result, n);
}

TlsStream::Outcome TlsStream::peek() {
  ERR_clear_error();
  errno = 0;
  std::byte one{};
  std::size_t n = 0;
  const int result = SSL_peek_ex(ssl_.get(), &one, 1, &n);
  return outcome(result, n);
}

TlsStream::Outcome TlsStream::write(std::span<const std::byte> bytes) {
  ERR_clear_error();
  errno = 0;
  std::size_t n = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n);
  return outcome(result, n);
}

void TlsStream::send_farewell() {
  ERR_clear_error();
  if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace loam::net
