// SPDX-License-Identifier: Apache-2.0
/// What the users of a path agree on: exact situations.

#include "recipes/keyed/contract.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::contract;
using detail::reply_code;

/// One user of the path.
struct user {
  simulated_client& client;
  std::shared_ptr<contract> about;
  std::string refused{};

  user(simulated_client& own, std::uint32_t number, std::string path = "/a/b/root")
      : client{own}, about{std::make_shared<contract>(own.core(), std::move(path), detail::stripes_agreement, number)} {
    about->open([this](const detail::failure& why) { refused = why.what; });
  }
  ~user() { about->shut(); }
  void ask() {
    client.run([&] { about->ask(); });
  }
  bool settled() const { return about->agreed() || !refused.empty(); }
};

struct contract_world : calm_world {
  bool settles(user& who) {
    return eventually([&] { return who.settled(); });
  }
  bool is_agreed(std::uint32_t number) {
    user newcomer{two, number};
    newcomer.ask();
    return settles(newcomer) && newcomer.about->agreed();
  }
};

}  // namespace

TEST_SUITE("contract") {
  TEST_CASE("the first user writes the number, and later ones agree, or are refused") {
    contract_world w;
    user first{w.one, 64};
    first.ask();
    REQUIRE(w.settles(first));
    CHECK(first.about->agreed());
    CHECK(w.ensemble.data("/a/b/root") == R"({"stripes":64})");
    w.ensemble.reap(true);
    CHECK(w.ensemble.exists("/a/b/root"));
    CHECK(w.is_agreed(64));
    user other{w.two, 16};
    other.ask();
    REQUIRE(w.settles(other));
    CHECK_FALSE(other.about->agreed());
    CHECK(other.refused.find(R"({"stripes":64})") != std::string::npos);
  }

  TEST_CASE("a number that is there costs one read, and none when it is agreed") {
    contract_world w;
    REQUIRE(w.is_agreed(64));
    w.one.connector().forget_sent();
    user late{w.one, 64};
    late.ask();
    late.ask();
    REQUIRE(w.settles(late));
    late.ask();
    CHECK(w.one.connector().sent(operation::get) == 1);
    CHECK(w.one.connector().sent() == 1);
  }

  TEST_CASE("of two users that come at the same time with different numbers one is refused") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      CAPTURE(seed);
      for (const bool there : {false, true}) {
        calm_world w{seed};
        if (there) {
          w.ensemble.create("/a");
          w.ensemble.create("/a/b");
          w.ensemble.create("/a/b/root");
        }
        user one{w.one, 64};
        user two{w.two, 16};
        one.ask();
        two.ask();
        REQUIRE(w.eventually([&] { return one.settled() && two.settled(); }));
        CHECK(one.about->agreed() != two.about->agreed());
      }
    }
  }

  TEST_CASE("a node that is there as a container is not deleted with the number") {
    contract_world w;
    w.ensemble.create("/a");
    w.ensemble.create("/a/b");
    w.ensemble.create_container("/a/b/root");
    REQUIRE(w.is_agreed(64));
    w.ensemble.reap(true);
    CHECK(w.ensemble.data("/a/b/root") == R"({"stripes":64})");
    w.ensemble.change("/a/b/root", "");  // by an operator: the persistent child is there already
    w.time.run_for(1min);
    CHECK(w.is_agreed(16));
  }

  TEST_CASE("data of others is refused") {
    contract_world w;
    w.ensemble.create("/root", "10.0.0.1");
    user one{w.one, 64, "/root"};
    one.ask();
    REQUIRE(w.settles(one));
    CHECK(one.refused.find("10.0.0.1") != std::string::npos);
    w.ensemble.change("/root", R"({"stripes":64})");  // the operator has repaired it
    one.ask();
    CHECK(w.eventually([&] { return one.about->agreed(); }));
  }

  TEST_CASE("the connection is lost at each request: the question is asked again") {
    for (const auto kind : {operation::get, operation::create, operation::transact}) {
      for (const auto what : {trap::lost_before_effect, trap::lost_after_effect}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(static_cast<int>(what));
        contract_world w;
        if (kind == operation::transact) w.ensemble.create("/root");
        user one{w.one, 64, "/root"};
        w.one.connector().set_trap(kind, what);
        one.ask();
        REQUIRE(w.settles(one));
        CHECK(one.about->agreed());
        CHECK(w.ensemble.data("/root") == R"({"stripes":64})");
      }
    }
  }

  TEST_CASE("who asks without a connection is answered with the next one, also in a new session") {
    contract_world w;
    user one{w.one, 64};
    w.one.connector().cut();
    REQUIRE(w.eventually([&] { return !w.one.connected(); }));
    one.ask();
    w.time.run_for(2min);
    CHECK_FALSE(one.settled());
    w.one.connector().heal();
    REQUIRE(w.settles(one));
    CHECK(one.about->agreed());
  }

  TEST_CASE("an ensemble that denies access is an error, until it does not") {
    const auto refuses = [](request_kind kind, const std::string& forbidden, bool there) {
      contract_world w;
      if (there) w.ensemble.create("/root");
      w.ensemble.forbid(kind, forbidden);
      user owner{w.one, 64, "/root"};
      owner.ask();
      REQUIRE(w.settles(owner));
      CHECK(owner.refused.find("ZNOAUTH") != std::string::npos);
      w.ensemble.allow_everything();
      owner.ask();
      CHECK(w.eventually([&] { return owner.about->agreed(); }));
    };
    refuses(operation::get, "/root", true);
    refuses(operation::create, "/", false);
    refuses(operation::set, "/root", true);
  }
}

}  // namespace latchkey::testing
