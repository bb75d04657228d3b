// Command slowserver is carrel with turns that a message scripts, for tests of the API. The commands of a message are
// separated by semicolons and carried out in order:
//
//	slow 3s          a step of this duration
//	until go         a step that ends when the file go exists in the folder SLOWSERVER_SIGNALS
//	steps 4          this number of quick steps
//	stumble          a step that fails and is ignored
//	stream a b c     a step that writes these words, one by one
//	fail             an error of the model; "fail timeout" is a time-out
//	panic            a panic of the server
//	cite             a reply with all optional members
//	judge            a reply whose sentences have all verdicts
//	act {...}        a reply with this action, in JSON
//
// The reply to any other message repeats it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/cli"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit/echo"
	"carrel/internal/thread"
)

func main() {
	env := cli.System()
	env.Answerer = scripted{}
	os.Exit(cli.Main(os.Args[1:], env))
}

// scripted runs the commands of a message.
type scripted struct{ echo.Answerer }

// commands are the commands except "stream", which adds to the reply.
var commands = map[string]func(ctx context.Context, r *task.Run, argument string) error{
	"slow": slow, "until": until, "steps": steps, "stumble": stumble, "fail": fail,
	"panic": func(context.Context, *task.Run, string) error { panic("as the message says") },
}

// Answer implements thread.Answerer.
func (s scripted) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	var reply strings.Builder
	switch name, argument, _ := strings.Cut(q.Text, " "); name {
	case "cite":
		return cited, nil
	case "judge":
		return judged(), nil
	case "act":
		var a thread.Action
		err := json.Unmarshal([]byte(argument), &a)
		return thread.Answer{Text: "As you wish.", Actions: []thread.Action{a}}, err
	}
	for part := range strings.SplitSeq(q.Text, ";") {
		name, argument, _ := strings.Cut(strings.TrimSpace(part), " ")
		command, known := commands[name]
		var err error
		switch {
		case name == "stream":
			var text string
			text, err = stream(ctx, r, argument)
			reply.WriteString(text)
		case known:
			err = command(ctx, r, argument)
		default:
			return s.Answerer.Answer(ctx, r, q)
		}
		if err != nil {
			return thread.Answer{Text: reply.String()}, err
		}
	}
	return thread.Answer{Text: reply.String()}, nil
}

// cited is a reply with all optional members.
var cited = thread.Answer{
	Text: "Codd proposed it [1]. That was in 1971 [1].", Partial: true,
	Query: "codd relational model", FollowUps: []string{"When?"},
	Citations: []thread.Citation{{
		N: 1, CardID: "card_1", DocumentID: "doc_1", SourceID: "src_1", Title: "A Relational Model",
		Authors: []string{"Edgar F. Codd"}, Year: 1970,
		URL: "https://doi.org/10.1145/362384.362685", DOI: "10.1145/362384.362685", Type: "article",
		Quote: "A relational model is proposed.", End: 31, Page: 1,
	}},
	Checks: []thread.Check{
		{End: 4, State: thread.Quoted, By: thread.ByRules, Citations: []int{1}},
		{
			Start: 22, End: 43, State: thread.Unsupported, By: thread.ByRules, Reason: "number_absent",
			Detail: "The number 1971 does not occur in what is cited.", Citations: []int{1},
		},
		{Start: 5, End: 21, State: thread.Supported, By: thread.ByModel, Citations: []int{1}},
		{
			Start: 22, End: 26, State: thread.Contradicted, By: thread.ByModel, Reason: "model_contradicts", Citations: []int{1},
		},
		{Start: 22, End: 26, State: thread.Cited, By: thread.ByRules, Citations: []int{1}},
		{Start: 22, End: 26, State: thread.Uncited},
		{Start: 22, End: 26, State: thread.Talk},
		{Start: 22, End: 26, State: thread.FromMemory},
	},
	Actions: []thread.Action{
		{Kind: thread.ActionRemember, State: thread.ActionDone, ID: "mem_1", Text: "I read German.", Undo: "deleteMemory"},
		{Kind: thread.ActionForget, State: thread.ActionDone, ID: "mem_2", Text: "I like tea.", Undo: "addMemory"},
		{
			Kind: thread.ActionSave, State: thread.ActionDone, ID: "card_1", Title: "A Relational Model",
			Undo: "deleteFavourite",
		},
		{
			Kind: thread.ActionUnsave, State: thread.ActionDone, ID: "card_1", Title: "A Relational Model",
			Undo: "saveFavourite",
			Card: []byte(`{"cardId": "card_1"}`),
		},
		{Kind: thread.ActionRemember, State: thread.ActionProposed, Text: "I like cake."},
		{Kind: thread.ActionForget, State: thread.ActionChoice, ID: "mem_3", Text: "I like green tea."},
		{Kind: thread.ActionSave, State: thread.ActionUnchanged, ID: "card_1", Title: "A Relational Model"},
		{Kind: thread.ActionForget, State: thread.ActionNotFound, Text: "chess"},
		{Kind: thread.ActionForget, State: thread.ActionRefused},
		{Kind: thread.ActionSave, State: thread.ActionFailed, Title: "A Relational Model"},
	},
	MemoriesUsed: []thread.UsedMemory{{ID: "mem_1", Text: "I read German."}},
	Usage:        &thread.Usage{Model: "test", InputTokens: 100, OutputTokens: 20, CostMicros: 12},
}

// judged returns a reply with Markdown whose sentences have all verdicts.
func judged() thread.Answer {
	answer := cited
	answer.Partial, answer.Actions, answer.Text, answer.Checks = false, nil, "", nil
	add := func(before, sentence string, c thread.Check) {
		answer.Text += before
		c.Start = utf8.RuneCountInString(answer.Text)
		answer.Text += sentence
		c.End = utf8.RuneCountInString(answer.Text)
		answer.Checks = append(answer.Checks, c)
	}
	one := []int{1}
	add("", "Good question!", thread.Check{State: thread.Talk})
	add(" ", "“A relational model is proposed.” [1]",
		thread.Check{State: thread.Quoted, By: thread.ByRules, Citations: one})
	add(" ", "**Codd** proposed the model [1].", thread.Check{State: thread.Supported, By: thread.ByModel, Citations: one})
	add(" ", "He proposed it in *1971* [1].", thread.Check{
		State: thread.Contradicted, By: thread.ByRules, Reason: "date_differs",
		Detail: "The source says 1970, the sentence 1971.", Citations: one,
	})
	add("\n\n- ", "It made databases 𝒏 times faster [1].", thread.Check{
		State: thread.Unsupported, By: thread.ByModel, Reason: "model_does_not_say",
		Detail: "The quotes do not say this.", Citations: one,
	})
	add("\n- ", "Many companies use it today.", thread.Check{State: thread.Uncited})
	add("\n- ", "It separates data from programs [1].", thread.Check{State: thread.Cited, Citations: one})
	add("\n\n", "You read German.", thread.Check{State: thread.FromMemory})
	return answer
}

func slow(ctx context.Context, r *task.Run, argument string) error {
	d, err := time.ParseDuration(argument)
	if err != nil {
		return err
	}
	return wait(ctx, r, func(ctx context.Context) error { return pause(ctx, d) })
}

func until(ctx context.Context, r *task.Run, argument string) error {
	return wait(ctx, r, func(ctx context.Context) error {
		signals, err := os.OpenRoot(os.Getenv("SLOWSERVER_SIGNALS"))
		if err != nil {
			return err
		}
		defer func() { _ = signals.Close() }()
		for {
			_, err := signals.Stat(argument)
			if !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	})
}

// wait runs a step that is shown as waiting.
func wait(ctx context.Context, r *task.Run, f func(ctx context.Context) error) error {
	_, err := r.Step(ctx, "wait", "Waiting", func(ctx context.Context, _ *task.Step) ([]byte, error) {
		return nil, f(ctx)
	})
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func steps(ctx context.Context, r *task.Run, argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	for i := range n {
		_, err := r.Step(ctx, "think", fmt.Sprint("Thought ", i+1),
			func(context.Context, *task.Step) ([]byte, error) { return nil, nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func stumble(ctx context.Context, r *task.Run, _ string) error {
	stumbled := errors.New("as the message says")
	_, err := r.Step(ctx, "stumble", "Stumbling",
		func(context.Context, *task.Step) ([]byte, error) { return nil, stumbled })
	if errors.Is(err, stumbled) {
		return nil
	}
	return err
}

func stream(ctx context.Context, r *task.Run, argument string) (string, error) {
	text, err := r.Step(ctx, "answer", "Writing the reply", func(context.Context, *task.Step) ([]byte, error) {
		for word := range strings.FieldsSeq(argument) {
			r.Delta(word + " ")
		}
		return []byte(argument), nil
	})
	return string(text), err
}

func fail(_ context.Context, _ *task.Run, argument string) error {
	if argument == "timeout" {
		return &core.Error{Kind: core.KindTimeout, Code: task.CodeTimeout, Detail: "It took too long."}
	}
	return &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: "The model failed."}
}
