// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

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
  const event what{story::at(7), "w2.1/0/3", event_kind::lost, 4, {12, 3}, -5, "deadline passed"};
  const auto read = parse_event(to_line(what));
  CHECK(read.at == what.at);
  CHECK(read.who == what.who);
  CHECK(read.kind == what.kind);
  CHECK(read.lock == what.lock);
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
  const event early{story::at(1), "w1.1/0/0", event_kind::waits, 0, {}, 0, "lock"};
  const event late{story::at(2), "w2.1/0/0", event_kind::waits, 1, {}, 0, "lock"};
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

TEST_CASE("a line that nobody wrote is an error which names it") {
  const folder here;
  here.write("w1.1.events", "1 w1.1 dances 0 000000000000000000000000 0 \n");
  CHECK_THROWS_WITH_AS(load(here.path), doctest::Contains("w1.1.events:1"), std::runtime_error);
}

TEST_CASE("the summary ends with the verdict") {
  const auto all = story{}.own("w1.1/0/0", 10, 21, 1).own("w2.1/0/0", 20, 30, 2).tell();
  const auto bad = summarise(all, check(all), 42);
  CHECK(bad.find("VIOLATED (overlap 1)\n") != std::string::npos);
  CHECK(bad.find("seed                        42\n") == 0);
  CHECK(summarise(all, {}, 1).ends_with("clean\n"));
}

}  // namespace chaos
