// SPDX-License-Identifier: Apache-2.0
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <type_traits>

#include <doctest/doctest.h>
#include <latchkey/testing/raw_client.hpp>

#include "session/client_core.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

client_options with_password(const std::string& user_and_password) {
  auto options = quick();
  options.authentication = {{"digest", user_and_password}};
  options.acl = {{"auth", "", "cdrwa"}};
  return options;
}

void lock_at(client& through, const std::string& path) {
  mutex one{through, path};
  one.lock();
}

}  // namespace

TEST_SUITE("bad input") {
  TEST_CASE("a connect string that cannot be read is refused at once") {
    for (const auto* text : {"", ",", "host:", "host:99999", "host:2181,,other", "host:2181/../x", "host:2181//"}) {
      CAPTURE(text);
      const auto [code, what] = failure_of([&] { client{text}; });
      CHECK(code == errc::bad_connect_string);
      CHECK(what.size() > 20);
    }
  }

  TEST_CASE("a host that does not resolve is named") {
    const auto [code, what] = failure_of([] { client{"no-such-host.invalid:2181"}; });
    CHECK(code == errc::unresolvable_host);
    CHECK(mentions(what, "no-such-host.invalid"));
  }

  LATCHKEY_TEST_CASES("a chroot that is named as an entry is refused, as a parent is", kind,
                      kinds_of_locks({&kinds::plain, &kinds::reentrant, &kinds::fair, &kinds::writer})) {
    client below{"127.0.0.1:1/a/x-lock-0000000001", quick()};
    const auto [code, what] = failure_of([&] { kind->make(below, "/a"); });
    CHECK(code == errc::bad_path);
    CHECK(mentions(what, "for the chroot, too"));
    CHECK(failure_of([&] { keyed_mutex(below, "/a"); }).first == errc::bad_path);
  }

  TEST_CASE("options outside of their range are refused") {
    for (const auto timeout : {-1ms, 0ms, 1ms, 99ms}) {
      CHECK(failure_of([&] { client{"127.0.0.1:1", quick(timeout)}; }).first == errc::bad_option);
    }
    CHECK(failure_of([] { client{"127.0.0.1:1", quick(25h)}; }).first == errc::bad_option);
    auto options = quick();
    options.acl = {{"world", "anyone", "xyz"}};
    CHECK(failure_of([&] { client{"127.0.0.1:1", options}; }).first == errc::bad_option);
    options.acl = {{"world", "anyone", "crw"}};
    CHECK(mentions(failure_of([&] { client{"127.0.0.1:1", options}; }).second, "d (delete)"));
    for (const std::size_t length : {513, 2'000'000}) {
      options = quick();
      options.label = std::string(length, 'x');
      CHECK(failure_of([&] { client{"127.0.0.1:1", options}; }).first == errc::bad_option);
    }
    options = quick();
    options.acl = {{"digest", std::string(70'000, 'x'), "cdrwa"}};
    CHECK(failure_of([&] { client{"127.0.0.1:1", options}; }).first == errc::bad_option);
    options = quick();
    options.authentication = {{"digest", std::string(2'000'000, 'x')}};
    CHECK(failure_of([&] { client{"127.0.0.1:1", options}; }).first == errc::bad_option);
    options = quick();
    options.tls = "ca.pem,client.pem,client.key,password";
    CHECK(failure_of([&] { client{"127.0.0.1:1", options}; }).first == errc::unsupported);
  }

  LATCHKEY_TEST_CASES("a path that ZooKeeper would refuse is refused before anything is sent", kind,
                      kinds_of_locks({&kinds::plain, &kinds::reentrant, &kinds::fair, &kinds::writer})) {
    client owner{"127.0.0.1:1", quick()};
    for (const auto* path : {"", "a", "/", "/a/", "/a//b", "/a/./b", "/a/../b", "/zookeeper/a"}) {
      CAPTURE(std::string{path});
      CHECK(error_of([&] { kind->make(owner, path); }) == errc::bad_path);
    }
  }

  TEST_CASE("options of a lock outside of their range are refused") {
    client owner{"127.0.0.1:1", quick()};
    const auto of = [&]<class Lock, class Options>(std::type_identity<Lock>, Options options) {
      return error_of([&] { Lock(owner, "/a", options); });
    };
    using shared = std::type_identity<shared_mutex>;
    CHECK(of(std::type_identity<mutex>{}, mutex_options{.turns = 0}) == errc::bad_option);
    CHECK(of(std::type_identity<mutex>{}, mutex_options{.linger = -1ms}) == errc::bad_option);
    CHECK(of(std::type_identity<reentrant_mutex>{}, mutex_options{.turns = 0}) == errc::bad_option);
    CHECK(of(std::type_identity<reentrant_mutex>{}, mutex_options{.linger = -1ms}) == errc::bad_option);
    CHECK(of(std::type_identity<mutex>{}, mutex_options{.max_hold = -1ms}) == errc::bad_option);
    CHECK(of(std::type_identity<fair_mutex>{}, fair_mutex_options{.max_hold = -1ms}) == errc::bad_option);
    CHECK(of(shared{}, shared_mutex_options{.max_hold = -1ms}) == errc::bad_option);
    CHECK(of(shared{}, shared_mutex_options{.turns = 0}) == errc::bad_option);
    CHECK(of(shared{}, shared_mutex_options{.share_for = -1ms}) == errc::bad_option);
    CHECK(of(shared{}, shared_mutex_options{.linger = -1ms}) == errc::bad_option);
    CHECK(of(shared{}, shared_mutex_options{.share_for = 0ms}) == std::error_code{});
  }

  TEST_CASE("credentials that the ensemble does not accept are an error, not a wait") {
    auto options = quick();
    options.authentication = {{"digest:bob:secret", "x"}};  // the C client would log it
    const auto [code, what] = failure_of([&] { client none{servers().connect_string(), options}; });
    CHECK(code == errc::bad_option);
    CHECK(what.find("secret") == std::string::npos);
    options.authentication = {{"no-such-scheme", "x"}};
    client owner{servers().connect_string(), options};
    mutex lock{owner, fresh_path()};
    CHECK(failure_of([&] { lock.lock(); }).first == errc::authentication_failed);
  }

  TEST_CASE("credentials are kept in one place, from which every new session gets them") {
    const auto path = fresh_path();
    servers().create_all(path.substr(0, path.rfind('/')));
    client owner{servers().connect_string(), with_password("alice:secret")};
    CHECK(owner.core()->options().authentication.empty());
    mutex lock{owner, path};
    lock.lock();
    lock.unlock();
    const auto session = owner.session_id();
    expire_session(owner);
    REQUIRE(eventually([&] { return owner.connected() && owner.session_id() != session; }));
    CHECK(lock.try_lock_for(patience()));
    lock.unlock();
  }

  TEST_CASE("a path of which the ACL shuts us out is an error that says which permissions a lock needs") {
    const auto path = fresh_path();
    servers().create_all(path.substr(0, path.rfind('/')));  // everybody may use what is above
    client admitted{servers().connect_string(), with_password("alice:secret")};
    mutex theirs{admitted, path};
    theirs.lock();
    client stranger{servers().connect_string(), quick()};
    mutex lock{stranger, path};
    const auto [code, what] = failure_of([&] { lock.lock(); });
    CHECK(code == errc::not_authorized);
    CHECK(mentions(what, path));
    CHECK(mentions(what, "permissions"));
    CHECK(failure_of([&] { (void)lock.try_lock(); }).first == errc::not_authorized);
    const auto [code_below, what_below] = failure_of([&] { lock_at(stranger, path + "/below/it"); });
    CHECK(code_below == errc::not_authorized);
    CHECK(mentions(what_below, "or it is there, and its own ACL denies access"));
    const auto [code_of_read, what_of_read] = failure_of([&] { read(stranger, path, patience()); });
    CHECK(code_of_read == errc::not_authorized);
    CHECK(mentions(what_of_read, "grant this client the permission r"));
    CHECK_FALSE(mentions(what_of_read, "evict"));

    client colleague{servers().connect_string(), with_password("alice:secret")};
    mutex ours{colleague, path};
    CHECK_FALSE(ours.try_lock());
    theirs.unlock();
    CHECK(ours.try_lock_for(patience()));
    ours.unlock();
  }

  TEST_CASE("a path where we may not delete is an error, not a wait behind what we have left there") {
    const auto path = fresh_path();
    servers().create_all(path.substr(0, path.rfind('/')));
    auto options = with_password("alice:secret");
    options.acl = {{"auth", "", "cdrwa"}, {"world", "anyone", "cr"}};
    client admitted{servers().connect_string(), options};
    mutex theirs{admitted, path};
    theirs.lock();
    theirs.unlock();
    REQUIRE(queued(path, 0));
    client stranger{servers().connect_string(), quick()};
    mutex lock{stranger, path};
    lock.lock();
    lock.unlock();
    for (int i = 0; i < 3; ++i) {
      const auto [code, what] = failure_of([&] { lock.lock(); });
      CHECK(code == errc::not_authorized);
      CHECK(mentions(what, path));
      CHECK(mentions(what, "delete"));
    }
    CHECK(failure_of([&] { (void)lock.try_lock(); }).first == errc::not_authorized);
    CHECK(failure_of([&] { lock_at(stranger, path); }).first == errc::not_authorized);
    CHECK(queue_at(path).size() <= 2);
    stranger.close();
    CHECK(queued(path, 0));
  }

  TEST_CASE("a path below an ephemeral node is an error that says so") {
    const auto path = fresh_path();
    servers().create_all(path);
    raw_client other{servers().address(0)};
    other.sync();
    other.create(path + "/here", "", create_mode::ephemeral);
    client owner{servers().connect_string(), quick()};
    CHECK(failure_of([&] { lock_at(owner, path + "/here"); }).first == errc::parent_is_ephemeral);
    CHECK(failure_of([&] { lock_at(owner, path + "/here/and/below"); }).first == errc::parent_is_ephemeral);
  }
}

}  // namespace latchkey::testing
