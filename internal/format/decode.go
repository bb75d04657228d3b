package format

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"carrel/internal/core"
)

var (
	utf8BOM    = []byte("\xef\xbb\xbf")
	utf16LEBOM = []byte("\xff\xfe")
	utf16BEBOM = []byte("\xfe\xff")
)

// decodeText decodes a text file and normalizes line ends to "\n". It accepts UTF-8, and UTF-16 with a byte order
// mark. Other encodings are not guessed, because a wrong guess would be stored unnoticed.
func decodeText(data []byte) (string, error) {
	var s string
	switch {
	case bytes.HasPrefix(data, utf16LEBOM):
		s = decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, utf16BEBOM):
		s = decodeUTF16(data[2:], binary.BigEndian)
	default:
		s = string(bytes.TrimPrefix(data, utf8BOM))
	}
	switch {
	case !utf8.ValidString(s):
		return "", fault("is not UTF-8 text; save it as UTF-8")
	case core.HasNUL(s):
		return "", fault("holds a NUL character; it may not be a text")
	}
	if strings.Contains(s, "\r") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	}
	return s, nil
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
