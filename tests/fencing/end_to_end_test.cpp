// SPDX-License-Identifier: Apache-2.0
/// From the lock to the data: a holder that sleeps through its lease, its successor, and SQLite.

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <latchkey/mutex.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include "../../examples/fencing/sql_fence.hpp"
#include "../../examples/fencing/sqlite.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("end to end") {
  TEST_CASE("the late write of a holder that lost its lock is refused; without a token it destroys that of the next") {
    for (const bool fenced : {false, true}) {
      CAPTURE(fenced);
      fencing::sqlite store{""};  // a temporary file
      fencing::create_tables(store);
      store.run("INSERT INTO items (id, value) VALUES ('balance', '100')");
      simulated_ensemble ensemble;
      client one{ensemble, {.session_timeout = 10s, .close_timeout = 0ms}};
      client two{ensemble, {.session_timeout = 10s, .close_timeout = 0ms}};
      mutex of_one{one, "/locks/balance"};
      mutex of_two{two, "/locks/balance"};
      const auto write = [&](fencing_token token, const std::string& value) {
        if (fenced) return fencing::write_item(store, "balance", token, value);
        store.run("UPDATE items SET value = $1 WHERE id = 'balance'", {value});
        return true;
      };

      const auto held = of_one.acquire();
      CHECK(fencing::read_item(store, "balance", held.fence()) == "100");
      CHECK(held);  // it looks at its grant, and then nothing of it runs for a minute
      ensemble.cut(one);
      ensemble.advance(1min);
      const auto next = of_two.try_acquire_for(10s);
      REQUIRE(next);
      CHECK(fencing::read_item(store, "balance", next.fence()) == "100");
      CHECK(write(next.fence(), "150"));
      CHECK(write(held.fence(), "90") == !fenced);
      CHECK(store.run("SELECT value FROM items") == (fenced ? "150" : "90"));
      CHECK_FALSE(held);
    }
  }
}

}  // namespace latchkey::testing
