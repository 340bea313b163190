// SPDX-License-Identifier: Apache-2.0
/// What is read of text: of the environment, of options, of files.

#include <latchkey/settings.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/client.hpp>

#include "error_of.hpp"
#include "session/client_core.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

template <class Callable>
std::string refusal_of(Callable what) {
  try {
    what();
    return "accepted";
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  } catch (const error& refused) {
    CHECK(refused.code() == errc::bad_option);
    return refused.what();
  }
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// Variables of the environment, until the end of the scope.
class environment {
 public:
  explicit environment(std::vector<std::pair<std::string, std::string>> all) : all_{std::move(all)} {
    for (const auto& [name, value] : all_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~environment() {
    for (const auto& each : all_) ::unsetenv(each.first.c_str());
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  const std::vector<std::pair<std::string, std::string>> all_;
};

}  // namespace

TEST_SUITE("settings") {
  TEST_CASE("durations have a unit, or are seconds") {
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("10") == 10s);
    CHECK(parse_duration("1.5s") == 1500ms);
    CHECK(parse_duration("2m") == 2min);
    CHECK(parse_duration("24h") == 24h);
    CHECK(parse_duration("0") == 0ms);
    CHECK(parse_duration("1d") == 24h);
    CHECK(parse_duration("0.0001ms") == 1ms);  // zero may mean no limit
    CHECK(parse_duration("30d", 24h * 3650) == 720h);
    for (const auto* wrong :
         {"", "s", "-1s", "2d", "10 s", "1e9", "nan", "inf", "25h", "99999999999999999999h", "5x"}) {
      CAPTURE(std::string{wrong});
      CHECK(has(refusal_of([&] { (void)parse_duration(wrong); }), "is no duration of at most 1d"));
    }
  }

  TEST_CASE("a pipe in place of a file is refused, and not waited for") {
    const file_with place{""};
    REQUIRE(::unlink(place.path().c_str()) == 0);
    REQUIRE(::mkfifo(place.path().c_str(), 0600) == 0);
    CHECK(has(refusal_of([&] { read_credentials(place.path()); }), "no regular file"));
  }

  TEST_CASE("an access control list is entries of three parts") {
    CHECK(parse_acl("").empty());
    const auto read = parse_acl("auth::cdrwa, digest:user:c2hh=:r,ip:10.0.0.0/8:r");
    REQUIRE(read.size() == 3);
    CHECK(read[0].scheme == "auth");
    CHECK(read[0].id.empty());
    CHECK(read[0].permissions == "cdrwa");
    CHECK(read[1].id == "user:c2hh=");
    CHECK(read[2].id == "10.0.0.0/8");
    for (const auto* wrong : {"auth", "auth:cdrwa", ":x:r", ",", "auth::r,,", "auth::", "auth::x"}) {
      CAPTURE(wrong);
      CHECK(has(refusal_of([&] { parse_acl(wrong); }), "auth::cdrwa"));
    }
  }

  TEST_CASE("credentials are read from a file of mode 0600, and from no other") {
    const std::string text = "# of the billing service\ndigest:billing:pass:word \n\nsasl:x\n";
    const file_with file{text};
    const auto read = read_credentials(file.path());
    REQUIRE(read.size() == 2);
    CHECK(read[0].scheme == "digest");
    CHECK(read[0].data == "billing:pass:word");
    CHECK(read[1].scheme == "sasl");
    CHECK(read[1].data == "x");
    for (const mode_t mode : {0644, 0640, 0604, 0620, 0602, 0700, 0666, 04600}) {
      CAPTURE(mode);
      const file_with open{text, mode};
      const auto why = refusal_of([&] { read_credentials(open.path()); });
      CHECK(has(why, "chmod 600"));
      CHECK(!has(why, "pass"));
    }
  }

  TEST_CASE("a line without a scheme is refused, and not repeated") {
    const file_with file{"digest:a:b\nsecret\n"};
    const auto why = refusal_of([&] { read_credentials(file.path()); });
    CHECK(has(why, " has no scheme in line 2;"));
    CHECK(!has(why, "secret"));
    CHECK(has(refusal_of([&] { read_credentials("/not/there"); }), "cannot be read"));
    const file_with large{std::string(64 * 1024 + 1, '#')};
    CHECK(has(refusal_of([&] { read_credentials(large.path()); }), "64 KiB"));
  }

  TEST_CASE("a client has its servers and its options from the environment") {
    const file_with secrets{"digest:billing:secret\n"};
    const environment set{{{"LATCHKEY_CONNECT", "127.0.0.1:1/below"},
                           {"LATCHKEY_AUTH_FILE", secrets.path()},
                           {"LATCHKEY_SESSION_TIMEOUT", "7s"},
                           {"LATCHKEY_LABEL", "billing-7"},
                           {"LATCHKEY_ACL", "auth::cdrwa"}}};
    client_options others;
    others.session_timeout = 20s;
    others.close_timeout = 300ms;
    const auto made = client::from_environment(std::move(others));
    const auto& options = made.core()->options();
    CHECK(options.session_timeout == 7s);
    CHECK(options.label == "billing-7");
    REQUIRE(options.acl.size() == 1);
    CHECK(options.acl[0].scheme == "auth");
    CHECK(options.close_timeout == 300ms);
    CHECK(made.core()->absolute("/lock") == "/below/lock");
  }

  TEST_CASE("a variable that is empty says nothing, and leaves the option as it is") {
    const environment set{
        {{"LATCHKEY_CONNECT", "127.0.0.1:1"}, {"LATCHKEY_LABEL", ""}, {"LATCHKEY_SESSION_TIMEOUT", ""}}};
    client_options others;
    others.session_timeout = 20s;
    others.label = "ours";
    const auto made = client::from_environment(std::move(others));
    CHECK(made.core()->options().session_timeout == 20s);
    CHECK(made.core()->options().label == "ours");
  }

  TEST_CASE("a variable that is wrong is named, and none of a secret") {
    CHECK(error_of([] { (void)client::from_environment(); }) == errc::bad_connect_string);
    const environment servers{{{"LATCHKEY_CONNECT", "127.0.0.1:1"}}};
    const auto refused = [](const char* name, const std::string& value) {
      const environment set{{{name, value}}};
      return refusal_of([] { (void)client::from_environment(); });
    };
    CHECK(has(refused("LATCHKEY_SESSION_TIMEOUT", "soon"), "LATCHKEY_SESSION_TIMEOUT: \"soon\" is no duration"));
    CHECK(has(refused("LATCHKEY_SESSION_TIMEOUT", "5ms"), "use at least 100 ms"));
    CHECK(has(refused("LATCHKEY_ACL", "world:anyone:secret"), "LATCHKEY_ACL: entry 1 "));
    CHECK_FALSE(has(refused("LATCHKEY_ACL", "digest:user:secret"), "secret"));
    CHECK(has(refused("LATCHKEY_AUTH_FILE", "/not/there"), "/not/there cannot be read (No such file"));
    const auto not_a_path = refused("LATCHKEY_AUTH_FILE", "digest:user:geheim");
    CHECK(has(not_a_path, "cannot be read"));
    CHECK(has(not_a_path, "give its path, not the credentials"));
    CHECK_FALSE(has(not_a_path, "geheim"));
    const file_with without_user{"digest:secret\n"};
    const auto why = refused("LATCHKEY_AUTH_FILE", without_user.path());
    CHECK(has(why, "has no user, or no password"));
    CHECK_FALSE(has(why, "secret"));
  }
}

}  // namespace latchkey::testing
