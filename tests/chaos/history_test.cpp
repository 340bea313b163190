// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "story.hpp"
#include "summary.hpp"

namespace chaos {
namespace {

/// A folder that goes with this object.
struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("latchkey-chaos-test-" + std::to_string(::getpid()));
  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
  void write(const char* file, const std::string& text) const { std::ofstream{path / file} << text; }
};

}  // namespace

TEST_CASE("an event and a fault are read as they were written") {
  const event what{story::at(7), "w2.1/0/3", event_kind::lost, 4, access::shared, {12, 3}, -5, "deadline passed"};
  const auto read = parse_event(to_line(what));
  CHECK(read.at == what.at);
  CHECK(read.who == what.who);
  CHECK(read.kind == what.kind);
  CHECK(read.lock == what.lock);
  CHECK(read.how == what.how);
  CHECK(read.token == what.token);
  CHECK(read.session == what.session);
  CHECK(read.text == what.text);
  const auto harm = parse_fault(to_line(fault{story::at(1), story::at(2), "kill leader", "server 1, 2", true}));
  CHECK(harm.begin == story::at(1));
  CHECK(harm.end == story::at(2));
  CHECK(harm.kind == "kill leader");
  CHECK(harm.victim == "server 1, 2");
  CHECK(harm.from_outside);
}

TEST_CASE("a history comes from many files in the order of time, without the line that a kill cut short") {
  const folder here;
  const event early{story::at(1), "w1.1/0/0", event_kind::waits, 0, access::exclusive, {}, 0, "lock"};
  const event late{story::at(2), "w2.1/0/0", event_kind::waits, 1, access::exclusive, {}, 0, "lock"};
  here.write("w1.1.events", to_line(early) + "\n" + to_line(late).substr(0, 20));
  here.write("w2.1.events", to_line(late) + "\n");
  here.write("chaos.faults", to_line(fault{story::at(0), story::at(3), "delay", "w1"}) + "\n");
  const auto all = load(here.path);
  REQUIRE(all.events.size() == 2);
  CHECK(all.events[0].who == early.who);
  CHECK(all.events[1].who == late.who);
  CHECK(all.faults.size() == 1);
  CHECK(all.locks == 2);
}

TEST_CASE("a history says of which family each lock is") {
  const folder here;
  const event said{story::at(1), "chaos", event_kind::family, 1, access::exclusive, {}, 0, "fair"};
  here.write("chaos.events", to_line(said) + "\n");
  const auto all = load(here.path);
  CHECK(all.family_of(1) == family::fair);
  CHECK(all.family_of(0) == family::mutex);
}

TEST_CASE("the families of the locks are drawn so that each comes before one comes again") {
  dice chance{7};
  const auto drawn = draw_families(all_families(), 10, chance);
  REQUIRE(drawn.size() == 10);
  CHECK(std::set(drawn.begin(), drawn.begin() + 5).size() == 5);
  CHECK(std::set(drawn.begin() + 5, drawn.end()).size() == 5);
  CHECK(draw_families({family::fair}, 2, chance) == std::vector{family::fair, family::fair});
}

TEST_CASE("families are named in one word each, and any other word is an error") {
  CHECK(parse_families(to_string(all_families())) == all_families());
  CHECK_THROWS_AS(parse_families("mutex,"), std::invalid_argument);
  CHECK_THROWS_AS(parse_families("mutexes"), std::invalid_argument);
  CHECK_THROWS_AS(parse_access("read"), std::invalid_argument);
}

TEST_CASE("a line that nobody wrote is an error which names it") {
  const folder here;
  here.write("w1.1.events", "1 w1.1 dances 0 exclusive 000000000000000000000000 0 \n");
  CHECK_THROWS_WITH_AS(load(here.path), doctest::Contains("w1.1.events:1"), std::runtime_error);
}

TEST_CASE("the summary counts the readers, those at once, and the tickets") {
  story some;
  some.is(family::shared).read("w1.1/0/0", 10, 30, 1).read("w2.1/0/0", 20, 40, 2).read("w3.1/0/0", 35, 50, 3);
  some.is(family::fair, 1).say(60, "w1.1/0/0", event_kind::waits, 1, 0, "enqueue");
  some.say(61, "w1.1/0/0", event_kind::queued, 1).say(62, "w1.1/0/0", event_kind::left, 1, 0, "given up");
  const auto text = text_of(facts_of(some.tell(), {}, 1));
  CHECK(text.find("shared grants               3, at most 2 at once; 0 downgrades\n") != std::string::npos);
  CHECK(text.find("tickets                     1; given up 1\n") != std::string::npos);
  CHECK(text.find("families                    shared, fair\n") != std::string::npos);
}

TEST_CASE("the summary ends with the verdict") {
  const auto all = story{}.own("w1.1/0/0", 10, 21, 1).own("w2.1/0/0", 20, 30, 2).tell();
  const auto bad = text_of(facts_of(all, check(all), 42));
  CHECK(bad.find("VIOLATED (overlap 1)\n") != std::string::npos);
  CHECK(bad.find("overlaps                    1; 0.001 s at most, 0.0 s in sum\n") != std::string::npos);
  CHECK(bad.find("seed                        42\n") == 0);
  const auto killed = story{}.hold("w1.1/0/0", 10, 20, 1, 500).own("w2.1/0/0", 100, 130, 2).tell();
  const auto early = text_of(facts_of(killed, check(killed), 42));
  CHECK(early.find("overlaps                    0; 1 grants before the end of a lease\n") != std::string::npos);
  CHECK(text_of(facts_of(all, {}, 1)).ends_with("clean\n"));
}

TEST_CASE("a row of the report has the seed first, and the verdict last") {
  const auto all = story{}.own("w1.1/0/0", 10, 20, 1).own("w2.1/0/0", 20, 30, 2).harm(5, 9, "kill leader", "0").tell();
  const auto row = row_of_report(facts_of(all, {}, 42));
  CHECK(row.starts_with("| 42 | "));
  CHECK(row.find(" | 2 | 1 | none | ") != std::string::npos);
  CHECK(row.ends_with(" | 0 | clean |\n"));
}

TEST_CASE("a row of the comparison says how long two held at once, and how long a killed holder was in the way") {
  story some;
  some.is(family::foreign).own("w1.1/0/0", 10, 21, 0).own("w2.1/0/0", 20, 30, 0);
  some.hold("w1.1/0/0", 1000, 2000, 0).say(2100, "w1.1", event_kind::killed, -1).own("w2.1/0/0", 5600, 5700, 0);
  const auto row = row_of_comparison("other", facts_of(some.tell(), {}, 42));
  CHECK(row.starts_with("| other | 42 | "));
  CHECK(row.find(" | 1; 0.001 s at most, 0.0 s in sum | 1; next grant after 3.5 s (median), 3.5 s at most | ") !=
        std::string::npos);
}

}  // namespace chaos
