// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_codes.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

reply_code to_reply_code(int rc) noexcept {
  switch (rc) {
    case ZOK:
      return reply_code::ok;
    case ZNONODE:
      return reply_code::no_node;
    case ZNODEEXISTS:
      return reply_code::node_exists;
    case ZNOTEMPTY:
      return reply_code::not_empty;
    case ZBADVERSION:
      return reply_code::bad_version;
    case ZNOCHILDRENFOREPHEMERALS:
      return reply_code::no_children_for_ephemerals;

    case ZNOAUTH:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:  // the server wants credentials of another kind, in every session anew
      return reply_code::no_permission;

    case ZTHROTTLEDOP:  // "not executed at all"
      return reply_code::not_sent;

    // What the C client says of requests in flight when it gives up a connection, whatever the reason (HAZARDS 11).
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZSYSTEMERROR:  // its next socket could not be made
    case ZSSLCONNECTIONERROR:
    case ZSESSIONMOVED:  // this request had no effect, but an earlier one may be on its way by the other server
      return reply_code::unknown_outcome;

    case ZSESSIONEXPIRED:
    case ZAUTHFAILED:
    case ZCLOSING:
    case ZINVALIDSTATE:  // the handle was expired, refused or closing before the call
      return reply_code::session_over;

    case ZINVALIDACL:
      return reply_code::invalid_acl;
    case ZBADARGUMENTS:
      return reply_code::bad_arguments;
    case ZUNIMPLEMENTED:
      return reply_code::unimplemented;

    default:  // ZMARSHALLINGERROR, a full quota, ...
      return reply_code::invalid;
  }
}

std::string_view zookeeper_name(reply_code code) noexcept {
  switch (code) {
    case reply_code::ok:
      return "ZOK";
    case reply_code::no_node:
      return "ZNONODE";
    case reply_code::node_exists:
      return "ZNODEEXISTS";
    case reply_code::not_empty:
      return "ZNOTEMPTY";
    case reply_code::bad_version:
      return "ZBADVERSION";
    case reply_code::no_permission:
      return "ZNOAUTH";
    case reply_code::no_children_for_ephemerals:
      return "ZNOCHILDRENFOREPHEMERALS";
    case reply_code::invalid_acl:
      return "ZINVALIDACL";
    case reply_code::bad_arguments:
      return "ZBADARGUMENTS";
    case reply_code::unimplemented:
      return "ZUNIMPLEMENTED";
    case reply_code::not_sent:
    case reply_code::unknown_outcome:
      return "ZCONNECTIONLOSS";
    case reply_code::session_over:
      return "ZSESSIONEXPIRED";
    case reply_code::invalid:
      break;
  }
  return "an unlisted error";
}

reply_code to_operation_result(int rc) noexcept {
  return rc == ZRUNTIMEINCONSISTENCY ? reply_code::not_sent : to_reply_code(rc);
}

}  // namespace latchkey::detail
