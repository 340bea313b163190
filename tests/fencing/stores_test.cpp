// SPDX-License-Identifier: Apache-2.0
/// The suite of stores that need no server of their own: SQLite, an HTTP server in this process, objects with ETags.

#include <memory>
#include <optional>
#include <string>

#include "../../examples/fencing/sqlite.hpp"
#include "etag_store.hpp"
#include "http_server.hpp"
#include "sql_stores.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

/// A database file of this program.
struct sqlite_file {
  static fencing::sqlite open() {
    static const temporary_folder folder;
    return fencing::sqlite{(folder.path() / "items.db").string()};
  }
};

class over_http {
 public:
  struct connection : http_item {
    connection(fencing::disk& of, int port) : http_item{port, "item"}, data{of} {}
    std::string largest() { return to_string(data.fence("item")); }
    void overwrite(const std::string& value) { data.set_value("item", value); }  // a server that does not check
    fencing::disk& data;
  };
  connection connect() { return {data_, server_.port()}; }

 private:
  fencing::disk data_;
  http_server server_{data_};
};

class objects {
 public:
  struct connection {
    etag_store& in;

    std::optional<std::string> read(fencing_token token) { return fencing::read_object(in, "item", token); }
    bool write(fencing_token token, const std::string& value) {
      return fencing::write_object(in, "item", token, value);
    }
    std::string peek() { return in.get("item").body; }
    std::string largest() { return in.get("item").fence; }
    void overwrite(const std::string& value) {
      auto now = in.get("item");
      now.body = value;
      in.put_always("item", now);
    }
  };
  connection connect() { return {store_}; }

 private:
  etag_store store_;
};

}  // namespace
}  // namespace latchkey::testing

#define LATCHKEY_STORES sql_row<sqlite_file>, sql_rows<sqlite_file>, over_http, objects
#include "store_suite.hpp"
