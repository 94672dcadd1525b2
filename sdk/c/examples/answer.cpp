// Compares the number at the end of the last assistant message with the ground
// truth. The rules stand in sdk/conformance/README.md.
#include "merit_reward.h"

#include <optional>
#include <string_view>

using std::string_view;

static string_view view(merit_str s) { return {s.data, s.len}; }
static merit_str text(string_view s) { return {s.data(), static_cast<uint32_t>(s.size())}; }

// Cut end off s, if it is there.
static bool cut(string_view &s, string_view end) {
    if (s.size() < end.size() || s.substr(s.size() - end.size()) != end) return false;
    s.remove_suffix(end.size());
    return true;
}

static bool digit_at(string_view s, size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; }

// The first number of a text that may hold a currency sign, thousands
// separators, units and a full stop.
static std::optional<double> number(string_view s) {
    size_t start = s.find_first_of("0123456789");
    if (start == string_view::npos) return {};
    size_t end = start;
    for (bool point = false; end < s.size(); end++) {
        if (digit_at(s, end)) continue;
        if (s[end] == ',' && digit_at(s, end + 1)) continue;
        if (s[end] != '.' || point || !digit_at(s, end + 1)) break;
        point = true;
    }
    string_view before = s.substr(0, start);
    if (cut(before, ".")) start--;
    while (cut(before, "$") || cut(before, "€") || cut(before, "£") || cut(before, " ")) {}
    double value;
    if (!merit_number(text(s.substr(start, end - start)), &value)) return {};
    return cut(before, "-") || cut(before, "−") ? -value : value;
}

// The text behind the last "A:" or "####" that begins a line.
static std::optional<string_view> final(merit_str answer) {
    for (merit_str line; merit_last_line(&answer, &line);) {
        string_view trimmed = view(merit_trim(line));
        for (string_view mark : {"A:", "####"})
            if (trimmed.substr(0, mark.size()) == mark) return trimmed.substr(mark.size());
    }
    return {};
}

static void wrong(merit_output *out, string_view reason) {
    merit_score(out, 0);
    merit_reason(out, text(reason));
}

static void score(const merit_rollout *r, merit_output *out) {
    auto want = number(view(r->ground_truth.text));
    if (!want) return merit_invalid(out, text("the ground truth holds no number"));
    auto answer = final(merit_answer(r));
    if (!answer) return wrong(out, "no answer after A: or ####");
    auto got = number(*answer);
    if (!got) return wrong(out, "the answer holds no number");
    merit_score(out, *got == *want);
}
MERIT_REGISTER(score)
