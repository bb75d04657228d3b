package research

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// wishes are the ways in which a user asks in so many words to be remembered by. What else may be worth remembering is
// not guessed at: extractors that do remember mostly junk, and cost a call on every message.
var wishes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^(?:please\s+)?(?:remember|keep in mind|note)(?:\s+that|\s*:)\s+(.+)$`),
	regexp.MustCompile(`(?i)^((?:please\s+)?call me\s+.+)$`),
	regexp.MustCompile(`(?i)^(my name is\s+.+)$`),
	regexp.MustCompile(`(?i)^(i(?:'d|’d| would)? prefer\s+.+)$`),
}

const (
	// longestWish is how long a message may be in which wishes are looked for: longer ones are mostly pasted, and what
	// is pasted is not the user's own words. A memory is at most longestMemory.
	longestWish, longestMemory = 600, 300
)

// wish returns what a message asks to remember, and what it says besides.
func wish(text string) (memory, rest string) {
	if utf8.RuneCountInString(text) > longestWish || strings.ContainsAny(text, "“”\"`>") {
		return "", text
	}
	var others []string
	for _, s := range sentencesOf(text) {
		if found := wished(s); found != "" && memory == "" && utf8.RuneCountInString(found) <= longestMemory {
			memory = upperFirst(found)
		} else {
			others = append(others, s)
		}
	}
	if memory == "" {
		return "", text
	}
	return memory, strings.Join(others, " ")
}

// wished returns what a sentence asks to remember, or nothing.
func wished(s string) string {
	if strings.HasSuffix(s, "?") {
		return ""
	}
	for _, w := range wishes {
		if m := w.FindStringSubmatch(strings.TrimRight(s, ".! ")); m != nil {
			return m[1]
		}
	}
	return ""
}

// sentencesOf splits a short message: roughly is enough to find a wish.
func sentencesOf(text string) []string {
	var out []string
	from := 0
	add := func(to int) {
		if s := strings.TrimSpace(text[from:to]); s != "" {
			out = append(out, s)
		}
		from = to
	}
	for i := 0; i < len(text); i++ {
		end := i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && end {
			add(i + 1)
		}
	}
	add(len(text))
	return out
}

func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// remember proposes what the user asks to remember, in the user's own words; it counts only once the user confirms it.
// A message that asks for nothing else is answered with that.
func (t *turn) remember(ctx context.Context) (done bool, answer thread.Answer, err error) {
	text, rest := wish(t.q.Text)
	only := rest == ""
	if text == "" || t.knows(text) {
		return false, thread.Answer{}, nil
	}
	noted, err := step(ctx, t, "remember", "Noting what to remember", func(ctx context.Context, _ *task.Step) (bool, error) {
		err := t.Memories.Propose(ctx, t.q.UserID, t.q.AgentID, t.q.ThreadID, t.q.MessageID, text)
		if err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "a memory could not be proposed", "turn", t.run.Task().ID, "error", err)
		}
		reply := noteReply(text, err == nil)
		if only {
			t.run.Delta(reply)
		}
		return err == nil, nil
	})
	if err != nil || !only {
		return false, thread.Answer{}, err
	}
	return true, thread.Answer{Text: noteReply(text, noted)}, nil
}

func noteReply(text string, noted bool) string {
	if !noted {
		return "That could not be noted just now. Ask again, or add it to the memories yourself."
	}
	return "Shall I remember this? “" + text + "” It waits among the memories for your yes."
}

// knows reports whether a text was recalled: what is remembered is never proposed again.
func (t *turn) knows(text string) bool {
	for _, m := range t.ready.Memories {
		if strings.Contains(core.Fold(m.Text), core.Fold(text)) {
			return true
		}
	}
	return false
}
