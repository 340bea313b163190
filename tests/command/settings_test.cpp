// SPDX-License-Identifier: Apache-2.0
/// Where `latchkey` has its settings from.

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "exit_code.hpp"
#include "temporary_folder.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;

/// A file in a folder of its own.
class file_with {
 public:
  explicit file_with(const std::string& text, mode_t mode = 0600) : path_{folder_.file("file", text, mode)} {}
  const std::string& path() const noexcept { return path_; }

 private:
  const latchkey::testing::temporary_folder folder_;
  const std::string path_;
};

template <class Callable>
std::string refusal_of(Callable what) {
  try {
    what();
    return "accepted";
  } catch (const usage_error& refused) {
    return refused.what();
  }
}

const char* nothing(const char*) { return nullptr; }

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
    CHECK(parse_duration("30d", longest_age) == 720h);
    for (const auto* wrong :
         {"", "s", "-1s", "2d", "10 s", "1e9", "nan", "inf", "25h", "99999999999999999999h", "5x"}) {
      CAPTURE(std::string{wrong});
      CHECK(refusal_of([&] { parse_duration(wrong); }).find("is no duration") != std::string::npos);
    }
  }

  TEST_CASE("an option goes before the environment, and that before the file") {
    const file_with file{
        "# where the locks are\n\n  connect = file:1,file:2/chroot  \nlabel=file\nauth-file = "
        "/file\nsession-timeout=7s\r\n",
        0644};
    const auto environment = [](const char* name) -> const char* {
      const std::string_view asked{name};
      if (asked == "LATCHKEY_CONNECT") return "environment:1";
      return asked == "LATCHKEY_LABEL" ? "environment" : nullptr;
    };
    settings given{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = "option", .config = file.path()};
    fill_in(given, environment);
    CHECK(given.label == "option");
    CHECK(given.connect == "environment:1");
    CHECK(given.auth_file == "/file");
    CHECK(given.session_timeout == "7s");
    settings from_file{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = {}, .config = file.path()};
    fill_in(from_file, nothing);
    CHECK(from_file.connect == "file:1,file:2/chroot");
    CHECK(from_file.label == "file");
  }

  TEST_CASE("a settings file that is wrong is refused, with the line") {
    for (const auto* wrong : {"connect=a:1\nconect=b:1\n", "connect=a:1\nconnect=b:1\n", "connect=a:1\npassword\n",
                              "connect=a:1\nlabel=\n"}) {
      const file_with file{wrong};
      settings given{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = {}, .config = file.path()};
      CHECK(refusal_of([&] { fill_in(given, nothing); }).starts_with("line 2 of " + file.path()));
    }
    settings missing{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = {}, .config = "/not/there"};
    CHECK(refusal_of([&] { fill_in(missing, nothing); }).starts_with("cannot read /not/there: "));
    settings folder{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = {}, .config = "/"};
    CHECK(refusal_of([&] { fill_in(folder, nothing); }).find("no regular file") != std::string::npos);
  }

  TEST_CASE("a value that is wrong is told with the place where it stands") {
    const file_with file{"label=x\nsession-timeout=soon\n"};
    settings given{.connect = {}, .auth_file = {}, .session_timeout = {}, .label = {}, .config = file.path()};
    CHECK(refusal_of([&] { fill_in(given, nothing); }).starts_with("line 2 of " + file.path() + ": \"soon\" is no"));
    const auto environment = [](const char* name) {
      return std::string_view{name} == "LATCHKEY_ACL" ? "anyone" : nullptr;
    };
    given.session_timeout.clear();
    CHECK(refusal_of([&] { fill_in(given, environment); }).starts_with("LATCHKEY_ACL: \"anyone\" is no"));
    given.acl.clear();
    given.tls = "a,b,c,d";
    CHECK(refusal_of([&] { fill_in(given, nothing); }).starts_with("--tls: give three files"));
    given.tls.clear();
    given.session_timeout = "2d";
    CHECK(refusal_of([&] { fill_in(given, nothing); }).starts_with("--session-timeout: \"2d\" is no"));
    given.session_timeout = "1s";  // that of the file is not used
    fill_in(given, nothing);
    CHECK(given.session_timeout == "1s");
  }

  TEST_CASE("an entry auth without credentials is refused before anything is sent") {
    settings given{.connect = "127.0.0.1:1", .auth_file = {}, .session_timeout = {}, .label = {}, .config = {}};
    given.acl = "auth::cdrwa";
    CHECK(refusal_of([&] { (void)make_client(given, purpose::look); }).find("give --auth-file") != std::string::npos);
    const file_with file{"digest:billing:secret\n"};
    given.auth_file = file.path();
    CHECK(refusal_of([&] { (void)make_client(given, purpose::look); }) == "accepted");
  }

  TEST_CASE("a pipe in place of a file is refused, and not waited for") {
    const file_with place{""};
    REQUIRE(::unlink(place.path().c_str()) == 0);
    REQUIRE(::mkfifo(place.path().c_str(), 0600) == 0);
    CHECK(refusal_of([&] { read_credentials(place.path()); }).find("no regular file") != std::string::npos);
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
    for (const auto* wrong : {"auth", "auth:cdrwa", ":x:r", ",", "auth::r,,"}) {
      CAPTURE(wrong);
      CHECK(refusal_of([&] { parse_acl(wrong); }).find("auth::cdrwa") != std::string::npos);
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
      CHECK(why.find("chmod 600") != std::string::npos);
      CHECK(why.find("pass") == std::string::npos);
    }
  }

  TEST_CASE("a line without a scheme is refused, and not repeated") {
    const file_with file{"digest:a:b\nsecret\n"};
    const auto why = refusal_of([&] { read_credentials(file.path()); });
    CHECK(why.starts_with("line 2 of "));
    CHECK(why.find("secret") == std::string::npos);
    CHECK(refusal_of([&] { read_credentials("/not/there"); }).starts_with("cannot read "));
    const file_with large{std::string(64 * 1024 + 1, '#')};
    CHECK(refusal_of([&] { read_credentials(large.path()); }).find("64 KiB") != std::string::npos);
  }

  TEST_CASE("without servers nothing is connected to") {
    CHECK(refusal_of([] { connect({}, budget{1s}); }).find("LATCHKEY_CONNECT") != std::string::npos);
  }

  TEST_CASE("each failure of the library has an exit code") {
    using latchkey::errc;
    CHECK(code_of(errc::unreachable) == exit_code::unavailable);
    CHECK(code_of(errc::unresolvable_host) == exit_code::unavailable);
    CHECK(code_of(errc::not_authorized) == exit_code::denied);
    CHECK(code_of(errc::authentication_failed) == exit_code::denied);
    CHECK(code_of(errc::bad_path) == exit_code::usage);
    CHECK(code_of(errc::too_large) == exit_code::failed);
    CHECK(code_of(errc::data_lost) == exit_code::failed);
  }
}

}  // namespace command
