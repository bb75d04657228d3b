package model

import (
	"context"
	"time"
)

// PausesOf lets a provider note how long it would wait, in place of waiting.
func PausesOf(p Provider, note func(time.Duration)) {
	p.(*chat).pause = func(ctx context.Context, d time.Duration) error {
		note(d)
		return ctx.Err()
	}
}

// SilenceOf sets how long nothing may come.
func SilenceOf(p Provider, d time.Duration) { p.(*chat).silence = d }

// Parts of the package that are tested by themselves.
var (
	Clean       = clean
	CleanObject = cleanObject
	Complain    = complain
)

// CleanPieces cleans a text that comes in pieces.
func CleanPieces(pieces []string) (out []string) {
	var c cleaner
	for _, p := range pieces {
		out = append(out, c.next(p))
	}
	return append(out, c.rest())
}

// Classified is what becomes of a status and a body.
func Classified(status int, body string) error {
	return classify(status, complain([]byte(body)), "").public()
}
