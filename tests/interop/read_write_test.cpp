// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "checker.hpp"
#include "mixed.hpp"

namespace latchkey::testing {
namespace {

/// A read-write lock of somebody.
struct speaker {
  peer& (*where)();
  const char* name;
  const char* read = "read";
  const char* write = "write";
};

constexpr speaker cpp{latchkeys, "latchkey"};
constexpr speaker java{curator, "curator"};
constexpr speaker python{kazoo, "kazoo"};
constexpr speaker python_patterns{kazoo, "kazoo_patterns", "lock_read", "lock_write"};

}  // namespace

TEST_SUITE("read and write") {
  TEST_CASE("who writes is alone, who reads lets readers in and keeps writers out, whoever they are") {
    for (const auto& [first, second] : {std::pair{cpp, java},
                                        {java, cpp},
                                        {cpp, python},
                                        {python, cpp},
                                        {java, python},
                                        {python, java},
                                        {cpp, python_patterns},
                                        {python_patterns, cpp}}) {
      CAPTURE(first.name);
      CAPTURE(second.name);
      const auto path = fresh_path();
      contender_there one{first.where(), fresh_name(first.name)};
      contender_there other{second.where(), fresh_name(second.name)};
      one.take(first.write, path);
      CHECK_FALSE(other.try_take(second.read, path));
      CHECK_FALSE(other.try_take(second.write, path));
      one.release();
      one.take(first.read, path);
      CHECK_FALSE(other.try_take(second.write, path));
      REQUIRE(other.try_take(second.read, path, patience()));
      other.release();
      one.release();
      REQUIRE(other.try_take(second.write, path, patience()));
      other.release();
      CHECK(queued(path, 0));
    }
  }

  TEST_CASE("a writer of latchkey that becomes a reader lets the readers behind in, and no writer") {
    for (const auto& [reads, writes] : {std::pair{java, python}, {python, java}, {java, java}, {python, python}}) {
      CAPTURE(reads.name);
      CAPTURE(writes.name);
      const auto path = fresh_path();
      contender_there holder{latchkeys(), fresh_name("latchkey")};
      contender_there reader{reads.where(), fresh_name(reads.name)};
      contender_there writer{writes.where(), fresh_name(writes.name)};
      const auto written = holder.take("write", path);
      reader.queue_up(reads.read, path);
      REQUIRE(queued(path, 2));
      writer.queue_up(writes.write, path);
      REQUIRE(queued(path, 3));
      CHECK_FALSE(reader.answered());
      holder.say("downgrade");
      CHECK(holder.granted() == written);  // its token is that of the writer, one turn on
      reader.granted();
      CHECK_FALSE(writer.answered());
      reader.release();
      REQUIRE(queued(path, 2));
      CHECK_FALSE(writer.answered());
      holder.release();
      writer.granted();
      writer.release();
    }
  }

  TEST_CASE("a writer of Curator that becomes a reader lets readers in, and keeps out the writers that come then") {
    for (const auto& [reads, writes] : {std::pair{cpp, cpp}, {cpp, python}, {python, cpp}}) {
      CAPTURE(reads.name);
      CAPTURE(writes.name);
      const auto path = fresh_path();
      contender_there holder{curator(), fresh_name("curator")};
      contender_there reader{reads.where(), fresh_name(reads.name)};
      contender_there writer{writes.where(), fresh_name(writes.name)};
      holder.take("write", path);
      reader.queue_up(reads.read, path);
      REQUIRE(queued(path, 2));
      CHECK_FALSE(reader.answered());
      holder.say("downgrade");
      holder.granted();
      reader.granted();
      reader.release();
      CHECK_FALSE(writer.try_take(writes.write, path));
      holder.release();
      REQUIRE(writer.try_take(writes.write, path, patience()));
      writer.release();
    }
  }

  TEST_CASE("a reader with the number of a writer that it was, as of Curator 5.5, keeps the writers behind it out") {
    const auto path = fresh_path();
    servers().create_all(path);
    raw_client holder{servers().address(0)};
    const auto written = holder.create(path + "/_c_5d0a-__WRIT__", "", create_mode::ephemeral_sequential);
    contender_there writer{latchkeys(), fresh_name("latchkey")};
    contender_there reader{latchkeys(), fresh_name("latchkey")};
    writer.queue_up("write", path);
    REQUIRE(queued(path, 2));
    const auto read = path + "/_c_5d0b-__READ__" + written.substr(written.size() - 10);
    holder.create(read, "", create_mode::ephemeral);
    holder.remove(written);
    reader.queue_up("read", path);
    REQUIRE(queued(path, 3));
    CHECK(eventually([&] { return watches(writer.session(), read); }));
    CHECK_FALSE(writer.answered());
    holder.remove(read);
    writer.granted();
    writer.release();
    reader.granted();
    reader.release();
  }

  TEST_CASE("readers and writers in three languages: writers alone, readers together") {
    const auto path = fresh_path();
    history seen;
    mixed_contenders all;
    const auto rounds = scaled(400);
    all.start(reading_and_writing(path, rounds, 1ms), seen);
    all.join();
    const auto periods = seen.periods();
    CHECK(periods.size() > 6 * rounds);  // a round with a downgrade has two
    CHECK(first_of(overlaps(periods)) == "");
    CHECK(first_of(overtakings(periods)) == "");
    CHECK(readers_together(periods) > rounds / 10);
    CHECK(queued(path, 0));
  }

  TEST_CASE("WriteLock of kazoo with extra_lock_patterns among readers and writers of latchkey") {
    const auto path = fresh_path();
    history seen;
    mixed_contenders all;
    const auto rounds = scaled(150);
    all.start({path, rounds, 1ms, {"read,read,write", "read,read,write"}, "", "lock_write"}, seen);
    all.join();
    const auto periods = seen.periods();
    CHECK(periods.size() == 4 * rounds);
    CHECK(first_of(overlaps(periods)) == "");
    CHECK(first_of(overtakings(periods)) == "");
    CHECK(queued(path, 0));
  }
}

}  // namespace latchkey::testing
