// SPDX-License-Identifier: Apache-2.0
/// A client with an ACL warns of lock paths in which that does not protect anything.

#include <latchkey/access.hpp>
#include <latchkey/find_locks.hpp>
#include <latchkey/mutex.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_of.hpp"
#include "log_lines.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

constexpr auto* warning = "client_options::acl does not protect the lock";

client_options with_acl() {
  auto options = quick(60s);
  options.authentication = {{"digest", "owner:secret"}};
  options.acl = {{"auth", "", "cdrwa"}, {"world", "anyone", "r"}};
  return options;
}

void lock_once(client& owner, const std::string& path) {
  mutex lock{owner, path};
  const std::lock_guard guard{lock};
}

}  // namespace

TEST_SUITE("open parents") {
  TEST_CASE("an ACL below an open path is warned of, once for each path") {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    servers().create_all(path + "/one");
    servers().create_all(path + "/two");
    reached_by_proxy here{with_acl()};
    for (const auto* name : {"/one", "/one", "/two", "/one"}) lock_once(here.owner, path + name);
    CHECK(eventually([&] { return lines.with(warning).size() == 2; }));
    CHECK(lines.with("path=" + path + "/one anyone_may=cdrwa").size() == 1);
    CHECK(here.net.requests(opcode::get_acl) == 2);
  }

  TEST_CASE("an answer that was lost is asked for with the next entry") {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    servers().create_all(path);
    reached_by_proxy here{with_acl()};
    here.net.drop_reply_of_next(opcode::get_acl);
    lock_once(here.owner, path);
    REQUIRE(here.net.wait_for_faults(patience()));
    CHECK(lines.with(warning).empty());
    CHECK(eventually([&] {
      lock_once(here.owner, path);
      return lines.with(warning).size() == 1;
    }));
  }

  TEST_CASE("a path that the client has created itself is not open") {
    const log_lines lines{log_level::warning};
    const auto path = fresh_path();
    reached_by_proxy here{with_acl()};
    lock_once(here.owner, path);
    CHECK(here.net.requests(opcode::get_acl) == 0);
    lock_once(here.owner, path);  // another object, which does not know that
    REQUIRE(has_sent(here.net, opcode::get_acl));
    lock_once(here.owner, path);  // answered behind it
    CHECK(lines.with(warning).empty());
  }

  TEST_CASE("without an ACL nothing is looked at") {
    const auto path = fresh_path();
    servers().create_all(path);
    reached_by_proxy here{quick(60s)};
    lock_once(here.owner, path);
    CHECK(here.net.requests(opcode::get_acl) == 0);
  }

  TEST_CASE("what anyone may do at a node is told to those who may read it") {
    const auto path = fresh_path();
    servers().create_all(path);
    client owner{servers().connect_string(), with_acl()};
    CHECK(permissions_of_anyone(owner, path) == "cdrwa");
    CHECK(permissions_of_anyone(owner, path + "/missing") == std::nullopt);
    mutex lock{owner, path + "/lock"};
    const auto held = lock.acquire();
    client other{servers().connect_string(), quick()};
    CHECK(permissions_of_anyone(other, path + "/lock") == "r");
    auto closed = with_acl();
    closed.acl.pop_back();
    client closes{servers().connect_string(), closed};
    mutex closed_lock{closes, path + "/closed"};
    const auto closed_held = closed_lock.acquire();
    CHECK(permissions_of_anyone(closes, path + "/closed") == "");
    CHECK(error_of([&] { permissions_of_anyone(other, path + "/closed"); }) == errc::not_authorized);
    CHECK(error_of([&] { permissions_of_anyone(other, "closed"); }) == errc::bad_path);
  }

  TEST_CASE("a list that is denied ends a search for locks, or leaves out what is below") {
    const auto root = fresh_path();
    servers().create_all(root);
    auto closed = with_acl();
    closed.acl.pop_back();
    client owner{servers().connect_string(), closed};
    client other{servers().connect_string(), quick()};
    mutex hidden{owner, root + "/a/hidden"};
    mutex shown{other, root + "/b"};
    const auto one = hidden.acquire();
    const auto two = shown.acquire();
    const auto [code, why] = failure_of([&] { find_locks(other, root); });
    CHECK(code == errc::not_authorized);
    CHECK(why.find(root + "/a: its ACL denies access") != std::string::npos);
    std::vector<std::string> denied;
    const auto found = find_locks(other, root, {.on_denied = [&](const auto& path) { denied.push_back(path); }});
    REQUIRE(found.size() == 1);
    CHECK(found.front().path == root + "/b");
    CHECK(denied == std::vector{root + "/a"});
  }
}

}  // namespace latchkey::testing
