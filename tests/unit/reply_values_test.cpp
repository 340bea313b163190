// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_values.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("reply values");

TEST_CASE("a list of names is copied") {
  std::string one = "one";
  std::string two = "two";
  char* entries[] = {one.data(), two.data()};
  const String_vector names{2, entries};
  std::vector<std::string> copied{"before"};
  CHECK(copy_names(&names, copied));
  CHECK(copied == std::vector<std::string>{"one", "two"});
  const String_vector none{0, nullptr};
  CHECK(copy_names(&none, copied));
  CHECK(copied.empty());
}

TEST_CASE("a list that no server sends is none, and not a part of one") {
  std::string one = "one";
  char* entries[] = {one.data(), nullptr, one.data()};
  std::vector<std::string> copied;
  for (const auto& names : {String_vector{-1, nullptr}, String_vector{-1, entries},
                            String_vector{std::numeric_limits<std::int32_t>::min(), entries}, String_vector{1, nullptr},
                            String_vector{std::numeric_limits<std::int32_t>::max(), nullptr}, String_vector{3, entries},
                            String_vector{std::numeric_limits<std::int32_t>::max(), entries}}) {
    CAPTURE(names.count);
    CHECK_FALSE(copy_names(&names, copied));
    CHECK(copied.empty());
  }
  CHECK_FALSE(copy_names(nullptr, copied));
}

TEST_CASE("of the data of a node the beginning is kept, and its size") {
  constexpr std::size_t most = 4096;
  const std::string large(most + 1, 'x');
  reply with;
  copy_data(large.data(), static_cast<int>(large.size()), most, with);
  CHECK(with.data == large.substr(0, most));
  CHECK(with.data_size == large.size());
  reply exact;
  copy_data(large.data(), static_cast<int>(most), most, exact);
  CHECK(exact.data.size() == exact.data_size);
}

TEST_CASE("a node may have no data, which a server may say in several ways") {
  for (const int size : {-1, 0, std::numeric_limits<int>::min(), 5}) {
    reply with;
    copy_data(nullptr, size, 1, with);
    CHECK(with.data.empty());
    CHECK(with.data_size == 0);
  }
  reply with;
  copy_data("text", -1, 1, with);
  CHECK(with.data.empty());
  CHECK(to_stat(nullptr).czxid == 0);
}

TEST_SUITE_END();
