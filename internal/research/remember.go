package research

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// memoryPatterns match statements of users about themselves. Memories are not inferred from other messages: extractors
// that do so mostly store junk, and cost a model call per message.
var memoryPatterns = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)^((?:please\s+)?call me\s+.+)$`),
	lazyregexp.New(`(?i)^(my name is\s+.+)$`),
	lazyregexp.New(`(?i)^(i(?:'d|’d| would)? prefer\s+.+)$`),
}

const (
	// longestRequest is the maximum length of a message that is matched, because longer ones are mostly pasted text and
	// not the user's own words. longestMemory is the maximum length of a memory.
	longestRequest, longestMemory = 600, 300
)

// memoryRequest returns the memory that a message asks to store, and the rest of the message.
func memoryRequest(text string) (memory, rest string) {
	if !isOwnWords(text) {
		return "", text
	}
	var others []string
	for _, s := range sentencesOf(text) {
		if found := memoryIn(s); found != "" && memory == "" && utf8.RuneCountInString(found) <= longestMemory {
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

// memoryIn returns the memory that a sentence asks to store, or "".
func memoryIn(s string) string {
	if strings.HasSuffix(s, "?") {
		return ""
	}
	for _, w := range memoryPatterns {
		if m := w.FindStringSubmatch(strings.TrimRight(s, ".! ")); m != nil {
			return m[1]
		}
	}
	return ""
}

// sentencesOf splits a short message roughly into sentences.
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

// remember proposes a memory that the message states, in the user's words; the user must confirm it. If the message
// says nothing else, that is the answer. Explicit requests to remember something are actions.
func (t *turn) remember(ctx context.Context) (done bool, answer thread.Answer, err error) {
	text, rest := memoryRequest(t.rest)
	only := rest == "" && len(t.requests) == 0
	if text == "" || t.isRecalled(text) {
		return false, thread.Answer{}, nil
	}
	const label = "Suggesting a memory"
	noted, err := step(ctx, t, "remember", label, func(ctx context.Context, _ *task.Step) (bool, error) {
		err := t.Memories.Propose(ctx, t.q.UserID, t.q.AgentID, t.q.ThreadID, t.q.MessageID, text)
		if err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "propose a memory", "turn", t.run.Task().ID, "error", err)
		}
		reply := t.memoryReply(text, err == nil)
		if only {
			t.run.Delta(reply)
		}
		return err == nil, nil
	})
	if err != nil || !only {
		return false, thread.Answer{}, err
	}
	return true, thread.Answer{Text: t.memoryReply(text, noted)}, nil
}

func (t *turn) memoryReply(text string, noted bool) string {
	if !noted {
		return t.actionTexts().notProposed
	}
	return fill(t.actionTexts().proposed, text)
}

// isRecalled reports whether a text is among the recalled memories, and so need not be proposed.
func (t *turn) isRecalled(text string) bool {
	for _, m := range t.ready.Memories {
		if strings.Contains(core.Fold(m.Text), core.Fold(text)) {
			return true
		}
	}
	return false
}
