package model_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

func TestAFailureBeforeTheFirstWordIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]modelfake.Reply{
		"429":               modelfake.Refuse(429, ""),
		"500":               modelfake.Refuse(500, ""),
		"529":               modelfake.Refuse(529, ""),
		"clean cut":         {End: modelfake.Cut},
		"broken":            {End: modelfake.Broken},
		"reset":             {End: modelfake.Reset},
		"no reason":         {End: modelfake.NoReason},
		"garbage":           {End: modelfake.Garbage},
		"error in stream":   {End: modelfake.Fails, Code: "overloaded_error", Message: "Overloaded"},
		"limit in stream":   {End: modelfake.Fails, Code: "rate_limit_exceeded", Message: "Slow down"},
		"unknown in stream": {End: modelfake.Fails, Code: "oops", Message: "?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, a *asked) {
				good := modelfake.Say("At last.")
				good.In, good.Out = 10, 2
				a.fake.Script(fault, fault, fault, good)
				got := a.hear(t.Context(), question("?"))
				if got.err != nil || got.text != "At last." || len(a.fake.Requests()) != 4 || len(got.usage) != 1 || len(got.done) != 1 {
					t.Fatalf("got %+v after %d requests", got, len(a.fake.Requests()))
				}
				for i, low := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
					if d := a.paused[i]; d < low || d > 2*low {
						t.Errorf("pause %d was %v", i, d)
					}
				}
				// What a try read before it broke off has been paid for.
				u, exact := got.usage[0], model.Usage{In: 10, Out: 2}
				switch charged := fault.Status == 0 && fault.End != modelfake.Fails; {
				case !charged && u != exact:
					t.Errorf("usage %+v, want %+v", u, exact)
				case charged && fault.End != modelfake.Reset && (!u.Estimated || u.In <= exact.In):
					t.Errorf("usage %+v counts only the last try", u)
				}
			})
		})
	}
}

func TestTheFourthFailureIsTheLast(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Answer(func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(503, "") })
		got := a.hear(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrProvider) || len(a.fake.Requests()) != 4 || len(got.usage) != 0 {
			t.Errorf("got %+v after %d requests", got, len(a.fake.Requests()))
		}
	})
}

func TestAFailureAfterTheFirstWordIsTheCallers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault modelfake.Reply
		want  error
	}{
		"clean cut":       {modelfake.Reply{End: modelfake.Cut}, model.ErrTruncated},
		"broken":          {modelfake.Reply{End: modelfake.Broken}, model.ErrTruncated},
		"no reason":       {modelfake.Reply{End: modelfake.NoReason}, model.ErrTruncated},
		"garbage":         {modelfake.Reply{End: modelfake.Garbage}, model.ErrReply},
		"error in stream": {modelfake.Reply{End: modelfake.Fails, Code: "overloaded_error"}, model.ErrProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, a *asked) {
				fault := tc.fault
				fault.Text = []string{"Half an ", "answer of some length"}
				a.fake.Script(fault)
				got := a.hear(t.Context(), question("?"))
				if !errors.Is(got.err, tc.want) || got.text != "Half an answer of some length" || len(a.fake.Requests()) != 1 || len(got.done) != 0 {
					t.Fatalf("got %+v", got)
				}
				if !core.IsKind(got.err, core.KindUpstream) || core.AsError(got.err).Code != "model_failed" {
					t.Errorf("kind of %v", got.err)
				}
				if len(got.usage) != 1 || !got.usage[0].Estimated || got.usage[0].In == 0 || got.usage[0].Out < 8 {
					t.Errorf("usage %+v", got.usage)
				}
			})
		})
	}
}

func TestACutCallIsNotPassedOnAndTriedAgain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		whole := modelfake.Use(modelfake.Call{ID: "c", Name: "search", Arguments: `{"query":"x"}`})
		cut := whole
		cut.End = modelfake.Cut
		a.fake.Script(cut, whole)
		if got := a.hear(t.Context(), question("?")); got.err != nil || len(got.calls) != 1 || !got.usage[0].Estimated {
			t.Errorf("got %+v", got)
		}
	})
}

func TestWhatBreaksAfterTheReasonToFinishBreaksNothing(t *testing.T) {
	t.Parallel()
	for _, end := range []modelfake.End{modelfake.Unterminated, modelfake.BrokenLate} {
		reply := modelfake.Say("Enough.")
		reply.End, reply.In, reply.Out = end, 3, 1
		a := ask(t, modelfake.OpenAI)
		a.fake.Script(reply)
		if got := a.hear(t.Context(), question("?")); got.err != nil || len(got.done) != 1 || got.usage[0] != (model.Usage{In: 3, Out: 1}) {
			t.Errorf("%d, OpenAI's: %+v", end, got)
		}
		// Anthropic's own servers always send message_stop.
		a = ask(t, modelfake.Anthropic)
		a.fake.Script(reply)
		if got := a.hear(t.Context(), question("?")); !errors.Is(got.err, model.ErrTruncated) || len(got.done) != 0 {
			t.Errorf("%d, Anthropic's: %+v", end, got)
		}
	}
}

// TestStreamsOfOtherServersAreUnderstood holds what servers send that speak OpenAI's protocol in their own ways.
func TestStreamsOfOtherServersAreUnderstood(t *testing.T) {
	t.Parallel()
	const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	for name, tc := range map[string]struct {
		body string
		want string
		err  error
	}{
		"all calls are number 0": {
			`data: {"choices":[{"delta":{"tool_calls":[{"id":"a","index":0,"function":{"name":"f","arguments":"{\"n\":1}"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"id":"b","index":0,"function":{"name":"f","arguments":"{\"n\":2}"}}]}}]}` + "\n\n" + finish,
			`f{"n":1} f{"n":2} `, nil,
		},
		"calls without ids or numbers": {
			`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\"n\":1}"}},{"function":{"name":"g","arguments":"{}"}}]}}]}` + "\n\n" + finish,
			`f{"n":1} g{} `, nil,
		},
		"a last line without its end": {`data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]", "Yes", nil},
		"lines that end as in DOS":    {`data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}` + "\r\n\r\ndata: [DONE]\r\n\r\n", "Yes", nil},
		"thoughts beside the answer": {
			`data: {"choices":[{"delta":{"reasoning_content":"Hm.","content":null}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"Yes"}}]}` + "\n\n" + finish,
			"Yes", nil,
		},
		"an error of a number":    {`data: {"error":{"code":402,"message":"Pay"}}` + "\n\n", "", model.ErrCredit},
		"an error of a text":      {`data: {"error":"model runner has stopped"}` + "\n\n", "", model.ErrProvider},
		"an error for a reason":   {`data: {"choices":[{"delta":{"content":"Ye"},"finish_reason":"error"}]}` + "\n\n", "Ye", model.ErrProvider},
		"a refusal beside a stop": {`data: {"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}` + "\n\n", "", model.ErrRefused},
		"nothing at all":          {"\n", "", model.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask(t, modelfake.OpenAI)
			a.fake.Answer(func(modelfake.Request) modelfake.Reply {
				return modelfake.Reply{Body: tc.body, ContentType: "text/event-stream"}
			})
			got := a.hear(t.Context(), question("?"))
			for _, call := range got.calls {
				got.text += call.Name + string(call.Arguments) + " "
			}
			if got.text != tc.want || !errors.Is(got.err, tc.err) {
				t.Errorf("got %+v, want %q, %v", got, tc.want, tc.err)
			}
			if (tc.err == nil) != (len(got.done) == 1) {
				t.Errorf("ends %v", got.done)
			}
		})
	}
}

func TestAPauseThatTheProviderAsksForIsKept(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		clock := testkit.NewClock()
		date := clock.Now().Add(42 * time.Second).Format(http.TimeFormat)
		a.fake.Script(modelfake.Refuse(429, "7"), modelfake.Refuse(503, date), modelfake.Refuse(429, "nonsense"), modelfake.Say("Yes."))
		if got := a.hear(t.Context(), question("?")); got.err != nil {
			t.Fatal(got.err)
		}
		if a.paused[0] != 7*time.Second || a.paused[1] != 42*time.Second || a.paused[2] > 2*time.Second {
			t.Errorf("paused %v", a.paused)
		}
		a.fake.Script(modelfake.Refuse(429, "3600"))
		got := a.hear(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrRateLimited) || core.AsError(got.err).RetryAfter != time.Hour || len(a.paused) != 3 {
			t.Errorf("an hour: %v, paused %v", got.err, a.paused)
		}
		// There is no use in waiting for what comes after the caller's end.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		a.fake.Script(modelfake.Refuse(429, "30"))
		if got := a.hear(ctx, question("?")); !errors.Is(got.err, model.ErrRateLimited) || len(a.paused) != 3 {
			t.Errorf("after the deadline: %v, paused %v", got.err, a.paused)
		}
	})
}

func TestAnAnswerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		hangs := modelfake.Say("one two")
		hangs.End = modelfake.Hangs
		a.fake.Script(hangs, modelfake.Reply{End: modelfake.Hangs})

		why := errors.New("the turn was cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var usage model.Usage
		for e, err := range a.Stream(ctx, question("?")) {
			switch e := e.(type) {
			case model.Text:
				cancel(why)
			case model.Usage:
				usage = e
			default:
				if !errors.Is(err, why) {
					t.Errorf("cancelled: %v", err)
				}
			}
		}
		if !usage.Estimated || usage.In == 0 {
			t.Errorf("usage %+v", usage)
		}

		timed, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		got := a.hear(timed, question("?"))
		if !errors.Is(got.err, model.ErrTimeout) || !core.IsKind(got.err, core.KindTimeout) || core.AsError(got.err).Code != "model_timeout" {
			t.Errorf("late: %v", got.err)
		}
		if len(a.paused) != 0 {
			t.Errorf("paused %v", a.paused)
		}
	})
}

func TestAProviderThatFallsSilentIsLeft(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		model.SetIdleTimeout(a.Provider, 400*time.Millisecond)
		silent := modelfake.Say("one two")
		silent.End = modelfake.Hangs
		slow := modelfake.Say("one two three four five six seven eight")
		slow.Pause = 70 * time.Millisecond
		a.fake.Script(silent, slow)
		if got := a.hear(t.Context(), question("?")); !errors.Is(got.err, model.ErrTimeout) || got.text != "one two" {
			t.Errorf("silent: %+v", got)
		}
		// Slower in all than the silence that is allowed, but never silent for so long.
		if got := a.hear(t.Context(), question("?")); got.err != nil {
			t.Errorf("slow: %v", got.err)
		}
	})
}

func TestAnAnswerThatIsNoStreamIsNoAnswer(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Script(modelfake.Reply{Body: "<html>Sign in</html>", ContentType: "text/html; charset=utf-8"})
		got := a.hear(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrReply) || len(got.usage) != 0 || len(a.paused) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAProviderThatIsNotThereIsSaidToBe(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Close()
		got := a.hear(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrUnreachable) || len(a.paused) != 3 || len(got.usage) != 0 {
			t.Errorf("got %+v, paused %v", got, a.paused)
		}
	})
}

func TestEachRefusalSaysWhatToDoAndRepeatsNeitherKeyNorPrompt(t *testing.T) {
	t.Parallel()
	const prompt = "the secret plan"
	both(t, func(t *testing.T, a *asked) {
		a = ask(t, a.fake.Format, func(o *model.Options) { o.Key = "plainsecret123" })
		a.fake.Key = "plainsecret123"
		echo := func(status int, code, message string) modelfake.Reply {
			return modelfake.Reply{Status: status, Code: code, Message: message + " " + a.fake.Key + " " + prompt}
		}
		for _, tc := range []struct {
			reply modelfake.Reply
			want  error
			says  string
		}{
			{echo(401, a.fake.Key, "no"), model.ErrKey, "CARREL_MODEL_API_KEY"},
			{echo(403, "permission_error", "no"), model.ErrKey, "CARREL_MODEL_API_KEY"},
			{echo(404, "not_found_error", "no"), model.ErrUnknownModel, "CARREL_MODEL_NAME"},
			{echo(307, "moved", "there"), model.ErrUnknownModel, "CARREL_MODEL_BASE_URL"},
			{echo(400, "context_length_exceeded", "long"), model.ErrTooLong, "longer than"},
			{echo(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), model.ErrTooLong, "new thread"},
			{echo(413, "request_too_large", "big"), model.ErrTooLong, "longer than"},
			{echo(402, "x", "pay"), model.ErrCredit, "credit"},
			{echo(429, "insufficient_quota", "pay"), model.ErrCredit, "credit"},
			{echo(400, "invalid_request_error", "Your credit balance is too low"), model.ErrCredit, "credit"},
			{echo(400, "content_filter", "no"), model.ErrRefused, "declined"},
			{echo(400, "model_not_found", "no"), model.ErrUnknownModel, "CARREL_MODEL_NAME"},
			{echo(422, "oops", "what?"), model.ErrRequest, "log"},
			{echo(501, "oops", "what?"), model.ErrProvider, "in a while"},
		} {
			before := len(a.fake.Requests())
			a.fake.Script(tc.reply)
			got := a.hear(t.Context(), question(prompt))
			if n := len(a.fake.Requests()) - before; !errors.Is(got.err, tc.want) || n != 1 || len(got.usage) != 0 {
				t.Errorf("%d %s: %v after %d requests", tc.reply.Status, tc.reply.Code, got.err, n)
				continue
			}
			e := core.AsError(got.err)
			if e.Kind != core.KindUpstream || e.Code != "model_failed" || !strings.Contains(e.Detail, tc.says) {
				t.Errorf("%d %s: %+v", tc.reply.Status, tc.reply.Code, e)
			}
			for _, secret := range []string{a.fake.Key, prompt} {
				if strings.Contains(got.err.Error(), secret) || strings.Contains(e.Detail, secret) {
					t.Errorf("%d %s repeats %q: %v", tc.reply.Status, tc.reply.Code, secret, got.err)
				}
			}
		}
		a.fake.Key = "another"
		if got := a.hear(t.Context(), question(prompt)); !errors.Is(got.err, model.ErrKey) || strings.Contains(got.err.Error(), "plainsecret") {
			t.Errorf("a wrong key: %v", got.err)
		}
	})
}
