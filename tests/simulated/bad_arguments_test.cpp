// SPDX-License-Identifier: Apache-2.0
/// Arguments that make no sense, and what the errors say of them.

#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"
#include "error_of.hpp"

namespace latchkey::testing {
namespace {

/// @returns what `errc::bad_option` says; empty if there is no such error.
template <class Callable>
std::string refusal_of_option(Callable what) {
  try {
    what();
  } catch (const error& refused) {
    if (refused.code() == errc::bad_option) return refused.what();
  }
  return {};
}

bool says(const std::string& text, std::string_view with) { return text.find(with) != std::string::npos; }

}  // namespace

TEST_CASE("what a snapshot says in one line has nothing of its path that breaks lines, or changes the direction") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  for (const auto* sign : {"\xe2\x80\xa8", "\xe2\x80\xae"}) {  // U+2028, U+202E
    const auto path = std::string{"/locks/a"} + sign + "b";
    mutex lock{owner, path};
    CHECK_FALSE(says(to_string(queue_snapshot{owner, path}), sign));
    const auto held = lock.acquire();
    CHECK_FALSE(says(to_string(queue_snapshot{owner, path}), sign));
    CHECK(says(to_string(queue_snapshot{owner, path}), "held by"));
  }
}

TEST_CASE("the name of a node that is none is cut where it is repeated") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  try {
    evict(owner, "/locks/a", std::string(100'000, 'x'));
    FAIL("did not throw");
  } catch (const error& refused) {
    CHECK(refused.code() == errc::bad_path);
    CHECK(std::string_view{refused.what()}.size() < 500);
  }
}

TEST_CASE("a semaphore of no permits, or of fewer, is refused with its number") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const auto refused = [&](std::uint32_t permits) {
    return refusal_of_option([&] { semaphore(owner, "/s", permits); });
  };
  CHECK(says(refused(0), "a semaphore of 0 permits; give it 1 to 2147483647"));
  CHECK(says(refused(static_cast<std::uint32_t>(-1)), "a semaphore of 4294967295 permits (as a signed number -1)"));
  CHECK(says(refused(2147483648), "2147483648"));
  CHECK(refused(2147483647).empty());
  semaphore permits{owner, "/s", 2};
  CHECK(says(refusal_of_option([&] { permits.resize(static_cast<std::uint32_t>(-2)); }), "4294967294"));
  CHECK(says(refusal_of_option([&] { auto none = permits.acquire(static_cast<std::uint32_t>(-1)); }), "4294967295"));
}

TEST_CASE("a marker that exists as long as the lock is held is refused: with it nothing would ever be written") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  multi_lock both{owner, {{"/locks/a"}, {"/locks/b"}}};
  mutex one{owner, "/locks/c"};
  const auto refused = [&](const grant& held, const std::string& marker) {
    return refusal_of_option([&] { transaction(owner, held).once(marker); });
  };
  const auto of_both = both.acquire();
  const auto of_one = one.acquire();
  CHECK(says(refused(of_one.grant(), "/locks"), "a transaction has one marker"));
  CHECK(says(refused(of_both.grant(), "/locks"), "a transaction has one marker"));
  CHECK_FALSE(refused(of_one.grant(), "/locks/c").empty());
  CHECK_FALSE(refused(of_both.grant(), "/locks/a").empty());
  CHECK_FALSE(refused(of_both.grant(), "/locks/b").empty());
  CHECK(refused(of_one.grant(), "/locks/a").empty());
  CHECK(refused(of_one.grant(), "/locks/cc").empty());
}

TEST_CASE("a transaction without a grant writes nothing, and tells what its marker tells") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const auto again = [&] {
    transaction with_nothing{owner, grant{}};
    with_nothing.once("/done").create("/other");
    return with_nothing.commit().what;
  };
  CHECK(again() == commit_result::outcome::lock_lost);
  mutex lock{owner, "/locks/c"};
  {
    const auto held = lock.acquire();
    transaction first{owner, held.grant()};
    first.once("/done");
    REQUIRE(first.commit());
  }
  CHECK(again() == commit_result::outcome::committed);
  CHECK_FALSE(read(owner, "/other").exists);
}

TEST_CASE("a null pointer is no path, and no key") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const char* const none = nullptr;
  CHECK_THROWS_AS(mutex(owner, none), error);
  CHECK_THROWS_AS(semaphore(owner, none, 1), error);
  keyed_mutex keys{owner, "/keys"};
  CHECK_THROWS_AS(static_cast<void>(keys.lock(none)), error);
  CHECK_THROWS_AS(keys.path(none), error);
  CHECK(error_of([&] { multi_lock(owner, {"/a", none}); }) == errc::bad_path);
}

TEST_CASE("a null pointer among several keys is no key") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, "/keys"};
  const char* const none = nullptr;
  CHECK(error_of([&] { const auto held = keys.lock_all({"a", none}); }) == errc::bad_path);
  CHECK(error_of([&] { const auto held = keys.lock_all(std::vector<const char*>{none}); }) == errc::bad_path);
  CHECK(error_of([&] { const auto held = keys.try_lock_any({none}); }) == errc::bad_path);
}

TEST_CASE("a result that nothing was assigned to is no success") {
  const commit_result none;
  CHECK_FALSE(none);
  CHECK(to_string(none) == "none");
}

TEST_CASE("a snapshot that was moved is an empty queue") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/a"};
  const auto held = lock.acquire();
  queue_snapshot first{owner, "/a"};
  const auto other = std::move(first);
  CHECK(other.holder_count() == 1);
  CHECK(other.path() == "/a");
  CHECK(first.holders().empty());  // NOLINT(bugprone-use-after-move)
  CHECK(first.waiters().empty());
  CHECK(first.holder_count() + first.waiter_count() == 0);
  first = other;
  CHECK(first.holders().size() == 1);
}

TEST_CASE("resize() leaves data that no semaphore has written as it is") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/lock"};
  {
    const auto held = lock.acquire();
    REQUIRE(transaction{owner, held.grant()}.create("/config", "host=db1").commit());
  }
  semaphore permits{owner, "/config", 2};
  CHECK(error_of([&] { permits.resize(4); }) == errc::contract_mismatch);
  CHECK(read(owner, "/config").data == "host=db1");
}

TEST_CASE("credentials with a line break, or without user or password, are refused") {
  simulated_ensemble ensemble;
  for (const auto* wrong : {"billing:pw\n", "billing:", ":pw", "billing"}) {
    client_options options;
    options.authentication = {{"digest", wrong}};
    CHECK(error_of([&] { return client{ensemble, options}.connected(); }) == errc::bad_option);
  }
}

TEST_CASE("a number that is none of the values of an option is refused, with their names") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const auto how = static_cast<hand_off>(7);
  const auto refused = [](auto make) { return refusal_of_option([&] { make(); }); };
  for (const auto& text :
       {refused([&] { mutex(owner, "/m", {.how = how}); }), refused([&] { fair_mutex(owner, "/m", {.how = how}); }),
        refused([&] { keyed_mutex(owner, "/m", {.lock = {.how = how}}); })}) {
    CAPTURE(text);
    CHECK(says(text, "none of ensemble, direct and direct_then_sync"));
  }
  CHECK(says(refused([&] { election(owner, "/m", {.as = static_cast<election_options::naming>(2)}); }),
             "neither latch nor selector"));
  CHECK(says(refused([&] {
               multi_lock(owner, {{"/m", static_cast<lock_request::kind>(3)}});
             }),
             "none of alone, read and write"));
  CHECK(says(refused([&] { client(ensemble, {.when_lost = static_cast<loss_policy>(2)}); }),
             "neither at_deadline nor at_disconnection"));
}

TEST_CASE("a closed client has no session") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  REQUIRE(owner.wait_for_connection(std::chrono::seconds{1}));
  CHECK(owner.session_id() != 0);
  owner.close();
  CHECK(owner.session_id() == 0);
}

TEST_CASE("a downgrade with the guard of another says which guard is wanted") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  shared_mutex lock{owner, "/l"};
  CHECK_THROWS_WITH_AS(static_cast<void>(lock.downgrade(guard{})),
                       doctest::Contains("give the one that acquire() returned"), std::system_error);
  CHECK_THROWS_WITH_AS(lock.downgrade(), doctest::Contains("a writer with a guard calls downgrade(guard)"),
                       std::system_error);
}

TEST_CASE("options of a service that hands off by datagrams are taken, and its locks are handed off") {
  simulated_ensemble ensemble;
  client_options options;
  options.peers.emplace();
  client owner{ensemble, options};
  mutex lock{owner, "/l", {.how = hand_off::direct}};
  CHECK(lock.acquire());
  client other{ensemble};
  CHECK_FALSE(refusal_of_option([&] { mutex(other, "/l", {.how = hand_off::direct}); }).empty());
}

TEST_CASE("run() without work is refused before it stands") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  election candidate{owner, "/e"};
  CHECK(says(refusal_of_option([&] { candidate.run({}, nullptr); }), "run() was given an empty function as work"));
  CHECK(queued(ensemble, "/e", 0));
}

TEST_CASE("durations of a client that are out of range are refused with their number") {
  simulated_ensemble ensemble;
  const auto refused = [&](client_options options) { return refusal_of_option([&] { client{ensemble, options}; }); };
  CHECK(says(refused({.session_timeout = 99ms}), "session_timeout is 99 ms; use at least 100 ms"));
  CHECK(says(refused({.session_timeout = 25h}), "session_timeout is 90000000 ms; use at most 86400000 ms"));
  CHECK(says(refused({.server_tick = -1ms}), "server_tick is -1 ms; use at least 0 ms"));
  CHECK(says(refused({.connect_timeout = 0ms}), "connect_timeout is 0 ms; use at least 1 ms"));
  CHECK(says(refused({.connect_timeout = -5s}), "connect_timeout is -5000 ms; use at least 1 ms"));
  CHECK(says(refused({.report_waits_after = -1s}), "report_waits_after is -1000 ms; use at least 0 ms"));
  CHECK(says(refused({.close_timeout = -1s}), "close_timeout is -1000 ms; use at least 0 ms"));
}

TEST_CASE("durations of a lock that are negative are refused with their number") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const auto linger = [&](auto options) {
    options.linger = -1ms;
    return options;
  };
  CHECK(says(refusal_of_option([&] { mutex(owner, "/a", linger(mutex_options{})); }), "linger is -1 ms"));
  CHECK(says(refusal_of_option([&] { mutex(owner, "/a", {.max_hold = -1s}); }), "max_hold is -1000 ms"));
  CHECK(says(refusal_of_option([&] { fair_mutex(owner, "/a", {.max_hold = -1s}); }), "max_hold is -1000 ms"));
  CHECK(says(refusal_of_option([&] { shared_mutex(owner, "/a", {.share_for = -1s}); }), "share_for is -1000 ms"));
  CHECK(says(refusal_of_option([&] { semaphore(owner, "/a", 1, {.max_hold = -1s}); }), "max_hold is -1000 ms"));
  CHECK(says(refusal_of_option([&] { multi_lock(owner, {{"/a"}}, {.max_hold = -1s}); }), "max_hold is -1000 ms"));
  CHECK(says(refusal_of_option([&] { election(owner, "/a", {.rest_after_failure = -1s}); }),
             "rest_after_failure is -1000 ms"));
}

TEST_CASE("what is nothing without an answer waits for it, also with a timeout of zero or less") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/a"};
  semaphore permits{owner, "/s", 1};
  const auto held = lock.acquire();
  const auto who = sequencer_of(held.grant());
  sequencer_cache cache{owner};
  for (const auto timeout : {0s, -1s}) {
    CHECK(read(owner, "/locks", timeout).exists);
    const queue_snapshot queue{owner, "/locks/a", timeout};
    REQUIRE(queue.contenders().size() == 1);
    CHECK(ask_to_release(owner, "/locks/a", timeout) == 1);
    CHECK(check_sequencer(owner, who, timeout));
    CHECK(cache.looks_valid(who, timeout));
    CHECK_NOTHROW(permits.resize(timeout == 0s ? 2 : 3, timeout));
    CHECK_FALSE(evict(owner, "/locks/a", "lock-0000009999", timeout));
  }
}

}  // namespace latchkey::testing
