#include "listener/amqp/assembler.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kBodyKeepBytesMax = std::size_t{256} << 10U;

Error out_of_order() {
  return Error{Errc::unavailable, "the broker sent the frames of a delivery out of order"};
}

}  // namespace

void AmqpAssembler::reset() {
  expect_ = Expect::deliver;
  delivery_ = {};
  trim();
}

void AmqpAssembler::trim() {
  if (body_.capacity() <= kBodyKeepBytesMax) return;
  body_.clear();
  body_.shrink_to_fit();
}

Status AmqpAssembler::on_deliver(const amqp_basic_deliver_t& method) {
  if (expect_ != Expect::deliver) return out_of_order();
  delivery_ = {};
  delivery_.tag = method.delivery_tag;
  delivery_.redelivered = method.redelivered != 0;
  exchange_.assign(view(method.exchange));
  routing_key_.assign(view(method.routing_key));
  delivery_.exchange = exchange_;
  delivery_.routing_key = routing_key_;
  expect_ = Expect::header;
  return Ok{};
}

Result<AmqpAssembler::Step> AmqpAssembler::on_header(const amqp_frame_t& frame) {
  if (expect_ != Expect::header) return out_of_order();
  delivery_.body_bytes = frame.payload.properties.body_size;
  delivery_.oversized = delivery_.body_bytes > body_bytes_max_;
  seen_bytes_ = 0;
  body_.clear();
  expect_ = delivery_.body_bytes == 0 ? Expect::deliver : Expect::body;
  return delivery_.body_bytes == 0 ? Step::whole : Step::more;
}

Result<AmqpAssembler::Step> AmqpAssembler::on_body(const amqp_frame_t& frame) {
  if (expect_ != Expect::body) return out_of_order();
  const std::string_view piece = view(frame.payload.body_fragment);
  if (piece.size() > delivery_.body_bytes - seen_bytes_) return out_of_order();
  seen_bytes_ += piece.size();
  const bool whole = seen_bytes_ == delivery_.body_bytes;
  if (whole) expect_ = Expect::deliver;
  if (delivery_.oversized) return whole ? Step::whole : Step::more;
  // Most bodies come in one piece and need no copy.
  if (whole && piece.size() == delivery_.body_bytes) {
    delivery_.body = piece;
    return Step::whole;
  }
  body_.append(piece);
  if (!whole) return Step::more;
  delivery_.body = body_;
  return Step::whole;
}

}  // namespace reclaim::listener
