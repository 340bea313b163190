// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

namespace latchkey::detail {

TEST_SUITE("secrets") {
  TEST_CASE("text that is wiped leaves nothing in its memory, however long it was once") {
    for (const std::size_t length : {3, 15, 16, 4000}) {
      CAPTURE(length);
      std::string text(length, 'x');
      text.resize(2);
      wipe(text);
      CHECK(text.empty());
      text.resize(text.capacity());  // without an allocation: shows what is there
      const auto* const memory = text.data();
      CHECK(std::find(memory, memory + text.capacity(), 'x') == memory + text.capacity());
    }
  }

  TEST_CASE("secrets leave nothing where they come from, and can be forgotten") {
    std::vector<credentials> given{{"digest", "a:b"}, {"digest", std::string(100, 'x')}};
    std::string tls = "a,b,c,password";
    secrets all{given, tls};
    CHECK(given.empty());
    CHECK(tls.empty());
    CHECK(all.read([](const auto& authentication, const std::string& certificates) {
      return authentication.size() == 2 && authentication[1].data.size() == 100 && certificates == "a,b,c,password";
    }));
    all.forget();
    CHECK(all.read([](const auto& authentication, const std::string& certificates) {
      return authentication.empty() && certificates.empty();
    }));
  }
}

}  // namespace latchkey::detail
