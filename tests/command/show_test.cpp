// SPDX-License-Identifier: Apache-2.0
/// What `latchkey` prints.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "deadlocks.hpp"
#include "doctor.hpp"
#include "show.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using latchkey::contender;
using nlohmann::json;

/// 2023-11-14T22:13:20Z
constexpr wall_time begin{1'700'000'000s};
constexpr wall_time later = begin + 3min + 12s + 999ms;

/// The words of the page's section.
std::set<std::string> words_of_manual(const std::string& section) {
  std::ifstream page{LATCHKEY_MANUAL};
  std::set<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(".SH")) inside = line == ".SH " + section;
    std::istringstream text{line};
    for (std::string word; inside && text >> word;) {
      while (!word.empty() && std::ispunct(static_cast<unsigned char>(word.back())) != 0) word.pop_back();
      words.insert(word);
    }
  }
  return words;
}

void add_names(const json& in, std::set<std::string>& to) {
  for (const auto& [name, value] : in.items()) {
    if (in.is_object()) to.insert(name);
    if (value.is_structured()) add_names(value, to);
  }
}

contender billing() {
  return {.node = "_c_5f-lock-0000000041",
          .what = contender::kind::lock,
          .holds = true,
          .label = "billing",
          .host = "host3",
          .pid = 812,
          .since = begin,
          .session = 0x1000a2,
          .data = R"({"label":"billing"})"};
}

contender curator() {
  contender made;
  made.node = "_c_0c-lock-0000000042";
  made.since = begin + 90s;
  made.session = 0x2000b1;
  made.data = "10.0.0.7";
  return made;
}

queue with(std::vector<contender> contenders) {
  queue made{.path = "/locks/nightly", .contenders = std::move(contenders)};
  for (const auto& each : made.contenders) ++(each.holds ? made.holders : made.waiters);
  return made;
}

bool is_plain(const std::string& text) {
  for (const char c : text) {
    if ((c < ' ' && c != '\n') || c == '\x7f') return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("show") {
  TEST_CASE("a queue is a line for the lock, then one for each contender, in columns") {
    CHECK(
        text_of(with({billing(), curator()}), later) ==
        "/locks/nightly: held for 3m12s, 1 waiting\n"
        "  HOLDS  lock  billing@host3 pid 812  since 2023-11-14T22:13:20Z  session 0x1000a2  _c_5f-lock-0000000041\n"
        "  waits  lock  10.0.0.7               since 2023-11-14T22:14:50Z  session 0x2000b1  _c_0c-lock-0000000042\n");
  }

  TEST_CASE("a queue of nobody, and one that is not held") {
    CHECK(text_of(with({}), later) == "/locks/nightly: not held\n");
    const auto waits = text_of(with({curator()}), later);
    CHECK(waits.starts_with("/locks/nightly: not held, 1 waiting\n"));
  }

  TEST_CASE("several holders are counted, and contenders that were not read") {
    auto permits = with({billing(), billing()});
    permits.holders = 5;
    permits.waiters = 7;
    const auto text = text_of(permits, later);
    CHECK(text.starts_with("/locks/nightly: held by 5, the first for 3m12s, 7 waiting\n"));
    CHECK(text.ends_with("  and 10 more\n"));
    permits.contenders.clear();
    CHECK(text_of(permits, later) == "/locks/nightly: held by 5, 7 waiting\n  and 12 more\n");
  }

  TEST_CASE("a permanent node, one that was asked to release, and one without data are named as such") {
    auto who = curator();
    who.data = "__REVOKE__";
    CHECK(name_of(who) == "(asked to release)");
    who.data.clear();
    CHECK(name_of(who) == "(says nothing)");
    who.session = 0;
    CHECK(name_of(who) == "(says nothing) (foreign, permanent)");
    CHECK(text_of(with({who}), later).find("  no session  ") != std::string::npos);
  }

  TEST_CASE("a clock that is behind that of the ensemble makes no age below zero") {
    CHECK(text_of(with({billing()}), begin - 1h).starts_with("/locks/nightly: held for 0ms, 0 waiting\n"));
  }

  TEST_CASE("ages have two units at most") {
    CHECK(age_of(-5s) == "0ms");
    CHECK(age_of(999ms) == "999ms");
    CHECK(age_of(1s) == "1s");
    CHECK(age_of(59'999ms) == "59s");
    CHECK(age_of(60s) == "1m00s");
    CHECK(age_of(5h + 3min + 59s) == "5h03m");
    CHECK(age_of(52h) == "2d04h");
  }

  TEST_CASE("the JSON of a queue has the names of contender's members") {
    CHECK(
        json_of(with({billing()})) ==
        R"({"path":"/locks/nightly","holders":1,"waiters":0,"contenders":[{"node":"_c_5f-lock-0000000041",)"
        R"("what":"lock","holds":true,"label":"billing","host":"host3","pid":812,"since":"2023-11-14T22:13:20.000Z",)"
        R"("session":"0x1000a2","permanent":false,"data":"{\"label\":\"billing\"}","data_cut":false}],"abandoned":null})"
        "\n");
  }

  TEST_CASE("who has not unlocked a robust mutex is named below the queue") {
    auto left = with({curator()});
    left.abandoned = {.fence = {42, 1}, .label = "billing", .host = "host3", .pid = 812, .since = begin};
    const auto text = text_of(left, begin + 1h);
    CHECK(
        text.ends_with("  NOT UNLOCKED by billing@host3 pid 812, who had it since 2023-11-14T22:13:20Z: what the lock "
                       "protects may be half changed\n"));
    const auto object = json::parse(json_of(left))["abandoned"];
    CHECK(object["pid"] == 812);
    CHECK(object["fence"] == to_string(latchkey::fencing_token{42, 1}));
    CHECK_FALSE(object.contains("why"));
    left.abandoned->why = latchkey::loss_reason::held_too_long;
    CHECK(text_of(left, begin).find(" (held too long): what") != std::string::npos);
    left.abandoned = latchkey::dead_owner{};
    CHECK(text_of(left, begin).find("NOT UNLOCKED by somebody") != std::string::npos);
    left.abandoned = {.label = "a\nb\x1b", .host = "\"h"};
    CHECK(is_plain(text_of(left, begin)));
    CHECK(json::parse(json_of(left))["abandoned"]["label"] == "a\nb\x1b");
  }

  TEST_CASE("a list has a line for each lock") {
    auto two = with({billing(), curator()});
    auto semaphore = with({billing()});
    semaphore.contenders.front().what = contender::kind::permit;
    semaphore.holders = 3;
    const std::vector<listed_lock> all{{{"/locks/nightly", 2, false}, two}, {{"/s", 3, true}, semaphore}};
    CHECK(text_of(all, later) ==
          "/locks/nightly  lock    billing@host3 pid 812             held for 3m12s  1 waiting\n"
          "/s              permit  billing@host3 pid 812 and 2 more  held for 3m12s  0 waiting\n");
    const auto read = json::parse(json_of(all.back()));
    CHECK(read["path"] == "/s");
    CHECK(read["semaphore"] == true);
    CHECK(read["holders"] == 3);
    CHECK(read["holder"]["label"] == "billing");
    CHECK(json::parse(json_of(listed_lock{{"/a", 1, false}, with({curator()})}))["holder"].is_null());
    CHECK(json_of(latchkey::found_lock{"/a", 1, false}) == "{\"path\":\"/a\",\"contenders\":1,\"semaphore\":false}\n");
  }

  TEST_CASE("a leader, no leader, and not to know are told apart") {
    const latchkey::leader_sighting ann{.known = true, .who = latchkey::leader{"ann", {0x2a, 1}}};
    CHECK(text_of(ann) == "ann  term 000000000000002a00000001\n");
    CHECK(text_of({.known = true}) == "no candidate leads\n");
    CHECK(text_of(latchkey::leader_sighting{}) == "it is not known who leads\n");
    CHECK(text_of_change(ann, begin + 7ms) == "2023-11-14T22:13:20.007Z  ann  term 000000000000002a00000001\n");
    CHECK(json_of("/e", ann) ==
          "{\"path\":\"/e\",\"known\":true,\"who\":{\"id\":\"ann\",\"term\":\"000000000000002a00000001\"}}\n");
    CHECK(json_of("/e", {}) == "{\"path\":\"/e\",\"known\":false,\"who\":null}\n");
  }

  TEST_CASE("the manual page has every name in the JSON") {
    const latchkey::leader_sighting ann{.known = true, .who = latchkey::leader{"ann", {0x2a, 1}}};
    const queue_change let_in{queue_change::kind::holds, billing(), 412ms};
    const circle two{{.id = 1, .holds = {{"/a", billing()}}, .waits = {{"/b", billing()}}}};
    auto abandoned = with({billing()});
    abandoned.abandoned = {.label = "billing", .why = latchkey::loss_reason::held_too_long};
    std::set<std::string> names;
    for (const auto& line :
         {json_of(abandoned), json_of(listed_lock{{"/s", 3, true}, with({billing()})}), json_of(latchkey::found_lock{}),
          json_of("/e", ann), json_of("/a", let_in, begin), json_of_not_known("/a", begin),
          json_of(latchkey::sequencer{}, true), json_of_asking(queue{}, 1, true),
          json_of_eviction("/a", billing(), true), json_of(two), json_of(finding{})}) {
      add_names(json::parse(line), names);
    }
    const auto said = words_of_manual("JSON");
    for (const auto& name : names) CHECK_MESSAGE(said.contains(name), name);
  }

  TEST_CASE("a change of a queue says who, and after how long") {
    const queue_change let_in{queue_change::kind::holds, billing(), 412ms};
    CHECK(text_of(let_in, begin + 7ms) ==
          "2023-11-14T22:13:20.007Z  +holds  lock    billing@host3 pid 812  after 412ms  _c_5f-lock-0000000041\n");
    const auto read = json::parse(json_of("/a", let_in, begin + 7ms));
    CHECK(read["change"] == "+holds");
    CHECK(read["after_ms"] == 412);
    CHECK(read["contender"]["label"] == "billing");
    CHECK(json::parse(json_of("/a", {queue_change::kind::there, billing()}, begin))["after_ms"].is_null());
    CHECK(text_of({queue_change::kind::there, billing()}, begin) ==
          "2023-11-14T22:13:20.000Z  =holds  lock    billing@host3 pid 812  _c_5f-lock-0000000041\n");
    CHECK(text_of_not_known(begin) == "2023-11-14T22:13:20.000Z  the queue is not known\n");
    CHECK(json_of_not_known("/a", begin) == "{\"path\":\"/a\",\"at\":\"2023-11-14T22:13:20.000Z\",\"known\":false}\n");
  }

  TEST_CASE("text that may harm a terminal is escaped, other text is not") {
    CHECK(printable("plain, M\xc3\xbcller, \xe6\x97\xa5\xe6\x9c\xac") ==
          "plain, M\xc3\xbcller, \xe6\x97\xa5\xe6\x9c\xac");
    CHECK(printable("\x1b[2J\r\n\t") == "\\x1b[2J\\x0d\\x0a\\x09");
    CHECK(printable("a\\b\x7f") == "a\\\\b\\x7f");
    CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");             // a control character beyond ASCII
    CHECK(printable("\xe2\x80\xae|") == "\\xe2\\x80\\xae|");  // from right to left
    CHECK(printable("\xff\xc3") == "\\xff\\xc3");             // no UTF-8
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");             // overlong
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");    // a surrogate
    CHECK(printable(std::string("\0x", 2)) == "\\x00x");
  }

  TEST_CASE("what a sentence quotes is escaped once") {
    CHECK(printable_sentence("cannot read " + printable("a\nb\\") + "\n") == "cannot read a\\x0ab\\\\\\x0a");
  }

  TEST_CASE("hostile nodes neither break lines nor JSON") {
    auto who = billing();
    who.label = "\x1b]0;owned\x07 \xff";
    who.host = std::string(4096, '\n');
    who.node = "_c_\xe2\x80\xae-lock-0000000001";
    who.data = std::string(4096, '\x01') + "\xc3";
    const auto queue = with({who});
    const auto text = text_of(queue, later);
    CHECK(is_plain(text));
    CHECK(text.size() < 1000);
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
    const auto printed = json_of(queue);
    CHECK(is_plain(printed));
    CHECK(std::count(printed.begin(), printed.end(), '\n') == 1);
    const auto read = json::parse(printed)["contenders"][0];
    CHECK(read["host"] == who.host);
    CHECK(read["node"] == who.node);
    CHECK(read["label"] == "\x1b]0;owned\x07 \xef\xbf\xbd");
  }
}

}  // namespace command
