// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "story.hpp"

namespace chaos {
namespace {

std::string drawn(const history& all) {
  const auto file =
      std::filesystem::temp_directory_path() / ("latchkey-chaos-test-" + std::to_string(::getpid()) + ".svg");
  draw(all, check(all), file);
  std::ifstream input{file};
  std::string text{std::istreambuf_iterator<char>{input}, {}};
  std::filesystem::remove(file);
  return text;
}

}  // namespace

TEST_CASE("the picture has the lanes, the grants, the faults and the violations") {
  const auto text = drawn(story{}
                              .own("w1.1/0/0", 10, 21, 1)
                              .own("w2.1/1/3", 20, 30, 2)
                              .harm(15, 40, "kill leader", "server 1")
                              .own("w1.2/0/0", 50, 60, 3)
                              .tell());
  for (const auto* part : {">w1/0<", ">w2/3<", ">kill leader server 1<", "blue", "overlap", "seagreen", "</svg>"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("in the picture readers differ from writers") {
  const auto writer = drawn(story{}.own("w1.1/0/0", 10, 20, 1).tell());
  CHECK(writer.find("fill=\"seagreen\"") != std::string::npos);
  CHECK(writer.find("fill=\"mediumpurple\"") == std::string::npos);
  const auto reader = drawn(story{}.read("w1.1/0/0", 10, 20, 1).tell());
  CHECK(reader.find("fill=\"seagreen\"") == std::string::npos);
  CHECK(reader.find("fill=\"mediumpurple\"") != std::string::npos);
}

TEST_CASE("an empty history makes an empty picture") { CHECK(drawn({}).find("</svg>") != std::string::npos); }

TEST_CASE("a picture that cannot be written is an error") {
  CHECK_THROWS_AS(draw({}, {}, "/nonexistent/picture.svg"), std::runtime_error);
}

}  // namespace chaos
