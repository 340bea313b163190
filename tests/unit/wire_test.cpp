// SPDX-License-Identifier: Apache-2.0
/// A client of production and servers that do what real ones do rarely, or never.

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "bridge/zookeeper_handle.hpp"
#include "log_lines.hpp"
#include "session/client_core.hpp"
#include "support/wire_server.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 30s;  // a limit, not a pace

/// Of a web server that is asked by a client of ZooKeeper.
constexpr const char* page = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request";

client_options session_of(std::chrono::milliseconds timeout) {
  client_options options;
  options.session_timeout = timeout;
  return options;
}

/// Of servers whose tick allows of no session that is shorter than 3.9 s.
client_options session_on_slow_servers() {
  auto options = session_of(4s);
  options.server_tick = 2900ms;
  return options;
}

std::error_code error_of_view(const std::string& list) {
  wire_server server{{.list = list}};
  client owner{server.address(), session_of(4s)};
  REQUIRE(owner.wait_for_connection(long_enough));
  try {
    queue_snapshot{owner, "/q", long_enough};
  } catch (const error& failure) {
    return failure.code();
  }
  return {};
}

/// @returns what a call is told whose client finds no server at `address`.
std::string refusal_at(const std::string& address) {
  auto options = session_of(4s);
  options.connect_timeout = 1s;
  client owner{address, options};
  try {
    mutex lock{owner, "/lock"};
    static_cast<void>(lock.try_acquire_for(2s));
  } catch (const error& failure) {
    CHECK(failure.code() == errc::unreachable);
    return failure.what();
  }
  return {};
}

template <class Count>
bool eventually_reported(Count count) {
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (count() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  return count() != 0;
}

/// Looks at links, and touches no descriptor: other threads may be closing theirs.
/// @returns the descriptors of this process that are ends of pipes.
std::set<int> pipe_ends() {
  std::set<int> found;
  std::error_code ended;
  for (std::filesystem::directory_iterator at{"/proc/self/fd"}, end; at != end; at.increment(ended)) {
    if (std::filesystem::read_symlink(at->path(), ended).string().starts_with("pipe:"))
      found.insert(std::stoi(at->path().filename()));
  }
  return found;
}

/// Tells of each connection of one handle, on its completion thread.
class connections_listener final : public detail::znodes_listener {
 public:
  explicit connections_listener(std::function<void(const std::string&)> told) : told_{std::move(told)} {}

  void on_connection(std::uint64_t, detail::connection_state state, detail::session_info info) override {
    if (state == detail::connection_state::connected) told_(info.server);
  }
  void on_reply(std::uint64_t, std::uint64_t, detail::reply) override {}
  void on_watch(std::uint64_t, detail::watch_event, std::string_view) override {}

 private:
  const std::function<void(const std::string&)> told_;
};

wire_writer list_of(std::int32_t count) { return wire_writer{}.add(count); }

}  // namespace

TEST_SUITE("wire") {
  TEST_CASE("a list that is none does not end the process, and is not taken for one") {
    CHECK(error_of_view(wire_server::behaviour{}.list) == std::error_code{});
    CHECK(error_of_view(list_of(-1).bytes()) == errc::refused);
    CHECK(error_of_view(list_of(-2'000'000'000).bytes()) == errc::refused);
    CHECK(error_of_view(list_of(2).add_text("name").add(-1).bytes()) == errc::refused);
    CHECK(error_of_view(list_of(3).add_text("name").bytes()) == errc::refused);
    CHECK(error_of_view(list_of(1'000'000).bytes()) == errc::refused);
  }

  TEST_CASE("a server with too small a largest timeout is left for another, whichever is asked first") {
    for (int round = 0; round < 8; ++round) {  // the order of the servers is random
      wire_server other{{.timeout = 3s}};
      wire_server ours{{.timeout = 4s}};
      client owner{other.address() + "," + ours.address(), session_on_slow_servers()};
      REQUIRE(owner.wait_for_connection(long_enough));
      CHECK(owner.session_timeout() == 4s);
      CHECK(other.sessions() <= 1);
    }
  }

  TEST_CASE("a service of another kind at an address is left for a server, whichever is asked first") {
    for (const auto& says : {std::string{page}, std::string("\0\0\0\x2c", 4) + std::string(44, '\0')}) {
      for (const bool closes : {false, true}) {
        for (int round = 0; round < 3; ++round) {
          wire_server other{{.closes_on_requests = closes, .says_only = says}};
          wire_server ours{{.timeout = 4s}};
          const log_lines log{log_level::warning};
          client owner{other.address() + "," + ours.address(), session_of(4s)};
          CHECK(owner.wait_for_connection(long_enough));
          CHECK(owner.session_timeout() == 4s);
          for (const auto& line : log.with("is no ZooKeeper server")) {
            CAPTURE(line);
            CHECK(line.find(other.address()) != std::string::npos);
          }
        }
      }
    }
  }

  TEST_CASE("each connection is told with its own server, however late the completion thread is") {
    const auto read_only = [](std::chrono::milliseconds timeout) {
      wire_writer welcome;
      welcome.add(std::int32_t{0}).add(static_cast<std::int32_t>(timeout.count())).add(std::int64_t{7});
      welcome.add_text(std::string(16, 'p')).add(std::int8_t{1});
      return wire_writer{}.add_text(welcome.bytes()).bytes();
    };
    constexpr std::size_t connections = 6;
    constexpr auto session = 30s;  // no attempt to connect is given up on a busy machine
    std::mutex mutex;
    std::vector<std::string> asked;  // in their order; the two are of `mutex`
    std::promise<void> all_asked;
    const wire_server::behaviour ends_at_once{
        .closes_on_requests = true, .says_only = read_only(session), .said = [&](const std::string& address) {
          const std::lock_guard lock{mutex};
          asked.push_back(address);
          if (asked.size() == connections) all_asked.set_value();
        }};
    std::array<wire_server, 3> servers{wire_server{ends_at_once}, wire_server{ends_at_once}, wire_server{ends_at_once}};
    std::vector<std::string> told;  // on the completion thread
    std::promise<void> all_told;
    connections_listener listener{[&](const std::string& server) {
      if (told.empty()) CHECK(all_asked.get_future().wait_for(long_enough) == std::future_status::ready);
      told.push_back(server);
      if (told.size() == connections) all_told.set_value();
    }};
    {
      std::vector<credentials> none;
      std::string no_tls;
      const auto identity = std::make_shared<const detail::secrets>(none, no_tls);
      detail::zookeeper_handle handle{1, listener, {.session_timeout = session, .acl = {}, .identity = identity}};
      REQUIRE(handle.open(servers[0].address() + "," + servers[1].address() + "," + servers[2].address()).empty());
      CHECK(all_told.get_future().wait_for(long_enough) == std::future_status::ready);
    }
    REQUIRE(told.size() >= connections);
    for (std::size_t i = 0; i < connections; ++i) CHECK(told[i] == asked[i]);
  }

  TEST_CASE("a client that finds no server, but a service of another kind, says so and closes at once") {
    wire_server other{{.says_only = page}};
    const auto what = refusal_at(other.address());
    CAPTURE(what);
    CHECK(what.find("no ZooKeeper server answers at " + other.address()) != std::string::npos);
  }

  TEST_CASE("what accepts connections and does not answer as a server would is told from what is down") {
    wire_server other{{.says_only = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"}};
    const auto what = refusal_at(other.address());
    CAPTURE(what);
    CHECK(what.find("something accepts connections there and does not answer") != std::string::npos);
  }

  TEST_CASE("when every server has refused the session timeout, each once, it is an error") {
    wire_server one{{.timeout = 2s}};
    wire_server two{{.timeout = 3s}};
    client owner{one.address() + "," + two.address(), session_on_slow_servers()};
    std::string what;
    try {
      static_cast<void>(owner.wait_for_connection(long_enough));
    } catch (const error& failure) {
      CHECK(failure.code() == errc::session_timeout_refused);
      what = failure.what();
    }
    CHECK(what.find("3000 ms") != std::string::npos);
    CHECK(one.sessions() == 1);
    CHECK(two.sessions() == 1);
  }

  TEST_CASE("an observer that takes longer than a quarter of the session timeout is reported by name, once") {
    const log_lines lines{log_level::warning};
    const auto reports = [&] { return lines.with("client_options::observer has been running for long").size(); };
    wire_server server{{.timeout = 1s}};
    auto options = session_of(1s);
    std::promise<void> returns;
    options.observer = [returned = returns.get_future().share()](const client_event&) { returned.wait(); };
    client owner{server.address(), options};
    REQUIRE(eventually_reported(reports));
    CHECK(owner.wait_for_connection(long_enough));
    returns.set_value();
    owner.close();
    CHECK(reports() == 1);
  }

  TEST_CASE("a program that is executed inherits no pipe of the C client, and those of others") {
    wire_server server{{.timeout = 4s}};
    std::array<int, 2> of_others{};
    REQUIRE(::pipe(of_others.data()) == 0);
    const auto before = pipe_ends();
    {
      client owner{server.address(), session_of(4s)};
      REQUIRE(owner.wait_for_connection(long_enough));
      int of_client = 0;
      for (const int number : pipe_ends()) {
        if (before.contains(number)) continue;
        ++of_client;
        CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
      }
      CHECK(of_client == 2);
      for (const int number : of_others) CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) == 0);
    }
    for (const int number : of_others) ::close(number);
  }

  TEST_CASE("a program that is executed inherits no connection to a server") {
    wire_server server{{.timeout = 4s}};
    client owner{server.address(), session_of(4s)};
    REQUIRE(owner.wait_for_connection(long_enough));
    const auto port = server.address().substr(server.address().rfind(':') + 1);
    int found = 0;
    for (int number = 3; number < 1024; ++number) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
      if (std::to_string(ntohs(peer.sin_port)) != port) continue;
      ++found;
      CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK(found == 1);
  }

  TEST_CASE("a session whose requests the server does not take is given up, and the log says why") {
    const log_lines log;
    wire_server server{{.timeout = 1s, .closes_on_requests = true}};
    client owner{server.address(), session_of(1s)};
    REQUIRE(owner.wait_for_connection(long_enough));
    std::thread asking{[&] { CHECK_THROWS_AS((queue_snapshot{owner, "/q", long_enough}), error); }};
    CHECK(log.wait_for("jute.maxbuffer", long_enough));
    owner.close();
    asking.join();
  }

  TEST_CASE("so is one whose list of watches the servers do not take, though nothing else is sent") {
    const log_lines log;
    wire_server server{{.timeout = 1s, .closes_on_watches = true}};
    client owner{server.address(), session_of(1s)};
    REQUIRE(owner.wait_for_connection(long_enough));
    std::promise<void> watched;
    owner.core()->monitor().run([&] {
      owner.core()->session().submit(
          {.kind = detail::operation::get, .path = "/a"}, [&](detail::reply&) { watched.set_value(); },
          [](detail::watch_event) {});
    });
    watched.get_future().get();
    server.disconnect();
    CHECK(log.wait_for("jute.maxbuffer", long_enough));
    REQUIRE(owner.wait_for_connection(long_enough));
  }

  TEST_CASE("servers that turn a client away and let in others have lost data, and the client says so") {
    const log_lines log{log_level::warning};
    auto server = std::make_unique<wire_server>(wire_server::behaviour{.timeout = 1s, .newest = 1000});
    const auto address = server->address();
    const auto port = server->port();
    client owner{address, session_of(1s)};
    REQUIRE(owner.wait_for_connection(long_enough));
    (void)queue_snapshot{owner, "/q", long_enough};
    server.reset();
    server = std::make_unique<wire_server>(wire_server::behaviour{.port = port, .timeout = 1s, .newest = 10});
    try {
      (void)queue_snapshot{owner, "/q", long_enough};
      CHECK(false);
    } catch (const error& failure) {
      CHECK(failure.code() == errc::data_lost);
    }
    CHECK(log.with("the network").empty());
  }
}

}  // namespace latchkey::testing
