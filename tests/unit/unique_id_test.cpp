// SPDX-License-Identifier: Apache-2.0
#include "base/unique_id.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("unique id");

/// @returns whether `text` is like the pattern: x a hexadecimal digit, v one of 89ab, else itself.
static bool looks_like(std::string_view text, std::string_view pattern) {
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char like) {
    if (like == 'x') return std::string_view{"0123456789abcdef"}.find(c) != std::string_view::npos;
    if (like == 'v') return std::string_view{"89ab"}.find(c) != std::string_view::npos;
    return c == like;
  });
}

TEST_CASE("an id is the text of a UUID of version 4") {
  for (int i = 0; i < 1000; ++i) CHECK(looks_like(unique_id(), "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx"));
}

TEST_CASE("the same seed gives the same ids, another one others") {
  unique_ids a{42}, b{42}, c{43};
  const auto first = a.next();
  CHECK(first == b.next());
  CHECK(first != c.next());
  CHECK(first != a.next());
}

TEST_CASE("threads never get the same id") {
  std::array<std::vector<std::string>, 4> ids;
  {
    std::vector<std::jthread> threads;
    for (auto& own : ids) {
      threads.emplace_back([&own] {
        for (int i = 0; i < 10'000; ++i) own.push_back(unique_id());
      });
    }
  }
  std::set<std::string> all;
  for (const auto& own : ids) all.insert(own.begin(), own.end());
  CHECK(all.size() == 40'000);
}

TEST_CASE("a forked child gets other ids than its parent") {
  unique_id();  // the generator exists
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto id = unique_id();
    ::_exit(::write(pipe[1], id.data(), id.size()) == 36 ? 0 : 1);
  }
  std::string of_child(36, ' ');
  CHECK(::read(pipe[0], of_child.data(), of_child.size()) == 36);
  CHECK(of_child != unique_id());
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("the generator of the C library is left alone") {
  std::srand(7);
  const int first = std::rand();
  std::srand(7);
  unique_id();
  CHECK(std::rand() == first);
}

TEST_SUITE_END();
