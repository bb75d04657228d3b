package format

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

var (
	utf8BOM    = []byte("\xef\xbb\xbf")
	utf16LEBOM = []byte("\xff\xfe")
	utf16BEBOM = []byte("\xfe\xff")
)

const (
	errNotUTF8 = fault("is not UTF-8 text; save it as UTF-8")
	errNUL     = fault("holds a NUL character; it may not be a text")
)

// decodeText decodes a text file and normalizes line ends to "\n". Byte order marks and valid UTF-8 come first; other
// bytes are decoded with the encoding that guessEncoding finds.
func decodeText(data []byte) (string, error) { return decodeLabelled(data, "") }

// decodePage decodes a page of HTML or XHTML, which may declare its encoding. Valid UTF-8 with characters outside ASCII
// takes precedence over the declaration: such text in any other encoding is very unlikely.
func decodePage(data []byte) (string, error) { return decodeLabelled(data, declaredEncoding(data)) }

// decodeLabelled is decodeText for a text with a declared encoding, which may be empty or unknown.
func decodeLabelled(data []byte, label string) (string, error) {
	s, err := decodeBytes(data, label)
	if err != nil {
		return "", err
	}
	if core.HasNUL(s) {
		return "", errNUL
	}
	if strings.Contains(s, "\r") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	}
	return s, nil
}

func decodeBytes(data []byte, label string) (string, error) {
	switch {
	case bytes.HasPrefix(data, utf16LEBOM):
		return decodeUTF16(data[2:], binary.LittleEndian), nil
	case bytes.HasPrefix(data, utf16BEBOM):
		return decodeUTF16(data[2:], binary.BigEndian), nil
	case bytes.HasPrefix(data, utf8BOM) && utf8.Valid(data):
		return string(data[len(utf8BOM):]), nil
	}
	known, name := charset.Lookup(label)
	ascii := isASCII(data)
	switch {
	case ascii && name != "iso-2022-jp" || !ascii && utf8.Valid(data):
		return string(data), nil
	case name == "utf-8" || strings.HasPrefix(name, "utf-16"):
		// A declaration in ASCII rules UTF-16 out. A few damaged characters must not hide a page.
		return strings.ToValidUTF8(string(data), "\ufffd"), nil
	case known == nil || known == encoding.Replacement:
		known = guessEncoding(data)
	}
	if known == nil {
		return "", errNotUTF8
	}
	decoded, err := known.NewDecoder().Bytes(data)
	if err != nil {
		return "", errNotUTF8
	}
	return string(decoded), nil
}

// decodeValue decodes a value of a record that is not UTF-8.
func decodeValue(s string) (string, error) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return decodeBytes([]byte(s), "")
}

func isASCII(data []byte) bool {
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// declarationLength is how far into a page its encoding may be declared. HTML prescribes 1,024 bytes; some pages begin
// with long comments.
const declarationLength = 4096

var encodingDeclaration = lazyregexp.New(
	`(?i)(?:<meta\s[^>]*\bcharset\s*=\s*["']?\s*|^\s*<\?xml\s[^>]*\bencoding\s*=\s*["'])([a-z0-9_.:-]+)`,
)

// declaredEncoding returns the label of the encoding that a page declares, or "".
func declaredEncoding(data []byte) string {
	if m := encodingDeclaration.FindSubmatch(data[:min(len(data), declarationLength)]); m != nil {
		return string(m[1])
	}
	return ""
}

// ToUTF8 converts a page or text that a web server has sent with an encoding. A text that declares its encoding itself,
// or is valid UTF-8, is not changed.
func ToUTF8(data []byte, label string) (text []byte, changed bool) {
	known, name := charset.Lookup(label)
	if known == nil || known == encoding.Replacement || name == "utf-8" || utf8.Valid(data) ||
		declaredEncoding(data) != "" || bytes.HasPrefix(data, utf16LEBOM) || bytes.HasPrefix(data, utf16BEBOM) {
		return data, false
	}
	text, err := known.NewDecoder().Bytes(data)
	return text, err == nil
}

// decodeUTF16 replaces invalid units and an odd last byte with U+FFFD.
func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2+1)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	if len(data) > 0 {
		units = append(units, utf8.RuneError)
	}
	return string(utf16.Decode(units))
}
