// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <doctest/doctest.h>

#include "peers.hpp"

namespace latchkey::testing {
namespace {

/// One of each in the queue: latchkey, which holds, then Curator, then kazoo.
struct one_of_each {
  std::string path = fresh_path();
  client here{servers().connect_string(), labelled("billing")};
  mutex ours{here, path};
  contender_there java{curator(), fresh_name("curator")};
  contender_there python{kazoo(), fresh_name("kazoo")};

  one_of_each() {
    ours.lock();
    java.queue_up("mutex", path);
    REQUIRE(queued(path, 2));
    python.queue_up("mutex", path);
    REQUIRE(queued(path, 3));
  }
  ~one_of_each() {
    ours.unlock();
    java.granted();
    java.release();
    python.granted();
    python.release();
  }

  static client_options labelled(std::string label) {
    auto options = quick(10s);
    options.label = std::move(label);
    return options;
  }
};

}  // namespace

TEST_SUITE("views") {
  TEST_CASE("Curator lists all participants, in order, with their data") {
    one_of_each all;
    contender_there looks{curator(), fresh_name("looks")};
    const auto listed = split(looks.ask("queue mutex " + all.path), '\t');
    REQUIRE(listed.size() == 4);
    const auto nodes = queue_at(all.path);
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(listed[i + 1].starts_with(all.path + "/" + nodes[i] + "="));
    CHECK(listed[1].find("\"label\":\"billing\"") != std::string::npos);
    CHECK(listed[3].ends_with("=" + all.python.name()));
  }

  TEST_CASE("kazoo lists all contenders, in order, with their data") {
    one_of_each all;
    contender_there looks{kazoo(), fresh_name("looks")};
    for (const auto* kind : {"mutex", "lock"}) {  // with Curator's names, and with extra_lock_patterns
      const auto listed = split(looks.ask(std::string{"queue "} + kind + " " + all.path), '\t');
      REQUIRE(listed.size() == 4);
      CHECK(listed[1].find("\"label\":\"billing\"") != std::string::npos);
      CHECK(listed[2] == servers().get(all.path + "/" + queue_at(all.path)[1]));
      CHECK(listed[3] == all.python.name());
    }
  }

  TEST_CASE("latchkey lists all contenders, in order, with their data") {
    one_of_each all;
    client looks{servers().connect_string(), quick(10s)};
    const queue_snapshot queue{looks, all.path};
    const auto nodes = queue_at(all.path);
    REQUIRE(queue.contenders().size() == 3);
    REQUIRE(queue.holders().size() == 1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      CHECK(queue.contenders()[i].node == nodes[i]);
      CHECK(queue.contenders()[i].what == contender::kind::lock);
      CHECK(queue.contenders()[i].data == servers().get(all.path + "/" + nodes[i]));
    }
    CHECK(queue.holders()[0].label == "billing");
    CHECK(queue.holders()[0].session == all.here.session_id());
    CHECK(queue.waiters()[0].session == all.java.session());
    CHECK(queue.waiters()[1].session == all.python.session());
    CHECK(queue.waiters()[1].data == all.python.name());
  }

  TEST_CASE("readers and writers of Curator and kazoo are listed as such") {
    const auto path = fresh_path();
    client looks{servers().connect_string(), quick(10s)};
    contender_there java{curator(), fresh_name("curator")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    contender_there waits{curator(), fresh_name("curator")};
    java.take("read", path);
    python.take("read", path);
    waits.queue_up("write", path);
    REQUIRE(queued(path, 3));
    const queue_snapshot queue{looks, path};
    REQUIRE(queue.holders().size() == 2);
    REQUIRE(queue.waiters().size() == 1);
    CHECK(queue.holders()[0].what == contender::kind::read);
    CHECK(queue.holders()[1].what == contender::kind::read);
    CHECK(queue.waiters()[0].what == contender::kind::write);
    java.release();
    python.release();
    waits.granted();
    waits.release();
  }

  TEST_CASE("Curator's Revoker asks a holder of latchkey to release") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    mutex ours{here, path};
    contender_there java{curator(), fresh_name("curator")};
    ours.lock();
    const auto grant = ours.held();
    CHECK_FALSE(grant.asked_to_release());
    CHECK(java.ask("revoke " + path + "/" + queue_at(path).at(0)) == "revoked");
    CHECK(eventually([&] { return grant.asked_to_release(); }));
    CHECK(grant);
    ours.unlock();
  }

  TEST_CASE("ask_to_release() reaches a RevocationListener of Curator") {
    for (const auto* kind : {"mutex", "write", "read"}) {
      CAPTURE(kind);
      const auto path = fresh_path();
      client here{servers().connect_string(), quick(10s)};
      contender_there java{curator(), fresh_name("curator")};
      java.ask(std::string{"take_revocable "} + kind + " " + path);
      java.say("asked");
      CHECK(ask_to_release(here, path) == 1);
      CHECK(java.answer() == "asked");
      CHECK(java.believes());
      java.release();
    }
  }
}

}  // namespace latchkey::testing
