// SPDX-License-Identifier: Apache-2.0
#include "queue/refusal.hpp"

#include <fmt/format.h>

#include "base/path.hpp"
#include "base/repetition.hpp"

namespace latchkey::detail {

failure refusal(client_core& core, reply_code code, std::string_view permissions) {
  const auto named = name_and_number(code);
  switch (code) {
    case reply_code::no_permission:
      return {errc::not_authorized,
              fmt::format("its ACL denies access ({}); grant this client {}", named, permissions),
              {}};
    case reply_code::no_children_for_ephemerals:
      return {errc::parent_is_ephemeral,
              fmt::format("it is an ephemeral node, or its parent is, and those cannot have children ({}); choose "
                          "another path",
                          named),
              {}};
    case reply_code::not_empty:
      return {errc::refused,
              fmt::format("the node has children ({}), which no contender has; delete them first", named),
              {}};
    case reply_code::quota_exceeded:
      return {
          errc::refused,
          fmt::format("a quota of the path, or of one above it, is reached ({}); raise it, or delete nodes below it",
                      named),
          {}};
    case reply_code::too_large:
      if (!core.session().refused_for_size()) {
        return {errc::too_large,
                fmt::format("a request of {} bytes fails for a minute, as each of {} connections has ended on which it "
                            "was sent, though the servers take as much; see their logs",
                            core.session().refused_bytes(), core.session().refused_after()),
                {}};
      }
      return {
          errc::too_large,
          fmt::format("a request of {} bytes fails, as each of {} connections has ended on which as much was sent, so "
                      "it is probably larger than the servers take; raise their jute.maxbuffer, or use shorter paths, "
                      "data and ACLs",
                      core.session().refused_bytes(), core.session().refused_after()),
          {}};
    default:
      return {errc::refused,
              fmt::format("the ensemble refused a request ({}); check the path, client_options::acl and "
                          "client_options::authentication",
                          named),
              {}};
  }
}

/// The server looks at the ACL above before it looks for the node.
failure refusal_to_create(client_core& core, const std::string& node, reply_code code) {
  const auto named = name_and_number(code);
  switch (code) {
    case reply_code::no_permission:
      return {errc::not_authorized,
              fmt::format("{} is missing, and the ACL above denies creating it, or it is there, and its own ACL denies "
                          "access ({}); create it, or grant this client the permission c",
                          node, named),
              {}};
    case reply_code::no_children_for_ephemerals:
      return {
          errc::parent_is_ephemeral,
          fmt::format("{} cannot be created, because its parent is ephemeral ({}); choose another path", node, named),
          {}};
    default: {
      const auto why = refusal(core, code, {});
      return {why.code, fmt::format("{} is missing: {}", node, why.what), {}};
    }
  }
}

failure always_missing() {
  return {
      errc::refused,
      fmt::format("its path is missing after each of {} attempts to create it ({}); stop the process that deletes it",
                  repetition::most_attempts, name_and_number(reply_code::no_node)),
      {}};
}

namespace {

void create_path(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused,
                 std::set<std::string>& asked, urgency how, const std::function<bool()>& is_unwanted) {
  auto all = ancestors(path);
  if (path.size() > 1) all.emplace_back(path);
  for (const auto& node : all) {
    if (!asked.insert(node).second) continue;
    const bool of_chroot = node.size() <= core.chroot().size();
    core.session().submit(
        {.kind = operation::create, .path = node, .mode = of_chroot ? create_mode::persistent : create_mode::container},
        while_wanted{[is_unwanted] { return is_unwanted && is_unwanted(); },
                     [&core, node, on_refused](const reply& made) {
                       using enum reply_code;
                       // A parent that is missing has been refused, or deleted meanwhile.
                       const bool refused = made.code != ok && made.code != node_exists && made.code != no_node;
                       if (refused && !is_lost(made.code)) on_refused(refusal_to_create(core, node, made.code));
                     }},
        how);
  }
}

}  // namespace

void create_path(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused,
                 std::set<std::string>& asked) {
  create_path(core, path, on_refused, asked, urgency::call, {});
}

void create_path(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused) {
  std::set<std::string> asked;
  create_path(core, path, on_refused, asked);
}

void create_path_later(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused,
                       const std::function<bool()>& is_unwanted) {
  std::set<std::string> asked;
  create_path(core, path, on_refused, asked, urgency::background, is_unwanted);
}

}  // namespace latchkey::detail
