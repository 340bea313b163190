// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_codes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {
namespace {

struct named_code {
  reply_code of;
  std::string_view name;
};

/// Those of servers up to 3.9. Not all of them have a name in the header of the C client.
constexpr auto named_codes = std::to_array<named_code>({
    {reply_code{0}, "ZOK"},
    {reply_code{-1}, "ZSYSTEMERROR"},
    {reply_code{-2}, "ZRUNTIMEINCONSISTENCY"},
    {reply_code{-3}, "ZDATAINCONSISTENCY"},
    {reply_code{-4}, "ZCONNECTIONLOSS"},
    {reply_code{-5}, "ZMARSHALLINGERROR"},
    {reply_code{-6}, "ZUNIMPLEMENTED"},
    {reply_code{-7}, "ZOPERATIONTIMEOUT"},
    {reply_code{-8}, "ZBADARGUMENTS"},
    {reply_code{-9}, "ZINVALIDSTATE"},
    {reply_code{-12}, "ZUNKNOWNSESSION"},
    {reply_code{-13}, "ZNEWCONFIGNOQUORUM"},
    {reply_code{-14}, "ZRECONFIGINPROGRESS"},
    {reply_code{-15}, "ZSSLCONNECTIONERROR"},
    {reply_code{-100}, "ZAPIERROR"},
    {reply_code{-101}, "ZNONODE"},
    {reply_code{-102}, "ZNOAUTH"},
    {reply_code{-103}, "ZBADVERSION"},
    {reply_code{-108}, "ZNOCHILDRENFOREPHEMERALS"},
    {reply_code{-110}, "ZNODEEXISTS"},
    {reply_code{-111}, "ZNOTEMPTY"},
    {reply_code{-112}, "ZSESSIONEXPIRED"},
    {reply_code{-113}, "ZINVALIDCALLBACK"},
    {reply_code{-114}, "ZINVALIDACL"},
    {reply_code{-115}, "ZAUTHFAILED"},
    {reply_code{-116}, "ZCLOSING"},
    {reply_code{-117}, "ZNOTHING"},
    {reply_code{-118}, "ZSESSIONMOVED"},
    {reply_code{-119}, "ZNOTREADONLY"},
    {reply_code{-120}, "ZEPHEMERALONLOCALSESSION"},
    {reply_code{-121}, "ZNOWATCHER"},
    {reply_code{-122}, "ZREQUESTTIMEOUT"},
    {reply_code{-123}, "ZRECONFIGDISABLED"},
    {reply_code{-124}, "ZSESSIONCLOSEDREQUIRESASLAUTH"},
    {reply_code{-125}, "ZQUOTAEXCEEDED"},
    {reply_code{-127}, "ZTHROTTLEDOP"},
});

}  // namespace

reply_code to_reply_code(int rc) noexcept {
  switch (rc) {
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

    default:
      return static_cast<reply_code>(rc);
  }
}

std::string zookeeper_name(reply_code code) {
  if (static_cast<int>(code) > 0) code = reply_code::unknown_outcome;  // one of ours
  const auto found =
      std::find_if(named_codes.begin(), named_codes.end(), [&](const auto& each) { return each.of == code; });
  if (found != named_codes.end()) return std::string{found->name};
  return fmt::format("error {}", static_cast<int>(code));
}

std::string name_and_number(reply_code code) {
  if (static_cast<int>(code) > 0) code = reply_code::unknown_outcome;
  const auto name = zookeeper_name(code);
  return name.front() == 'Z' ? fmt::format("{} {}", name, static_cast<int>(code)) : name;
}

reply_code to_operation_result(int rc) noexcept {
  return rc == ZRUNTIMEINCONSISTENCY ? reply_code::not_sent : to_reply_code(rc);
}

}  // namespace latchkey::detail
