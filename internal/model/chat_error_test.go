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

func TestFailureBeforeTheFirstTextIsRetried(t *testing.T) {
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
			bothFormats(t, func(t *testing.T, p *provider) {
				good := modelfake.Say("At last.")
				good.In, good.Out = 10, 2
				p.fake.Script(fault, fault, fault, good)
				got := p.collect(t.Context(), question("?"))
				if got.err != nil || got.text != "At last." || len(p.fake.Requests()) != 4 ||
					len(got.usage) != 1 || len(got.done) != 1 {
					t.Fatalf("got %+v after %d requests", got, len(p.fake.Requests()))
				}
				for i, low := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
					if d := p.delays[i]; d < low || d > 2*low {
						t.Errorf("delay %d was %v", i, d)
					}
				}
				// The provider charges for attempts that broke after it had accepted the request.
				u, exact := got.usage[0], model.Usage{In: 10, Out: 2}
				switch charged := fault.Status == 0 && fault.End != modelfake.Fails; {
				case !charged && u != exact:
					t.Errorf("usage %+v, want %+v", u, exact)
				case charged && fault.End != modelfake.Reset && (!u.Estimated || u.In <= exact.In):
					t.Errorf("usage %+v counts only the last attempt", u)
				}
			})
		})
	}
}

func TestRequestIsAttemptedFourTimes(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Answer(func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(503, "") })
		got := p.collect(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrProvider) || len(p.fake.Requests()) != 4 || len(got.usage) != 0 {
			t.Errorf("got %+v after %d requests", got, len(p.fake.Requests()))
		}
	})
}

func TestFailureAfterTheFirstTextIsNotRetried(t *testing.T) {
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
			bothFormats(t, func(t *testing.T, p *provider) {
				fault := tc.fault
				fault.Text = []string{"Half an ", "answer of some length"}
				p.fake.Script(fault)
				got := p.collect(t.Context(), question("?"))
				if !errors.Is(got.err, tc.want) || got.text != "Half an answer of some length" ||
					len(p.fake.Requests()) != 1 || len(got.done) != 0 {
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

func TestTruncatedToolCallIsRetried(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		whole := modelfake.Use(modelfake.Call{ID: "c", Name: "search", Arguments: `{"query":"x"}`})
		cut := whole
		cut.End = modelfake.Cut
		p.fake.Script(cut, whole)
		if got := p.collect(t.Context(), question("?")); got.err != nil || len(got.calls) != 1 || !got.usage[0].Estimated {
			t.Errorf("got %+v", got)
		}
	})
}

func TestStreamThatBreaksAfterTheFinishReasonIsComplete(t *testing.T) {
	t.Parallel()
	for _, end := range []modelfake.End{modelfake.Unterminated, modelfake.BrokenLate} {
		reply := modelfake.Say("Enough.")
		reply.End, reply.In, reply.Out = end, 3, 1
		p := newProvider(t, modelfake.OpenAI)
		p.fake.Script(reply)
		got := p.collect(t.Context(), question("?"))
		if got.err != nil || len(got.done) != 1 || got.usage[0] != (model.Usage{In: 3, Out: 1}) {
			t.Errorf("%d, OpenAI: %+v", end, got)
		}
		// Anthropic always sends message_stop.
		p = newProvider(t, modelfake.Anthropic)
		p.fake.Script(reply)
		if got := p.collect(t.Context(), question("?")); !errors.Is(got.err, model.ErrTruncated) || len(got.done) != 0 {
			t.Errorf("%d, Anthropic: %+v", end, got)
		}
	}
}

func TestRetryAfterIsHonouredUpToOneMinute(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		clock := testkit.NewClock()
		date := clock.Now().Add(42 * time.Second).Format(http.TimeFormat)
		p.fake.Script(
			modelfake.Refuse(429, "7"), modelfake.Refuse(503, date), modelfake.Refuse(429, "nonsense"), modelfake.Say("Yes."),
		)
		if got := p.collect(t.Context(), question("?")); got.err != nil {
			t.Fatal(got.err)
		}
		if p.delays[0] != 7*time.Second || p.delays[1] != 42*time.Second || p.delays[2] > 2*time.Second {
			t.Errorf("delays %v", p.delays)
		}
		p.fake.Script(modelfake.Refuse(429, "3600"))
		got := p.collect(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrRateLimited) || core.AsError(got.err).RetryAfter != time.Hour || len(p.delays) != 3 {
			t.Errorf("an hour: %v, delays %v", got.err, p.delays)
		}
		// A retry after the caller's deadline is pointless.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		p.fake.Script(modelfake.Refuse(429, "59"))
		if got := p.collect(ctx, question("?")); !errors.Is(got.err, model.ErrRateLimited) || len(p.delays) != 3 {
			t.Errorf("after the deadline: %v, delays %v", got.err, p.delays)
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		hangs := modelfake.Say("one two")
		hangs.End = modelfake.Hangs
		p.fake.Script(hangs, modelfake.Reply{End: modelfake.Hangs})

		why := errors.New("the turn was cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var usage model.Usage
		for e, err := range p.Stream(ctx, question("?")) {
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
		got := p.collect(timed, question("?"))
		if !errors.Is(got.err, model.ErrTimeout) || !core.IsKind(got.err, core.KindTimeout) ||
			core.AsError(got.err).Code != "model_timeout" {
			t.Errorf("after the deadline: %v", got.err)
		}
		if len(p.delays) != 0 {
			t.Errorf("delays %v", p.delays)
		}
	})
}

func TestSilentProviderIsCutOff(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		model.SetIdleTimeout(p.Provider, 400*time.Millisecond)
		silent := modelfake.Say("one two")
		silent.End = modelfake.Hangs
		slow := modelfake.Say("one two three four five six seven eight")
		slow.Pause = 70 * time.Millisecond
		p.fake.Script(silent, slow)
		if got := p.collect(t.Context(), question("?")); !errors.Is(got.err, model.ErrTimeout) || got.text != "one two" {
			t.Errorf("silent: %+v", got)
		}
		// Takes longer in total than the idle timeout, but is never idle for that long.
		if got := p.collect(t.Context(), question("?")); got.err != nil {
			t.Errorf("slow: %v", got.err)
		}
	})
}

func TestResponseThatIsNotAStreamIsAnError(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Script(modelfake.Reply{Body: "<html>Sign in</html>", ContentType: "text/html; charset=utf-8"})
		got := p.collect(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrReply) || len(got.usage) != 0 || len(p.delays) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestUnreachableProviderIsReported(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Close()
		got := p.collect(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrUnreachable) || len(p.delays) != 3 || len(got.usage) != 0 {
			t.Errorf("got %+v, delays %v", got, p.delays)
		}
	})
}

func TestProviderErrorsNameTheRemedyButNotTheKeyOrPrompt(t *testing.T) {
	t.Parallel()
	const prompt = "the secret plan"
	bothFormats(t, func(t *testing.T, p *provider) {
		p = newProvider(t, p.fake.Format, func(o *model.Options) { o.Key = "plainsecret123" })
		p.fake.Key = "plainsecret123"
		echo := func(status int, code, message string) modelfake.Reply {
			return modelfake.Reply{Status: status, Code: code, Message: message + " " + p.fake.Key + " " + prompt}
		}
		for _, tc := range []struct {
			reply modelfake.Reply
			want  error
			says  string
		}{
			{echo(401, p.fake.Key, "no"), model.ErrKey, "CARREL_MODEL_API_KEY"},
			{echo(403, "permission_error", "no"), model.ErrKey, "CARREL_MODEL_API_KEY"},
			{echo(404, "not_found_error", "no"), model.ErrUnknownModel, "CARREL_MODEL_NAME"},
			{echo(307, "moved", "there"), model.ErrUnknownModel, "CARREL_MODEL_BASE_URL"},
			{echo(400, "context_length_exceeded", "long"), model.ErrTooLong, "context window"},
			{
				echo(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
				model.ErrTooLong, "new thread",
			},
			{echo(413, "request_too_large", "big"), model.ErrTooLong, "context window"},
			{echo(402, "x", "pay"), model.ErrCredit, "credit"},
			{echo(429, "insufficient_quota", "pay"), model.ErrCredit, "credit"},
			{echo(400, "invalid_request_error", "Your credit balance is too low"), model.ErrCredit, "credit"},
			{echo(400, "content_filter", "no"), model.ErrRefused, "declined"},
			{echo(400, "model_not_found", "no"), model.ErrUnknownModel, "CARREL_MODEL_NAME"},
			{echo(422, "oops", "what?"), model.ErrRequest, "log"},
			{echo(501, "oops", "what?"), model.ErrProvider, "in a while"},
		} {
			before := len(p.fake.Requests())
			p.fake.Script(tc.reply)
			got := p.collect(t.Context(), question(prompt))
			if n := len(p.fake.Requests()) - before; !errors.Is(got.err, tc.want) || n != 1 || len(got.usage) != 0 {
				t.Errorf("%d %s: %v after %d requests", tc.reply.Status, tc.reply.Code, got.err, n)
				continue
			}
			e := core.AsError(got.err)
			if e.Kind != core.KindUpstream || e.Code != "model_failed" || !strings.Contains(e.Detail, tc.says) {
				t.Errorf("%d %s: %+v", tc.reply.Status, tc.reply.Code, e)
			}
			for _, secret := range []string{p.fake.Key, prompt} {
				if strings.Contains(got.err.Error(), secret) || strings.Contains(e.Detail, secret) {
					t.Errorf("%d %s repeats %q: %v", tc.reply.Status, tc.reply.Code, secret, got.err)
				}
			}
		}
		p.fake.Key = "another"
		got := p.collect(t.Context(), question(prompt))
		if !errors.Is(got.err, model.ErrKey) || strings.Contains(got.err.Error(), "plainsecret") {
			t.Errorf("wrong key: %v", got.err)
		}
	})
}
