// SPDX-License-Identifier: Apache-2.0
#include "loam/client_flags.h"

namespace loam::cli {

void add_client_flags(CLI::App& command, ClientFlags& flags) {
  command
      .add_option("--server", flags.server,
                  "The server's URL (else LOAM_SERVER, else what 'loam up' noted)")
      ->type_name("URL")
      ->group("Connection");
  command
      .add_option("--token-file", flags.token_file,
                  "A file that holds the token (else LOAM_TOKEN, else what 'loam up' noted)")
      ->type_name("FILE")
      ->group("Connection");
  command
      .add_option("--ca-file", flags.ca_file,
                  "PEM file of the authority behind an https server (else LOAM_CA_FILE, else those "
                  "that this system trusts)")
      ->type_name("FILE")
      ->group("Connection");
}

}  // namespace loam::cli
