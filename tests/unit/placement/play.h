// Plays a conversation with answers given beforehand.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "placement/conversations.h"

namespace reclaim::placement {

// What a conversation asked, and how it ended.
template <typename T>
struct Played {
  std::vector<std::string> asked;  // "GET path", "PUT path body"
  Result<T> result = Error{Errc::failed, "not over"};
};

template <typename Conversation>
Played<typename Conversation::Value> play(Conversation conversation,
                                          std::deque<Result<HttpResponse>> answers) {
  using Value = typename Conversation::Value;
  Played<Value> played;
  auto step = conversation.start();
  while (auto* request = std::get_if<ApiRequest>(&step)) {
    std::string asked = std::string(to_string(request->method)) + " " + request->path;
    if (!request->body.empty()) asked += " " + request->body;
    played.asked.push_back(std::move(asked));
    if (answers.empty()) {
      ADD_FAILURE() << "no answer left for " << played.asked.back();
      return played;
    }
    auto next = std::move(answers.front());
    answers.pop_front();
    step = conversation.on_answer(std::move(next));
  }
  EXPECT_TRUE(answers.empty()) << answers.size() << " answers were not asked for";
  played.result = std::move(std::get<Finished<Value>>(step).result);
  return played;
}

}  // namespace reclaim::placement
