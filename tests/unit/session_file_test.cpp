// SPDX-License-Identifier: Apache-2.0
/// A session file on its file system. Takes the place of fstatfs.
#include "session/session_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include <latchkey/error.hpp>
#include <latchkey/session_file.hpp>

#include "log_lines.hpp"
#include "temporary_folder.hpp"

namespace {

long file_system = 0;  // that every file seems to be on; 0: as it is

}  // namespace

extern "C" int fstatfs(int file, struct statfs* found) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_fstatfs, file, found));
  if (file_system != 0) found->f_type = file_system;
  return result;
}

namespace latchkey::detail {
namespace {

using enum session_file::purpose;
using testing::temporary_folder;

const recorded_session one{
    .id = 0x1000a2, .password = std::string(16, 'x'), .timeout = std::chrono::seconds{10}, .servers = "zk1:2181"};

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// @returns what opening the file fails with; empty if it does not.
std::string refusal_of(const std::string& path, session_file::purpose what_for = keep) try {
  const session_file opened{path, what_for};
  return {};
} catch (const error& failure) {
  return (failure.code() == errc::session_file_in_use ? "in use: " : "") + std::string{failure.what()};
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }

/// @returns how a forked child has ended that does `what`.
template <class Callable>
int in_child(Callable what) {
  const auto child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// @returns the state of a process, and sets when it was started. (The name before the third field may hold spaces.)
char look_at(process_mark& process) {
  std::ifstream stat{"/proc/" + std::to_string(process.pid) + "/stat"};
  const std::string text{std::istreambuf_iterator<char>{stat}, {}};
  auto at = text.rfind(')');
  const char state = text.at(at + 2);
  for (int field = 2; field < 22; ++field) at = text.find(' ', at + 1);
  process.start = std::stoll(text.substr(at));
  return state;
}

struct stage {
  temporary_folder folder;
  std::string path = folder / "session";
};

}  // namespace

TEST_SUITE_BEGIN("session file");

TEST_CASE_FIXTURE(stage, "it keeps what is added until that is over, for the next process") {
  {
    session_file own{path, keep};
    CHECK(own.sessions().empty());
    CHECK(own.left_by() == 0);
    auto other = one;
    other.id = 8;
    own.add(other);
    own.add(one);
    own.end(8);
  }
  struct stat made {};
  REQUIRE(::stat(path.c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0600);
  const session_file next{path, read};
  CHECK(next.sessions() == std::vector{one});
  CHECK(next.left_by() == ::getpid());
}

TEST_CASE_FIXTURE(stage, "two hundred restarts leave one line each for the process and its session") {
  for (int i = 0; i < 200; ++i) {
    session_file own{path, keep};
    for (const auto& each : std::vector{own.sessions()}) own.end(each.id);
    auto mine = one;
    mine.id = 1000 + i;
    own.add(mine);
  }
  const auto text = text_of(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(session_file{path, read}.sessions().front().id == 1199);
}

TEST_CASE_FIXTURE(stage, "it is refused while an object of this process has it, also when its descriptor was closed") {
  std::optional<session_file> own{std::in_place, path, keep};
  CHECK(has(refusal_of(path), "in use: "));
  CHECK(has(refusal_of(path), "another client of this process"));
  CHECK(has(refusal_of(path, read), "in use: "));
  for (int each = 3; each < 256; ++each) {
    struct stat open {};
    struct stat named {};
    if (::fstat(each, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino) ::close(each);
  }
  CHECK(has(refusal_of(path), "another client of this process"));
  own.reset();
  CHECK(refusal_of(path) == "");
}

TEST_CASE_FIXTURE(stage, "a process that lives and has closed it needs it no more") {
  { const session_file own{path, keep}; }
  CHECK(in_child([&] { return refusal_of(path).empty() ? 0 : 1; }) == 0);
  CHECK(refusal_of(path) == "");
}

TEST_CASE_FIXTURE(stage,
                  "it is refused while another process has it, which is named; a child that was forked has it not") {
  const session_file own{path, keep};
  CHECK(in_child([&] {
          const auto why = refusal_of(path);
          return has(why, "in use: ") && has(why, "the process " + std::to_string(::getppid())) ? 0 : 1;
        }) == 0);
}

TEST_CASE_FIXTURE(stage, "a forked child that lives on does not keep it from the next process") {
  int to_child[2];
  int from_child[2];
  REQUIRE(::pipe(to_child) == 0);
  REQUIRE(::pipe(from_child) == 0);
  CHECK(in_child([&] {
          const session_file own{path, keep};
          char there = 0;
          if (::fork() == 0) {  // its own copy of the descriptor would keep the lock
            ::close(to_child[1]);
            const bool said = ::write(from_child[1], "!", 1) == 1;
            ::_exit(said && ::read(to_child[0], &there, 1) == 0 ? 0 : 1);
          }
          return ::read(from_child[0], &there, 1) == 1 ? 0 : 1;
        }) == 0);
  CHECK(refusal_of(path) == "");
  for (const int each : {to_child[0], to_child[1], from_child[0], from_child[1]}) ::close(each);
}

TEST_CASE_FIXTURE(stage,
                  "a process that lives has it though it has closed the file, and not once it is dead or another") {
  auto other = this_process();
  other.pid = ::getppid();
  look_at(other);
  CHECK(is_alive(other));
  folder.file("session", line_of(other) + line_of(one), 0600);
  CHECK(has(refusal_of(path), "in use: "));
  CHECK(has(refusal_of(path, read), std::to_string(other.pid) + " still runs"));
  for (const int change : {0, 1, 2}) {
    auto gone = other;
    if (change == 0) ++gone.start;
    if (change == 1) gone.boot = "another";
    if (change == 2) gone.pid_namespace = "pid:[1]";
    CHECK_FALSE(is_alive(gone));
    folder.file("session", line_of(gone) + line_of(one), 0600);
    CHECK(session_file{path, read}.sessions().size() == 1);
  }
}

TEST_CASE("a process that has died and is not waited for is dead") {
  const auto child = ::fork();
  if (child == 0) ::pause();
  auto mark = this_process();
  mark.pid = child;
  look_at(mark);
  CHECK(is_alive(mark));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(look_at(mark) == 'Z');
  CHECK_FALSE(is_alive(mark));
  ::waitpid(child, nullptr, 0);
}

TEST_CASE_FIXTURE(stage, "what has taken the number of its descriptor is not written to") {
  session_file own{path, keep};
  const auto mine = folder.file("mine", "not for you", 0600);
  const int open = ::open(mine.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(open >= 0);
  for (int each = 3; each < open; ++each) {
    struct stat is {};
    struct stat named {};
    if (::fstat(each, &is) == 0 && ::stat(path.c_str(), &named) == 0 && is.st_ino == named.st_ino) ::dup2(open, each);
  }
  const testing::log_lines lines{log_level::warning};
  own.add(one);
  CHECK(text_of(mine) == "not for you");
  CHECK(lines.with("a session is not recorded").size() == 1);
  ::close(open);
}

TEST_CASE("a process whose first thread has ended is alive") {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const auto child = ::fork();
  if (child == 0) {
    std::thread{[&] {
      static_cast<void>(::write(ready[1], "!", 1));
      for (;;) ::pause();
    }}.detach();
    ::syscall(SYS_exit, 0);  // this thread only
  }
  char there = 0;
  REQUIRE(::read(ready[0], &there, 1) == 1);
  auto mark = this_process();
  mark.pid = child;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (look_at(mark) != 'Z' && std::chrono::steady_clock::now() < end) {
  }
  CHECK(is_alive(mark));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(is_alive(mark));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE_FIXTURE(stage, "a file that others may write, or that is no plain file, is refused, and left as it is") {
  CHECK(has(refusal_of((folder / "none/session").string()), "No such file"));
  CHECK(has(refusal_of(path, read), "No such file"));
  CHECK(has(refusal_of((folder / "").string()), "cannot be opened"));
  CHECK(has(refusal_of("/dev/null"), "no regular file"));
  CHECK(has(refusal_of(std::string{"a\0b", 3}), "byte 0"));
  const auto link = folder / "link";
  std::filesystem::create_symlink(folder / "target", link);
  CHECK(has(refusal_of(link.string()), "symbolic link"));
  CHECK_FALSE(std::filesystem::exists(folder / "target"));
  for (const auto* text : {"connect=zk1\n", "{\"name\":1}\n"}) {
    const auto mine = folder.file("mine", text, 0600);
    CHECK(has(refusal_of(mine), "no session file"));
    CHECK(text_of(mine) == text);
  }
  CHECK(has(refusal_of(folder.file("open", "", 0660)), "chmod 0600"));
  const auto pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(refusal_of(pipe), "no regular file"));
}

TEST_CASE_FIXTURE(stage, "a file on a network file system is refused") {
  for (const long type : {0x6969L, 0xff534d42L, 0xfe534d42L, 0x01021997L, 0x65735546L}) {
    file_system = type;
    CHECK(has(refusal_of(path), "network file system"));
  }
  file_system = 0;
  CHECK(refusal_of(path) == "");
}

/// A limit of the size of files stands for a full disk: both refuse the write.
TEST_CASE_FIXTURE(stage, "a file that cannot be written is refused; later that is said once, and nothing fails") {
  std::optional<session_file> own{std::in_place, path, keep};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &none);
  const auto refused = refusal_of(folder / "other");
  const testing::log_lines lines{log_level::warning};
  own->add(one);
  own->add(one);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(refused, "cannot be written"));
  CHECK(lines.with("a session is not recorded").size() == 1);
}

TEST_CASE_FIXTURE(stage, "ending what was left needs a file whose process has died, and makes none") {
  CHECK_THROWS_AS(end_left_sessions(path), const error&);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_THROWS_AS(end_left_sessions(""), const error&);
  {
    const session_file own{path, keep};
    CHECK_THROWS_AS(end_left_sessions(path), const error&);
  }
  const auto nothing = end_left_sessions(path);
  CHECK(nothing.ended + nothing.expired == 0);
  CHECK(nothing.pid == ::getpid());
}

TEST_SUITE_END();

}  // namespace latchkey::detail
