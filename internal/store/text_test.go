package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

// texts are inputs that careless stores corrupt.
var texts = map[string]string{
	"Emoji":          "🏳️‍🌈 👩🏽‍🔬 ok",
	"RightToLeft":    "مرحبا \u202eשלום\u202c abc",
	"Quotes":         `it's "quoted" \ and -- ; DROP TABLE app_user; $1 ?1 %s`,
	"Whitespace":     " \t\r\n\u2028\u00a0x\v ",
	"Astral":         strings.Repeat("𝔸", 8000),
	"Combining":      "e\u0301 é Å Å",
	"LastCodePoints": "\U0010FFFF\uFFFD\uFFFE",
	"Control":        "\x01\x1f\x7f",
	"NumberLike":     "0012",
	"NullLike":       "NULL",
}

var textTests = func() []test {
	var tests []test
	for name, text := range texts {
		tests = append(tests, test{name + "ComesBackAsItWas", func(w *fixture) {
			th := w.thread(w.ada, text, w.now)
			w.turn(w.ada, th.ID, text)
			messages, err := w.db.Messages(w.ctx, th.ID, 0, 2)
			w.must(err)
			w.same("message", messages[1].Text, text)
			got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
			w.must(err)
			w.same("title", got.Title, text)
			w.same("memory", w.remember(w.ada, text).Text, text)
			card, err := json.Marshal(map[string]string{"title": text})
			w.must(err)
			f := favourite.Favourite{AgentID: w.ada.agent, CardID: firstRunes(text, 200), Card: card}
			f.CreatedAt, f.UpdatedAt = w.now, w.now
			w.save(w.ada, f)
			list, err := w.favourites(w.ada.id, w.ada.agent)
			w.must(err)
			w.same("favourite", list, []favourite.Favourite{f})
			d := w.doc(firstRunes(text, 200), text)
			d.Authors = []string{text, "", "a,b"}
			w.put(w.ada.source, 1, 0, d)
			w.same("authors", w.scan(w.ada.source)[0].Authors, d.Authors)
		}})
	}
	return append(tests, test{"ACancelledContextComesThrough", func(w *fixture) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := w.db.Agent(ctx, w.ada.id, w.ada.agent)
		if !errors.Is(err, context.Canceled) {
			w.t.Errorf("reading: %v", err)
		}
		if err := w.db.SetPlan(ctx, w.ada.id, core.PlanNone); !errors.Is(err, context.Canceled) {
			w.t.Errorf("writing: %v", err)
		}
		if err := w.db.TouchKeys(ctx, nil); !errors.Is(err, context.Canceled) {
			w.t.Errorf("writing many: %v", err)
		}
		for _, err := range w.db.ScanDocuments(ctx, w.ada.source) {
			if !errors.Is(err, context.Canceled) {
				w.t.Errorf("scanning: %v", err)
			}
		}
	}})
}()

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}
