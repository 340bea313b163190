// SPDX-License-Identifier: Apache-2.0
/// What real servers refuse: quotas that they enforce, and children of ephemeral nodes.

#include <latchkey/fence_gate.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/transaction.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "log_lines.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

/// At least as many connections as a server allows one address. It keeps them for ten seconds, as none begins a session.
class all_connections {
 public:
  all_connections(const endpoint& server, std::size_t most) {
    // Those that asked whether it is up may be counted still, and a new one may not be counted yet. When one is closed at
    // once, those before it have been let in or closed, too.
    REQUIRE(eventually([&] {
      open_.push_back(connect_to(server));
      pollfd last{open_.back(), POLLIN, 0};
      const bool is_full = ::poll(&last, 1, 200) == 1;
      std::erase_if(open_, [](int each) { return is_closed(each) && ::close(each) == 0; });
      return is_full && open_.size() >= most;
    }));
  }
  ~all_connections() {
    for (const int each : open_) ::close(each);
  }
  all_connections(const all_connections&) = delete;
  all_connections& operator=(const all_connections&) = delete;

 private:
  static int connect_to(const endpoint& server) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return socket;
  }
  static bool is_closed(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_DONTWAIT) >= 0 || errno == ECONNRESET;
  }

  std::vector<int> open_;
};

/// One server, as the leader checks quotas.
struct strict_server {
  ensemble server{{.servers = 1, .jvm_args = {"-Dzookeeper.enforceQuota=true"}}};
  proxy net{server.addresses()};
  client owner{net.connect_string(), quick(60s)};

  strict_server() { REQUIRE(missing_connection(owner) == ""); }

  /// As `setquota -N nodes -B bytes` of zkCli. @pre the path exists
  void limit(const std::string& path, int nodes, int bytes = -1) {
    const auto quota = "/zookeeper/quota" + path;
    server.create_all(quota);
    server.create(quota + "/zookeeper_limits",
                  fmt::format("count=-1,bytes=-1,byteHardLimit={},countHardLimit={}", bytes, nodes));
    server.create(quota + "/zookeeper_stats", "count=0,bytes=0");
  }
};

}  // namespace

TEST_SUITE("refusals") {
  TEST_CASE("a quota that is reached is told by its name and number, also when the path is missing") {
    strict_server here;
    here.server.create_all("/full/a");
    here.limit("/full", 2);  // reached: a server lets through what comes before the leader has applied the last create
    const auto [missing, why_missing] = failure_of([&] {
      mutex lock{here.owner, "/full/a/q"};
      (void)lock.try_lock_for(patience());
    });
    CHECK(missing == errc::refused);
    CHECK(mentions(why_missing, "ZQUOTAEXCEEDED -125"));
    CHECK(mentions(why_missing, "/full/a/q is missing"));
    const auto [there, why_there] = failure_of([&] {
      mutex lock{here.owner, "/full/a"};
      (void)lock.try_lock_for(patience());
    });
    CHECK(there == errc::refused);
    CHECK(mentions(why_there, "ZQUOTAEXCEEDED -125"));
    CHECK(mentions(why_there, "quota"));
  }

  TEST_CASE("a lock is taken again and again where there is room for one entry only") {
    strict_server here;
    here.server.create("/one");
    here.limit("/one", 2);
    mutex lock{here.owner, "/one"};
    for (int i = 0; i < 30; ++i) {
      const std::lock_guard guard{lock};
      CHECK(lock.held());
    }
    CHECK(eventually([&] { return here.server.children("/one").empty(); }));
  }

  TEST_CASE("a number of permits that a quota has no room for is refused, and not sent again and again") {
    strict_server here;
    here.server.create("/s");
    here.limit("/s", -1, 4);
    semaphore permits{here.owner, "/s", 2};
    here.net.reset_requests();
    const auto [code, why] = failure_of([&] { (void)permits.try_acquire_for(patience()); });
    CHECK(code == errc::refused);
    CHECK(mentions(why, "ZQUOTAEXCEEDED -125"));
    CHECK(failure_of([&] { permits.resize(3, patience()); }).first == errc::refused);
    CHECK(here.net.requests(opcode::multi) < 5);
    CHECK(here.net.requests(opcode::set_data) < 3);
  }

  TEST_CASE("servers that have too many connections from this address are told from servers that are down") {
    ensemble server{{.servers = 1, .config_lines = {"maxClientCnxns=2"}}};
    const all_connections others{server.address(0), 2};
    auto options = quick(4s);
    options.connect_timeout = 2s;
    client owner{server.connect_string(), options};
    mutex lock{owner, "/q"};
    const auto [code, why] = failure_of([&] { (void)lock.try_lock_for(4s); });
    CHECK(code == errc::unreachable);
    CHECK(mentions(why, "maxClientCnxns"));
    server.kill(0);
    client lonely{server.connect_string(), options};
    mutex other{lonely, "/q"};
    const auto [code_of_other, why_other] = failure_of([&] { (void)other.try_lock_for(4s); });
    CHECK(code_of_other == errc::unreachable);
    CHECK_FALSE(mentions(why_other, "maxClientCnxns"));
  }

  TEST_CASE("servers without a quorum are told from servers that are down, by every call that needs an answer") {
    ensemble all{{.servers = 3}};
    client owner{all.connect_string(), quick(4s)};
    REQUIRE(owner.wait_for_connection(patience()));
    CHECK(owner.why_not_connected().empty());
    all.kill(0);
    all.kill(1);
    CHECK(eventually([&] { return mentions(owner.why_not_connected(), "no quorum"); }));
    const auto [code, why] = failure_of([&] { const queue_snapshot nothing{owner, "/q", 200ms}; });
    CHECK(code == errc::unreachable);
    CHECK(mentions(why, "no quorum"));
    CHECK(mentions(why, all.connect_string()));
    all.kill(2);
    client lonely{all.connect_string(), quick(4s)};
    CHECK(eventually([&] { return mentions(lonely.why_not_connected(), "check the connect string"); }));
    owner.close();
    CHECK(mentions(owner.why_not_connected(), "closed"));
  }

  TEST_CASE("a server that demands authentication of a client without it fails its calls at once, with that cause") {
    ensemble server{{.servers = 1,
                     .config_lines = {"enforce.auth.enabled=true", "enforce.auth.schemes=sasl",
                                      "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}}};
    for (const bool ready : {true, false}) {
      CAPTURE(ready);
      const log_lines log{log_level::warning};
      proxy net{server.addresses()};
      auto options = quick(60s);
      options.keep_lease_ready = ready;
      options.authentication = {{"digest", "billing:secret"}};  // of another scheme
      client owner{net.connect_string(), options};
      mutex lock{owner, "/q"};
      const auto [tried, why] = failure_of([&] { (void)lock.try_lock(); });
      CHECK(tried == errc::authentication_failed);
      CHECK(mentions(why, "ZSESSIONCLOSEDREQUIRESASLAUTH -124"));
      CHECK(failure_of([&] { lock.lock(); }).first == errc::authentication_failed);
      CHECK(failure_of([&] { static_cast<void>(owner.wait_for_connection(1s)); }).first == errc::authentication_failed);
      CHECK(failure_of([&] { queue_snapshot(owner, "/q"); }).first == errc::authentication_failed);
      CHECK(log.all().size() == 1);
      CHECK(log.with("ZSESSIONCLOSEDREQUIRESASLAUTH").size() == 1);
      CHECK(owner.metrics().connections == 1);
    }
  }

  TEST_CASE("a holder whose server begins to demand authentication loses its lock with that reason") {
    const log_lines log;
    ensemble server{{.servers = 1}};
    proxy net{server.addresses()};
    client owner{net.connect_string(), quick(long_session)};
    mutex lock{owner, "/q"};
    lock.lock();
    const auto held = lock.held();
    net.cut();  // until it serves: one that has just begun to listen may let a client wait for two thirds of its session
    server.stop(0);
    server.configure(0, {"enforce.auth.enabled=true", "enforce.auth.schemes=digest"});
    server.start(0);
    auto options = quick(10s);
    options.authentication = {{"digest", "billing:secret"}};
    client admitted{server.connect_string(), options};
    REQUIRE(missing_connection(admitted) == "");
    net.heal();
    REQUIRE(eventually([&] { return !held; }));
    CHECK(held.loss() == loss_reason::access_revoked);
    CHECK(failure_of([&] { (void)lock.try_lock(); }).first == errc::authentication_failed);
    CHECK(owner.metrics().disconnections < 90);  // though its list of watches is answered first, which says nothing
    CHECK(log.with("jute.maxbuffer").empty());
    mutex other{admitted, "/other"};
    CHECK(other.try_lock_for(patience()));  // the node of the first is there until its session ends
  }

  TEST_CASE("a contender larger than the servers take fails its call, and not the other locks of its client") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=700"}}};
    client small{server.connect_string(), quick(10s)};
    mutex kept{small, "/kept"};
    REQUIRE(kept.try_lock_for(patience()));
    auto options = quick(10s);
    options.label = std::string(512, 'x');
    const std::string path = "/" + std::string(150, 'p');
    client owner{server.connect_string(), options};
    mutex lock{owner, path};
    const auto [code, why] = failure_of([&] { lock.lock(); });
    CHECK(code == errc::too_large);
    CHECK(mentions(why, "jute.maxbuffer"));
    CHECK(mentions(why, " bytes"));
    CHECK(owner.metrics().disconnections < 10);  // one request by itself would end eleven
    CHECK(failure_of([&] { (void)lock.try_lock(); }).first == errc::too_large);
    CHECK(kept.held());
  }

  TEST_CASE("a contender that an ACL makes larger than the servers take is told so") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=2000"}}};
    server.create_all("/a");
    auto options = quick(10s);
    for (int i = 0; i < 100; ++i) options.acl.push_back({"ip", "10.0.0." + std::to_string(i), "cdrwa"});
    options.acl.push_back({"world", "anyone", "cdrwa"});
    client owner{server.connect_string(), options};
    mutex lock{owner, "/a"};
    const auto [code, why] = failure_of([&] { lock.lock(); });
    CAPTURE(why);
    CHECK(code == errc::too_large);
    CHECK(mentions(why, "jute.maxbuffer"));
    CHECK(owner.metrics().disconnections < 10);
  }

  TEST_CASE("contenders of many sizes that the servers do not take fail together, and cost no lock of their client") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=700"}}};
    client owner{server.connect_string(), quick(10s)};
    mutex kept{owner, "/kept"};
    const auto held = kept.acquire();
    std::vector<std::unique_ptr<mutex>> locks;
    std::atomic<int> failed{0};
    on_threads calls;
    for (int i = 0; i < 8; ++i) {
      locks.push_back(std::make_unique<mutex>(owner, "/" + std::string(600 + 5 * i, 'p')));
      calls.start([&failed, &lock = *locks.back()] {
        if (failure_of([&] { lock.lock(); }).first == errc::too_large) ++failed;
      });
    }
    calls.join();
    CHECK(failed == 8);
    CHECK(owner.metrics().disconnections < 10);  // one request by itself would end eleven
    CHECK(held);
  }

  TEST_CASE("locks are held and released though the servers take few nodes at once") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=8000"}}};
    client owner{server.connect_string(), quick(10s)};
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<guard> held;
    for (int i = 0; i < 110; ++i) {
      locks.push_back(std::make_unique<mutex>(owner, "/" + std::to_string(i)));
      held.push_back(locks.back()->acquire());
    }
    const auto until = held.front().grant().valid_until();
    REQUIRE(eventually([&] { return held.front().grant().valid_until() > until + 8s; }));
    for (const auto& each : held) CHECK(each);
    CHECK(owner.metrics().disconnections < 10);  // one request by itself would end eleven
    held.clear();
    CHECK(eventually([&] { return owner.metrics().deletions_owed == 0; }));
  }

  TEST_CASE("a list of watches larger than the servers take ends the session, and the next one gets along") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=12000"}}};
    proxy net{server.addresses()};
    const log_lines log;
    client owner{net.connect_string(), quick(10s)};
    std::vector<std::unique_ptr<mutex>> locks;
    const auto lock_them = [&] {
      for (int i = 0; i < 100; ++i) {
        locks.push_back(std::make_unique<mutex>(owner, "/" + std::to_string(i) + std::string(100, 'p')));
        REQUIRE(locks.back()->try_lock_for(patience()));
      }
    };
    lock_them();
    const auto held = locks.front()->held();
    net.disconnect();
    REQUIRE(eventually([&] { return log.with("the list of its watches").size() == 1; }));
    CHECK(owner.metrics().disconnections < 90);
    REQUIRE(eventually([&] { return !held; }));
    locks.clear();
    lock_them();
    net.disconnect();
    REQUIRE(eventually([&] { return owner.metrics().connections > owner.metrics().disconnections; }));
    CHECK(locks.front()->held());
  }

  TEST_CASE("a transaction larger than the servers take fails its call, and the lock is still held") {
    ensemble server{{.servers = 1, .jvm_args = {"-Djute.maxbuffer=1000"}}};
    client owner{server.connect_string(), quick(10s)};
    mutex lock{owner, "/q"};
    REQUIRE(lock.try_lock_for(patience()));
    const auto held = lock.held();
    transaction large{owner, held};
    large.once("/marker").create("/made", std::string(2000, 'x'));
    const auto [code, why] = failure_of([&] { (void)large.commit(60s); });
    CHECK(code == errc::too_large);
    CHECK(mentions(why, "jute.maxbuffer"));
    CHECK(owner.metrics().disconnections < 10);  // one request by itself would end eleven
    CHECK(held);
    CHECK_FALSE(server.exists("/marker"));
    transaction fits{owner, held};
    CHECK(fits.once("/marker").create("/made", "x").commit(patience()).what == commit_result::outcome::committed);
    lock.unlock();
  }

  TEST_CASE("an ensemble that comes back without its data ends its clients, so that no token is smaller than before") {
    ensemble all{{.servers = 3}};
    all.restart(*all.leader());  // a second epoch
    all.wait_for_quorum(patience());
    const log_lines log{log_level::warning};
    auto options = quick(10s);
    options.connect_timeout = 1min;  // servers may take long to start: the network is not to be suspected
    client owner{all.connect_string(), options};
    options.go_on_after_data_loss = true;
    client other{all.connect_string(), options};
    fence_gate<std::string> gate;
    mutex ours{owner, "/ours"};
    mutex theirs{other, "/theirs"};
    REQUIRE(ours.try_lock_for(patience()));
    REQUIRE(theirs.try_lock_for(patience()));
    const auto [held, lost] = std::pair{ours.held(), theirs.held()};
    REQUIRE(gate.seal("resource", held.fence()));
    REQUIRE(gate.seal("theirs", lost.fence()));

    for (std::size_t i = 0; i < all.size(); ++i) all.kill(i);
    std::vector<std::filesystem::path> data;
    for (const auto& each : std::filesystem::recursive_directory_iterator{all.data_dir()}) {
      if (each.path().filename() == "version-2") data.push_back(each.path());
    }
    for (const auto& each : data) std::filesystem::remove_all(each);
    for (std::size_t i = 0; i < all.size(); ++i) all.start(i);

    REQUIRE(eventually([&] { return failure_of([&] { (void)ours.try_lock(); }).first == errc::data_lost; }));
    CHECK_FALSE(held);
    CHECK(log.with("the client has failed").size() == 1);
    client next{all.connect_string(), quick(10s)};
    mutex again{next, "/ours"};
    REQUIRE(again.try_lock_for(patience()));
    CHECK_FALSE(gate.seal("resource", again.held().fence()));

    theirs.unlock();
    REQUIRE(theirs.try_lock_for(patience()));
    CHECK(theirs.held().fence() < lost.fence());
    CHECK_FALSE(gate.seal("theirs", theirs.held().fence()));
    CHECK(log.with("reason=\"data lost\"").size() >= 1);
    CHECK(log.with("the network").empty());
  }

  TEST_CASE("below an ephemeral node nothing can be created, which is asked for once") {
    const auto path = fresh_path();
    servers().create_all(path);
    raw_client owner_of_parent{servers().address(0)};
    owner_of_parent.create(path + "/ephemeral", {}, create_mode::ephemeral);
    proxy net{servers().addresses()};
    client owner{net.connect_string(), quick(60s)};
    REQUIRE(missing_connection(owner) == "");
    net.reset_requests();
    for (const auto& below : {path + "/ephemeral/q", path + "/ephemeral/a/b/q"}) {
      semaphore permits{owner, below, 2};
      const auto [resized, why] = failure_of([&] { permits.resize(3, patience()); });
      CHECK(resized == errc::parent_is_ephemeral);
      CHECK(mentions(why, "ZNOCHILDRENFOREPHEMERALS -108"));
      CHECK(failure_of([&] { (void)permits.try_acquire_for(patience()); }).first == errc::parent_is_ephemeral);
      mutex lock{owner, below};
      CHECK(failure_of([&] { (void)lock.try_lock_for(patience()); }).first == errc::parent_is_ephemeral);
    }
    CHECK(net.requests(opcode::set_data) == 4);
  }
}

}  // namespace latchkey::testing
