package webapp

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// texts are the texts of one language by key. All languages have the same keys.
type texts map[string]string

// text returns a text with its placeholders filled in. The values are name-value pairs. An unknown key is returned
// itself, so that a mistake is visible on the page; a test checks every key in the source.
func (t texts) text(key string, values ...string) string {
	text, ok := t[key]
	if !ok {
		return key
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		if i%2 == 0 {
			v = "{" + v + "}"
		}
		pairs[i] = v
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// html is text for templates: the text may contain markup, and the values are escaped.
func (t texts) html(key string, values ...any) (markup, error) {
	if _, ok := t[key]; !ok {
		return "", fmt.Errorf("no text for the key %q", key)
	}
	escaped := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case markup:
			escaped[i] = string(v)
		default:
			escaped[i] = escapeText(fmt.Sprint(v))
		}
	}
	return markup(t.text(key, escaped...)), nil //nolint:gosec // texts are constants and values are escaped
}

func (t texts) date(at time.Time) string {
	at = at.UTC()
	return t.text("date", "day", strconv.Itoa(at.Day()), "month", t.text("month."+strconv.Itoa(int(at.Month()))),
		"year", strconv.Itoa(at.Year()), "time", at.Format("15:04"))
}

// wait returns a duration in seconds or, from 90 seconds on, in minutes.
func (t texts) wait(d time.Duration) string {
	seconds := int(math.Ceil(d.Seconds()))
	switch {
	case seconds == 1:
		return t.text("wait.second")
	case seconds <= 90:
		return t.text("wait.seconds", "count", strconv.Itoa(seconds))
	}
	return t.text("wait.minutes", "count", strconv.Itoa(int(math.Ceil(d.Minutes()))))
}

// problem returns the sentence for a service's error. Services write English; their codes select the text of another
// language.
func (t texts) problem(err error) string {
	e := core.AsError(err)
	key := "problem." + e.Code
	if _, ok := t[key]; !ok {
		key = "problem.other"
	}
	return t.text(key, "detail", e.Detail, "wait", t.wait(e.RetryAfter))
}

// field returns the sentence for an invalid field, which the error names by a JSON pointer.
func (t texts) field(f core.FieldError) string {
	key := "field." + strings.TrimPrefix(f.Pointer, "/")
	if _, ok := t[key]; !ok {
		key = "problem.other"
	}
	return t.text(key, "detail", f.Detail)
}

// firstField is field for an error of a form with one field.
func (t texts) firstField(err error) string {
	e := core.AsError(err)
	if len(e.Fields) == 0 {
		return t.problem(err)
	}
	return t.field(e.Fields[0])
}

// textsFor returns the texts in the language of a request.
func textsFor(r *http.Request) texts { return tables[languageOf(r)] }
