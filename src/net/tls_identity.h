// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace loam::net {

// The certificate and private key that a server shows, from two PEM files, and what is settled for
// all its connections: TLS 1.2 or later, HTTP/1.1. The files may be replaced while the server runs:
// connections that come later see the new certificate, and those that are open go on. Any thread.
class TlsIdentity {
 public:
  // The certificate file holds the server's own first, then those that lead to its authority. The
  // key belongs to its owner alone (0600; 0640 if root owns it). kInvalidArgument says what is
  // wrong with which file.
  static Result<std::shared_ptr<TlsIdentity>> load(const std::string& certificate_file,
                                                   const std::string& key_file);
  virtual ~TlsIdentity() = default;

  // Reads the files again. If they cannot be used, what was in use stays so.
  virtual Status reload() = 0;
  // Whether the files are others than at the last load or reload, good or bad.
  virtual bool changed() const = 0;

  struct Impl;
  virtual Impl& impl() = 0;
};

}  // namespace loam::net
