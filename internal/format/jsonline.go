package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/source"
)

// parseJSONLine parses a JSON object into a document. encoding/json matches names without case, accepts duplicate
// names and replaces invalid UTF-8; here names are exact and ambiguous objects are rejected. Unknown values are
// skipped without decoding, which is also faster.
func parseJSONLine(line []byte) (source.Document, error) {
	if !utf8.Valid(line) {
		return source.Document{}, fault("is not valid UTF-8")
	}
	if !json.Valid(line) {
		return source.Document{}, notJSON(line)
	}
	if line[0] != '{' {
		return source.Document{}, fault("is not a JSON object")
	}
	var d lineDocument
	seen := make([]string, 0, 16)
	err := eachMember(line, func(name, value []byte) error {
		field := fields[string(name)]
		if field == "" {
			return nil
		}
		if slices.Contains(seen, field) {
			return fault("has " + field + " twice")
		}
		seen = append(seen, field)
		if string(value) == "null" {
			return nil
		}
		return d.set(field, value)
	})
	if err != nil {
		return source.Document{}, err
	}
	if d.Year == 0 {
		d.Year = yearOfDate(d.PublishedAt)
	}
	return d.Document, nil
}

type lineDocument struct{ source.Document }

// fields are the known names. They map to themselves, so that a lookup by bytes needs no allocation.
var fields = map[string]string{
	"id": "id", "title": "title", "text": "text", "authors": "authors", "year": "year",
	"url": "url", "doi": "doi", "venue": "venue", "type": "type", "language": "language",
	"publishedAt": "publishedAt", "citationCount": "citationCount", "openAccessUrl": "openAccessUrl",
}

// notJSON returns a fault with the place of the syntax error.
func notJSON(line []byte) error {
	var whole json.RawMessage
	syntax, is := errors.AsType[*json.SyntaxError](json.Unmarshal(line, &whole))
	if !is || syntax.Error() == endOfJSON {
		return fault("is not valid JSON (it ends too early)")
	}
	return fault(fmt.Sprintf("is not valid JSON (at byte %d)", syntax.Offset))
}

// endOfJSON is the message of encoding/json for truncated JSON, which has no error value.
const endOfJSON = "unexpected end of JSON input"

// set stores the value of a field, which is not null.
func (d *lineDocument) set(field string, value []byte) error {
	switch field {
	case "id":
		return d.setID(value)
	case "authors":
		return d.setAuthors(value)
	case "year":
		return d.setYear(value)
	case "publishedAt":
		return d.setPublishedAt(value)
	case "citationCount":
		return d.setCitationCount(value)
	}
	s, err := jsonString(field, value)
	switch field {
	case "title":
		d.Title = s
	case "text":
		d.Text = s
	case "venue":
		d.Venue = s
	case "type":
		d.Type = s
	case "language":
		d.Language = s
	case "url":
		d.URL = webAddress(s)
	case "doi":
		d.DOI = bareDOI(s)
	case "openAccessUrl":
		d.OpenAccessURL = webAddress(s)
	}
	return err
}

// setID accepts a string, or a number in its literal form, so that 7 and 7.0 stay different.
func (d *lineDocument) setID(value []byte) (err error) {
	if c := value[0]; c == '-' || '0' <= c && c <= '9' {
		d.ExternalID = string(value)
		return nil
	}
	if value[0] != '"' {
		return fault("has an id that is neither a string nor a number")
	}
	d.ExternalID, err = jsonString("id", value)
	return err
}

// setAuthors accepts a list of names, or one string with all names.
func (d *lineDocument) setAuthors(value []byte) error {
	if value[0] == '"' {
		all, err := jsonString("authors", value)
		if err != nil {
			return err
		}
		d.Authors = splitNames(all)
		return nil
	}
	if len(value) > maxNames {
		return fault("has authors of more than 256 KiB")
	}
	var names []string
	if json.Unmarshal(value, &names) != nil {
		return fault("has authors that are neither a list of strings nor a string")
	}
	d.Authors = cleanNames(names)
	return nil
}

// setYear accepts a whole number. 0 and "" mean no year.
func (d *lineDocument) setYear(value []byte) error {
	year, given, err := wholeNumber("year", value)
	if err != nil || given && year != 0 && (year < minYear || year > maxYear) {
		return fault(fmt.Sprintf("has a year that is not a whole number from %d to %d", minYear, maxYear))
	}
	d.Year = int(year)
	return nil
}

const maxCitations = 1e9

// setCitationCount accepts a whole number; "" means unknown.
func (d *lineDocument) setCitationCount(value []byte) error {
	count, given, err := wholeNumber("citationCount", value)
	if err != nil || count < 0 || count > maxCitations {
		return fault(fmt.Sprintf("has a citationCount that is not a whole number from 0 to %d", int(maxCitations)))
	}
	if given {
		n := int(count)
		d.CitationCount = &n
	}
	return nil
}

// wholeNumber parses a whole number, also in a string or with ".0" as spreadsheets write it. A blank string is no
// number.
func wholeNumber(name string, value []byte) (n float64, given bool, err error) {
	digits := string(value)
	if value[0] == '"' {
		s, err := jsonString(name, value)
		if err != nil {
			return 0, false, err
		}
		if digits = strings.TrimSpace(s); digits == "" {
			return 0, false, nil
		}
	}
	n, err = strconv.ParseFloat(digits, 64)
	if err == nil && n != math.Trunc(n) {
		err = strconv.ErrSyntax
	}
	return n, true, err
}

// setPublishedAt accepts a date or date-time; "" means unknown.
func (d *lineDocument) setPublishedAt(value []byte) error {
	s, err := jsonString("publishedAt", value)
	if err != nil {
		return err
	}
	if s = strings.TrimSpace(s); s != "" && !isDate(s) {
		return fault(
			"has a publishedAt that is neither a date (2006-01-02) nor a time (2006-01-02T15:04:05Z) of RFC 3339",
		)
	}
	d.PublishedAt = s
	return nil
}

// jsonString decodes a JSON string.
func jsonString(name string, value []byte) (string, error) {
	if value[0] != '"' {
		return "", fault("has " + article(name) + " that is not a string")
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fault("is not valid JSON")
	}
	return s, nil
}

// article returns the indefinite article for a field name.
func article(name string) string {
	if name == "openAccessUrl" {
		return "an " + name
	}
	return "a " + name
}

// eachMember calls visit for the members of an object, which must be valid JSON without surrounding white space.
func eachMember(object []byte, visit func(name, value []byte) error) error {
	i := skipSpace(object, 1)
	for object[i] != '}' {
		end := endOfValue(object, i)
		name := object[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			plain, err := jsonString("name", object[i:end])
			if err != nil {
				return err
			}
			name = []byte(plain)
		}
		i = skipSpace(object, skipSpace(object, end)+len(":"))
		end = endOfValue(object, i)
		if err := visit(name, object[i:end]); err != nil {
			return err
		}
		if i = skipSpace(object, end); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// endOfValue returns the end of the value that starts at i. It counts brackets instead of recursing.
func endOfValue(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = endOfString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			i = endOfWord(b, i)
		}
		if depth == 0 {
			return i
		}
	}
}

// endOfString returns the end of the string that starts at i.
func endOfString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// endOfWord returns the end of the number, true, false or null that starts at i.
func endOfWord(b []byte, i int) int {
	for i < len(b) && bytes.IndexByte([]byte(",:]} \t\n\r"), b[i]) < 0 {
		i++
	}
	return i
}
