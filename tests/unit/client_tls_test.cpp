// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_tls.hpp"

#include <doctest/doctest.h>

namespace latchkey::detail {

TEST_CASE("certificates without a password get one, which a key without a password ignores") {
  CHECK(missing_password("ca.pem,client.pem,client.key") == ",none");
  CHECK(missing_password("ca.pem,client.pem,client.key,secret").empty());
  CHECK(missing_password("ca.pem,client.pem").empty());  // cannot be parsed, with it or without
}

}  // namespace latchkey::detail
