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

using latchkey::testing::file_with;
using namespace std::chrono_literals;

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
    CHECK(refusal_of([&] {
            fill_in(given, environment);
          }).starts_with("LATCHKEY_ACL: entry 1 of the access control list is none"));
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
