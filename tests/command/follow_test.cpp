// SPDX-License-Identifier: Apache-2.0
/// `latchkey watch` and `latchkey leader --follow`: each change, until a signal.

#include <doctest/doctest.h>

#include <csignal>
#include <future>
#include <string>

#include <nlohmann/json.hpp>

#include <latchkey/election.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/testing/proxy.hpp>

#include "contended_lock.hpp"
#include "program.hpp"

namespace latchkey::testing {

TEST_CASE("leader --follow prints each change, and ends with 0 at a signal") {
  const auto path = fresh_path();
  client owner{servers().connect_string()};
  election stands{owner, path, {.id = "ann"}};
  auto leads = stands.acquire();
  run follows{{"leader", path, "--follow", "-c", servers().connect_string()}};
  CHECK(has(follows.hear().value_or(""), "Z  ann  term " + to_string(leads.fence())));
  leads.release();
  CHECK(has(follows.hear().value_or(""), "Z  no candidate leads"));
  leads = stands.acquire();
  CHECK(has(follows.hear().value_or(""), "Z  ann  term " + to_string(leads.fence())));
  follows.signal(SIGTERM);
  CHECK(follows.end() == "exit code 0");
  CHECK(follows.out.empty());
  CHECK(follows.err.empty());
}

TEST_CASE("watch prints who comes, who is let in after how long, and who goes") {
  contended_lock lock;
  run watches{{"watch", lock.path, "-c", servers().connect_string()}};
  CHECK(has(watches.hear().value_or(""), "Z  =holds  lock    one@"));
  CHECK(has(watches.hear().value_or(""), "Z  =waits  lock    two@"));
  client third{servers().connect_string(), labelled("three")};
  mutex of_three{third, lock.path};
  auto last = std::async(std::launch::async, [&] { return of_three.acquire(); });
  CHECK(has(watches.hear().value_or(""), "Z  +waits  lock    three@"));
  lock.held.release();
  CHECK(has(watches.hear().value_or(""), "Z  -holds  lock    one@"));
  CHECK(has(watches.hear().value_or(""), "Z  +holds  lock    two@"));
  lock.next.get().release();
  CHECK(has(watches.hear().value_or(""), "Z  -holds  lock    two@"));
  const auto let_in = watches.hear().value_or("");
  CHECK(has(let_in, "Z  +holds  lock    three@"));
  CHECK(has(let_in, "s  _c_"));
  CHECK(has(let_in, "  after "));
  watches.signal(SIGTERM);
  CHECK(watches.end() == "exit code 0");
  CHECK(watches.out.empty());
  CHECK(watches.err.empty());
}

TEST_CASE("watch follows a semaphore, also one that no client uses yet") {
  const auto path = fresh_path();
  client owner{servers().connect_string(), labelled("owner")};
  client other{servers().connect_string(), labelled("other")};
  semaphore one{owner, path, 1};
  semaphore two{other, path, 1};
  run watches{{"watch", "--json", "--semaphore", path, "-c", servers().connect_string()}};
  REQUIRE(eventually([&] { return servers().exists(path + "/leases") && servers().exists(path + "/locks"); }));
  const auto next = [&] { return json::parse(watches.hear().value_or("{}")); };
  // What a contender is let in by, and what it waits with, are two nodes, and may both be seen.
  const auto next_of_leases = [&] {
    auto line = next();
    while (line.is_object() && line.contains("contender") &&
           !line["contender"]["node"].get<std::string>().starts_with("leases/"))
      line = next();
    return line;
  };
  auto held = one.acquire();
  auto line = next_of_leases();
  CHECK(line["change"].get<std::string>().ends_with("holds"));  // "=" where the watch has not read the folders yet
  held.release();
  line = next_of_leases();
  CHECK(line["change"] == "-holds");
  held = one.acquire();
  line = next_of_leases();
  CHECK(line["path"] == path);
  CHECK(line["change"] == "+holds");
  CHECK(line["contender"]["label"] == "owner");
  CHECK(line["contender"]["what"] == "permit");
  auto waits = std::async(std::launch::async, [&] { return two.acquire(); });
  line = next();
  while (line.contains("contender") && line["contender"]["label"] != "other") line = next();
  CHECK(line["change"] == "+waits");
  CHECK(line["contender"]["label"] == "other");
  CHECK(line["contender"]["node"].get<std::string>().starts_with("locks/"));
  held.release();
  line = next_of_leases();
  CHECK(line["change"] == "-holds");
  CHECK(line["after_ms"].is_number());
  line = next_of_leases();
  CHECK(line["change"] == "+holds");
  CHECK(line["contender"]["label"] == "other");
  waits.get().release();
  watches.signal(SIGINT);
  CHECK(watches.end() == "exit code 0");
}

TEST_CASE("watch says that the queue is not known while there is no connection, and goes on afterwards") {
  contended_lock lock;
  proxy between{servers().addresses()};
  run watches{{"watch", lock.path, "--most", "0", "-c", between.connect_string()}};
  CHECK(has(watches.hear().value_or(""), "Z  =holds  lock    (not read)  _c_"));
  CHECK(has(watches.hear().value_or(""), "Z  =waits"));
  between.cut();
  CHECK(has(watches.hear().value_or(""), "Z  the queue is not known"));
  lock.held.release();
  between.heal();
  CHECK(has(watches.hear().value_or(""), "Z  -holds"));
  CHECK(has(watches.hear().value_or(""), "Z  +holds"));
  watches.signal(SIGHUP);
  CHECK(watches.end() == "exit code 0");
}

}  // namespace latchkey::testing
