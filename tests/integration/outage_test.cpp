// SPDX-License-Identifier: Apache-2.0
/// What a service is told when the ensemble is away, or a lock is.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/testing/child_process.hpp>

#include "log_lines.hpp"
#include "support/reached.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// Nobody listens there.
constexpr auto wrong_ports = "127.0.0.1:1,127.0.0.1:2";

client_options reporting(std::chrono::milliseconds connect_timeout) {
  auto options = quick(4s);
  options.connect_timeout = connect_timeout;
  return options;
}

/// The outages that an observer is told of.
class told_outages {
 public:
  void operator()(const client_event& event) {
    if (event.what != client_event::kind::unreachable) return;
    const std::lock_guard lock{mutex_};
    events_.push_back(event);
  }
  std::vector<client_event> all() {
    const std::lock_guard lock{mutex_};
    return events_;
  }

 private:
  std::mutex mutex_;
  std::vector<client_event> events_;
};

/// @returns the number behind `name` in a line of the log.
long number_in(const std::string& line, const std::string& name) {
  const auto at = line.find(name);
  return at == std::string::npos ? -1 : std::stol(line.substr(at + name.size()));
}

}  // namespace

TEST_SUITE("outages") {
  TEST_CASE("with a wrong port every try fails, and says what to look at") {
    client nowhere{wrong_ports, reporting(50ms)};
    mutex plain{nowhere, "/a"};
    reentrant_mutex again{nowhere, "/a"};
    fair_mutex fair{nowhere, "/a"};
    shared_mutex shared{nowhere, "/a"};
    const auto fails = [](auto call) { CHECK(error_of(call) == errc::unreachable); };
    fails([&] { return plain.try_lock(); });
    fails([&] { return plain.try_lock_for(100ms); });
    fails([&] { return plain.try_acquire().release(); });
    fails([&] { return plain.try_acquire_for(1ms).release(); });
    fails([&] { return again.try_lock(); });
    fails([&] { return fair.try_lock(); });
    fails([&] { return fair.try_lock_for(1ms); });
    fails([&] { return shared.try_lock(); });
    fails([&] { return shared.try_lock_shared(); });
    fails([&] { return shared.try_lock_shared_for(1ms); });
    try {
      const bool taken = plain.try_lock();
      CHECK_FALSE(taken);
    } catch (const error& failure) {
      CHECK(std::string{failure.what()}.find(wrong_ports) != std::string::npos);
      CHECK(failure.path() == "/a");
    }
  }

  TEST_CASE("with a wrong port a call that waits is reported, and default options give no other line") {
    const log_lines lines{log_level::info};
    told_outages told;
    auto options = reporting(1s);
    options.observer = std::ref(told);
    client nowhere{wrong_ports, options};
    mutex lock{nowhere, "/a"};
    on_threads all;
    all.start([&] { CHECK(error_of([&] { lock.lock(); }) == errc::closed); });
    const auto with_call = [&] {
      auto all_told = told.all();
      std::erase_if(all_told, [](const client_event& each) { return each.waiting_calls == 0; });
      return all_told;
    };
    REQUIRE(eventually([&] { return with_call().size() >= 2; }));
    nowhere.close();
    all.join();
    for (const auto& each : with_call()) CHECK(each.outage >= 1s);
    CHECK(lines.with(std::string{"no server of "} + wrong_ports).size() == told.all().size());
    CHECK(lines.with("1 call waits").size() == with_call().size());
    for (const auto& line : lines.all()) CHECK_MESSAGE(line.starts_with("no server of"), line);
  }

  TEST_CASE("what the C client says of servers that are away is a line a minute for each of its reasons") {
    const log_lines lines{log_level::debug};
    client nowhere{wrong_ports, reporting(2s)};
    CHECK_FALSE(nowhere.wait_for_connection(4s));
    CHECK(lines.with("the C client says").size() <= 20);
  }

  TEST_CASE("an outage of a real ensemble: short, tries are false; long, they fail; and its end is reported") {
    const log_lines lines{log_level::warning};
    ensemble all{{.servers = 1}};
    client owner{all.connect_string(), reporting(1s)};
    REQUIRE(missing_connection(owner) == "");
    const auto path = fresh_path();
    all.create_all(path);
    mutex lock{owner, path};
    all.stop(0);
    REQUIRE(eventually([&] { return !owner.connected(); }));
    CHECK_FALSE(lock.try_lock());
    REQUIRE(eventually([&] { return error_of([&] { return lock.try_lock(); }) == errc::unreachable; }));
    REQUIRE(eventually([&] { return !lines.with("no server of").empty(); }));
    all.start(0);
    REQUIRE(missing_connection(owner) == "");
    CHECK(eventually([&] { return lock.try_lock(); }));
    CHECK(eventually([&] { return lines.with("outage_ms=").size() > lines.with("no server of").size(); }));
    CHECK_FALSE(lines.with("the connection was lost").empty());
  }

  TEST_CASE("a try in a network that has frozen ends with connect_timeout, not with the connection") {
    proxy net{servers().addresses()};
    auto options = quick(20s);
    options.connect_timeout = 500ms;
    client owner{net.connect_string(), options};
    REQUIRE(missing_connection(owner) == "");
    const auto path = fresh_path();
    servers().create_all(path);
    mutex plain{owner, path};
    fair_mutex fair{owner, path};
    shared_mutex shared{owner, path};
    net.black_hole();
    CHECK_FALSE(plain.try_lock());
    CHECK_FALSE(fair.try_lock());
    CHECK_FALSE(shared.try_lock_shared());
    CHECK_FALSE(shared.try_lock());
    CHECK(owner.connected());  // it is lost after two thirds of the session timeout
    net.heal();
    CHECK(eventually([&] { return plain.try_lock(); }));
    plain.unlock();
    CHECK(queued(path, 0));
  }

  TEST_CASE("the loss of a lock is a line: which, why, and how long it was held") {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, path};
    lock.lock();
    const auto held = lock.held();
    servers().remove(path + "/" + queue_at(path)[0]);
    REQUIRE(held.wait_for_end(patience()));
    CHECK(eventually(
        [&] { return lines.with("a lock was lost path=" + path + " reason=\"node deleted\"").size() == 1; }));
    CHECK(lines.with("held_ms=").size() == 1);
    lock.unlock();
    lock.lock();
    expire_session(owner);
    CHECK(eventually([&] { return lines.with("the session is over").size() == 1; }));
    // Whether its node or its session was heard of first.
    CHECK(eventually([&] { return lines.with("a lock was lost path=" + path).size() == 2; }));
    lock.unlock();
    lock.lock();
    owner.close();
    CHECK(lines.with("a lock was lost").size() == 2);
  }

  TEST_CASE("a suspicion is a line, before that of the loss") {
    const log_lines lines{log_level::warning};
    proxy net{servers().addresses()};
    client owner{net.connect_string(), quick(12s)};  // the last twelfth is far more than a machine stalls
    const auto path = fresh_path();
    mutex lock{owner, path};
    lock.lock();
    net.black_hole();
    REQUIRE(lock.held().wait_for_end(2 * patience()));
    const auto of_lock = lines.with("path=" + path);
    REQUIRE(of_lock.size() == 2);
    CHECK(of_lock[0].find("the lease of a lock is not being renewed") == 0);
    CHECK(of_lock[0].find("lease_left_ms=") != std::string::npos);
    CHECK(of_lock[1].find("a lock was lost") == 0);
  }

  TEST_CASE_TEMPLATE("a long wait for a lock of this process is a warning that says who, in words that do no harm",
                     Lock, mutex, fair_mutex, shared_mutex) {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    auto theirs = quick(long_session);
    theirs.label = "other\nlatchkey: error: forged \"label\"\x1b[2J";
    client other{servers().connect_string(), theirs};
    Lock holder{other, path};
    holder.lock();
    auto options = quick(long_session);
    options.report_waits_after = 400ms;
    client owner{servers().connect_string(), options};
    Lock lock{owner, path};
    std::stop_source stop;
    on_threads all;
    all.start([&] { CHECK_FALSE(lock.try_lock_for(patience(), stop.get_token())); });
    const auto said = [&] { return lines.with("path=" + path); };
    REQUIRE(eventually([&] { return said().size() >= 2; }));
    stop.request_stop();
    all.join();
    holder.unlock();
    CHECK(said()[0].find("a call has been waiting long for a lock that this process itself holds") == 0);
    CHECK(said()[0].find(R"(holder_label="other\x0alatchkey: error: forged \"label\"\x1b[2J")") != std::string::npos);
    CHECK(said()[0].find("holder_pid=") != std::string::npos);
    CHECK(number_in(said()[0], "waited_ms=") >= 400);
    CHECK(number_in(said()[1], "waited_ms=") >= 800);
    CHECK(said()[0].find("waiting_calls=1") != std::string::npos);
  }

  TEST_CASE("a long wait for a lock of another process is a line at level info") {
    const log_lines lines{log_level::info};
    const auto path = fresh_path();
    child_process holder{{HOLDER_PROCESS, servers().connect_string(), path, "4000"}};
    REQUIRE(holder.hear(patience()).value_or("").find("held") == 0);
    auto options = quick();
    options.report_waits_after = 400ms;
    client owner{servers().connect_string(), options};
    mutex lock{owner, path};
    std::stop_source stop;
    on_threads all;
    all.start([&] { CHECK_FALSE(lock.try_lock_for(patience(), stop.get_token())); });
    CHECK(eventually([&] { return !lines.with("a call has been waiting long for the lock path=" + path).empty(); }));
    stop.request_stop();
    all.join();
  }

  TEST_CASE("a reader that waits behind a writer is told who reads, not who waits") {
    const log_lines lines{log_level::info};
    const auto path = fresh_path();
    auto options = quick();
    options.label = "who-reads";
    client first{servers().connect_string(), options};
    options.label = "who-waits";
    client second{servers().connect_string(), options};
    options.report_waits_after = 400ms;
    client third{servers().connect_string(), options};
    shared_mutex reads{first, path};
    shared_mutex writes{second, path};
    shared_mutex reads_later{third, path};
    const auto held = reads.acquire_shared();
    std::stop_source stop;
    on_threads all;
    all.start([&] { CHECK_FALSE(writes.try_lock_for(patience(), stop.get_token())); });
    REQUIRE(queued(path, 2));
    all.start([&] { CHECK_FALSE(reads_later.try_lock_shared_for(patience(), stop.get_token())); });
    CHECK(eventually([&] { return !lines.with("a call has been waiting long").empty(); }));
    for (const auto& each : lines.with("a call has been waiting long")) CHECK(mentions(each, "holder_label=who-reads"));
    stop.request_stop();
    all.join();
  }

  TEST_CASE_TEMPLATE("a timeout that is not positive bounds a call when no server answers, too", Lock, mutex,
                     fair_mutex, shared_mutex, reentrant_mutex) {
    ensemble all{{.servers = 1}};
    client connected{all.connect_string(), quick(30s)};
    Lock lock{connected, "/not/positive"};
    REQUIRE(lock.try_lock_for(patience()));
    lock.unlock();
    all.pause(0);
    client unconnected{all.connect_string(), quick(30s)};
    Lock other{unconnected, "/not/positive"};
    for (auto* const each : {&lock, &other}) {
      const auto begin = std::chrono::steady_clock::now();
      CHECK_FALSE(each->try_lock_for(0s));
      CHECK_FALSE(each->try_lock_until(begin - 1h));
      CHECK(std::chrono::steady_clock::now() - begin < 4s);  // a try: 10 s
    }
    all.resume(0);
    CHECK(lock.try_lock());
    lock.unlock();
  }

  TEST_CASE("a short wait is no line, nor any with report_waits_after zero") {
    const log_lines lines{log_level::info};
    const auto path = fresh_path();
    client other{servers().connect_string(), quick(long_session)};
    mutex holder{other, path};
    holder.lock();
    auto silent = quick(long_session);
    silent.report_waits_after = 0ms;
    auto eager = quick(long_session);
    eager.report_waits_after = patience();
    client one{servers().connect_string(), silent};
    client two{servers().connect_string(), eager};
    for (auto* const each : {&one, &two}) REQUIRE(missing_connection(*each) == "");
    mutex of_one{one, path};
    mutex of_two{two, path};
    CHECK_FALSE(of_one.try_lock_for(500ms));
    CHECK(lines.with("path=" + path).empty());
    CHECK_FALSE(of_two.try_lock_for(1ms));
    CHECK_FALSE(of_two.try_lock());
    CHECK(lines.with("path=" + path).empty());
  }

  TEST_CASE("what a node says is on one line in the words of a queue") {
    const auto path = fresh_path();
    auto theirs = quick();
    theirs.label = "two\nlines\x07";
    client other{servers().connect_string(), theirs};
    mutex holder{other, path};
    holder.lock();
    const auto text = to_string(queue_snapshot{other, path});
    CHECK(text.find("held by two\\x0alines\\x07 (") != std::string::npos);
    holder.unlock();
  }
}

}  // namespace latchkey::testing
