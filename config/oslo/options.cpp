#include "config/oslo/options.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/check.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kGuessBytesMax = 80;  // of a word that is compared with all names
constexpr int kReferencesDeep = 16;         // a value that refers to one that refers to one ...
constexpr int kReferencesMax = 256;         // in one value, those within those included

bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(char c) {
  return is_name_start(c) || c == '.' || (c >= '0' && c <= '9');
}

bool in_list(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// The group's name in the table: "step:" for [step:reflash].
std::string_view declared_group(std::string_view group) {
  const std::size_t colon = group.find(':');
  return colon == std::string_view::npos ? group : group.substr(0, colon + 1);
}

const OptionGroup* find_group(std::string_view name) {
  for (const OptionGroup& group : schema_groups()) {
    if (group.name == declared_group(name)) return &group;
  }
  return nullptr;
}

// Counts the letters that were left out, added, mistaken, or exchanged with the next.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) to[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) to[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      to[i][j] = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1,
                           to[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
      }
    }
  }
  return to[a.size()][b.size()];
}

// The word in lower case, and with one kind of dash.
std::string folded(std::string_view word) {
  std::string out = lower(word);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

}  // namespace

std::string_view to_string(OptionType type) {
  switch (type) {
    case OptionType::string:
      return "string value";
    case OptionType::integer:
      return "integer value";
    case OptionType::real:
      return "floating point value";
    case OptionType::boolean:
      return "boolean value";
    case OptionType::list:
      return "list value";
    case OptionType::multi:
      return "multi valued";
  }
  return "string value";
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  text = strip(text);
  while (text.ends_with(',')) text.remove_suffix(1);
  if (text.empty()) return items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.emplace_back(strip(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::string> did_you_mean(std::string_view word,
                                        const std::vector<std::string>& names) {
  if (word.size() > kGuessBytesMax) return std::nullopt;
  const std::string meant = folded(word);
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, meant.size() / 4) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(meant, folded(name));
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

Options::Options(std::vector<SourceFile> files)
    : files_(std::move(files)), auth_groups_{"placement", "keystone_authtoken", "cyborg"} {
  for (SourceFile& file : files_) {
    for (IniEntry& entry : file.ini.entries) entry.group = fold_group(entry.group);
    for (IniSection& section : file.ini.sections) section.group = fold_group(section.group);
  }
  std::vector<Problem> reported_when_read;
  for (const std::string_view group : {"placement", "keystone_authtoken", "cyborg"}) {
    const auto section = get(group, "auth_section", reported_when_read);
    if (!section.empty() && !section.back().text.empty()) {
      auth_groups_.push_back(fold_group(section.back().text));
    }
  }
}

bool Options::is_auth_group(std::string_view group) const {
  return std::find(auth_groups_.begin(), auth_groups_.end(), group) != auth_groups_.end();
}

bool Options::is_unused(std::string_view group, std::string_view name) {
  const OptionGroup* known = find_group(group);
  return known != nullptr && in_list(known->unused, name);
}

const Option* Options::find(std::string_view group, std::string_view name) const {
  for (const Option& option : schema()) {
    const bool here =
        option.group == kAuthGroup ? is_auth_group(group) : option.group == declared_group(group);
    if (here && (option.name == name || in_list(option.aliases, name))) return &option;
  }
  return nullptr;
}

// oslo's _get_file_value(): from the strongest file to the weakest, and in each the option's own
// name before its older ones.
std::vector<Value> Options::raw(const Option& option, std::string_view group) const {
  std::vector<Value> found;
  for (const Override& override : overrides_) {
    if (override.group == group && override.name == option.name) found = {override.value};
  }
  if (!found.empty()) return found;
  std::vector<std::string> names = {std::string(option.name)};
  for (std::string& alias : split_list(option.aliases)) names.push_back(std::move(alias));
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (file->service && !option.shared) continue;
    for (const std::string& name : names) {
      std::vector<Value> here;
      for (const IniEntry& entry : file->ini.entries) {
        if (entry.group == group && entry.key == name) {
          here.push_back({entry.value, entry.at, file->service});
        }
      }
      if (here.empty()) continue;
      if (option.type != OptionType::multi) return {here.back()};
      found.insert(found.begin(), here.begin(), here.end());
    }
  }
  return found;
}

std::map<std::string, std::string> Options::texts() const {
  std::map<std::string, std::string> out;
  for (const SourceFile& file : files_) {
    for (const IniEntry& entry : file.ini.entries) {
      const Option* option = find(entry.group, entry.key);
      if (option == nullptr || (file.service && !option->shared)) continue;
      std::string& text = out[fmt::format("[{}] {}", entry.group, option->name)];
      if (option->type != OptionType::multi) text.clear();
      text += (text.empty() ? "" : "\n") + entry.value;
    }
  }
  return out;
}

bool Options::given(std::string_view group, std::string_view name) const {
  const Option* option = find(group, name);
  return option != nullptr && !raw(*option, group).empty();
}

std::vector<IniSection> Options::family(std::string_view prefix) const {
  std::vector<IniSection> found;
  for (const SourceFile& file : files_) {
    if (file.service) continue;
    for (const IniSection& section : file.ini.sections) {
      const bool known =
          std::any_of(found.begin(), found.end(),
                      [&section](const IniSection& other) { return other.group == section.group; });
      if (!known && declared_group(section.group) == prefix) found.push_back(section);
    }
  }
  return found;
}

void Options::override_value(std::string_view group, std::string_view name, Value value) {
  overrides_.push_back({std::string(group), std::string(name), std::move(value)});
}

std::vector<Value> Options::get(std::string_view group, std::string_view name,
                                std::vector<Problem>& problems) const {
  const Option* option = find(group, name);
  CHECK(option != nullptr);
  std::vector<Value> values = raw(*option, group);
  if (values.empty() && option->fallback) values.push_back({std::string(*option->fallback), {}});
  for (Value& value : values) {
    const std::size_t before = problems.size();
    Pass pass{problems};
    value.text = substitute(value, group, pass);
    for (std::size_t i = before; i < problems.size(); ++i) {
      problems[i].text = fmt::format("[{}] {}: {}", group, option->name, problems[i].text);
    }
  }
  return values;
}

// The value another option has; nothing if there is no such option. Service files may name options
// of their own there (nova.conf: rabbit://u:p@$my_ip/), so theirs are looked at, too.
std::optional<std::string> Options::refer(std::string_view group, std::string_view name,
                                          Pass& pass) const {
  std::optional<Value> value;
  if (const Option* option = find(group, name)) {
    const auto values = raw(*option, group);
    value = values.empty() ? Value{std::string(option->fallback.value_or("")), {}} : values.back();
  } else {
    for (const SourceFile& file : files_) {
      for (const IniEntry& entry : file.ini.entries) {
        if (entry.group == group && entry.key == name) value = Value{entry.value, entry.at};
      }
    }
  }
  if (!value) return std::nullopt;
  ++pass.depth;
  std::string text = substitute(*value, group, pass);
  --pass.depth;
  return text;
}

// Resolves "$name" in `value`: "group.name", or a name in the value's own group, or in DEFAULT.
std::string Options::reference(const Value& value, std::string_view group, std::string_view name,
                               Pass& pass) const {
  if (pass.depth >= kReferencesDeep || pass.references >= kReferencesMax) {
    if (pass.references < kReferencesMax) {
      pass.problems.push_back({value.at, "its '$' references go round in a circle"});
    }
    pass.references = kReferencesMax;  // one complaint is enough: follow no more
    return {};
  }
  ++pass.references;
  const std::size_t dot = name.find('.');
  std::optional<std::string> found =
      dot == std::string_view::npos
          ? refer(group, name, pass)
          : refer(fold_group(name.substr(0, dot)), name.substr(dot + 1), pass);
  if (!found) found = refer("DEFAULT", name, pass);
  if (!found) {
    // The name may be a part of a password, so it is not quoted.
    pass.problems.push_back({value.at,
                             "a '$' is followed by a name that is not an option: write '$$' for "
                             "a dollar sign, or '${name}' to mark a name's end"});
  }
  return found.value_or("");
}

// Python's string.Template.safe_substitute() with oslo's pattern for names.
std::string Options::substitute(const Value& value, std::string_view group, Pass& pass) const {
  const std::string_view text = value.text;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = (text[i] == '\\' || text[i] == '$') && text.substr(i + 1).starts_with('$');
    if (escaped) ++i;
    if (escaped || text[i] != '$') {
      out += text[i];
      continue;
    }
    const bool braced = text.substr(i + 1).starts_with('{');
    const std::size_t start = i + (braced ? 2 : 1);
    std::size_t end = start;
    while (end < text.size() && (end == start ? is_name_start(text[end]) : is_name(text[end])))
      ++end;
    if (end == start || (braced && (end == text.size() || text[end] != '}'))) {
      out += '$';  // no reference: the dollar stays
      continue;
    }
    out += reference(value, group, text.substr(start, end - start), pass);
    i = braced ? end : end - 1;
  }
  return out;
}

void Options::check_section(const IniSection& section, std::vector<Problem>& problems) const {
  if (find_group(section.group) != nullptr || is_auth_group(section.group)) return;
  std::vector<std::string> names;
  std::string all;
  for (const OptionGroup& group : schema_groups()) {
    names.emplace_back(group.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", group.name);
  }
  // "default" is not DEFAULT in oslo, and nobody notices.
  const auto nearest = section.group == "default" ? std::optional<std::string>("DEFAULT")
                                                  : did_you_mean(section.group, names);
  problems.push_back(
      {section.at, fmt::format("unknown group [{}], {}", printable_excerpt(section.group),
                               nearest ? fmt::format("did you mean [{}]?", *nearest)
                                       : fmt::format("known groups: {}", all))});
}

void Options::check_entry(const IniEntry& entry, std::vector<Problem>& problems,
                          std::vector<Problem>& warnings) const {
  const OptionGroup* group = find_group(entry.group);
  if (group == nullptr && !is_auth_group(entry.group)) return;  // the section was complained about
  const std::string shown = printable_excerpt(entry.key);
  if (const Option* option = find(entry.group, entry.key)) {
    if (option->name != entry.key) {
      warnings.push_back({entry.at, fmt::format("[{}] {} is an older name of {}, use that",
                                                entry.group, shown, option->name)});
    }
    return;
  }
  if (is_unused(entry.group, entry.key)) {
    warnings.push_back(
        {entry.at, fmt::format("[{}] {} has no effect in Reclaim", entry.group, shown)});
    return;
  }
  std::vector<std::string> names;
  for (const Option& option : schema()) {
    const bool here = option.group == kAuthGroup ? is_auth_group(entry.group)
                                                 : option.group == declared_group(entry.group);
    if (here) names.emplace_back(option.name);
  }
  std::string hint;
  if (const auto nearest = did_you_mean(entry.key, names)) {
    hint = fmt::format(", did you mean '{}'?", *nearest);
  } else {
    for (const Option& option : schema()) {
      if (option.name == entry.key && option.group != kAuthGroup) {
        hint = fmt::format(", it belongs to [{}]", option.group);
      }
    }
  }
  problems.push_back(
      {entry.at, fmt::format("unknown option '{}' in group [{}]{}", shown, entry.group, hint)});
}

void Options::check_names(std::vector<Problem>& problems, std::vector<Problem>& warnings) const {
  for (const SourceFile& file : files_) {
    if (file.service) continue;
    for (const IniSection& section : file.ini.sections) check_section(section, problems);
    for (const IniEntry& entry : file.ini.entries) check_entry(entry, problems, warnings);
  }
}

}  // namespace reclaim::config
