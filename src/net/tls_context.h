// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>

#include "net/tls_identity.h"

namespace loam::net {

struct SslContextDelete {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, SslContextDelete>;

// The context of new connections; each connection keeps the one that it began with.
struct TlsIdentity::Impl {
  std::mutex mutex;
  SslContextPtr context;

  void replace(SslContextPtr newer) {
    const std::lock_guard lock(mutex);
    std::swap(context, newer);
  }
  // The caller's own reference.
  SslContextPtr current() {
    const std::lock_guard lock(mutex);
    SSL_CTX_up_ref(context.get());
    return SslContextPtr(context.get());
  }
};

// The first of OpenSSL's errors in this thread, which is the cause of the others, as text; the
// queue is empty afterwards.
std::string take_ssl_error();

}  // namespace loam::net
