// SPDX-License-Identifier: Apache-2.0
/// Sequencers as text.

#include <latchkey/sequencer.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

namespace latchkey {
namespace {

const std::string name = "_c_5f3c0d2e-8a41-4c1b-9f6e-2b7d1c3a4e5f-lock-0000000007";

bool is_refused(std::string_view text) {
  try {
    parse_sequencer(text);
    return false;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

/// Whatever the text is: it is refused, or it is the one text of another sequencer.
bool is_refused_or_of_another(const std::string& text, const sequencer& than) {
  try {
    const auto found = parse_sequencer(text);
    return found != than && to_string(found) == text;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

/// A path whose components have what ZooKeeper allows: also colons, spaces, percent signs and no ASCII.
std::string random_node(std::mt19937& random) {
  static constexpr std::array<std::string_view, 16> pieces{"a", "Z", "9",   "-",  ".",  "_", "~", ":",
                                                           " ", "%", "%41", "\"", "\\", "+", "é", "鎖"};
  std::uniform_int_distribution<std::size_t> piece{0, pieces.size() - 1};
  std::uniform_int_distribution<int> length{1, 12};
  std::string node;
  for (int components = length(random) / 3; components >= 0; --components) {
    node += "/x";  // no component is "." or ".."
    for (int left = length(random); left > 0; --left) node += pieces[piece(random)];
  }
  return node + '/' + name;
}

}  // namespace

TEST_SUITE("sequencer") {
  TEST_CASE("a sequencer as text is version, token and path, in ASCII without spaces") {
    const sequencer plain{"/billing/locks/nightly/" + name, {42, 7}};
    CHECK(to_string(plain) == "lk1:000000000000002a00000007:/billing/locks/nightly/" + name);
    CHECK(parse_sequencer(to_string(plain)) == plain);
    const sequencer odd{"/a:b c%20d/é\"+~/" + name, {-1, 0xffffffff}};
    CHECK(to_string(odd) == "lk1:ffffffffffffffffffffffff:/a%3Ab%20c%2520d/%C3%A9%22%2B~/" + name);
    CHECK(parse_sequencer(to_string(odd)) == odd);
  }

  TEST_CASE("a reader is not exclusive, all others are") {
    CHECK(is_exclusive({"/q/_c_5f3c-lock-0000000001", {}}));
    CHECK(is_exclusive({"/q/_c_5f3c-__WRIT__0000000001", {}}));
    CHECK_FALSE(is_exclusive({"/q/_c_5f3c-__READ__0000000001", {}}));
    CHECK_FALSE(is_exclusive({"/q/config", {}}));
    CHECK_FALSE(is_exclusive({"", {}}));
  }

  TEST_CASE("no other text is a sequencer") {
    const std::string token = "000000000000002a00000007";
    for (const auto& text : {std::string{},
                             std::string{"lk1:"},
                             "lk1:" + token,
                             "lk1:" + token + ":",
                             "lk2:" + token + ":/q/" + name,
                             "lk1:" + token + ":q/" + name,
                             "lk1:" + token + ":/" + name,
                             "lk1:" + token + ":/q/../q/" + name,
                             "lk1:" + token + ":/q/config",
                             "lk1:" + token + ":/q/" + name + "/",
                             "lk1:" + token + ":/q/" + name + "/config",
                             "lk1:" + token + ":/zookeeper/q/" + name,
                             "lk1:000000000000002A00000007:/q/" + name,
                             "lk1:+00000000000002a00000007:/q/" + name,
                             "lk1:" + token + ":/%71/" + name,
                             "lk1:" + token + ":/q%3a/" + name,
                             "lk1:" + token + ":/q%/" + name,
                             "lk1:" + token + ":/q%+1/" + name,
                             "lk1:" + token + ":/q r/" + name,
                             "lk1:" + token + ":/q%00/" + name,
                             "lk1:" + token + ":/q%0A/" + name,
                             "lk1:" + token + ":/q%FF/" + name,
                             " lk1:" + token + ":/q/" + name,
                             "lk1:" + token + ":/q/" + name + "\n",
                             "lk1:" + token + ":/" + std::string(5000, 'q') + "/" + name,
                             "lk1:" + token + ":/" + std::string(100'000, 'q') + "/" + name}) {
      CAPTURE(text.substr(0, 200));
      CHECK(is_refused(text));
    }
  }

  TEST_CASE("the message of a refusal is one short line, whatever the text") {
    try {
      parse_sequencer("lk1:\r\n\x1b" + std::string(100'000, 'x'));
      FAIL("it was parsed");
    } catch (const std::invalid_argument& refused) {
      const std::string what = refused.what();
      CHECK(what.size() < 300);
      for (const char byte : what) CHECK(byte >= ' ');
    }
  }

  TEST_CASE("every path comes back as it was") {
    std::mt19937 random{7};
    for (int i = 0; i < 20'000; ++i) {
      const sequencer before{
          random_node(random),
          {static_cast<std::int64_t>(random() << 32 | random()), static_cast<std::uint32_t>(random())}};
      const auto text = to_string(before);
      CAPTURE(text);
      REQUIRE(parse_sequencer(text) == before);
      REQUIRE(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:%") ==
              std::string::npos);
    }
  }

  TEST_CASE("of every prefix, and with every byte changed at every place, no text is taken for the same") {
    const sequencer original{"/a b/é/" + name, {42, 7}};
    const auto text = to_string(original);
    for (std::size_t at = 0; at < text.size(); ++at) {
      REQUIRE(is_refused_or_of_another(text.substr(0, at), original));
      REQUIRE(is_refused_or_of_another(text.substr(0, at) + text.substr(at + 1), original));
      for (int byte = 0; byte < 256; ++byte) {
        auto changed = text;
        changed[at] = static_cast<char>(byte);
        if (changed != text) REQUIRE(is_refused_or_of_another(changed, original));
        changed = text;
        changed.insert(at, 1, static_cast<char>(byte));
        REQUIRE(is_refused_or_of_another(changed, original));
      }
    }
  }

  TEST_CASE("random bytes behind a valid beginning are refused, or are the text of a sequencer") {
    std::mt19937 random{11};
    const sequencer none;
    for (int i = 0; i < 100'000; ++i) {
      std::string text = i % 2 == 0 ? "lk1:000000000000002a00000007:/q/" : "";
      for (auto left = random() % 40; left > 0; --left) text += static_cast<char>(random());
      text += i % 4 < 2 ? "-lock-0000000001" : "";
      REQUIRE(is_refused_or_of_another(text, none));
    }
  }
}

}  // namespace latchkey
