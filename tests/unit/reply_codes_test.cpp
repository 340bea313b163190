// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_codes.hpp"

#include <doctest/doctest.h>

#include <zookeeper/zookeeper.h>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("reply codes");

TEST_CASE("a refusal keeps the number of the server, and its name if it has one") {
  CHECK(to_reply_code(ZNOAUTH) == reply_code::no_permission);
  CHECK(name_and_number(to_reply_code(ZNOAUTH)) == "ZNOAUTH -102");
  CHECK(name_and_number(to_reply_code(-125)) == "ZQUOTAEXCEEDED -125");
  CHECK(name_and_number(to_reply_code(ZMARSHALLINGERROR)) == "ZMARSHALLINGERROR -5");
  CHECK(zookeeper_name(to_reply_code(ZBADVERSION)) == "ZBADVERSION");
  CHECK(to_reply_code(-124) == reply_code::authentication_demanded);
  CHECK(zookeeper_name(to_reply_code(-126)) == "error -126");
  CHECK(name_and_number(to_reply_code(-126)) == "error -126");
}

TEST_CASE("each code that the C client knows has a name") {
  for (const int code : {ZOK, ZSYSTEMERROR, ZUNIMPLEMENTED, ZNEWCONFIGNOQUORUM, ZNONODE, ZNOCHILDRENFOREPHEMERALS,
                         ZNODEEXISTS, ZNOTEMPTY, ZINVALIDACL, ZNOTREADONLY, ZNOWATCHER, ZTHROTTLEDOP}) {
    CAPTURE(code);
    CHECK(zookeeper_name(static_cast<reply_code>(code)).front() == 'Z');
  }
}

TEST_CASE("no refusal is taken for a request without an answer") {
  for (int code = -200; code <= 0; ++code) {
    CAPTURE(code);
    if (static_cast<int>(to_reply_code(code)) == code) {
      const bool own = code == ZCONNECTIONLOSS || code == ZSESSIONEXPIRED;
      CHECK(is_lost(to_reply_code(code)) == own);
    }
  }
}

TEST_SUITE_END();
