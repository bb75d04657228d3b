package format

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/source"
)

// Limits of a document: ids and titles in code points, texts in bytes.
const (
	maxExternalID = 512
	maxTitle      = 2000
	maxText       = 5 << 20
	maxURL        = 4096
)

// check applies the limits to a document of any format. Its error is a fault.
func check(d source.Document) error {
	switch {
	case strings.TrimSpace(d.ExternalID) == "":
		return fault("has no id")
	case utf8.RuneCountInString(d.ExternalID) > maxExternalID:
		return fault(fmt.Sprintf("has an id of more than %d characters", maxExternalID))
	case strings.TrimSpace(d.Title) == "" && strings.TrimSpace(d.Text) == "":
		return fault("has neither a title nor a text")
	case utf8.RuneCountInString(d.Title) > maxTitle:
		return fault(fmt.Sprintf("has a title of more than %d characters", maxTitle))
	case len(d.Text) > maxText:
		return fault(fmt.Sprintf("has a text of more than %d MiB", maxText>>20))
	}
	for _, s := range []string{d.ExternalID, d.Title, d.Text, d.Venue, d.Type, d.Language} {
		if err := checkString(s); err != nil {
			return err
		}
	}
	for _, s := range d.Authors {
		if err := checkString(s); err != nil {
			return err
		}
	}
	return nil
}

// checkString rejects text that databases can't store. URL and DOI are checked elsewhere.
func checkString(s string) error {
	switch {
	case core.HasNUL(s):
		return fault("holds a NUL character")
	case !utf8.ValidString(s):
		return fault("is not valid UTF-8")
	}
	return nil
}
