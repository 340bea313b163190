// SPDX-License-Identifier: Apache-2.0
#include "base/path.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include <latchkey/error.hpp>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("path");

TEST_CASE("paths that ZooKeeper accepts are valid") {
  for (const auto* path : {"/", "/a", "/locks/nightly", "/a.b", "/..a", "/a..", "/...", "/.a/b.", "/with space",
                           "/gr\xc3\xbc\xc3\x9f", "/\xe6\x97\xa5", "/zookeepers", "/a/zookeeper"}) {
    CAPTURE(path);
    CHECK(path_fault(path).empty());
    CHECK_NOTHROW(validate_path(path));
  }
}

TEST_CASE("the root, however many slashes it is written with, is no lock") {
  for (const auto* path : {"/", "//", "///"}) {
    CAPTURE(path);
    std::string said;
    try {
      validate_lock_path(path);
    } catch (const latchkey::error& refused) {
      said = refused.what();
    }
    CHECK(said.find("the root cannot be a lock") != std::string::npos);
  }
}

TEST_CASE("any bytes can be written as a component, and different ones differently") {
  using namespace std::string_literals;
  CHECK(as_component("order-17") == "order-17");
  CHECK(as_component("gr\xc3\xbc\xc3\x9f.") == "gr\xc3\xbc\xc3\x9f.");
  CHECK(as_component("a/b%c") == "a%2Fb%25c");
  CHECK(as_component(".") == "%2E");
  CHECK(as_component("..") == "%2E%2E");
  CHECK(as_component("\0\n\x7f"s) == "%00%0A%7F");
  CHECK(as_component("\xc2\x80 \xf0\x9f\x94\x92") == "%C2%80 %F0%9F%94%92");
  CHECK(as_component("\xff\xc3") == "%FF%C3");
  std::set<std::string> written;
  std::size_t count = 0;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const auto component = as_component(std::string{static_cast<char>(first), static_cast<char>(second)});
      if (!path_fault("/a/" + component).empty()) FAIL(component);
      written.insert(component);
      ++count;
    }
  }
  CHECK(written.size() == count);
}

TEST_CASE("paths that ZooKeeper refuses are not") {
  using namespace std::string_literals;
  const std::vector<std::string> refused{
      "",
      "a",
      "a/b",
      "//",
      "//a",
      "/a//b",
      "/a/",
      "/.",
      "/..",
      "/a/.",
      "/a/..",
      "/./a",
      "/a/../b",
      "/zookeeper",
      "/zookeeper/quota",
      "/a\0b"s,  // what the C client would cut off
      "/a\tb",
      "/a\x1f",
      "/a\x7f",
      "/a\xc2\x80",
      "/a\xc2\x9f",
      "/a\xed\xa0\x80",      // a surrogate
      "/a\xee\x80\x80",      // for private use
      "/a\xef\xbf\xb0",      // U+FFF0
      "/a\xf0\x9f\x94\x92",  // beyond U+FFFF: surrogates in Java
      "/a\xff",
      "/a\xc3",
      "/a\xc0\xaf",
      "/a\xe0\x80\x80",  // no UTF-8
  };
  for (const auto& path : refused) {
    CAPTURE(path);
    CHECK_FALSE(path_fault(path).empty());
    CHECK_THROWS_AS(validate_path(path), latchkey::error);
  }
}

TEST_CASE("the error of a bad path names it and says what to write") {
  try {
    validate_path("/a/");
    FAIL("did not throw");
  } catch (const latchkey::error& e) {
    CHECK((e.code() == latchkey::errc::bad_path));
    CHECK(e.path() == "/a/");
    CHECK(std::string{e.what()} == "/a/: the path ends with a slash; remove it: bad path");
  }
}

TEST_CASE("the error of a path with a NUL says all of it on one line") {
  using namespace std::string_literals;
  try {
    validate_path("/a\0b"s);
    FAIL("did not throw");
  } catch (const latchkey::error& e) {
    CHECK(e.path() == "/a\0b"s);
    CHECK(std::string{e.what()}.find("/a\\x00b: ") != std::string::npos);
    CHECK(std::string{e.what()}.find("bad path") != std::string::npos);
  }
}

TEST_CASE("the error of a path that is no UTF-8 is") {
  for (const std::string bad : {"\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xc0\xaf"}) {
    CAPTURE(bad);
    try {
      validate_path("/a" + bad);
      FAIL("did not throw");
    } catch (const latchkey::error& e) {
      const std::string what{e.what()};
      CHECK(what.find(bad) == std::string::npos);
      CHECK(what.find("/a\\x") != std::string::npos);
    }
  }
}

TEST_CASE("a path that would not fit into a request is refused, and shown in part") {
  CHECK_NOTHROW(validate_path("/" + std::string(4095, 'x')));
  for (const std::size_t length : {4096, 1'048'577}) {
    try {
      validate_path("/" + std::string(length, 'x'));
      FAIL("did not throw");
    } catch (const latchkey::error& e) {
      CHECK((e.code() == latchkey::errc::bad_path));
      CHECK(std::string{e.what()}.size() < 300);
      CHECK(e.path().size() < 100);
    }
  }
}

TEST_CASE("joined paths have one slash between their parts") {
  CHECK(join("/a", "b") == "/a/b");
  CHECK(join("/", "b") == "/b");
  CHECK(join("", "b") == "/b");
  CHECK(join("/chroot", "/locks/a") == "/chroot/locks/a");
  CHECK(join("/chroot", "/") == "/chroot");
  CHECK(join("", "/locks/a") == "/locks/a");
}

TEST_CASE("paths come apart") {
  CHECK(parent_of("/a/b/c") == "/a/b");
  CHECK(parent_of("/a") == "/");
  CHECK(parent_of("/") == "");
  CHECK(last_component("/a/b/c") == "c");
  CHECK(last_component("/a") == "a");
  CHECK(last_component("/") == "");
}

TEST_CASE("ancestors come in the order of their creation, without the root and the path itself") {
  CHECK(ancestors("/a/b/c") == std::vector<std::string>{"/a", "/a/b"});
  CHECK(ancestors("/a").empty());
  CHECK(ancestors("/").empty());
}

TEST_SUITE_END();
