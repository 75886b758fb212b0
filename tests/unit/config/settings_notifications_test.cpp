// [notifications]: what is told, and to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NotificationSettings, NothingIsToldByDefault) {
  const CheckedSettings checked = build("[DEFAULT]\ntransport_url = rabbit://u:p@bus/\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const Settings& s = checked.settings;
  EXPECT_EQ(s.notify.driver, NotificationDriver::noop);
  EXPECT_EQ(s.notify.level, NotificationLevel::info);
  EXPECT_EQ(s.notifier.exchange, listener::NotifierOptions{}.exchange);
  EXPECT_EQ(s.notifier.topics, listener::NotifierOptions{}.topics);
  EXPECT_EQ(s.rabbit.notifier_url, s.rabbit.rpc_url);
}

TEST(NotificationSettings, EachOptionIsRead) {
  const CheckedSettings checked = build(
      "[DEFAULT]\ntransport_url = rabbit://u:p@bus/\n"
      "[oslo_messaging_notifications]\ntransport_url = rabbit://u:p@heard/\n"
      "[notifications]\ndriver = messagingv2\nlevel = error\ntopics = a,b\nexchange = told\n"
      "transport_url = rabbit://u:p@notes/vhost\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const Settings& s = checked.settings;
  EXPECT_EQ(s.notify.driver, NotificationDriver::messagingv2);
  EXPECT_EQ(s.notify.level, NotificationLevel::error);
  EXPECT_THAT(s.notifier.topics, ElementsAre("a", "b"));
  EXPECT_EQ(s.notifier.exchange, "told");
  EXPECT_EQ(s.rabbit.notifier_url.hosts[0].host, "notes");
  EXPECT_EQ(s.rabbit.notifier_url.virtual_host, "vhost");
  EXPECT_EQ(s.rabbit.url.hosts[0].host, "heard");
}

TEST(NotificationSettings, WithoutAUrlOfTheirOwnTheyGoToTheDefaultBus) {
  const CheckedSettings checked = build(
      "[DEFAULT]\ntransport_url = rabbit://u:p@bus/\n"
      "[oslo_messaging_notifications]\ntransport_url = rabbit://u:p@heard/\n");
  EXPECT_EQ(checked.settings.rabbit.notifier_url.hosts[0].host, "bus");
}

TEST(NotificationSettings, WhatCannotWorkIsNamed) {
  const auto wrong = [](const std::string& lines) { return problems("[notifications]\n" + lines); };
  EXPECT_THAT(wrong("driver = messaging\n"), ElementsAre(HasSubstr("noop, messagingv2")));
  EXPECT_THAT(wrong("level = warn\n"), ElementsAre(HasSubstr("info, error")));
  EXPECT_THAT(wrong("topics =\n"), ElementsAre(HasSubstr("topics is empty")));
  EXPECT_THAT(wrong("topics = a b\n"), ElementsAre(HasSubstr("is not a usable name")));
  EXPECT_THAT(wrong("topics = " + std::string(250, 't') + "\n"),
              ElementsAre(HasSubstr("is too long for a routing key with its priority")));
  EXPECT_THAT(wrong("exchange = amq.topic\n"),
              ElementsAre(HasSubstr("is not a usable name of an exchange")));
  EXPECT_THAT(wrong("transport_url = rabbit://u:p@bus/?ssl=1\n"),
              ElementsAre(HasSubstr("transport_url: it has a query")));
  EXPECT_THAT(wrong("transport_url = kafka://bus/\n"),
              ElementsAre(HasSubstr("[notifications] transport_url: scheme 'kafka'")));
}

// Nova has a group of this name.
TEST(NotificationSettings, AServicesOwnGroupIsNotRead) {
  const CheckedSettings checked =
      build({own(kBase), service("[notifications]\nnotification_format = versioned\n"
                                 "driver = messagingv2\n")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.notify.driver, NotificationDriver::noop);
}

TEST(Settings, WhatIsDrainedIsNoQueueOfOurs) {
  EXPECT_THAT(build("").settings.drain, IsEmpty());
  EXPECT_THAT(build("[listener]\ndrain = notifications, x\n").settings.drain,
              ElementsAre("notifications", "x"));
  EXPECT_THAT(problems("[listener]\nqueue = own.info\ndead_letter_queue = dead.error\n"
                       "drain = own, dead\n"),
              ElementsAre(HasSubstr("own.info"), HasSubstr("dead.error")));
}

}  // namespace
}  // namespace reclaim::config
