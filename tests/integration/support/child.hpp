// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Another process, spoken to in lines.

#include <csignal>
#include <string>
#include <vector>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>

namespace latchkey::testing {

/// Killed at the end of its scope at the latest.
class child {
 public:
  child(const std::string& program, const std::vector<std::string>& arguments)
      : process_{boost::process::exe = program, boost::process::args = arguments,
                 boost::process::std_in<input_, boost::process::std_out> output_} {}
  ~child() {
    ::kill(process_.id(), SIGKILL);
    process_.wait();
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  bool running() { return process_.running(); }
  /// @pre not running. @returns what `waitpid` says of its end.
  int status() const { return process_.native_exit_code(); }
  void signal(int number) { ::kill(process_.id(), number); }
  void write_line(const std::string& line) { input_ << line << std::endl; }
  std::string read_line() {
    std::string line;
    std::getline(output_, line);
    return line;
  }

 private:
  boost::process::opstream input_;
  boost::process::ipstream output_;
  boost::process::child process_;
};

}  // namespace latchkey::testing
