// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

#include <array>
#include <string_view>

namespace command {
namespace {

struct translation {
  std::string_view of_library;
  std::string_view of_command;
};

/// The longer ones first.
constexpr std::array translations{
    translation{"this object was made with", "this command wants"},
    translation{", or a child that it has forked without the handlers of fork(); give each process its own",
                "; end it first"},
    translation{"use the same number, change it for all with resize(), or set semaphore_options::contract to false",
                "give --semaphore that number"},
    translation{"give all of them the same one, or set semaphore_options::contract to false",
                "give --semaphore the same number everywhere"},
    translation{": use one recipe for each path, or, if the data is your own, set semaphore_options::contract to false",
                ": give --semaphore another path"},
    translation{", or set semaphore_options::contract to false", ""},
    translation{", such as stunnel with checkHost (see OPERATIONS.md)", ", such as stunnel with checkHost"},
    translation{", or raise find_options::most_nodes", ""},
    translation{"client_options::session_timeout", "--session-timeout"},
    translation{"client_options::connect_timeout", "--timeout"},
    translation{"client_options::label", "--label"},
    translation{"client_options::session_file", "--session-file"},
    translation{"client_options::acl and authentication", "--acl and the lines of --auth-file"},
    translation{"client_options::acl", "--acl"},
    translation{"client_options::authentication", "--auth-file"},
    translation{"client_options::peers", "--peers"},
    translation{"client_options::tls", "--tls"},
    translation{"peer_options::listen", "the first address of --peers"},
    translation{"peer_options::advertise", "the second address of --peers"},
};

}  // namespace

std::string in_terms_of_options(std::string text) {
  for (const auto& each : translations) {
    for (auto at = text.find(each.of_library); at != text.npos; at = text.find(each.of_library, at))
      text.replace(at, each.of_library.size(), each.of_command);
  }
  return text;
}

std::string text_of(const latchkey::error& failed) {
  std::string text = failed.what();
  // What is wrong with an argument needs no name.
  const auto name = ": " + failed.code().message();
  if (code_of(errc_of(failed)) == exit_code::usage && text.ends_with(name)) text.resize(text.size() - name.size());
  text = in_terms_of_options(std::move(text));
  if (errc_of(failed) == latchkey::errc::authentication_failed) text += "; a line there is as digest:user:password";
  return text;
}

}  // namespace command
