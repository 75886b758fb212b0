#include "handlers/bus/kick.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "handlers/arq/events.h"
#include "handlers/bus/kick_events.h"
#include "state/base/log.h"
#include "state/device/arq.h"

namespace reclaim {
namespace {

constexpr std::size_t kHostBytesMax = 255;
constexpr std::string_view kLegacyCompute = "compute.";

// A host becomes part of Redis keys and log lines, so it must look like one: what oslo accepts as
// `host` without white space, control characters and the braces of a Redis hash tag.
bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > kHostBytesMax) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '{' && c != '}' && c != '"' && c != '\\' && c != '*' &&
           c != '?' && c != '\'';
  });
}

std::string_view host_after(std::initializer_list<std::string_view> prefixes,
                            std::string_view publisher_id) {
  for (const std::string_view prefix : prefixes) {
    if (publisher_id.starts_with(prefix)) return publisher_id.substr(prefix.size());
  }
  return {};
}

// The host of a nova-compute that published: `nova-compute:HOST` (versioned), `compute.HOST`
// (legacy; the host may itself hold dots). Legacy messages of nova-api say `compute.HOST` too and
// cannot be told apart; looking at an API host's devices in vain is harmless, but it is not a look
// at the host that is meant. Empty: another service's.
std::string_view compute_host(std::string_view publisher_id) {
  return host_after({"nova-compute:", kLegacyCompute}, publisher_id);
}

// The host of a cyborg-agent, which is its devices' host; cyborg-api's and cyborg-conductor's are
// not.
std::string_view agent_host(std::string_view publisher_id) {
  return host_after({"cyborg-agent:", "cyborg-agent."}, publisher_id);
}

Decision decision_for(const Notification& notification) {
  Decision decision;
  decision.event_type = notification.event_type;
  decision.instance_uuid = notification.instance_uuid;
  decision.request_id = notification.request_id;
  decision.sent_at = notification.sent_at;
  decision.message_id = notification.message_id;
  return decision;
}

Decision bad_host(Decision decision, std::string_view where, std::string_view host) {
  decision.verdict = Verdict::reject;
  decision.why = fmt::format("{} '{}' cannot be a host's name", where, printable_excerpt(host, 64));
  return decision;
}

Decision ignore(Decision decision) {
  decision.verdict = Verdict::ignore;
  decision.why = "this event frees no device and begins no tenancy";
  return decision;
}

template <typename Delays>
void look_after(const Delays& delays_s, Decision& decision) {
  decision.delays_s.assign(delays_s.begin(), delays_s.end());
}

// The ARQ names its device's host; where it does not, as when Cyborg has wiped it already, its
// agent does, or the host whose book knows the ARQ finds out by itself.
Decision decide_arq(const Notification& notification, const ArqRow& row, Decision decision) {
  std::string_view host = notification.arq->hostname;
  if (!host.empty() && !is_host_name(host)) {
    return bad_host(std::move(decision), "the ARQ's hostname", host);
  }
  if (host.empty()) host = agent_host(notification.publisher_id);
  if (!host.empty() && !is_host_name(host)) {
    return bad_host(std::move(decision), "the publisher's host", host);
  }
  decision.verdict = Verdict::kick;
  decision.why = row.why;
  decision.mark_allocated = row.binds;
  if (row.binds) {
    look_after(kArqBindDelaysS, decision);
  } else {
    look_after(kKickDelaysS, decision);
  }
  decision.any_host = host.empty();
  if (decision.any_host) {
    decision.why += "; the message names no host, so every host looks into its book";
  } else {
    decision.hosts.emplace_back(host);
  }
  decision.arq = notification.arq;
  return decision;
}

// The host on which the instance's life begins or ends. Of a move the payload names the other one.
std::string_view host_of_life(const KickRow& row, std::string_view named,
                              std::string_view publisher) {
  const bool by_payload = row.scope == KickScope::named_by_payload || publisher.empty();
  return by_payload && !named.empty() ? named : publisher;
}

}  // namespace

Decision decide(const Notification& notification) {
  Decision decision = decision_for(notification);
  const ArqRow* arq_row = find_arq_row(notification.event_type);
  if (arq_row != nullptr && notification.arq) {
    return decide_arq(notification, *arq_row, std::move(decision));
  }
  const KickRow* row = find_kick_row(notification.event_type);
  if (row == nullptr) return ignore(std::move(decision));
  const std::string_view publisher = compute_host(notification.publisher_id);
  if (!publisher.empty() && !is_host_name(publisher)) {
    return bad_host(std::move(decision), "the publisher's host", publisher);
  }
  const std::string_view named = notification.host ? *notification.host : std::string_view{};
  if (!named.empty() && !is_host_name(named)) {
    return bad_host(std::move(decision), "the payload's host", named);
  }
  decision.verdict = Verdict::kick;
  decision.mark_allocated = row->mark;
  decision.life = row->life;
  decision.why = row->why;
  if (row->mark) {
    look_after(kMarkDelaysS, decision);
  } else {
    look_after(kKickDelaysS, decision);
  }
  if (row->scope != KickScope::any) {
    const bool may_be_the_api = row->scope == KickScope::named_by_payload && named.empty() &&
                                notification.publisher_id.starts_with(kLegacyCompute);
    for (const std::string_view host : {named, publisher}) {
      if (!host.empty() && !may_be_the_api) decision.hosts.emplace_back(host);
    }
    std::sort(decision.hosts.begin(), decision.hosts.end());
    decision.hosts.erase(std::unique(decision.hosts.begin(), decision.hosts.end()),
                         decision.hosts.end());
    if (decision.hosts.empty()) decision.why += "; the message names no host, so any could be it";
    if (!may_be_the_api) decision.life_host = host_of_life(*row, named, publisher);
  }
  decision.any_host = decision.hosts.empty();
  return decision;
}

Decision reject(const Error& error) {
  Decision decision;
  decision.verdict = Verdict::reject;
  decision.why = error.what;
  return decision;
}

Kick kick_of(const Decision& decision) {
  Kick kick;
  kick.reason = decision.event_type;
  kick.instance = decision.instance_uuid;
  kick.request_id = decision.request_id;
  kick.mark_allocated = decision.mark_allocated;
  kick.delays_s = decision.delays_s;
  if (decision.arq) kick.arq = encode_arq(*decision.arq);
  kick.life = decision.life;
  kick.host = decision.life_host;
  kick.sent_at = decision.sent_at.value_or(WallMs{});
  return kick;
}

bool is_kick_event(std::string_view event_type) {
  return find_kick_row(event_type) != nullptr || find_arq_row(event_type) != nullptr;
}

Decision KickDecider::decide_fast(std::string_view body) {
  if (body.size() <= body_bytes_max_) {
    const auto event_type = NotificationDecoder::peek_event_type(body);
    if (event_type && !is_kick_event(*event_type)) {
      Decision decision;
      decision.event_type = *event_type;
      return ignore(std::move(decision));
    }
  }
  return decide_exact(body);
}

Decision KickDecider::decide_exact(std::string_view body) {
  Result<Notification> notification = decoder_.decode(body, is_kick_event);
  if (!notification) {
    Decision decision = reject(notification.error());
    decision.event_type = decoder_.event_type_seen();
    return decision;
  }
  return decide(*notification);
}

}  // namespace reclaim
