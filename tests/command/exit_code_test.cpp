// SPDX-License-Identifier: Apache-2.0
/// What `latchkey` says of a failure of the library.

#include "exit_code.hpp"

#include <doctest/doctest.h>

#include <string>

namespace command {

TEST_SUITE("exit code") {
  TEST_CASE("the text of a failure is in terms of the command line") {
    using latchkey::errc;
    using latchkey::error;
    CHECK(text_of(error{errc::bad_option, "client_options::label is too long"}) == "--label is too long");
    CHECK(text_of(error{errc::bad_path, "it has no slash; write one", "x"}) == "x: it has no slash; write one");
    CHECK(
        text_of(error{errc::refused, "check the path, client_options::acl and client_options::authentication", "/a"}) ==
        "/a: check the path, --acl and --auth-file: " + make_error_code(errc::refused).message());
    CHECK(text_of(error{errc::bad_option, "peer_options::listen is \"x\": give an address"}) ==
          "the first address of --peers is \"x\": give an address");
    CHECK(in_terms_of_options("the path is open to anyone, so client_options::acl does not protect the lock") ==
          "the path is open to anyone, so --acl does not protect the lock");
    CHECK(text_of(error{errc::authentication_failed, "check client_options::authentication"})
              .ends_with("; a line there is as digest:user:password"));
  }

  TEST_CASE("a failure that other arguments would mend has the exit code of arguments") {
    CHECK(code_of(latchkey::errc::bad_path) == exit_code::usage);
    CHECK(code_of(latchkey::errc::contract_mismatch) == exit_code::usage);
    CHECK(code_of(latchkey::errc::refused) == exit_code::failed);
  }
}

}  // namespace command
