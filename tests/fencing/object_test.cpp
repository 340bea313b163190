// SPDX-License-Identifier: Apache-2.0
/// Why an object store needs both: the token, and the condition on the ETag.

#include <string>

#include <doctest/doctest.h>

#include "etag_store.hpp"
#include "tokens.hpp"

namespace latchkey::testing {
namespace {

/// Compares the tokens, then writes with no condition.
bool write_unconditionally(etag_store& to, fencing_token token, const std::string& body) {
  auto now = to.get("a");
  if (to_string(token) < now.fence) return false;
  to.put_always("a", {body, to_string(token), ""});
  return true;
}

}  // namespace

TEST_SUITE("objects") {
  TEST_CASE("a newer write between the look at the token and the write is overwritten: If-Match refuses that") {
    for (const bool with_condition : {false, true}) {
      CAPTURE(with_condition);
      etag_store store;
      store.before_put = [&] { CHECK(fencing::write_object(store, "a", newer, "new")); };
      const bool written = with_condition ? fencing::write_object(store, "a", older, "old")  //
                                          : write_unconditionally(store, older, "old");
      CHECK(written == !with_condition);
      CHECK(store.get("a").body == (with_condition ? "new" : "old"));
    }
  }

  TEST_CASE("the condition alone does not stop a former holder that reads again: the token does") {
    etag_store store;
    CHECK(fencing::write_object(store, "a", newer, "new"));
    auto now = store.get("a");
    now.body = "old";
    CHECK(store.put("a", now));  // a retry after 412, as clients without a token do
    CHECK(store.get("a").body == "old");
    CHECK_FALSE(fencing::write_object(store, "a", older, "older still"));
    CHECK(store.get("a").body == "old");
  }

  TEST_CASE("an older write between is no reason to give up") {
    etag_store store;
    store.before_put = [&] { CHECK(fencing::write_object(store, "a", older, "old ")); };
    CHECK(fencing::read_object(store, "a", newer) == "old ");
    CHECK(store.get("a").fence == to_string(newer));
  }

  TEST_CASE("a seal of a sealed object writes nothing") {
    etag_store store;
    CHECK(fencing::read_object(store, "a", newer) == "");
    const auto etag = store.get("a").etag;
    CHECK(fencing::read_object(store, "a", newer) == "");
    CHECK(store.get("a").etag == etag);
  }
}

}  // namespace latchkey::testing
