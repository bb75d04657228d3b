package webapp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/sharelink"
	"carrel/internal/source"
	"carrel/internal/thread"
	"carrel/internal/transcript"
)

// sharedThreads has one link with the token "open".
type sharedThreads struct{ messages []thread.Message }

func (s *sharedThreads) Open(
	ctx context.Context, token string,
) (sharelink.Link, transcript.Transcript, error) {
	if token != "open" {
		return sharelink.Link{}, transcript.Transcript{}, core.NotFound("link")
	}
	t, err := transcript.NewReader(transcript.Deps{Threads: s, Documents: s}).Thread(ctx, core.Actor{}, "a", "t")
	return sharelink.Link{CreatedAt: time.Date(2026, 11, 18, 9, 30, 0, 0, time.UTC)}, t, err
}

func (s *sharedThreads) Get(context.Context, core.Actor, string, string) (thread.Thread, error) {
	return thread.Thread{Title: "On <b>models</b>"}, nil
}

func (s *sharedThreads) ExportedMessages(context.Context, core.Actor, string, string) ([]thread.Message, error) {
	return s.messages, nil
}

func (s *sharedThreads) AllMessages(context.Context, core.Actor, string, string) ([]thread.Message, error) {
	return s.messages, nil
}

func (s *sharedThreads) Document(context.Context, core.Actor, string, string) (source.Document, error) {
	return source.Document{}, core.NotFound("document")
}

func TestSharedThreadIsShownWithQuotesAndVerdicts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	answer := "## Origins\n\nCodd wrote *it* [1]. <script>alert(1)</script> Nobody knows.\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx < y\n```\n\n1. one\n\n> said\n\n[x](javascript:y) [9]"
	at := func(sentence string) (from, to int) {
		from = strings.Index(answer, sentence)
		return from, from + len(sentence)
	}
	quoted, unsupported := thread.Check{State: thread.Quoted}, thread.Check{
		State: thread.Unsupported, By: thread.ByRules, Detail: "The quote names <nobody>.",
	}
	quoted.Start, quoted.End = at("Codd wrote *it* [1].")
	unsupported.Start, unsupported.End = at("Nobody knows.")
	s.shared.messages = []thread.Message{
		{Role: thread.RoleUser, Text: "Who <wrote>\nit?", Status: "complete"},
		{Role: thread.RoleAssistant, Text: answer, Status: "complete", Answer: thread.Answer{
			Citations: []thread.Citation{{
				N: 1, DocumentID: "d", Title: "A Relational Model", Authors: []string{"E. F. Codd"}, Year: 1970,
				Quote: "Future users & <others>", Page: 3, DOI: "10.1145/362384.362685",
			}},
			Checks: []thread.Check{quoted, unsupported},
		}},
	}
	reply := s.get("/shared/open", nil)
	page := reply.body
	if reply.status != http.StatusOK {
		t.Fatalf("status %d: %s", reply.status, page)
	}
	for _, want := range []string{
		"<h1 dir=\"auto\">On &lt;b&gt;models&lt;/b&gt;</h1>", "18 November 2026", "Who &lt;wrote&gt;<br>it?", "<h4>Origins</h4>",
		`<a href="#quote-2-1">[1]</a>`, `id="quote-2-1"`, "<em>it</em>", "&lt;script&gt;", `class="s-quoted" title="quoted"`,
		`<span class="mark">[not supported]</span>`, "<td>2</td>", "<pre><code>x &lt; y</code></pre>", "<blockquote><p>said",
		"[x](javascript:y) [9]", "The quote names &lt;nobody&gt;.", "Future users &amp; &lt;others&gt;", "p. 3",
		`href="https://doi.org/10.1145/362384.362685"`, `id="work-1"`, "noindex",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, email) {
		t.Errorf("the page contains a script or an address:\n%s", page)
	}
	for name, want := range map[string]string{
		"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := reply.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if policy := reply.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	missing := s.get("/shared/revoked", nil)
	if missing.status != http.StatusNotFound || missing.header.Get("X-Robots-Tag") == "" {
		t.Errorf("an unknown link: %d %v", missing.status, missing.header)
	}
}
