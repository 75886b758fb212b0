#include "listener/amqp/assembler.h"

#include <gtest/gtest.h>

namespace reclaim::listener {
namespace {

using Step = AmqpAssembler::Step;

amqp_basic_deliver_t deliver(std::uint64_t tag) {
  amqp_basic_deliver_t method{};
  method.delivery_tag = tag;
  method.redelivered = 1;
  method.exchange = amqp_cstring_bytes("nova");
  method.routing_key = amqp_cstring_bytes("notifications.info");
  return method;
}

amqp_frame_t header(std::uint64_t body_bytes) {
  amqp_frame_t frame{};
  frame.frame_type = AMQP_FRAME_HEADER;
  frame.payload.properties.body_size = body_bytes;
  return frame;
}

amqp_frame_t piece(std::string_view text) {
  amqp_frame_t frame{};
  frame.frame_type = AMQP_FRAME_BODY;
  frame.payload.body_fragment = bytes(text);
  return frame;
}

TEST(AmqpAssembler, OnePieceIsNotCopied) {
  AmqpAssembler assembler(100);
  const std::string text = "0123456789";
  ASSERT_TRUE(assembler.on_deliver(deliver(7)).ok());
  ASSERT_EQ(*assembler.on_header(header(10)), Step::more);
  ASSERT_EQ(*assembler.on_body(piece(text)), Step::whole);
  EXPECT_EQ(assembler.delivery().body.data(), text.data());
  EXPECT_EQ(assembler.delivery().tag, 7U);
  EXPECT_TRUE(assembler.delivery().redelivered);
  EXPECT_EQ(assembler.delivery().exchange, "nova");
  EXPECT_EQ(assembler.delivery().routing_key, "notifications.info");
}

TEST(AmqpAssembler, PiecesArePutTogether) {
  AmqpAssembler assembler(100);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(assembler.on_deliver(deliver(1)).ok());
    ASSERT_EQ(*assembler.on_header(header(6)), Step::more);
    ASSERT_EQ(*assembler.on_body(piece("ab")), Step::more);
    ASSERT_EQ(*assembler.on_body(piece("")), Step::more);
    ASSERT_EQ(*assembler.on_body(piece("cdef")), Step::whole);
    EXPECT_EQ(assembler.delivery().body, "abcdef");
  }
}

TEST(AmqpAssembler, AnEmptyBodyHasNoPieces) {
  AmqpAssembler assembler(100);
  ASSERT_TRUE(assembler.on_deliver(deliver(1)).ok());
  EXPECT_EQ(*assembler.on_header(header(0)), Step::whole);
  EXPECT_EQ(assembler.delivery().body, "");
  EXPECT_TRUE(assembler.on_deliver(deliver(2)).ok());
}

TEST(AmqpAssembler, TheLimitIsKept) {
  AmqpAssembler assembler(5);
  ASSERT_TRUE(assembler.on_deliver(deliver(1)).ok());
  ASSERT_EQ(*assembler.on_header(header(5)), Step::more);
  ASSERT_EQ(*assembler.on_body(piece("12345")), Step::whole);
  EXPECT_FALSE(assembler.delivery().oversized);
  ASSERT_TRUE(assembler.on_deliver(deliver(2)).ok());
  ASSERT_EQ(*assembler.on_header(header(6)), Step::more);
  ASSERT_EQ(*assembler.on_body(piece("123")), Step::more);
  ASSERT_EQ(*assembler.on_body(piece("456")), Step::whole);
  EXPECT_TRUE(assembler.delivery().oversized);
  EXPECT_EQ(assembler.delivery().body_bytes, 6U);
  EXPECT_EQ(assembler.delivery().body, "");
}

TEST(AmqpAssembler, FramesOutOfOrderAreAnError) {
  AmqpAssembler assembler(100);
  EXPECT_FALSE(assembler.on_header(header(1)).ok());
  EXPECT_FALSE(assembler.on_body(piece("a")).ok());
  ASSERT_TRUE(assembler.on_deliver(deliver(1)).ok());
  EXPECT_FALSE(assembler.on_deliver(deliver(2)).ok());
  EXPECT_FALSE(assembler.on_body(piece("a")).ok());
  ASSERT_TRUE(assembler.on_header(header(2)).ok());
  EXPECT_FALSE(assembler.on_header(header(2)).ok());
  EXPECT_FALSE(assembler.on_body(piece("abc")).ok());
  assembler.reset();
  EXPECT_TRUE(assembler.on_deliver(deliver(1)).ok());
}

}  // namespace
}  // namespace reclaim::listener
