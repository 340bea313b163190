// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/error.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/fence_gate.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/lockable.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/deadline.hpp"
#include "base/timer_queue.hpp"

namespace latchkey {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Records the time it is given.
struct recorder : detail::lockable<recorder> {
  bool take(nanoseconds timeout, std::stop_token) {
    seen = timeout;
    return true;
  }
  nanoseconds seen{};
};

// The guard of a temporary would hold nothing.
template <class Lock>
concept gives_guards = requires {
  std::declval<Lock>().acquire();
}
|| requires { std::declval<Lock>().try_acquire(); }
|| requires { std::declval<Lock>().try_acquire_for(1s); }
|| requires { std::declval<Lock>().try_acquire_until(std::chrono::steady_clock::now()); };
template <class Lock>
concept gives_guards_to_readers = requires {
  std::declval<Lock>().acquire_shared(std::stop_token{});
}
|| requires { std::declval<Lock>().try_acquire_shared(); };
template <class Lock>
concept gives_guards_of_keys = requires {
  std::declval<Lock>().lock("key");
}
|| requires { std::declval<Lock>().try_lock_for("key", 1s); };
template <class Lock>
concept gives_tickets = requires {
  std::declval<Lock>().enqueue();
};

// So would a lock that is taken without one.
template <class Lock>
concept is_locked_at_all = requires {
  std::declval<Lock>().lock();
}
|| requires { std::declval<Lock>().lock(std::stop_token{}); }
|| requires { std::declval<Lock>().try_lock(); }
|| requires { std::declval<Lock>().try_lock_for(1s); }
|| requires { std::declval<Lock>().try_lock_until(std::chrono::steady_clock::now()); };
template <class Lock>
concept is_locked_by_readers = requires {
  std::declval<Lock>().lock_shared();
}
|| requires { std::declval<Lock>().try_lock_shared(); }
|| requires { std::declval<Lock>().try_lock_shared_for(1s); };

// What a guard that dies at once tells is of no use.
template <class Guard>
concept tells_that_it_holds = requires {
  static_cast<bool>(std::declval<Guard>());
};
template <class Guard>
concept tells_of_its_grant = requires {
  std::declval<Guard>().grant();
}
|| requires { std::declval<Guard>().fence(); }
|| requires { std::declval<Guard>().stop_token(); }
|| requires { std::declval<Guard>().stop_token(std::stop_token{}); }
|| requires { std::declval<Guard>().stop_token(std::stop_token{}, 1s); };
static_assert(tells_that_it_holds<const guard&> && !tells_that_it_holds<guard> && !tells_that_it_holds<const guard>);
static_assert(tells_of_its_grant<guard&> && !tells_of_its_grant<guard> && !tells_of_its_grant<const guard>);
static_assert(tells_that_it_holds<keyed_mutex::any_key&> && !tells_that_it_holds<keyed_mutex::any_key>);

static_assert(gives_guards<recorder&> && !gives_guards<recorder>);
static_assert(is_locked_at_all<recorder&> && !is_locked_at_all<recorder>);
static_assert(is_locked_at_all<election&> && !is_locked_at_all<election>);
static_assert(is_locked_by_readers<shared_mutex&> && !is_locked_by_readers<shared_mutex>);
static_assert(gives_guards<semaphore&> && !gives_guards<semaphore>);
static_assert(gives_guards_to_readers<shared_mutex&> && !gives_guards_to_readers<shared_mutex>);
static_assert(gives_guards_of_keys<keyed_mutex&> && !gives_guards_of_keys<keyed_mutex>);
// A list in a list of keys would be one key, from the one pointer to the other.
template <class Keys>
concept takes_a_list_in_a_list = requires(Keys& of) {
  of.lock_all({{"a", "b"}});
};
template <class Keys>
concept takes_arguments_in_a_list = requires(Keys& of, char** argv) {
  of.lock_all({{argv[1], argv[2]}});
}
|| requires(Keys& of, char** argv) { of.lock_all({{"a", argv[2]}}); }
|| requires(Keys& of, char** argv) { of.try_lock_any({{argv[1], argv[2]}}); };
static_assert(requires(keyed_mutex & of) { of.lock_all({"a", "b"}); } && !takes_a_list_in_a_list<keyed_mutex>);
static_assert(!takes_arguments_in_a_list<keyed_mutex>);
static_assert(requires(keyed_mutex & of, char** argv) { of.lock_all({argv[1], argv[2]}); });
template <class Lock>
concept takes_paths_in_a_list = requires(client& by) {
  Lock{by, {{"/a", "/b"}}};
}
|| requires(client& by, char** argv) { Lock{by, {{argv[1], argv[2]}}}; };
static_assert(requires(client & by) { any_lock{by, {"/a", "/b"}}; } && !takes_paths_in_a_list<any_lock>);
static_assert(!takes_paths_in_a_list<multi_lock>);

// Two texts in braces are none.
template <class Lock>
concept takes_two_texts = requires(client& by) {
  Lock{by, {"/a", "/b"}};
};
static_assert(!takes_two_texts<mutex> && !takes_two_texts<fair_mutex> && !takes_two_texts<shared_mutex>);
static_assert(!takes_two_texts<keyed_mutex> && !takes_two_texts<election> && !takes_two_texts<queue_snapshot>);
static_assert(std::is_constructible_v<mutex, client&, const char*> && std::is_constructible_v<mutex, client&, char[3]>);
static_assert(std::is_constructible_v<mutex, client&, const std::string&>);
static_assert(std::is_constructible_v<mutex, client&, std::string_view>);
static_assert(!std::is_constructible_v<mutex, client&, std::nullptr_t> &&
              !std::is_constructible_v<mutex, client&, int>);
template <class Client>
concept takes_two_hosts = requires {
  Client{{"a:2181", "b:2181"}};
}
|| requires { Client({"a:2181", "b:2181"}); };
static_assert(!takes_two_hosts<client> && std::is_constructible_v<client, const char*>);

// Times belong to try_lock_for, and permits are whole.
template <class Lock>
concept tries_for_a_time = requires(Lock& of) {
  of.try_lock(1s);
}
|| requires(Lock& of) { of.try_acquire(1s); };
template <class Number>
concept counts_permits = requires(semaphore& of, Number count) {
  of.acquire(count);
  of.try_acquire(count);
};
static_assert(!tries_for_a_time<recorder> && !tries_for_a_time<semaphore>);
template <class Keys>
concept tries_a_key_for_a_time = requires(Keys& of) {
  of.try_lock("a", 1s);
};
static_assert(!tries_a_key_for_a_time<keyed_mutex>);
static_assert(counts_permits<int> && counts_permits<std::size_t> && !counts_permits<double> && !counts_permits<bool>);

// A pass that dies at once is none.
template <class Admission>
concept tells_without_a_name = requires {
  std::declval<Admission>()->token();
}
|| requires { std::declval<Admission>() != std::nullopt; };
static_assert(tells_without_a_name<fence_gate<std::string>::admission&>);
static_assert(!tells_without_a_name<fence_gate<std::string>::admission>);
static_assert(tells_that_it_holds<const fence_gate<std::string>::admission&>);
static_assert(!tells_that_it_holds<fence_gate<std::string>::admission>);

// What a temporary tells outlives it.
template <class What>
constexpr bool is_value = std::is_same_v<What, std::remove_reference_t<What>>;
static_assert(std::is_same_v<decltype(std::declval<queue_snapshot>().holders()), std::vector<contender>>);
static_assert(std::is_same_v<decltype(std::declval<queue_snapshot>().waiters()), std::vector<contender>>);
static_assert(std::is_same_v<decltype(std::declval<queue_snapshot>().contenders()), std::vector<contender>>);
static_assert(is_value<decltype(std::declval<queue_snapshot>().path())>);
static_assert(is_value<decltype(std::declval<transaction>().create("/a").set("/a", "x").check("/b").erase("/c"))>);
static_assert(requires(client & by) { multi_lock{by, {"/a", "/b"}}; });
static_assert(requires(client & by) { multi_lock{by, {{"/a"}, {"/b", lock_request::kind::read}}}; });
static_assert(requires(semaphore & of, std::stop_token stop) {
  of.try_acquire_for(1s, stop);
  of.try_acquire_until(std::chrono::steady_clock::now(), stop);
});
static_assert(gives_tickets<fair_mutex&> && !gives_tickets<fair_mutex>);

}  // namespace

TEST_SUITE("values") {
  TEST_CASE("tokens are ordered by node, then by turn, and so is their text") {
    const fencing_token older{0x10, 7};
    const fencing_token newer{0x10, 8};
    const fencing_token newest{0x1ff, 0};
    CHECK(older < newer);
    CHECK(newer < newest);
    CHECK(to_string(older) == "000000000000001000000007");
    CHECK(to_string(older) < to_string(newer));
    CHECK(to_string(newer) < to_string(newest));
    CHECK(parse_fencing_token(to_string(newest)) == newest);
    for (const auto* bad : {"", "12", "00000000000000100000000g", "0000000000000010000000070"}) {
      CHECK_THROWS_AS(parse_fencing_token(bad), std::invalid_argument);
    }
  }

  TEST_CASE("the extremes of time mean what they say") {
    recorder lock;
    CHECK(lock.try_lock_for(std::chrono::hours::max()));
    CHECK(lock.seen == nanoseconds::max());
    CHECK(lock.try_lock_for(std::chrono::duration<double>::max()));
    CHECK(lock.seen == nanoseconds::max());
    CHECK(lock.try_lock_for(std::chrono::hours::min()));
    CHECK(lock.seen == detail::short_try);
    CHECK(lock.try_lock_for(0s));
    CHECK(lock.seen == detail::short_try);
    CHECK(lock.try_lock());
    CHECK(lock.seen == 0ns);
    CHECK(lock.try_lock_for(1us));
    CHECK(lock.seen == 1000ns);
    CHECK(lock.try_lock_until(std::chrono::steady_clock::time_point::max()));
    CHECK(lock.seen > std::chrono::hours{24 * 365 * 100});
    CHECK(lock.try_lock_until(std::chrono::system_clock::time_point::min()));
    CHECK(lock.seen < 0ns);
    CHECK(lock.try_lock_until(std::chrono::steady_clock::now() - 1s));
    CHECK(lock.seen < 0ns);
  }

  TEST_CASE("a deadline does not overflow") {
    using detail::deadline_after;
    using detail::never;
    using detail::time_point;
    const time_point now{1000s};
    CHECK(deadline_after(now, 1s) == now + 1s);
    CHECK(deadline_after(now, nanoseconds::max()) == never);
    CHECK(deadline_after(now, nanoseconds::min()) == now);
  }

  TEST_CASE("timers run in the order of their times, and of their making") {
    detail::timer_queue timers;
    std::string ran;
    const detail::time_point now{1000s};
    timers.add(now + 2s, [&] { ran += 'c'; });
    timers.add(now + 1s, [&] { ran += 'a'; });
    timers.add(now + 1s, [&] { ran += 'b'; });
    auto cancelled = timers.add(now + 1s, [&] { ran += 'x'; });
    timers.cancel(cancelled);
    CHECK_FALSE(cancelled);
    CHECK_FALSE(timers.add(detail::never, [] {}));
    CHECK(timers.next() == now + 1s);
    CHECK_FALSE(timers.take_due(now));
    while (auto due = timers.take_due(now + 5s)) due();
    CHECK(ran == "abc");
    CHECK(timers.size() == 0);
  }

  TEST_CASE("a connect string that is a null pointer is an empty one") {
    const char* const none = nullptr;
    CHECK_THROWS_WITH_AS(client{none}, doctest::Contains("is empty"), error);
  }

  TEST_CASE("an error says what, where, and is a system_error of our category") {
    const error failure{errc::queue_exhausted, "use another path", "/locks/a"};
    CHECK(std::string{failure.what()}.find("/locks/a: use another path") != std::string::npos);
    CHECK(failure.code() == errc::queue_exhausted);
    CHECK(failure.path() == "/locks/a");
    CHECK(failure.code().category() == latchkey_category());
    for (int code = 1; code <= static_cast<int>(errc::refused); ++code) {
      CHECK(latchkey_category().message(code) != "unknown error");
    }
  }

  TEST_CASE("a saturating duration takes any other: rounded up, and the nearest value outside of its range") {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    const auto ms = [](saturating<milliseconds> time) { return milliseconds{time}; };
    CHECK(ms(1500us) == 2ms);
    CHECK(ms(-1500us) == -1ms);
    CHECK(ms(2s) == 2s);
    CHECK(ms(milliseconds::max()) == milliseconds::max());
    CHECK(ms(hours::max()) == milliseconds::max());
    CHECK(ms(hours::min()) == milliseconds::min());
    CHECK(ms(std::chrono::duration<double>{std::numeric_limits<double>::infinity()}) == milliseconds::max());
    CHECK(ms(std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}) == milliseconds::min());
    const saturating<nanoseconds> nearest = ms(milliseconds::max());
    CHECK(nearest == nanoseconds::max());
    CHECK(saturating<milliseconds>{} == 0ms);
  }
}

}  // namespace latchkey
