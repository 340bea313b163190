// SPDX-License-Identifier: Apache-2.0
/// The program `latchkey` on a real server: what it prints, and how it ends.

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <latchkey/access.hpp>
#include <latchkey/election.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/proxy.hpp>
#include <latchkey/testing/raw_client.hpp>

#include "contended_lock.hpp"
#include "program.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string done = "exit code 0";
const std::string no = "exit code 1";
const std::string usage = "exit code 2";
const std::string unavailable = "exit code 69";
const std::string denied = "exit code 77";

}  // namespace

TEST_CASE("status shows the holder and the waiters, as text and as JSON") {
  contended_lock lock;
  const result text{{"status", lock.path}};
  CHECK(text.how == done);
  CHECK(text.err.empty());
  CHECK(text.out.starts_with(lock.path + ": held for "));
  CHECK(has(text.out, "1 waiting\n  HOLDS  lock  one@"));
  CHECK(has(text.out, "\n  waits  lock  two@"));
  CHECK(has(text.out, " pid " + std::to_string(::getpid()) + " "));
  CHECK(has(text.out, lock.node_of(0)));
  const result object{{"--json", "status", lock.path}};
  CHECK(object.how == done);
  const auto read = object.object();
  CHECK(read["path"] == lock.path);
  CHECK(read["holders"] == 1);
  CHECK(read["waiters"] == 1);
  CHECK(read["contenders"][0]["label"] == "one");
  CHECK(read["contenders"][1]["holds"] == false);
  const auto first = result{{"status", "--json", "--most", "1", lock.path}}.object();
  CHECK(first["contenders"].size() == 1);
  CHECK(first["waiters"] == 1);
}

TEST_CASE("status of a path that is not there says that it is not held, and does not create it") {
  const auto path = fresh_path();
  const result text{{"status", path}};
  CHECK(text.how == done);
  CHECK(text.out == path + ": not held\n");
  CHECK_FALSE(servers().exists(path));
}

TEST_CASE("list finds the locks below a path, and ends with 1 if none matches") {
  const auto root = fresh_path();
  const result none{{"list", root}};
  CHECK(none.how == no);
  CHECK(none.out.empty());
  CHECK(none.err.empty());
  client owner{servers().connect_string(), labelled("owner")};
  mutex held{owner, root + "/a/held"};
  semaphore permits{owner, root + "/permits", 3};
  const auto guard = held.acquire();
  const auto two = permits.acquire(2);
  const result text{{"list", root}};
  CHECK(text.how == done);
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') == 2);
  CHECK(has(text.out, root + "/a/held   lock    owner@"));
  CHECK(has(text.out, root + "/permits  permit  owner@"));
  CHECK(has(text.out, " and 1 more  held for "));
  const result names{{"list", "--names", root}};
  CHECK(names.out == root + "/a/held\n" + root + "/permits\n");
  std::istringstream lines{result{{"list", "--json", root}}.out};
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line)["holder"]["label"] == "owner");
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line)["holders"] == 2);
  CHECK(json::parse(line)["semaphore"] == true);
  CHECK(result{{"list", "--waiting", root}}.how == no);
  CHECK(result{{"list", "--older-than", "1h", root}}.how == no);
  CHECK(result{{"list", "--older-than", "0", "--names", root}}.out == names.out);
}

TEST_CASE("list --waiting shows the locks that a contender waits for") {
  contended_lock lock;
  const result waiting{{"list", "--waiting", "--names", lock.path}};
  CHECK(waiting.how == done);
  CHECK(waiting.out == lock.path + "\n");
}

TEST_CASE("ask tells the holder, and waits until it has released the lock") {
  contended_lock lock;
  run asks{{"ask", lock.path, "--wait", "50s", "-c", servers().connect_string()}};
  CHECK(eventually([&] { return lock.held.grant().asked_to_release(); }));
  lock.held.release();
  CHECK(asks.end() == done);
  CHECK(asks.out.starts_with("  HOLDS  lock  one@"));
  CHECK(asks.out.ends_with("\n" + lock.path + ": asked 1 holder to release it; released\n"));
  CHECK(lock.next.get());
}

TEST_CASE("ask --wait ends with 1 if the holder does not comply, and with 0 without a holder") {
  contended_lock lock;
  const result asked{{"ask", lock.path, "--wait", "300ms"}};
  CHECK(asked.how == no);
  CHECK(asked.out.ends_with("\n" + lock.path + ": asked 1 holder to release it; not released in time\n"));
  CHECK(lock.held);
  const auto read = result{{"ask", "--json", lock.path}}.object();
  CHECK(read["asked"] == 1);
  CHECK(read["moved"] == false);
  CHECK(read["holders"].size() == 1);
  const auto free = fresh_path();
  const result nobody{{"ask", free, "--wait", "50s"}};
  CHECK(nobody.how == done);
  CHECK(nobody.out == free + ": not held\n");
}

TEST_CASE("ask --wait knows when permits have been given back") {
  const auto path = fresh_path();
  client owner{servers().connect_string()};
  semaphore permits{owner, path, 2};
  auto held = permits.acquire();
  run asked{{"ask", path, "--wait", "50s", "-c", servers().connect_string()}};
  CHECK(eventually([&] { return held.grant().asked_to_release(); }));
  held.release();
  CHECK(asked.end() == done);
  CHECK(asked.out.ends_with("\n" + path + ": asked 1 holder to release it; released\n"));
}

TEST_CASE("evict deletes a waiter's node with --yes only, and says what that means without it") {
  contended_lock lock;
  const auto waiter = lock.node_of(1);
  const result warned{{"evict", lock.path, waiter}};
  CHECK(warned.how == usage);
  CHECK(warned.out.empty());
  CHECK(warned.err.starts_with("  waits  lock  two@"));
  CHECK(has(warned.err, "it queues again, at the end"));
  CHECK(has(warned.err, "give --yes\n"));
  CHECK(lock.node_of(1) == waiter);
  const result evicted{{"evict", lock.path, waiter, "--yes"}};
  CHECK(evicted.how == done);
  CHECK(evicted.out.starts_with(lock.path + ": evicted two@"));
  CHECK_FALSE(servers().exists(lock.path + "/" + waiter));
  CHECK(result{{"evict", lock.path, waiter, "--yes"}}.how == no);
}

TEST_CASE("evict deletes the holder's node with --holder only") {
  contended_lock lock;
  const auto holder = lock.node_of(0);
  const result refused{{"evict", lock.path, holder, "--yes"}};
  CHECK(refused.how == usage);
  CHECK(refused.err.starts_with("  HOLDS  lock  one@"));
  CHECK(has(refused.err, "two holders may believe"));
  CHECK(has(refused.err, "give --yes and --holder"));
  CHECK(lock.held);
  const result evicted{{"evict", lock.path, holder, "--yes", "--holder", "--json"}};
  CHECK(evicted.how == done);
  CHECK(evicted.object()["contender"]["node"] == holder);
  CHECK(evicted.object()["evicted"] == true);
  CHECK(lock.next.get());
}

TEST_CASE("evict of a node that is no contender's deletes nothing") {
  const auto path = fresh_path();
  servers().create_all(path + "/config");
  CHECK(result{{"evict", path, "config", "--yes", "--holder"}}.how == no);
  CHECK(result{{"evict", path, "../config", "--yes", "--holder"}}.how == no);
  CHECK(result{{"evict", path, "x-lock-0000000001", "--yes"}}.how == no);
  CHECK(servers().exists(path + "/config"));
}

TEST_CASE("check says whether the place of a sequencer is still there") {
  client owner{servers().connect_string()};
  mutex lock{owner, fresh_path()};
  auto held = lock.acquire();
  const auto text = to_string(sequencer_of(held.grant()));
  const result valid{{"check", text}};
  CHECK(valid.how == done);
  CHECK(valid.out.ends_with(": there\n"));
  const auto read = result{{"check", text, "--json"}}.object();
  CHECK(read["valid"] == true);
  CHECK(read["exclusive"] == true);
  CHECK(read["token"] == to_string(held.fence()));
  held.release();
  REQUIRE(queued(owner, lock.path(), 0));
  const result gone{{"check", text}};
  CHECK(gone.how == no);
  CHECK(gone.out.ends_with(": gone\n"));
  CHECK(result{{"check", "lk1:nonsense"}}.how == usage);
}

TEST_CASE("leader says who leads, and ends with 1 if no candidate does") {
  const auto path = fresh_path();
  const result none{{"leader", path}};
  CHECK(none.how == no);
  CHECK(none.out == "no candidate leads\n");
  CHECK_FALSE(servers().exists(path));
  client owner{servers().connect_string()};
  election stands{owner, path, {.id = "ann"}};
  const auto leads = stands.acquire();
  const result ann{{"leader", path}};
  CHECK(ann.how == done);
  CHECK(ann.out == "ann  term " + to_string(leads.fence()) + "\n");
  const auto read = result{{"leader", path, "--json"}}.object();
  CHECK(read["who"]["id"] == "ann");
  CHECK(read["known"] == true);
}

TEST_CASE("deadlocks finds two clients that wait for each other, and ends with 1") {
  const auto root = fresh_path();
  client one{servers().connect_string(), labelled("one")};
  client two{servers().connect_string(), labelled("two")};
  mutex a_of_one{one, root + "/a"}, b_of_one{one, root + "/b"};
  mutex a_of_two{two, root + "/a"}, b_of_two{two, root + "/b"};
  auto holds_a = a_of_one.acquire();
  auto holds_b = b_of_two.acquire();
  std::stop_source give_up;
  auto waits_for_b = std::async(std::launch::async, [&] { return b_of_one.acquire(give_up.get_token()); });
  CHECK(result{{"deadlocks", root, "--pause", "10ms"}}.how == done);
  auto waits_for_a = std::async(std::launch::async, [&] { return a_of_two.acquire(); });
  REQUIRE(queued(one, root + "/a", 2));
  REQUIRE(queued(one, root + "/b", 2));
  const result found{{"deadlocks", root, "--pause", "10ms"}};
  CHECK(found.how == no);
  CHECK(found.out.starts_with("a possible deadlock of 2 sessions:\n  "));
  CHECK(has(found.out, "  one@"));
  CHECK(has(found.out, "    holds     " + root + "/a  lock  for "));
  CHECK(has(found.out, "    waits for " + root + "/b  lock  for "));
  const auto object = result{{"deadlocks", root, "--json", "--pause", "10ms"}}.object();
  CHECK(object["sessions"].size() == 2);
  give_up.request_stop();
  CHECK_FALSE(waits_for_b.get());
  holds_a.release();
  CHECK(waits_for_a.get());
  const result none{{"deadlocks", root}};
  CHECK(none.how == done);
  CHECK(none.out == root + ": no sessions wait for one another\n");
}

TEST_CASE("bench measures one session and eight, and leaves no contender") {
  const auto root = fresh_path();
  servers().create_all(root);
  const result text{{"bench", root, "--for", "100ms"}};
  CHECK(text.how == done);
  CHECK(has(text.out, "round trip:  median "));
  CHECK(has(text.out, "\n1 session:   "));
  CHECK(has(text.out, "\n8 sessions:  "));
  const auto object = result{{"bench", root, "--json", "--for", "100ms"}}.object();
  CHECK(object["one_session_per_second"] > 0);
  CHECK(object["eight_sessions_per_second"] > 0);
  CHECK(object["round_trip_ms"] > 0);
  for (const auto& each : servers().children(root)) CHECK(servers().children(root + "/" + each).empty());
}

TEST_CASE("--acl is that of the nodes that are created, and --tls is handed on") {
  const auto path = fresh_path();
  const temporary_folder folder;
  const auto file = folder.file("auth", "digest:owner:secret\n", 0600);
  run made{{"run", "-c", servers().connect_string(), "--path", path, "--auth-file", file, "--acl",
            "auth::cdrwa,world:anyone:r", "--", "true"}};
  CHECK(made.end() == done);
  client other{servers().connect_string()};
  CHECK(permissions_of_anyone(other, path) == "r");
  const result wrong{{"status", path, "--acl", "auth:cdrwa"}};
  CHECK(wrong.how == usage);
  CHECK(has(wrong.err, "write it as auth::cdrwa"));
  const result secret{{"status", path, "--tls", "ca.pem,client.pem,client.key,password"}};
  CHECK(secret.how == usage);
  CHECK(has(secret.err, "a key with a password is not supported"));
  const result secure{{"status", path, "--tls", "/not/ca.pem,/not/client.pem,/not/client.key", "--timeout", "1s"}};
  CHECK(secure.how != done);
}

TEST_CASE("wrong arguments end with 2, and say so on the standard error") {
  const auto path = fresh_path();
  const std::vector<std::vector<std::string>> all{{},
                                                  {"stauts", path},
                                                  {"status"},
                                                  {"status", path, "more"},
                                                  {"status", "no/slash"},
                                                  {"status", "/"},
                                                  {"status", path, "--most", "-1"},
                                                  {"status", path, "--timeout", "soon"},
                                                  {"status", path, "-T", "1ms"},
                                                  {"list", path, "--older-than", "1y"},
                                                  {"list", path, "--older-than=", "--json"},
                                                  {"-c", "", "list"},
                                                  {"list", "//"},
                                                  {"ask", path, "--wait"},
                                                  {"evict", path},
                                                  {"check"},
                                                  {"leader", "x"},
                                                  {"watch"},
                                                  {"watch", "x"},
                                                  {"completion", "csh"},
                                                  {"status", path, "--config", "/not/there"},
                                                  {"status", path, "--auth-file", "/not/there"}};
  for (const auto& arguments : all) {
    CAPTURE(json(arguments).dump());
    const result wrong{arguments};
    CHECK(wrong.how == usage);
    CHECK(wrong.out.empty());
    CHECK(wrong.err.starts_with("latchkey: "));
    CHECK(std::count(wrong.err.begin(), wrong.err.end(), '\n') == 1);
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> texts{
      {{"check", "garbage"}, "give what a holder has sent, lk1:"},
      {{"status", path, "--most", "x"}, "--most: \"x\" is no number from 0 to"},
      {{"status", path, "--timeout", "soon"}, "--timeout: \"soon\" is no duration"},
      {{"status", "no/slash"}, "no/slash: the path does not begin with a slash; write one in front\n"},
      {{"run", "--path", path, "--report=", "-n", "--", "true"}, "--report= has no value; leave it out, or write one"},
      {{"-c", "", "list"}, "the argument behind -c is empty"},
      {{"status", path, "-T", "1ms"}, "--session-timeout is 1 ms; use at least"}};
  for (const auto& [arguments, text] : texts) {
    CAPTURE(text);
    CHECK(has(result{arguments}.err, text));
  }
  run nowhere{{"status", path}};
  CHECK(nowhere.end() == usage);
  CHECK(has(nowhere.err, "LATCHKEY_CONNECT"));
  const result unknown{{"statsu", path}};
  CHECK(has(unknown.err, "there is no command \"statsu\""));
  run no_dashes{{"run", "--path", path, "true"}};
  CHECK(no_dashes.end() == "exit code 64");
  CHECK(has(no_dashes.err, "write the command after --; see latchkey run --help"));
  CHECK(has(result{{"evict", path}}.err, "see latchkey evict --help"));
  run bad{{"status", path, "-c", "zk1:port"}};
  CHECK(bad.end() == usage);
}

TEST_CASE("help and version are printed, and end with 0") {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--help"}, {"evict", "--help"}, {"--version"}}) {
    run asked{arguments};
    CHECK(asked.end() == done);
    CHECK_FALSE(asked.out.empty());
    CHECK(asked.err.empty());
  }
}

TEST_CASE("an ensemble that does not answer ends every command with 69, in time") {
  const auto path = fresh_path();
  proxy frozen{servers().addresses()};
  frozen.black_hole();
  const std::vector<std::vector<std::string>> all{{"status", path},
                                                  {"list"},
                                                  {"ask", path},
                                                  {"evict", path, "x-lock-0000000001"},
                                                  {"check", "lk1:000000000000002a00000001:/x/x-lock-0000000001"},
                                                  {"leader", path},
                                                  {"leader", path, "--follow"}};
  const auto ends = [&](std::vector<std::string> arguments, const std::string& where) {
    arguments.insert(arguments.end(), {"--timeout", "300ms", "-c", where});
    CAPTURE(json(arguments).dump());
    run one{arguments};
    CHECK(one.end() == unavailable);
    CHECK(one.out.empty());
    CHECK(has(one.err, " has answered for "));
  };
  for (const auto& arguments : all) ends(arguments, frozen.connect_string());
  for (const auto* where : {"127.0.0.1:1", "host.invalid:2181"}) {
    run one{{"status", path, "--timeout", "300ms", "-c", where}};
    CHECK(one.end() == unavailable);
    CHECK(one.err.starts_with("latchkey: "));
  }
}

TEST_CASE("credentials come from a file of mode 0600, and without them an ACL denies") {
  const auto path = fresh_path();
  auto options = labelled("owner");
  options.authentication = {{"digest", "billing:secret"}};
  options.acl = {{"auth", "", "cdrwa"}};
  client owner{servers().connect_string(), options};
  servers().create_all(path.substr(0, path.rfind('/')));  // open to all
  mutex lock{owner, path};
  const auto held = lock.acquire();
  const result refused{{"status", path}};
  CHECK(refused.how == denied);
  CHECK(refused.out.empty());
  const temporary_folder folder;
  const std::string text = "digest:billing:secret\n";
  const auto file = folder.file("auth", text, 0600);
  const result allowed{{"status", path, "--auth-file", file}};
  CHECK(allowed.how == done);
  CHECK(has(allowed.out, "owner@"));
  const result open{{"status", path, "--auth-file", folder.file("open", text, 0640)}};
  CHECK(open.how == usage);
  CHECK(has(open.err, "chmod 600"));
  CHECK_FALSE(has(open.err, "secret"));
  const result unknown{{"status", path, "--auth-file", folder.file("unknown", "no-such-scheme:secret\n", 0600)}};
  CHECK(unknown.how == denied);
  CHECK_FALSE(has(unknown.err, "secret"));
  const auto settings =
      folder.file("conf", "connect=" + servers().connect_string() + "\nauth-file=" + file + "\n", 0644);
  run configured{{"status", path, "--config", settings}};
  CHECK(configured.end() == done);
}

TEST_CASE("list leaves out what an ACL denies, and says so") {
  const auto root = fresh_path();
  auto closed = labelled("closed");
  closed.authentication = {{"digest", "owner:secret"}};
  closed.acl = {{"auth", "", "cdrwa"}};
  client one{servers().connect_string(), closed};
  client two{servers().connect_string(), labelled("open")};
  mutex open_lock{two, root + "/open"};
  const auto held = open_lock.acquire();
  mutex closed_lock{one, root + "/closed"};
  const auto hidden = closed_lock.acquire();
  const result seen{{"list", root}};
  CHECK(seen.how == done);
  CHECK(has(seen.out, root + "/open  lock  open@"));
  CHECK(std::count(seen.out.begin(), seen.out.end(), '\n') == 1);
  CHECK(has(seen.err, "1 node could not be listed, as " + root + "/closed: the ACL denies it"));
  const result refused{{"list", root + "/closed"}};
  CHECK(refused.how == denied);
  CHECK(refused.out.empty());
}

TEST_CASE("what hostile nodes say is escaped, also in names") {
  const auto path = fresh_path();
  servers().create_all(path);
  raw_client foreign{servers().address(0)};
  foreign.sync();
  const std::string data = "\x1b[2J\xff" + std::string(4000, '\x01') + std::string(4000, '\n');
  foreign.create(path + "/\xe2\x80\xae-lock-", data, create_mode::ephemeral_sequential);
  const result text{{"status", path}};
  CHECK(text.how == done);
  const auto is_plain = [](char c) { return c == '\n' || (c >= ' ' && c < '\x7f'); };
  CHECK(std::all_of(text.out.begin(), text.out.end(), is_plain));
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') == 2);
  const result object{{"status", path, "--json"}};
  CHECK(std::all_of(object.out.begin(), object.out.end(), is_plain));
  const auto who = object.object()["contenders"][0];
  CHECK(who["data_cut"] == true);
  const result evicted{{"evict", path, who["node"].get<std::string>(), "--yes", "--holder"}};
  CHECK(evicted.how == done);
  CHECK(std::all_of(evicted.out.begin(), evicted.out.end(), is_plain));
}

TEST_CASE("the completion for bash completes commands and paths, and runs nothing that a path says") {
  const temporary_folder folder;
  const std::string root = "/completion/" + std::to_string(::getpid());
  const auto trap = folder / "trap";
  client owner{servers().connect_string()};
  mutex lock{owner, root + "/$(touch${IFS}trap)"};
  const auto held = lock.acquire();
  std::filesystem::create_symlink(LATCHKEY_COMMAND, folder / "latchkey");
  const auto script = folder.file("test",
                                  "cd " + (folder / "").string() + "\nPATH=$PWD:$PATH\nexport LATCHKEY_CONNECT=" +
                                      servers().connect_string() + "\nsource <(latchkey completion bash)\n" +
                                      "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _latchkey;"
                                      " printf '%s\\n' \"${COMPREPLY[@]}\"; }\n"
                                      "try latchkey sta\ntry latchkey -c x ev\ntry latchkey list --na\n"
                                      "try latchkey status " +
                                      root + "\n",
                                  0644);
  child_process bash{{"/bin/bash", script}};
  std::vector<std::string> said;
  while (const auto line = bash.hear(time_to_end)) said.push_back(*line);
  CHECK(bash.wait(time_to_end) == done);
  REQUIRE(said.size() == 4);
  CHECK(said[0] == "status");
  CHECK(said[1] == "evict");
  CHECK(said[2] == "--names");
  CHECK(said[3] == root + "/\\$\\(touch\\$\\{IFS\\}trap\\)");
  CHECK_FALSE(std::filesystem::exists(trap));
}

}  // namespace latchkey::testing
