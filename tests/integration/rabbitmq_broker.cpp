#include "tests/integration/rabbitmq_broker.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "listener/amqp/connection.h"
#include "state/base/json.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr long kConfirmS = 60;

std::string run(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  CHECK(pipe != nullptr);
  std::string out;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (count == 0) break;
    out.append(buffer.data(), count);
  }
  if (::pclose(pipe) != 0) return {};
  return out;
}

std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

RabbitMqBroker::RabbitMqBroker() : folder_(std::in_place), directory_(folder_->path()) {}

RabbitMqBroker::RabbitMqBroker(int port) : port_(port), user_("reclaim"), password_("s3cret@:pw") {}

RabbitMqBroker::~RabbitMqBroker() {
  if (folder_) kill();
}

std::string RabbitMqBroker::script(const std::string& command) const {
  return fmt::format("{} {} {}", source_path("tests/integration/stack/rabbitmq.sh"), command,
                     directory_);
}

bool RabbitMqBroker::start() {
  const auto answer = json::parse(
      run(fmt::format("{} --owner-pid {} {}", script("start"), ::getpid(), first_node_)), 65536);
  if (!answer) return false;
  port_ = static_cast<int>(json::get_int(*answer, "port").value());
  tls_port_ = static_cast<int>(json::get_int(*answer, "tls_port").value());
  pid_ = static_cast<int>(json::get_int(*answer, "pid").value());
  user_ = json::get_string(*answer, "user").value();
  password_ = json::get_string(*answer, "password").value();
  return true;
}

void RabbitMqBroker::pause() {
  CHECK(::kill(-pid_, SIGSTOP) == 0);
}
void RabbitMqBroker::resume() {
  CHECK(::kill(-pid_, SIGCONT) == 0);
}
void RabbitMqBroker::stop() {
  (void)run(script("stop"));
}
void RabbitMqBroker::kill() {
  (void)run(script("kill"));
}

void RabbitMqBroker::kill_node() {
  CHECK(::kill(-pid_, SIGKILL) == 0);
  while (::kill(-pid_, 0) == 0) ::usleep(50'000);
}

std::string RabbitMqBroker::ctl(const std::string& words) const {
  return run(fmt::format("{} {}", script("ctl"), words));
}

std::string RabbitMqBroker::transport_url() const {
  return fmt::format("rabbit://{}:{}@127.0.0.1:{}/", user_, percent_encoded(password_), port_);
}

listener::AmqpOptions RabbitMqBroker::options(const std::string& queue) const {
  listener::AmqpOptions out;
  out.hosts = {{"127.0.0.1", port_, user_, password_}};
  out.queue = queue;
  out.dead_letter_queue = queue + ".dead";
  out.exchanges = {queue + ".exchange"};
  out.reconnect_interval_ms = 100;
  out.reconnect_backoff_ms = 100;
  out.reconnect_max_ms = 500;
  out.exchange_wait_max_ms = 1000;
  return out;
}

RabbitMqClient::RabbitMqClient(const RabbitMqBroker& broker) : connection_(amqp_new_connection()) {
  amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
  CHECK(amqp_socket_open(socket, "127.0.0.1", broker.port()) == AMQP_STATUS_OK);
  const amqp_rpc_reply_t reply = amqp_login(connection_, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                                            broker.user().c_str(), broker.password().c_str());
  CHECK(reply.reply_type == AMQP_RESPONSE_NORMAL);
  open_channel();
}

RabbitMqClient::~RabbitMqClient() {
  amqp_destroy_connection(connection_);
}

void RabbitMqClient::open_channel() {
  (void)amqp_channel_open(connection_, kChannel);
  CHECK(amqp_get_rpc_reply(connection_).reply_type == AMQP_RESPONSE_NORMAL);
}

bool RabbitMqClient::ok() {
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection_);
  amqp_maybe_release_buffers(connection_);
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return true;
  CHECK(reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION);
  CHECK(reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD);
  amqp_channel_close_ok_t close_ok{};
  CHECK(amqp_send_method(connection_, kChannel, AMQP_CHANNEL_CLOSE_OK_METHOD, &close_ok) ==
        AMQP_STATUS_OK);
  open_channel();
  return false;
}

void RabbitMqClient::declare_exchange(const std::string& name, bool durable) {
  CHECK(exchange_is(name, durable));
}

bool RabbitMqClient::exchange_is(const std::string& name, bool durable) {
  (void)amqp_exchange_declare(connection_, kChannel, listener::bytes(name),
                              listener::bytes("topic"), 0, durable ? 1 : 0, 0, 0, amqp_empty_table);
  return ok();
}

void RabbitMqClient::delete_exchange(const std::string& name) {
  (void)amqp_exchange_delete(connection_, kChannel, listener::bytes(name), 0);
  CHECK(ok());
}

void RabbitMqClient::declare_queue(const std::string& name, bool durable, const std::string& type) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes("x-queue-type");
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = listener::bytes(type);
  (void)amqp_queue_declare(connection_, kChannel, listener::bytes(name), 0, durable ? 1 : 0, 0, 0,
                           {1, &entry});
  CHECK(ok());
}

void RabbitMqClient::bind_queue(const std::string& name, const std::string& exchange,
                                const std::string& key) {
  (void)amqp_queue_bind(connection_, kChannel, listener::bytes(name), listener::bytes(exchange),
                        listener::bytes(key), amqp_empty_table);
  CHECK(ok());
}

void RabbitMqClient::delete_queue(const std::string& name) {
  (void)amqp_queue_delete(connection_, kChannel, listener::bytes(name), 0, 0);
  CHECK(ok());
}

void RabbitMqClient::purge_queue(const std::string& name) {
  (void)amqp_queue_purge(connection_, kChannel, listener::bytes(name));
  CHECK(ok());
}

std::optional<std::uint32_t> RabbitMqClient::messages(const std::string& queue) {
  const amqp_queue_declare_ok_t* answer = amqp_queue_declare(
      connection_, kChannel, listener::bytes(queue), 1, 0, 0, 0, amqp_empty_table);
  std::optional<std::uint32_t> count;
  if (answer != nullptr) count = answer->message_count;
  if (!ok()) return std::nullopt;
  return count;
}

void RabbitMqClient::publish(const std::string& exchange, const std::string& routing_key,
                             std::string_view body) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.content_type = amqp_cstring_bytes("application/json");
  properties.delivery_mode = 2;
  CHECK(amqp_basic_publish(connection_, kChannel, listener::bytes(exchange),
                           listener::bytes(routing_key), 0, 0, &properties,
                           listener::bytes(body)) == AMQP_STATUS_OK);
}

bool RabbitMqClient::publish_confirmed(const std::string& exchange, const std::string& routing_key,
                                       std::string_view body) {
  if (!confirms_) {
    (void)amqp_confirm_select(connection_, kChannel);
    CHECK(ok());
    confirms_ = true;
  }
  publish(exchange, routing_key, body);
  const timeval patience{kConfirmS, 0};
  amqp_frame_t frame{};
  if (amqp_simple_wait_frame_noblock(connection_, &frame, &patience) != AMQP_STATUS_OK) {
    return false;
  }
  return frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD;
}

std::optional<StoredMessage> RabbitMqClient::get(const std::string& queue) {
  const amqp_rpc_reply_t reply = amqp_basic_get(connection_, kChannel, listener::bytes(queue), 1);
  CHECK(reply.reply_type == AMQP_RESPONSE_NORMAL);
  if (reply.reply.id != AMQP_BASIC_GET_OK_METHOD) return std::nullopt;
  amqp_message_t message{};
  CHECK(amqp_read_message(connection_, kChannel, &message, 0).reply_type == AMQP_RESPONSE_NORMAL);
  StoredMessage out;
  out.body = listener::view(message.body);
  for (int i = 0; i < message.properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = message.properties.headers.entries[i];
    if (listener::view(entry.key) == "reclaim-why")
      out.why = listener::view(entry.value.value.bytes);
  }
  amqp_destroy_message(&message);
  return out;
}

std::uint64_t RabbitMqClient::drain(const std::string& queue, std::uint64_t count, int prefetch) {
  (void)amqp_basic_qos(connection_, kChannel, 0, static_cast<std::uint16_t>(prefetch), 0);
  CHECK(ok());
  const amqp_basic_consume_ok_t* consuming = amqp_basic_consume(
      connection_, kChannel, listener::bytes(queue), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
  CHECK(consuming != nullptr);
  const std::string tag(listener::view(consuming->consumer_tag));
  std::uint64_t bytes = 0;
  for (std::uint64_t seen = 1; seen <= count; ++seen) {
    amqp_envelope_t envelope{};
    amqp_maybe_release_buffers(connection_);
    CHECK(amqp_consume_message(connection_, &envelope, nullptr, 0).reply_type ==
          AMQP_RESPONSE_NORMAL);
    bytes += envelope.message.body.len;
    if (seen % 100 == 0 || seen == count) {
      CHECK(amqp_basic_ack(connection_, kChannel, envelope.delivery_tag, 1) == AMQP_STATUS_OK);
    }
    amqp_destroy_envelope(&envelope);
  }
  (void)amqp_basic_cancel(connection_, kChannel, listener::bytes(tag));
  CHECK(ok());
  return bytes;
}

ConfirmedPublisher::ConfirmedPublisher(const RabbitMqBroker& broker)
    : broker_(broker), client_(std::make_unique<RabbitMqClient>(broker)) {}

void ConfirmedPublisher::publish(const std::string& exchange, const std::string& routing_key,
                                 std::string_view body) {
  while (!client_->publish_confirmed(exchange, routing_key, body)) {
    client_ = std::make_unique<RabbitMqClient>(broker_);
  }
}

}  // namespace reclaim::testing
