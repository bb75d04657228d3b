// Command slowserver is carrel with turns that a message scripts, for tests of the API. The commands of a message are
// separated by semicolons and carried out in order:
//
//	slow 3s          a step of this duration
//	steps 4          this number of quick steps
//	stumble          a step that fails and is ignored
//	stream a b c     a step that writes these words, one by one
//	fail             an error of the model; "fail timeout" is a time-out
//	panic            a panic of the server
//	cite             a reply with all optional members
//
// The reply to any other message repeats it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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
	"slow": slow, "steps": steps, "stumble": stumble, "fail": fail,
	"panic": func(context.Context, *task.Run, string) error { panic("as the message says") },
}

// Answer implements thread.Answerer.
func (s scripted) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	var reply strings.Builder
	if q.Text == "cite" {
		return cited, nil
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
		URL: "https://doi.org/10.1145/362384.362685", DOI: "10.1145/362384.362685",
		Quote: "A relational model is proposed.", End: 31, Page: 1,
	}},
	Checks: []thread.Check{
		{End: 21, State: thread.Supported},
		{Start: 22, End: 43, State: thread.Unsupported, Reason: "The number 1971 does not occur in what is cited."},
	},
	MemoriesUsed: []thread.UsedMemory{{ID: "mem_1", Text: "I read German."}},
	Usage:        &thread.Usage{Model: "test", InputTokens: 100, OutputTokens: 20, CostMicros: 12},
}

func slow(ctx context.Context, r *task.Run, argument string) error {
	d, err := time.ParseDuration(argument)
	if err != nil {
		return err
	}
	_, err = r.Step(ctx, "wait", "Waiting", func(ctx context.Context, _ *task.Step) ([]byte, error) {
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return err
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
