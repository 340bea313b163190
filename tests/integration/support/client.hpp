// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/client.hpp>

#include "support/actors.hpp"

namespace latchkey::testing {

/// The client of tests with actors. It is closed when the test is called off: an actor that failed may have left locked
/// what others wait for. Inside this namespace its name hides that of the class it derives from.
class client : public latchkey::client {
 public:
  explicit client(std::string connect_string, client_options options = {})
      : latchkey::client{std::move(connect_string), std::move(options)} {}

 private:
  std::stop_callback<std::function<void()>> close_{when_called_off(), [this] { close(); }};
};

}  // namespace latchkey::testing
