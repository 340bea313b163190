// SPDX-License-Identifier: Apache-2.0
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <deque>
#include <string>

#include <doctest/doctest.h>

#include <latchkey/testing/child_process.hpp>

#include "support/actors.hpp"
#include "support/critical_section.hpp"
#include "support/reached.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

constexpr auto direct = hand_off::direct;

client_options with_peers(std::chrono::milliseconds session_timeout = 10s) {
  auto options = quick(session_timeout);
  options.peers.emplace();
  return options;
}

/// A UDP socket that never answers.
class mute_endpoint {
 public:
  mute_endpoint() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  }
  ~mute_endpoint() { ::close(fd_); }
  mute_endpoint(const mute_endpoint&) = delete;
  mute_endpoint& operator=(const mute_endpoint&) = delete;

  std::string address() const {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size) == 0);
    return "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }
  int heard() const {
    std::array<char, 1024> bytes{};
    int count = 0;
    while (::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT) >= 0) ++count;
    return count;
  }

 private:
  const int fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

}  // namespace

TEST_SUITE("direct hand-off") {
  TEST_CASE("the next in line is granted while the holder cannot reach the ensemble, and so is the one behind it") {
    const auto path = fresh_path();
    reached_by_proxy here{with_peers(24s)};
    client second{servers().connect_string(), with_peers(24s)};
    client third{servers().connect_string(), with_peers(24s)};
    fair_mutex first_lock{here.owner, path, {.how = direct}};
    fair_mutex second_lock{second, path, {.how = direct}};
    fair_mutex third_lock{third, path, {.how = direct}};
    auto held = first_lock.acquire();
    const auto token = held.fence();
    auto next = second_lock.enqueue();
    REQUIRE(queued(path, 2));
    auto last = third_lock.enqueue();
    REQUIRE(queued(path, 3));
    here.net.black_hole();
    held.release();
    auto of_second = next.acquire();
    CHECK(of_second.fence() > token);
    CHECK(queue_at(path).size() == 3);  // the deletion is on its way to nowhere
    CHECK(of_second);
    // Rule of the dead: the node goes long before its session would.
    CHECK(queued(path, 2));
    of_second.release();
    const auto of_third = last.acquire();
    CHECK(of_third.fence() > of_second.fence());
    here.net.heal();
  }

  TEST_CASE(
      "with direct_then_sync the next holder reads what the previous one wrote, on a leader that has lost its quorum") {
    constexpr auto then_sync = hand_off::direct_then_sync;
    ensemble all{{.tick = 2s, .sync_limit = 2, .quorum_proxies = true}};
    const auto leader = all.wait_for_leader(patience());
    const auto others = all.followers();
    all.create("/data", "old");
    client writer{all.connect_string(others[0]) + "," + all.connect_string(others[1]), with_peers(60s)};
    client reader{all.connect_string(leader), with_peers(60s)};
    fair_mutex of_writer{writer, "/lock", {.how = then_sync}};
    fair_mutex of_reader{reader, "/lock", {.how = then_sync}};
    auto held = of_writer.acquire();
    auto place = of_reader.enqueue();
    REQUIRE(eventually([&] { return reader.metrics().peers->acknowledged == 1; }));
    std::string found;
    on_threads waiting;
    waiting.start([&] {
      const auto mine = place.acquire();
      found = read(reader, "/data").data;
    });
    all.isolate(leader);
    REQUIRE(eventually([&] { return !writer.connected(); }));
    REQUIRE(missing_connection(writer) == "");
    REQUIRE(transaction{writer, held.grant()}.set("/data", "new").commit());
    held.release();
    REQUIRE(eventually([&] { return !reader.connected(); }));  // the old leader has noticed
    all.heal();
    waiting.join();
    CHECK(found == "new");
  }

  TEST_CASE(
      "a holder that is killed between its message and the deletion delays those who come later by T/8, not by T") {
    constexpr auto timeout = 10s;
    const auto path = fresh_path();
    proxy net{servers().addresses()};
    child_process holder{{HOLDER_PROCESS, net.connect_string(), path, "10000", "direct"}};
    REQUIRE(holder.hear(patience()).value_or("").starts_with("held"));
    client second{servers().connect_string(), with_peers(timeout)};
    client third{servers().connect_string(), with_peers(timeout)};
    fair_mutex second_lock{second, path, {.how = direct}};
    fair_mutex third_lock{third, path, {.how = direct}};
    auto next = second_lock.enqueue();
    REQUIRE(queued(path, 2));
    net.black_hole();
    REQUIRE(holder.say("unlock"));
    REQUIRE(holder.hear(patience()) == "unlocked");
    const auto unlocked = std::chrono::steady_clock::now();
    auto of_second = next.acquire();
    holder.kill();
    of_second.release();  // what is left in the queue is the node of the dead
    CHECK(third_lock.acquire());
    const auto passed = std::chrono::steady_clock::now() - unlocked;
    MESSAGE("T/8 is 1250 ms; it took " << std::chrono::round<std::chrono::milliseconds>(passed).count() << " ms");
    CHECK(passed < timeout / 2);
  }

  TEST_CASE("contenders with and without direct hand-off share a lock and never overlap") {
    const auto path = fresh_path();
    constexpr int rounds = 60;
    std::deque<client> clients;
    std::deque<fair_mutex> fair;
    std::deque<mutex> plain;
    for (int i = 0; i < 3; ++i) {
      clients.emplace_back(servers().connect_string(), with_peers());
      fair.emplace_back(clients.back(), path, fair_mutex_options{.how = i == 0 ? hand_off::direct_then_sync : direct});
      clients.emplace_back(servers().connect_string(), with_peers());
      plain.emplace_back(clients.back(), path, mutex_options{.how = i == 2 ? hand_off::ensemble : direct});
    }
    critical_section inside;
    on_threads all;
    const auto visit = [&](auto& lock) {
      all.start([&] {
        for (int i = 0; i < rounds; ++i) {
          const auto held = lock.acquire();
          inside.visit(held.grant());
        }
      });
    };
    for (auto& each : fair) visit(each);
    for (auto& each : plain) visit(each);
    all.join();
    inside.check(rounds * 6);
    CHECK(queued(path, 0));
  }

  TEST_CASE("the keys of a keyed_mutex are handed off directly, too") {
    const auto root = fresh_path();
    reached_by_proxy here{with_peers(24s)};
    client other{servers().connect_string(), with_peers(24s)};
    keyed_mutex first{here.owner, root, {.lock = {.how = direct}}};
    keyed_mutex second{other, root, {.lock = {.how = direct}}};
    auto held = first.lock("one");
    on_threads waiting;
    guard next;
    waiting.start([&] { next = second.lock("one"); });
    REQUIRE(queued(root + "/one", 2));
    here.net.black_hole();
    held.release();
    waiting.join();
    CHECK(next);
    here.net.heal();
  }

  TEST_CASE("direct hand-off costs no extra request") {
    counts of[2];
    for (const auto how : {hand_off::ensemble, direct}) {
      const auto path = fresh_path();
      reached_by_proxy one{with_peers(60s)};
      reached_by_proxy two{with_peers(60s)};
      fair_mutex first{one.owner, path, {.how = how}};
      fair_mutex second{two.owner, path, {.how = how}};
      auto held = first.acquire();
      one.net.reset_requests();
      two.net.reset_requests();
      auto place = second.enqueue();
      REQUIRE(has_sent(two.net, opcode::get_data, 2));  // the one ahead, and its own
      REQUIRE(eventually([&] { return two.owner.metrics().unanswered == 0; }));
      held.release();
      place.acquire().release();
      REQUIRE(queued(path, 0));
      auto& sum = of[how == direct];
      for (const auto* each : {&one, &two}) {
        for (const auto& [name, count] : requests_of(each->net)) sum[name] += count;
      }
      sum.erase("getData");  // of nodes that are 10 ms old, or not: their owners read them once
    }
    CHECK(of[1] == of[0]);
  }

  TEST_CASE("an endpoint that does not answer costs three datagrams, and no request more than without") {
    counts of[2];
    for (const auto how : {hand_off::ensemble, direct}) {
      const auto path = fresh_path();
      mute_endpoint nobody;
      auto unreachable = with_peers(60s);
      unreachable.peers->advertise = nobody.address();
      reached_by_proxy one{unreachable};
      reached_by_proxy two{with_peers(60s)};
      fair_mutex first{one.owner, path, {.how = how}};
      fair_mutex second{two.owner, path, {.how = how}};
      for (int i = 0; i < 3; ++i) {
        auto held = first.acquire();
        one.net.reset_requests();
        two.net.reset_requests();
        auto place = second.enqueue();
        REQUIRE(has_sent(two.net, opcode::get_data, 2));
        if (how == direct) REQUIRE(eventually([&] { return two.owner.metrics().peers->given_up == 1; }));
        REQUIRE(eventually([&] { return two.owner.metrics().unanswered == 0; }));
        held.release();
        place.acquire().release();
        REQUIRE(queued(path, 0));
        auto& sum = of[how == direct];
        for (const auto* each : {&one, &two}) {
          for (const auto& [name, count] : requests_of(each->net)) sum[name] += count;
        }
        sum.erase("getData");
      }
      CHECK(nobody.heard() == (how == direct ? 3 : 0));
    }
    CHECK(of[1] == of[0]);
  }

  TEST_CASE("options that make no sense are refused") {
    client plain{servers().connect_string(), quick()};
    const auto path = fresh_path();
    CHECK_THROWS_AS((mutex{plain, path, {.how = direct}}), error);
    CHECK_THROWS_AS((reentrant_mutex{plain, path, {.how = direct}}), error);
    CHECK_THROWS_AS((fair_mutex{plain, path, {.how = direct}}), error);
    CHECK_THROWS_AS((keyed_mutex{plain, path, {.lock = {.how = direct}}}), error);
    auto options = with_peers();
    options.acl = {{"world", "anyone", "r"}, {"auth", "", "cdrwa"}};
    CHECK_THROWS_AS((client{servers().connect_string(), options}), error);
    options.acl = {{"world", "anyone", "c"}, {"auth", "", "cdrwa"}};
    CHECK_THROWS_AS((client{servers().connect_string(), options}), error);
    options.acl = {{"world", "anyone", "r"}, {"world", "anyone", "cd"}};
    CHECK_NOTHROW((client{servers().connect_string(), options}));
    options.peers->listen = "localhost";
    CHECK_THROWS_AS((client{servers().connect_string(), options}), error);
  }
}

}  // namespace latchkey::testing
