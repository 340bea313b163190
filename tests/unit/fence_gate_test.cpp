// SPDX-License-Identifier: Apache-2.0
/// What a resource does with fencing tokens, and what goes wrong without the seal.

#include <latchkey/fence_gate.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace latchkey::testing {
namespace {

using gate = fence_gate<std::string>;

constexpr fencing_token older{33, 0};
constexpr fencing_token newer{34, 0};

/// What outlives a restart of the resource.
struct disk {
  std::map<std::string, fencing_token> tokens;
  bool full = false;

  gate open() {
    return gate{{.load = [this](const std::string& what) { return tokens[what]; },
                 .store =
                     [this](const std::string& what, fencing_token token) {
                       if (full) throw std::runtime_error{"disk full"};
                       tokens[what] = token;
                     }}};
  }
};

/// A counter that holders read, and write what they computed from it.
struct counter {
  gate guard;
  int value = 0;

  bool write(fencing_token token, int next) {
    const auto pass = guard.admit("counter", token);
    if (pass) value = next;
    return pass.has_value();
  }
};

}  // namespace

TEST_SUITE("fence gate") {
  TEST_CASE("a smaller token is refused, an equal one admitted, and each resource has its own largest") {
    gate resources;
    CHECK(resources.admit("a", newer));
    CHECK_FALSE(resources.admit("a", older));
    CHECK(resources.admit("a", newer));
    CHECK(resources.largest("a") == newer);
    CHECK(resources.admit("b", older));
    CHECK(resources.largest("c") == fencing_token{});
  }

  TEST_CASE("the token of an empty guard never passes") {
    gate resources;
    CHECK_FALSE(resources.admit("a", fencing_token{}));
    CHECK(resources.admit("a", older));
  }

  TEST_CASE("the turns of one node are told apart") {
    gate resources;
    CHECK(resources.admit("a", {7, 2}));
    CHECK_FALSE(resources.admit("a", {7, 1}));
    CHECK(resources.admit("a", {7, 3}));
  }

  TEST_CASE("a delayed write of the former holder is refused once the new one has sealed: without that it is lost") {
    for (const bool seals : {false, true}) {
      CAPTURE(seals);
      counter store;
      const int seen_by_former = store.value;  // its write is delayed on the way
      if (seals) CHECK(store.guard.seal("counter", newer));
      const int seen_by_next = store.value;
      CHECK(store.write(older, seen_by_former + 1) == !seals);
      CHECK(store.write(newer, seen_by_next + 10));
      const bool lost_update = !seals && store.value == 10;  // the former one was told that its write had passed
      CHECK(lost_update == !seals);
    }
  }

  TEST_CASE("requests that arrive in reverse: the older one is refused") {
    gate resources;
    CHECK(resources.seal("a", newer));
    CHECK(!resources.seal("a", older));
  }

  TEST_CASE("a newer token waits until the pass has gone") {
    gate resources;
    std::atomic<bool> acting{true};
    std::atomic<bool> overlapped{false};
    auto pass = resources.admit("a", older);
    REQUIRE(pass);
    CHECK(pass->token() == older);
    std::thread next{[&] {
      const auto mine = resources.admit("a", newer);
      if (acting || !mine) overlapped = true;
    }};
    CHECK(resources.admit("b", newer));  // another resource is not waited for
    acting = false;
    pass.reset();
    next.join();
    CHECK(!overlapped);
    CHECK(resources.largest("a") == newer);
  }

  TEST_CASE("a thread that has the pass of a resource is not let wait for it") {
    disk kept;
    auto resources = kept.open();
    auto pass = resources.admit("a", older);
    CHECK_THROWS_AS((void)resources.admit("a", older), std::system_error);
    CHECK_THROWS_AS((void)resources.seal("a", newer), std::system_error);
    CHECK_THROWS_AS(resources.largest("a"), std::system_error);
    CHECK(kept.tokens["a"] == older);
    CHECK(resources.admit("b", newer));  // another resource
    const auto moved = std::exchange(pass, std::nullopt);
    CHECK_THROWS_WITH_AS(resources.largest("a"),
                         "this thread has the pass of the resource already; end that first: Resource deadlock avoided",
                         std::system_error);
  }

  TEST_CASE("a pass that has ended does not keep its thread out") {
    gate resources;
    resources.admit("a", older).reset();
    CHECK(resources.seal("a", newer));
    CHECK_FALSE(resources.admit("a", older));
    CHECK(resources.largest("a") == newer);
  }

  TEST_CASE("a memory that asks its own gate for the resource is refused") {
    gate* mine = nullptr;
    gate resources{{.load = [&](const std::string& what) { return mine->largest(what); },
                    .store = [](const std::string&, fencing_token) {}}};
    mine = &resources;
    CHECK_THROWS_AS((void)resources.admit("a", older), std::system_error);
  }

  TEST_CASE("a pass may outlive its gate") {
    auto resources = std::make_unique<gate>();
    const auto pass = resources->admit("a", newer);
    resources.reset();
    CHECK(pass->token() == newer);
  }

  TEST_CASE("a gate with a memory refuses after a restart what it refused before; one without has forgotten") {
    disk kept;
    CHECK(kept.open().admit("a", newer));
    CHECK_FALSE(kept.open().admit("a", older));
    CHECK(kept.open().largest("a") == newer);
    gate forgetful;
    CHECK(forgetful.admit("a", older));
  }

  TEST_CASE("a gate that could not remember is refused") {
    const gate::durable whole{.load = [](const std::string&) { return newer; },
                              .store = [](const std::string&, fencing_token) {}};
    const auto make = [](const gate::durable& where) { gate{where}; };
    CHECK_NOTHROW(make(whole));
    CHECK_THROWS_AS(make({nullptr, nullptr}), std::invalid_argument);
    CHECK_THROWS_AS(make({whole.load, nullptr}), std::invalid_argument);
    CHECK_THROWS_AS(make({nullptr, whole.store}), std::invalid_argument);
  }

  TEST_CASE("what cannot be stored does not pass, and changes nothing") {
    disk kept;
    auto resources = kept.open();
    CHECK(resources.admit("a", older));
    kept.full = true;
    CHECK_THROWS_AS((void)resources.admit("a", newer), std::runtime_error);
    CHECK(resources.largest("a") == older);
    CHECK(resources.admit("a", older));  // is stored already
    kept.full = false;
    CHECK(resources.admit("a", newer));
  }

  TEST_CASE("the effects of many threads never go back") {
    gate resources;
    constexpr int threads = 8;
    std::vector<fencing_token> effects;  // written under the pass alone
    std::vector<std::thread> running;
    for (unsigned seed = 0; seed < threads; ++seed) {
      running.emplace_back([&, seed] {
        std::minstd_rand random{seed};
        for (int i = 0; i < 2000; ++i) {
          const fencing_token token{static_cast<std::int64_t>(i / 2 + random() % 50),
                                    static_cast<std::uint32_t>(random() % 3)};
          if (const auto pass = resources.admit("a", token)) effects.push_back(pass->token());
        }
      });
    }
    for (auto& each : running) each.join();
    CHECK(effects.size() >= 100);
    CHECK(std::ranges::is_sorted(effects));
  }
}

}  // namespace latchkey::testing
