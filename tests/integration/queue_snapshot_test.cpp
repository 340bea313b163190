// SPDX-License-Identifier: Apache-2.0
#include <latchkey/find_locks.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/testing/raw_client.hpp>

#include "log_lines.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"
#include "support/writer_behind_readers.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {
namespace {

client_options labelled(std::string label) {
  auto options = quick();
  options.label = std::move(label);
  return options;
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::chrono::milliseconds since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

/// A queue whose nodes are nearly as large as they may be, full of JSON, on servers that have the memory for it.
struct hostile_queue {
  static constexpr std::size_t nodes = 120;
  const std::string path = "/hostile";
  ensemble all{{.jvm_args = {"-Xmx1g"}}};
  proxy net{all.addresses()};
  raw_client foreign{all.address(0), {.session_timeout = 60s, .request_timeout = patience()}};

  hostile_queue() {
    std::string numbers = "[0";
    while (numbers.size() < 1000 * 1000) numbers += ",0";
    numbers += "]";
    foreign.create_all(path);
    for (std::size_t i = 0; i < nodes; ++i) {
      foreign.create(path + "/_c_5f3c-lock-", numbers, create_mode::ephemeral_sequential);
    }
  }
};

}  // namespace

TEST_SUITE("queue snapshot") {
  LATCHKEY_TEST_CASES("it says who holds the lock and who waits, in order, whoever they are", who, all_callers()) {
    const auto path = fresh_path();
    servers().create_all(path);
    client first{servers().connect_string(), labelled("billing \"night\"")};
    client second{servers().connect_string(), labelled("reports")};
    shared_mutex holder{first, path};
    shared_mutex waiter{second, path};
    raw_client foreign{servers().address(0)};
    foreign.sync();
    for (const auto* name : {"config", "00", "name-", "lock-"}) foreign.create(path + "/" + name);
    const auto before = std::chrono::system_clock::now();
    signal held;
    signal seen;
    group_of_actors all{who};
    all.start([&] {
      const std::lock_guard guard{holder};
      held.set();
      seen.wait();
    });
    all.start([&] {
      held.wait();
      waiter.lock_shared();
      waiter.unlock_shared();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      const auto curator = foreign.create(path + "/_c_5f3c-__WRIT__", "10.0.0.7", create_mode::ephemeral_sequential);
      const auto odd =
          foreign.create(path + "/_c_5f3d-__READ__", "{\"label\":7,\"pid\":\"x\"", create_mode::ephemeral_sequential);
      const queue_snapshot queue{second, path};
      CHECK(queue.path() == path);
      REQUIRE(queue.contenders().size() == 4);
      REQUIRE(queue.holders().size() == 1);
      REQUIRE(queue.waiters().size() == 3);
      const auto& holds = queue.holders()[0];
      CHECK(holds.node == queue_at(path)[0]);
      CHECK(holds.what == contender::kind::write);
      CHECK(holds.holds);
      CHECK(holds.label == "billing \"night\"");
      CHECK(holds.host == host_name());
      CHECK(holds.pid == ::getpid());
      CHECK(holds.session == first.session_id());
      CHECK(holds.since > before - 5s);  // two clocks of one machine
      CHECK(holds.since < std::chrono::system_clock::now() + 5s);
      const auto waits = queue.waiters();
      CHECK(waits[0].what == contender::kind::read);
      CHECK_FALSE(waits[0].holds);
      CHECK(waits[0].label == "reports");
      CHECK(waits[0].session == second.session_id());
      CHECK(path + "/" + waits[1].node == curator);
      CHECK(waits[1].what == contender::kind::write);
      CHECK(waits[1].label.empty());
      CHECK(waits[1].data == "10.0.0.7");
      CHECK(waits[1].session == foreign.session().id);
      CHECK(path + "/" + waits[2].node == odd);
      CHECK(waits[2].label.empty());
      CHECK(waits[2].pid == 0);
      CHECK(waits[2].data == "{\"label\":7,\"pid\":\"x\"");
      const auto line = to_string(queue);
      CAPTURE(line);
      CHECK(line.starts_with(path + ": write lock held by billing \"night\" (" + host_name() + ", pid "));
      CHECK(line.ends_with("3 waiting"));
      seen.set();
    });
    all.join();
  }

  TEST_CASE("readers before the first writer all hold the lock") {
    writer_behind_readers here;
    const queue_snapshot queue{here.first, here.path};
    CHECK(queue.holders().size() == 2);
    REQUIRE(queue.waiters().size() == 1);
    CHECK(queue.waiters()[0].what == contender::kind::write);
    CHECK(to_string(queue).find(" and 1 more since ") != std::string::npos);
    here.leave();
    CHECK(queued(here.path, 0));
  }

  TEST_CASE("a queue that is empty, or not there, is one of nobody") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    CHECK(queue_snapshot(owner, path).contenders().empty());
    CHECK(to_string(queue_snapshot{owner, path}) == path + ": not held");
    CHECK(ask_to_release(owner, path) == 0);
    servers().create_all(path);
    CHECK(queue_snapshot(owner, path).holders().empty());
    CHECK(error_of([&] { queue_snapshot(owner, "/a//b"); }) == errc::bad_path);
    CHECK(error_of([&] { ask_to_release(owner, ""); }) == errc::bad_path);
  }

  TEST_CASE("of a path that is used as a lock and as a semaphore it shows both, and the log says so") {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    semaphore permits{owner, path, 1};
    const auto permit = permits.acquire();
    mutex lock{owner, path};
    const auto held = lock.acquire();
    const auto warnings = [&] { return lines.with("used as a lock and as a semaphore").size(); };
    CHECK(lines.wait_for("used as a lock and as a semaphore", 30s));
    const queue_snapshot both{owner, path};
    CHECK(both.holders().size() == 2);
    CHECK(warnings() == 1);
    client other{servers().connect_string(), quick()};
    CHECK(queue_snapshot{other, path}.holders().size() == 2);
    CHECK(warnings() == 2);
  }

  LATCHKEY_TEST_CASES("after a failed try it says who has the lock", kind, family()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), labelled("the one who has it")};
    client second{servers().connect_string(), quick()};
    const auto holder = kind.make_rival(first, path);
    const auto other = kind.make(second, path);
    group_of_actors all{kind.who};
    all.start([&] {
      const std::lock_guard guard{*holder};
      CHECK_FALSE(other->try_lock());
      REQUIRE(queued(path, 1));
      const queue_snapshot queue{second, path};
      REQUIRE(queue.holders().size() == 1);
      const auto& has_it = queue.holders()[0];  // the data of a candidate is its id
      CHECK((has_it.label.empty() ? has_it.data : has_it.label) == "the one who has it");
      CHECK(queue.waiters().empty());
    });
    all.join();
  }

  LATCHKEY_TEST_CASES("without an answer in time the ensemble is unreachable", who, all_callers()) {
    const auto path = fresh_path();
    reached_by_proxy here{quick(20s)};
    mutex lock{here.owner, path};
    group_of_actors all{who};
    all.start([&] {
      const std::lock_guard guard{lock};
      for (const bool frozen : {true, false}) {
        CAPTURE(frozen);
        frozen ? here.net.black_hole() : here.net.cut();
        const auto start = std::chrono::steady_clock::now();
        CHECK(error_of([&] { queue_snapshot(here.owner, path, 100ms); }) == errc::unreachable);
        CHECK(error_of([&] { ask_to_release(here.owner, path, 100ms); }) == errc::unreachable);
        const auto took = std::chrono::steady_clock::now() - start;
        CHECK(took >= 200ms);
        CHECK(took < 5s);
        here.net.heal();
        CHECK(queue_snapshot(here.owner, path, patience()).holders().size() == 1);
      }
      client nowhere{"127.0.0.1:1", quick()};
      CHECK(error_of([&] { queue_snapshot(nowhere, path, 20ms); }) == errc::unreachable);
    });
    all.join();
  }

  TEST_CASE("of data that is long the beginning is shown, and nothing is read from it") {
    const auto path = fresh_path();
    servers().create_all(path);
    raw_client foreign{servers().address(0)};
    foreign.sync();
    const std::string exact = R"({"label":"short enough"})" + std::string(4096 - 24, ' ');
    const std::string longer = R"({"label":"too long"})" + std::string(4096, ' ');
    for (const auto* data : {&exact, &longer}) {
      foreign.create(path + "/_c_5f3c-lock-", *data, create_mode::ephemeral_sequential);
    }
    client owner{servers().connect_string(), quick()};
    const queue_snapshot queue{owner, path};
    REQUIRE(queue.contenders().size() == 2);
    CHECK(queue.contenders()[0].label == "short enough");
    CHECK(queue.contenders()[0].data == exact);
    CHECK_FALSE(queue.contenders()[0].data_cut);
    CHECK(queue.contenders()[1].label.empty());
    CHECK(queue.contenders()[1].data == longer.substr(0, 4096));
    CHECK(queue.contenders()[1].data_cut);
  }

  TEST_CASE("the locks of a tree are found, whoever uses them, also below a chroot") {
    const auto path = fresh_path();
    raw_client foreign{servers().address(0)};
    for (const auto* name : {"/curator", "/kazoo/deep", "/idle/config", "/permits/leases", "/permits/locks"})
      foreign.create_all(path + name);
    const auto contend = [&](const std::string& node) {
      foreign.create(path + node, "x", create_mode::ephemeral_sequential);
    };
    contend("/curator/_c_5f3c-lock-");
    contend("/curator/_c_5f3c-__READ__");
    contend("/kazoo/deep/5f3c__lock__");
    contend("/permits/leases/_c_5f3c-lease-");
    contend("/permits/locks/_c_5f3c-lock-");
    contend("/idle/name-");
    client owner{servers().connect_string(), quick()};
    const std::vector<found_lock> expected{
        {path + "/curator", 2, false}, {path + "/kazoo/deep", 1, false}, {path + "/permits", 2, true}};
    CHECK(find_locks(owner, path) == expected);
    const auto everywhere = find_locks(owner, "/", {.on_denied = [](const auto&) {}});  // by what other tests have left
    CHECK(std::includes(everywhere.begin(), everywhere.end(), expected.begin(), expected.end(),
                        [](const auto& a, const auto& b) { return a.path < b.path; }));
    client below{servers().connect_string() + path, quick()};
    CHECK(find_locks(below, "/") ==
          std::vector<found_lock>{{"/curator", 2, false}, {"/kazoo/deep", 1, false}, {"/permits", 2, true}});
  }

  LATCHKEY_TEST_CASES("closing the client ends a look at the queue", who, all_callers()) {
    reached_by_proxy here{quick(20s)};
    here.net.cut();
    REQUIRE(eventually([&] { return !here.owner.connected(); }));
    std::atomic<bool> looks{false};
    group_of_actors all{who};
    all.start([&] {
      looks = true;
      CHECK(error_of([&] { queue_snapshot(here.owner, "/a", 1h); }) == errc::closed);
    });
    all.start([&] {
      REQUIRE(eventually([&] { return looks.load(); }));
      here.owner.close();
    });
    all.join();
    CHECK(error_of([&] { queue_snapshot(here.owner, "/a"); }) == errc::closed);
  }
}

TEST_SUITE("long queues") {
  TEST_CASE("a queue with much data delays neither the locks of the client nor the end of the call") {
    hostile_queue here;
    constexpr auto session_timeout = 8s;  // servers that read 120 MB at once may stop for a second or two themselves
    client owner{here.net.connect_string(), quick(session_timeout)};
    mutex lock{owner, "/ours"};
    const std::lock_guard guard{lock};
    const auto grant = lock.held();
    const auto begin = std::chrono::steady_clock::now();
    auto longest = 0ms;
    int looks = 0;
    for (; since(begin) < session_timeout * 5 / 4; ++looks) {  // an unproved lease ends earlier
      const auto start = std::chrono::steady_clock::now();
      REQUIRE(queue_snapshot(owner, here.path, patience()).contenders().size() == hostile_queue::nodes);
      longest = std::max(longest, since(start));
    }
    MESSAGE(looks << " looks at " << hostile_queue::nodes << " MB, none longer than " << longest.count() << " ms");
    CHECK(error_of([&] { queue_snapshot(owner, here.path, 1ms); }) == errc::unreachable);
    // Over a slow link: nodes of that size are read one after another, in 120 round trips of 50 ms.
    constexpr auto time = 2s;
    here.net.delay(25ms);
    const auto slow = std::chrono::steady_clock::now();
    CHECK(error_of([&] { queue_snapshot(owner, here.path, time); }) == errc::unreachable);
    CHECK(since(slow) >= time);
    CHECK(since(slow) < 5s);  // 6 s without a limit
    CHECK(grant);
  }
}

}  // namespace latchkey::testing
