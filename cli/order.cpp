// reclaim device order list|withdraw, and how an order is issued.
#include "cli/order.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "state/base/durable_file.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/certificate/order_seal.h"
#include "state/device/named_steps.h"

namespace reclaim::cli {
namespace {

// True if Redis names an entry of a stream so: "1763640000123-0".
bool is_entry_id(const std::string& id) {
  const std::size_t dash = id.find('-');
  return dash != std::string::npos && parse_number<std::uint64_t>(id.substr(0, dash)) &&
         parse_number<std::uint64_t>(id.substr(dash + 1));
}

// Names the user at the keyboard (who called sudo, or whom the process belongs to) and the machine.
std::string user_and_machine() {
  const char* sudo = std::getenv("SUDO_USER");
  std::string user = sudo != nullptr ? sudo : "";
  if (user.empty()) {
    const passwd* entry = ::getpwuid(::geteuid());
    user = entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return user;
  return user + "@" + name.data();
}

// A key that is not there, or that this user may not read, is none; the other orders need none.
template <typename Key>
std::optional<Key> key_at(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto key = Key::load(path);
  if (!key) return std::nullopt;
  return *std::move(key);
}

}  // namespace

Result<Order> new_order(Session& session, const std::string& host, OrderKind kind,
                        const std::string& address, const OrderSaid& said) {
  const config::Settings& settings = session.settings();
  Order order;
  order.order = to_string(kind);
  order.address = address;
  order.who = user_and_machine();
  order.request_id = "req-" + random_uuid();
  order.issued_at = session.clock().now().wall;
  order.nonce = random_uuid();
  order.serial = said.accepts.serial;
  order.hardware = said.accepts.hardware;
  order.reason = said.reason;
  order.purpose = said.purpose;
  order.steps = said.steps;
  order.hold = said.hold;
  order.until = said.until;
  OrderSeal(settings.host, key_at<MacKey>(default_host_key(settings.state_path)),
            key_at<OrderKey>(settings.order_key_file))
      .seal(host, order);
  if (accepts_something(order) && order.mac.empty()) {
    return Error{Errc::refused,
                 fmt::format("{}{} has to be authenticated: run it as root on host {}, or where "
                             "[security] order_key_file names the master key",
                             to_string(kind), order.steps.empty() ? "" : " with steps", host)};
  }
  return order;
}

Result<std::string> steps_of_file(const std::string& path, const Record& record) {
  const auto file = durable_file::File::open(path, O_RDONLY);
  if (!file) return file.error();
  const auto text = file->read_all(kNamedStepsBytesMax);
  if (!text) return text.error();
  const auto steps = parse_named_steps(*text);
  if (!steps) return steps.error().wrap(path);
  if (Status known = check_named_steps(*steps, record.steps_offered); !known) {
    return known.error().wrap(path);
  }
  return encode_plan(*steps);
}

std::string accepting_text(const FoundDrive& drive, const PciAddress& address) {
  if (drive.serial.empty()) {
    return fmt::format(
        "accepting the drive with {} in {}: its serial cannot be read before it is claimed",
        drive.hardware, to_string(address));
  }
  return fmt::format("accepting drive serial {}{} in {}", drive.serial,
                     drive.model.empty() ? "" : ", model " + drive.model, to_string(address));
}

int run_order_list(Session& session, const OrderOptions& options, std::ostream& out,
                   std::ostream& err) {
  const std::string host = options.host.empty() ? session.settings().host : options.host;
  const auto store = session.store();
  if (!store) return complain(err, store.error());
  const auto orders = session.wait<std::vector<Order>>(
      [&](auto done) { (*store)->list_orders(host, std::move(done)); });
  if (!orders) return complain(err, orders.error());
  Table table{{"ID", "Order", "Address", "Who", "Issued At", "Authenticated", "Request ID"},
              {},
              {"Request ID", "Issued At"}};
  for (const Order& order : *orders) {
    table.rows.push_back({order.id, printable_excerpt(order.order, 40),
                          printable_excerpt(order.address, 40), printable_excerpt(order.who, 200),
                          to_iso8601(WallMs{written_at_ms(order.id)}),
                          std::string(order.mac.empty() ? "no" : "carries a code"),
                          printable_excerpt(order.request_id)});
  }
  const auto text = format_list(table, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  if (orders->empty()) say(err, fmt::format("no order waits for host {}", host));
  return 0;
}

int run_order_withdraw(Session& session, const OrderOptions& options, std::ostream& out,
                       std::ostream& err) {
  const std::string host = options.host.empty() ? session.settings().host : options.host;
  if (!is_entry_id(options.id)) {
    return complain(
        err, Error{Errc::usage, fmt::format("'{}' is not the ID of an order, which is like "
                                            "1763640000123-0: `reclaim device order list` shows it "
                                            "in the column ID",
                                            printable_excerpt(options.id))});
  }
  const auto store = session.store();
  if (!store) return complain(err, store.error());
  const auto gone = session.wait<bool>(
      [&](auto done) { (*store)->withdraw_order(host, options.id, std::move(done)); });
  if (!gone) return complain(err, gone.error());
  if (!*gone) {
    return complain(err,
                    Error{Errc::not_found,
                          fmt::format("no order {} waits for host {}: its worker has taken it, "
                                      "or `reclaim device order list` shows another id",
                                      options.id, host)});
  }
  out << fmt::format("{}: withdrawn\n", options.id);
  return 0;
}

}  // namespace reclaim::cli
