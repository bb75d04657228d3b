package favourite

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/core"
)

// name is the name of an author. An institution's name, or a single word, can't be split and is literal.
type name struct {
	family, given, suffix string
	literal               string
}

// parseAuthors parses a list of names, each a string or an object, or one string of names separated by semicolons.
func parseAuthors(v any) []name {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case string:
		for _, s := range strings.Split(v, ";") {
			list = append(list, s)
		}
	}
	var out []name
	for _, item := range list {
		if n := parseAuthor(item); n != (name{}) {
			out = append(out, n)
		}
	}
	return out
}

func parseAuthor(v any) name {
	switch v := v.(type) {
	case string:
		return splitName(core.OneLine(v))
	case map[string]any:
		n := name{family: text(v["family"]), given: text(v["given"]), suffix: text(v["suffix"])}
		switch {
		case n.family != "" && n.given != "":
			return n
		case n.family != "" || n.given != "":
			return name{literal: n.family + n.given}
		case text(v["literal"]) != "":
			return name{literal: text(v["literal"])}
		}
		return splitName(text(v["name"]))
	}
	return name{}
}

// splitName splits a name as BibTeX does: "Family, Given", or the last word is the family name, with preceding
// lower-case particles ("Ludwig van Beethoven").
func splitName(s string) name {
	if s == "" {
		return name{}
	}
	if strings.Contains(s, ",") {
		return splitAtCommas(s)
	}
	words := strings.Fields(s)
	suffix := ""
	if len(words) > 2 && isSuffix(words[len(words)-1]) {
		suffix, words = words[len(words)-1], words[:len(words)-1]
	}
	if len(words) < 2 || !isPersonal(words) {
		return name{literal: s}
	}
	family := len(words) - 1
	if i := slices.IndexFunc(words[1:family], startsLower); i >= 0 && !startsLower(words[0]) {
		family = i + 1
	}
	return name{family: strings.Join(words[family:], " "), given: strings.Join(words[:family], " "), suffix: suffix}
}

// splitAtCommas parses "Family, Given", "Family, Jr., Given" (BibTeX) and "Family, Given, Jr." (RIS).
func splitAtCommas(s string) name {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch {
	case slices.Contains(parts, "") || isCorporate(strings.Fields(s)):
	case len(parts) == 2 && !isSuffix(parts[1]):
		return name{family: parts[0], given: parts[1]}
	case len(parts) == 3 && isSuffix(parts[1]):
		return name{family: parts[0], suffix: parts[1], given: parts[2]}
	case len(parts) == 3 && isSuffix(parts[2]):
		return name{family: parts[0], given: parts[1], suffix: parts[2]}
	case len(parts) == 2:
		// "Martin Luther King, Jr."
		if n := splitName(parts[0]); n.literal == "" && n.suffix == "" {
			n.suffix = parts[1]
			return n
		}
	}
	return name{literal: s}
}

func isSuffix(word string) bool {
	switch strings.ToLower(strings.TrimSuffix(word, ".")) {
	case "jr", "sr", "ii", "iii", "iv":
		return true
	}
	return false
}

// isPersonal reports whether words without a comma are a personal name with a known order. In East Asian scripts the
// family name usually comes first, so such names are not split.
func isPersonal(words []string) bool {
	if isCorporate(words) {
		return false
	}
	for _, w := range words {
		for _, r := range w {
			if unicode.IsDigit(r) || unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
				return false
			}
		}
	}
	return true
}

// corporateWords are words that occur in names of institutions only.
var corporateWords = map[string]bool{
	"the": true, "of": true, "for": true, "and": true, "&": true,
	"agency": true, "association": true, "authority": true, "board": true, "bureau": true, "center": true,
	"centre":        true,
	"collaboration": true, "college": true, "commission": true, "committee": true, "company": true, "consortium": true,
	"corp": true, "corporation": true, "council": true, "department": true, "foundation": true, "gmbh": true,
	"group": true,
	"inc":   true, "institute": true, "laboratories": true, "laboratory": true, "labs": true, "limited": true,
	"llc": true,
	"ltd": true, "ministry": true, "network": true, "office": true, "organisation": true, "organization": true,
	"press": true, "project": true, "society": true, "team": true, "university": true, "working": true,
}

func isCorporate(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return corporateWords[strings.ToLower(strings.Trim(w, ".,()"))]
	})
}

func startsLower(s string) bool {
	for _, r := range s {
		return unicode.IsLower(r)
	}
	return false
}

// natural returns the name in spoken order.
func (n name) natural() string {
	if n.literal != "" {
		return n.literal
	}
	if n.suffix != "" {
		return n.given + " " + n.family + " " + n.suffix
	}
	return n.given + " " + n.family
}

// inverted returns the name with the family name first: "King, Martin Luther, Jr.".
func (n name) inverted() string {
	if n.literal != "" {
		return n.literal
	}
	if n.suffix != "" {
		return n.family + ", " + n.given + ", " + n.suffix
	}
	return n.family + ", " + n.given
}
